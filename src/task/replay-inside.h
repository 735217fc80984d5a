#pragma once
/*
 * What replay.c and live.c share: what a task's terminal has on disk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "output/screen.h"

struct error;

#define SIZES_FILE "sizes"
#define LOG_FILE   "out"

struct size {
	uint64_t offset;
	struct screen_size size;
};

struct replay {
	int log;             /* -1: nothing was written yet */
	uint64_t first;      /* byte of the stream that is there before all later ones */
	uint64_t begin, end; /* what is shown */
	uint64_t missing;    /* bytes of the stream that the file does not have before these */
	struct size *sizes;  /* the last of them */
	size_t size_count;
	struct screen_size largest;
	struct buffer bytes; /* from begin to end */
	bool alternate;      /* what begin finds */
};

void replay_done(struct replay *r);

/* Three numbers up to the newline. */
bool replay_read_size(const char *line, struct size *ret_size);
int replay_read_sizes(struct replay *r, int dir_fd, struct error *err);
int replay_open_log(struct replay *r, int dir_fd, uint64_t dropped_at, uint64_t dropped_bytes,
                    struct error *err);
int replay_read_window(struct replay *r, struct error *err);
void replay_feed(const struct replay *r, struct screen *s);

/* What a program can ask of its terminal, by the ways to write it; up to NULL. */
extern const char *const replay_application_keys[], *const replay_bracketed_paste[];
bool replay_mode_is_on(const struct replay *r, const char *const *ways, uint64_t end);
/* The last change of a mode in these bytes: 'h' on, 'l' off, 0: none. */
char replay_last_change(const char *const *ways, const char *bytes, size_t n);
