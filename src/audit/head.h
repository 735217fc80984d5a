#pragma once
/*
 * Head: where the log stands, shared by all who write it.
 *
 * It says more than the log can say of itself: where its end was. A tail that was cut off is
 * noticed by it, and a writer needs to read nothing of the log to append to it.
 */
#include <stdbool.h>
#include <stdint.h>
#include "audit/chain.h"
#include "base/cleanup.h"

struct error;
struct wait_page;

/* What a writer must know. */
struct head_place {
	uint64_t file;     /* number of the current one; 0: there is none */
	uint64_t size;     /* of it */
	int64_t opened_ms; /* wall clock, when its first record was written */
	struct audit_link link;
};

struct head; /* opaque */

/* What every head of this process and of its children needs is there then. */
void head_prepare(void);

/* Opens or makes the file in the directory of the log. The descriptor is borrowed for as long as
 * the head lives, and must not be shared with another one: the lock of who syncs is on it. */
int head_open(int dir_fd, struct head **ret_head, struct error *err);
struct head *head_free(struct head *h); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct head *, head_free);

/* The lock of the writers: it goes with its holder, however that dies. -ETIMEDOUT: somebody holds
 * it for far longer than any write takes. */
int head_lock(struct head *h, struct error *err);
void head_unlock(struct head *h); /* NULL is fine */

/* Somebody has removed the file: nobody else can see it any more. */
bool head_is_removed(const struct head *h);
/* Under the lock, before the first place is written: a whole page, so that it can be mapped. */
int head_fill(struct head *h);

/* Whether a start of the machine can be told from another. */
bool head_knows_boot(void);

/* False: there is none, or it was not written by us; or, without the lock, somebody is writing it.
 * *ret_same_boot: the machine still runs since then. */
bool head_read(const struct head *h, struct head_place *ret_place, bool *ret_same_boot);
/* A writer that is killed leaves the old one or the new one. */
int head_write(struct head *h, const struct head_place *place);

/* Brings it to the disk: a place of before is enough to go on from, none at all is not. */
int head_sync(struct head *h);

/* The lock of who syncs. -EWOULDBLOCK: another has it; any other failure: nobody can, as with
 * directories on NFS. */
int head_try_sync(struct head *h);
void head_end_sync(struct head *h);

/* Words of the file beside the place: that of the lock, and those of who syncs (sync.c,
 * recent.c). */
#define HEAD_SYNC_AT   512
#define HEAD_LOCK_AT   1024
#define HEAD_RECENT_AT 1536
struct wait_page *head_words(struct head *h);

/* For readers, who change nothing: the same of the head as it is now. -ENOENT, or -EBADMSG where it
 * is not one of ours. */
int head_look(int dir_fd, struct head_place *ret_place, bool *ret_same_boot);
