#pragma once
/*
 * Changes of a task, for people: lists, differences with colours, questions at the terminal.
 */
#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct change_list;
struct result;
struct store;
struct task_changes;

/* Lines of the list, and of conflicts; at most MOST. */
void cli_put_changes(const struct change_list *l, size_t most, struct buffer *into);
/* A text difference, harmless for a terminal; with colours if COLOUR. */
void cli_put_diff(const char *text, size_t n, bool colour, struct buffer *into);
bool cli_has_colours(int fd);

/* After a command: what it has changed, or would, on standard error. Nothing if it had no view, or
 * was not a dry run and all went well. */
void cli_print_changes(const struct result *r, bool dry_run);

/* Shows what a kept task would change on standard error, and asks at the terminal. 1: yes; 0: no.
 * Negative: nobody can be asked here. */
int cli_ask_apply(const struct task_changes *t, const struct change_list *l);

/* Of the task with this id: applies or discards it, as text or JSON. Returns the exit code. */
struct cli_apply {
	bool force, json, ask, quiet;
};
struct engine_wishes;
int cli_apply_task(const struct store *store, const struct engine_wishes *wishes, const char *task,
                   const struct cli_apply *o);
int cli_discard_task(const struct store *store, const struct engine_wishes *wishes,
                     const char *task, bool json);
