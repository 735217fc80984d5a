#pragma once
/*
 * Held: a file that a command wanted at a protected path. It waits as an approval with its content
 * and the difference. A yes puts it in place, a no drops it. The path must be then what it was when
 * the file was held: nobody has seen any other difference.
 */
#include <stdbool.h>
#include <stddef.h>

struct approval;
struct arena;
struct buffer;
struct error;

#define HELD_BYTES_MAX ((size_t)64 << 10)

struct held_text {
	const char *bytes;
	size_t n;
};

struct held_file {
	const char *workspace, *path; /* absolute, and relative to it */
	struct held_text now;
	const struct held_text *was; /* NULL: nothing was there */
	bool runs;                   /* it has the right to be executed */
};

/* The lines that differ, with "-" and "+" before them; as few as a common beginning and end leave.
 */
void held_put_difference(const struct held_text *was, const struct held_text *now,
                         struct buffer *out);

/* What of the approval is about the file: its words, its object, and what is kept of it. The caller
 * has filled in who asks. Memory is in the arena. */
int held_fill(struct approval *a, const struct held_file *f, struct arena *arena);

/* Puts it in place. -ESTALE: the path is no longer what it was. */
int held_put_in_place(const struct approval *a, struct error *err);
