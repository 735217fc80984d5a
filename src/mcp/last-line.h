#pragma once
/*
 * Last line: what a running command has printed last, for people who wait for it.
 */
#include <stddef.h>
#include <stdint.h>

struct last_line {
	uint64_t bytes[2]; /* of each stream, when it was looked at last */
};

/* The last line of the stream that has grown, clean and cut to SIZE; "": there is none. DIR_FD is
 * the task's directory, or -1. */
void last_line_read(struct last_line *l, int dir_fd, char *into, size_t size);
