#pragma once
/*
 * Early: into a pipe or file, the beginning of the output while the command runs.
 *
 * What is written at the end has a limit, and what is written before must be a beginning of that.
 * So whole lines come early, cleaned, up to where the text may be cut; the rest follows at the end.
 * A style that shows only the end has nothing that could come early.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/buffer.h"
#include "output/view.h"
#include "task/request.h"

#define EARLY_MS 100 /* between two looks; a command that is done before costs nothing */

struct early {
	struct early_stream {
		int file;    /* -1: not opened */
		bool closed; /* nothing more comes early */
		struct buffer raw;
		struct buffer text; /* cleaned, complete lines */
		size_t written;     /* of the text */
	} streams[2];
	struct view_limits view;
	enum output_mode mode;
};

#define EARLY_INIT                                                                                 \
	{                                                                                          \
		.streams = { {.file = -1}, {.file = -1} }                                          \
	}

void early_init(struct early *e, const struct view_limits *view, enum output_mode mode);
void early_done(struct early *e);
/* Writes what has come into the files of the task's directory. -EPIPE: nobody reads it. */
int early_look(struct early *e, int task_dir_fd);
/* How much of the text of stream I was written. */
size_t early_written(const struct early *e, int i, const char *text, size_t n);
