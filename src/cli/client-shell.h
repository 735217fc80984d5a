#pragma once
/*
 * The shell and the workspace of a client, as its environment tells them.
 */
#include <limits.h>
#include <stdbool.h>

struct buffer;
struct error;
struct hook_client;

/* Whether the client's own shell is nacre under another name. */
bool client_shell_is_ours(const struct hook_client *client);

/* The path of nsh: WANTED, or beside this program. */
int client_shell_find(const char *wanted, char into[PATH_MAX], struct error *err);

/* The canonical directory that the client works in: WANTED, else what its environment says, else
 * the one that the session has KEPT (NULL: none), else the repository around CWD, else CWD. */
int client_workspace(const struct hook_client *client, const char *wanted, const char *kept,
                     const char *cwd, char into[PATH_MAX], struct error *err);

#define CLIENT_HOOK_LIMIT_S 30 /* of the client; nacre's own is far below */

/* The line that a client's settings have for its hook. PROFILE and SHELL may be NULL. */
void client_hook_put(const char *nacre, const char *client, const char *profile, const char *shell,
                     struct buffer *into);

/* Whether this is such a line of a client that runs its hooks by the shell that runs its commands:
 * that one is nacre, and the hook must not be run in a box. */
bool client_hook_is_ours(const char *line);
