#pragma once
/*
 * Pty: a pseudo-terminal, made where it is used. Init opens it inside of its box, whose /dev/pts is
 * the box's own: so the terminal has a name there, and no other terminal of the machine has.
 */
#include <stdint.h>

#define PTY_ROWS_DEFAULT 24
#define PTY_COLS_DEFAULT 80
#define PTY_SIDE_MAX     1000 /* rows or columns that anybody may ask for */

struct pty_size {
	uint16_t rows, cols; /* 0: no terminal */
};

/* Both ends are close-on-exec, 3 or higher, and the caller's; neither becomes the controlling
 * terminal of the caller. 0, or a negative errno. */
int pty_open(const struct pty_size *size, int *ret_master, int *ret_slave);

/* Tells the kernel, which tells the processes in the foreground. */
int pty_resize(int master, const struct pty_size *size);

/* Whether a terminal may have this size. */
static inline int pty_size_is_valid(int64_t rows, int64_t cols)
{
	return rows >= 1 && rows <= PTY_SIDE_MAX && cols >= 1 && cols <= PTY_SIDE_MAX;
}
