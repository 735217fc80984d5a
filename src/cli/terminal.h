#pragma once
/*
 * Terminal: how a running command looks to a person: its output as it comes, a spinner while it is
 * quiet, and a line at the end. Everything but the output goes to standard error.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct result;

struct terminal {
	bool live;   /* output is shown while the command runs */
	bool status; /* the lines before and after */
	bool fancy;  /* colour and spinner */
	bool spinning;
	int64_t started, last_output;
	int files[2];
	off_t shown[2];
};

/* Looks at the environment and at standard output and error. */
void terminal_init(struct terminal *t, bool wanted, bool quiet);
void terminal_done(struct terminal *t);

void terminal_begin(struct terminal *t, const char *description, int64_t now_ms);
/* Shows a part of what has come into the files of the task's directory; all of it at the LAST call,
 * where a flood is left out up to its end. Whether there is more to show. */
bool terminal_follow(struct terminal *t, int task_dir_fd, bool last, int64_t now_ms);
void terminal_tick(struct terminal *t, int64_t now_ms); /* the spinner; call every 80 ms or so */
void terminal_end(struct terminal *t, const struct result *r);
