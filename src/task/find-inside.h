#pragma once
/*
 * What the list of tasks (list.c) shares with the look at one (find.c).
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "task/find.h"

int64_t find_stat_ms(const struct stat *st); /* when it was changed last */

/* Running or lost, and since when it is there. */
enum find_state find_look_at_lock(int dir_fd, int64_t *ret_started);

/* All tasks, by names that need not be ids; NULL: there are none. */
DIR *find_open_dir(struct store *s);
bool find_is_id(const char *name);

/* Whether the query wants the task of this id. */
bool find_is_wanted(int tasks_fd, const char *id, const struct find_query *q);
