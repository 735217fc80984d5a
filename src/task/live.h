#pragma once
/*
 * Live: the screen of a task's terminal while it runs, as rows that change.
 *
 * The emulator is a process that has nothing but its memory and one socket to us, as in replay.h;
 * but it stays, and gets new bytes as they come. One that dies, or falls too far behind, is made
 * anew from the end of the log. What it answers is believed in nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "output/screen.h"

struct error;
struct live;
struct loop;

struct live_frame {
	struct screen_facts facts;
	char title[SCREEN_TITLE_SIZE]; /* valid UTF-8 without control characters */
	bool whole;                    /* all rows; those that are not here are empty */
	bool application_keys, bracketed_paste;
	size_t count;     /* of rows */
	const char *rows; /* read them with live_row() */
	const char *end;
};

/* The next row at *AT: its number, how many runs, and then each of them with live_run(). False:
 * that was all. */
bool live_row(const struct live_frame *f, const char **at, unsigned *ret_row, unsigned *ret_runs);
/* TEXT is LEN bytes. */
void live_run(const char **at, struct screen_run *ret_run, const char **ret_text);

struct live_ops {
	void (*frame)(void *owner, const struct live_frame *f);
	void (*failed)(void *owner); /* its emulator dies again and again */
};

/* DIR_FD stays the caller's. -ENOTTY: the task has no terminal. OPS are called from the loop. */
int live_new(struct loop *l, int dir_fd, const struct live_ops *ops, void *owner,
             struct live **ret_live, struct error *err);
struct live *live_free(struct live *v);
DEFINE_CLEANUP(struct live *, live_free);

/* Reads what is new on disk, and asks for a frame; one is under way at a time. True: it was asked
 * for, or there is one under way. False: nothing is new. */
bool live_pump(struct live *v);
/* The next frame is whole. */
void live_want_all(struct live *v);

/* Whether a frame that the emulator sent is one: for tests. */
bool live_frame_read(const char *bytes, size_t n, const struct screen_size *largest,
                     struct live_frame *ret_frame);
