#pragma once
/*
 * Pty: what the subcommands have to do with terminals: their sizes, the screen of a task, and the
 * seat of a person who uses a command as if it ran on the terminal before them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>
#include "base/guard.h"
#include "base/loop.h"

struct error;
struct job;
struct keeper_report;
struct run_options;

/* The size of the terminal that we run on, else the usual one. */
void pty_own_size(uint16_t *ret_rows, uint16_t *ret_cols);

/* "ROWSxCOLS"; 0, or -EINVAL, if it is not PTY_SIZE. */
#define PTY_SIZE "rows and columns from 1 to 1000, such as 24x80"
int pty_read_size(const char *text, uint16_t *ret_rows, uint16_t *ret_cols);

/* Prints what the terminal of a task shows. REPORT is how the task ended, or NULL. Complains by
 * itself; returns the exit code. */
int cli_screen(const char *task_id, int task_dir_fd, const struct keeper_report *report, bool json);

struct pty_seat {
	struct job *job; /* NULL: nobody sits here */
	struct loop *loop;
	struct loop_source keys, signals;
	struct loop_timer again;
	int signal_fd;
	struct termios before; /* how the terminal was */
	struct guard guard;    /* puts it back if we cannot */
	char typed[4096];      /* what the keeper has not taken yet */
	size_t typed_len;
};

/* Whether a person wants to sit there: a terminal on both sides, and the command on one. */
bool pty_seat_wanted(const struct run_options *o);

/* Asks for a command that suits the person and their terminal. */
int pty_seat_prepare(struct run_options *o);

/* Makes the terminal raw and hands on what is typed and each change of its size. The seat is left
 * with pty_seat_leave(), also after a failure. */
int pty_seat_take(struct pty_seat *s, struct loop *loop, struct job *job, struct error *err);

/* Puts the terminal back. ORDERLY: the command ended by itself; else the modes that it may have
 * left behind are undone. */
void pty_seat_leave(struct pty_seat *s, bool orderly);
