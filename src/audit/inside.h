#pragma once
/*
 * Inside: one writer's memory, as the files of this room share it.
 *
 *	log.c       open, append
 *	sync.c      to the disk, together
 *	files.c     the numbered files: names, the first record of each, the next one
 *	recent.c    the end of the log once more, which is quicker to sync
 *	recover.c   what is done when the log is not as the head says
 */
#include <stdbool.h>
#include <stdint.h>
#include "audit/audit.h"
#include "audit/head.h"
#include "base/buffer.h"

struct mask;
struct statx;

struct audit {
	char *state;
	struct audit_settings settings;
	int dir_fd;
	struct head *head;
	int log_fd; /* -1: none is open */
	uint64_t log_file;
	int recent_fd; /* -1: not needed so far, or not to be had */
	struct mask *mask;
	struct buffer lines; /* that are about to be written */
};

#define FILES_NAME_MAX 32
void files_name(uint64_t number, char into[FILES_NAME_MAX]);

/* The numbers of the files that are there, in order. The caller frees *ret_numbers. */
int files_list(int dir_fd, uint64_t **ret_numbers, size_t *ret_count, struct error *err);

/* All under the lock of the writers. */

/* Has the current file open. -ENOENT: it is gone. */
int files_open(struct audit *a, uint64_t number, struct statx *ret_stat, struct error *err);

/* Begins the file behind PLACE, with its first record. Everything in the files before is on the
 * disk then. */
int files_next(struct audit *a, struct head_place *place, struct error *err);

/* Removes what is older than the current file, which is open, wants it to be: of files that were
 * removed when the machine went down any may be back. */
void files_clean(struct audit *a);

/* What was removed under us may not have come back the last time. */
int log_lock(struct audit *a, struct error *err);

/* Writes what is in a->lines behind PLACE, whose link the caller has moved already, and makes the
 * head say so. */
int log_write(struct audit *a, struct head_place *place, struct error *err);

/* Appends a record of the log itself to a->lines; signed ones sign what is in front of them. */
int log_put_own(struct audit *a, struct audit_link *link, enum audit_kind kind, const char *more,
                struct error *err);

/* Finds out where the log stands. What is whole is kept; what is not becomes a break. */
int recover(struct audit *a, struct head_place *ret_place, struct error *err);

/* The last record that is known to be on the disk. */
uint64_t sync_reached(struct head *h);
/* The current file of the log, which is open, and the head. */
int sync_log(struct audit *a, struct error *err);
/* By a recovery, for what it has synced itself. */
int sync_set(struct head *h, uint64_t seq);
