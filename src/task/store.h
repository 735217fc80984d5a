#pragma once
/*
 * Store: the state directory, where every task has a directory of its own.
 *
 *	<state>/tasks/<id>/spec.json    what was ordered; locked while its keeper lives
 *	<state>/tasks/<id>/state.json   how it ended
 *	<state>/tasks/<id>/out, err     the raw output
 *
 * A command must run even where nothing can be stored: an unusable state directory is replaced by a
 * private temporary one, and where even that fails by nothing; the notice says so.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

#define STORE_ID_MAX 32

struct store {
	int tasks_fd;        /* -1: nothing can be stored */
	char path[PATH_MAX]; /* of the tasks directory */
	bool temporary;
	char notice[320]; /* empty: all is well */
};

/* Never fails: see notice. */
void store_open(struct store *s);
void store_done(struct store *s); /* removes a temporary directory that is empty */

/* Makes the directory of a new task and its id. *ret_dir_fd is -1 where nothing can be stored. */
int store_task_new(struct store *s, char ret_id[STORE_ID_MAX], int *ret_dir_fd, struct error *err);
void store_task_remove(struct store *s, const char *id);

/* Deletes finished tasks, the oldest first, until at most MAX_BYTES are used. Returns how many. */
int store_sweep(struct store *s, uint64_t max_bytes);
