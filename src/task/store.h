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
/* The same for reading only: makes nothing, and an empty place is fine. */
void store_look(struct store *s);
void store_done(struct store *s); /* removes a temporary directory that is empty */

/* A task's directory is made by its keeper (keeper/home.h), and need not be there. */
void store_task_remove(struct store *s, const char *id);

/* Whether the task in this directory has a keeper, or is about to get one: its spec.json is locked,
 * or while there is none the directory itself. */
bool store_task_is_running(int dir_fd);

/* Deletes finished tasks: those that ended more than MAX_AGE_MS ago (0: none), and the oldest first
 * until at most MAX_BYTES are used. Returns how many. */
int store_sweep(struct store *s, uint64_t max_bytes, int64_t max_age_ms);

/* Whether the last sweep was long enough ago for another one: with thousands of tasks it takes
 * longer than to run a command. Says so once, to one of many who ask. */
bool store_sweep_is_due(struct store *s);
