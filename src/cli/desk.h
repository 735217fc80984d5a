#pragma once
/*
 * Desk: what the subcommands about approvals share.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* The directory of approvals of this user, or a negative errno. -ENOENT: there is none. */
int cli_desk_open(void);

/* Whether this process was started by a command that nacre runs: such a one must not answer. */
int cli_is_inside(void);

/* What holds for sessions: all of it, and the end of some. Each returns the exit code. */
int cli_grants_show(int desk, bool json, struct arena *arena);
int cli_grants_revoke(int desk, char **ids, int count, bool json, struct arena *arena);

/* "uid 1000 on /dev/pts/3": who sits at TTY; -1: somewhere. HOW may be NULL. */
void cli_name_person(int tty, const char *how, char *into, size_t size);
