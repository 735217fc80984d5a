#pragma once
/*
 * Buffer: bytes that grow up to a limit.
 *
 * Appending never needs a check in the middle of a chain: the first failure (memory, or the limit)
 * is kept, later appends do nothing, and buffer_error() tells at the end. What is in the buffer is
 * always followed by a NUL that does not count.
 */
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct buffer {
	char *data; /* NULL while empty */
	size_t len;
	size_t capacity;
	size_t max; /* most bytes that may be held; 0: BUFFER_MAX_DEFAULT */
	int failed; /* 0, -ENOMEM or -E2BIG */
};

#define BUFFER_MAX_DEFAULT ((size_t)64 << 20)

void buffer_done(struct buffer *b); /* leaves an empty, usable buffer */
static inline void buffer_donep(struct buffer *b)
{
	buffer_done(b);
}

void buffer_append(struct buffer *b, const void *bytes, size_t n);
void buffer_puts(struct buffer *b, const char *text);
void buffer_putc(struct buffer *b, char c);
void buffer_put_uint(struct buffer *b, uint64_t value); /* decimal */
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_clear(struct buffer *b); /* forgets content and failure, keeps the memory */

/* Room for N more bytes at data + len, or NULL; the caller adds what it used to len. */
char *buffer_reserve(struct buffer *b, size_t n);

static inline int buffer_error(const struct buffer *b)
{
	return b->failed;
}

/* The content as a string; "" while empty. */
static inline const char *buffer_str(const struct buffer *b)
{
	return b->data ? b->data : "";
}

/* Moves the memory to the caller, who frees it; NULL after a failure. Never NULL otherwise. */
char *buffer_take(struct buffer *b);
