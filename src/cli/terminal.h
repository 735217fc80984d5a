#pragma once
/*
 * Terminal: how a running command looks to a person: its output as it comes, a spinner while it is
 * quiet, and a line at the end. Everything but the output goes to standard error.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "task/request.h"

struct keeper_stream;
struct result;

struct terminal {
	bool live;   /* output is shown while the command runs */
	bool status; /* the lines before and after */
	bool fancy;  /* colour and spinner */
	bool raw;    /* the command paints on it: all is shown, and nothing else is */
	bool spinning;
	int64_t started, last_output;
	enum output_mode mode;
	int files[2];
	off_t shown[2]; /* offsets in the streams */
};

/* Looks at the environment and at standard output and error. */
void terminal_init(struct terminal *t, bool wanted, bool quiet, enum output_mode mode);
void terminal_done(struct terminal *t);

void terminal_begin(struct terminal *t, const char *description, int64_t now_ms);
/* Shows a part of what has come into the files of the task's directory. Whether there is more. */
bool terminal_follow(struct terminal *t, int task_dir_fd, int64_t now_ms);
/* The command has ended: shows the rest. The files are now as STREAMS tells. */
void terminal_follow_end(struct terminal *t, int task_dir_fd, const struct keeper_stream *streams);
/* What is waited for before the command starts. */
void terminal_note(struct terminal *t, const char *text);
void terminal_clear(struct terminal *t);                /* takes the spinner away */
void terminal_tick(struct terminal *t, int64_t now_ms); /* the spinner; call every 80 ms or so */
/* A box about a command that goes on in the background. */
void terminal_show_task(const struct terminal *t, const struct result *r);
void terminal_end(struct terminal *t, const struct result *r);
