#pragma once
/*
 * Follow: the output of a task from any offset on, while it comes and after its end.
 *
 * A follower reads the task's files at its own pace: it costs the keeper nothing, and a slow one
 * delays neither the command nor other followers. It falls back only where the file has a cap:
 * bytes that were dropped before it came to them are told as a gap.
 *
 * Bytes come in the order of the task: that of the merged stream, or with two streams the order in
 * which the keeper read them, each piece with the number of its stream.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "task/report.h"

struct error;
struct follow;

enum follow_stream { FOLLOW_BOTH = -1, FOLLOW_OUT, FOLLOW_ERR };

/* The names that every door uses: "stdout", "stderr", "both". */
const char *follow_stream_name(enum follow_stream which);
int follow_stream_parse(const char *name, enum follow_stream *ret_which); /* -EINVAL: none */

enum follow_event {
	FOLLOW_BYTES,
	FOLLOW_GAP,     /* bytes that are in no file (any more) */
	FOLLOW_NOTHING, /* for now: wait */
	FOLLOW_ENDED,   /* nothing will come any more */
};

struct follow_piece {
	int stream; /* 0: stdout, or both when merged; 1: stderr */
	uint64_t
		offset; /* among all bytes that are followed; the next call goes on at offset + n */
	uint64_t n;
};

/* DIR_FD, the task's directory, stays the caller's and open. OFFSET counts the bytes of the stream,
 * or of both together. */
int follow_new(int dir_fd, enum follow_stream which, uint64_t offset, struct follow **ret_follow,
               struct error *err);
struct follow *follow_free(struct follow *f);
DEFINE_CLEANUP(struct follow *, follow_free);

/* One step: up to SIZE bytes of one stream into BYTES. Never waits. */
enum follow_event follow_next(struct follow *f, char *bytes, size_t size,
                              struct follow_piece *ret_piece);

/* After FOLLOW_NOTHING: this becomes readable when there may be more; then call follow_woken(). It
 * is -1 where the system has no more of such descriptors; then look every FOLLOW_LOOK_MS. Who waits
 * looks once a second in any case. */
#define FOLLOW_LOOK_MS 20
int follow_fd(const struct follow *f);
void follow_woken(struct follow *f);
/* The caller watches the directory itself, for many followers at once: follow_fd() is -1. */
void follow_unwatch(struct follow *f);
void follow_wait(struct follow *f, int64_t timeout_ms); /* both, for a caller without a loop */

uint64_t follow_offset(const struct follow *f); /* of the next byte */

/* After FOLLOW_ENDED: how it ended; NULL: the task was lost. */
const struct keeper_report *follow_report(const struct follow *f);
