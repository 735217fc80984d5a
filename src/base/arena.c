#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 8192
#define ALIGN       _Alignof(max_align_t)

struct block {
	struct block *next;
	size_t used, capacity;
	_Alignas(max_align_t) char bytes[];
};

struct arena {
	struct block *blocks; /* the one being filled first */
	size_t total, max;
	bool failed;
};

struct arena *arena_new(size_t max_bytes)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a)
		a->max = max_bytes;
	return a;
}

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

struct arena *arena_free(struct arena *a)
{
	if (a)
		free_blocks(a->blocks);
	free(a);
	return NULL;
}

void arena_reset(struct arena *a)
{
	struct block *keep = a->blocks;

	if (keep) {
		free_blocks(keep->next);
		keep->next = NULL;
		keep->used = 0;
	}
	a->total = keep ? keep->capacity : 0;
	a->failed = false;
}

/* A new block with room for N bytes, in front; NULL: no memory, or too much. */
static struct block *add_block(struct arena *a, size_t n)
{
	size_t capacity = n > BLOCK_BYTES ? n : BLOCK_BYTES;
	struct block *b;

	if (capacity > a->max || a->total > a->max - capacity)
		return NULL;
	b = malloc(sizeof(*b) + capacity);
	if (!b)
		return NULL;
	b->used = 0;
	b->capacity = capacity;
	b->next = a->blocks;
	a->blocks = b;
	a->total += capacity;
	return b;
}

/* Not zeroed: a block is used again after a reset. */
static inline char *take(struct arena *a, size_t n)
{
	struct block *b = a->blocks;
	char *p;

	if (a->failed || n > SIZE_MAX / 2)
		goto fail;
	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || b->capacity - b->used < n) {
		b = add_block(a, n);
		if (!b)
			goto fail;
	}
	p = b->bytes + b->used;
	b->used += n;
	return p;
fail:
	a->failed = true;
	return NULL;
}

void *arena_alloc(struct arena *a, size_t n)
{
	void *p = take(a, n);

	return p ? memset(p, 0, n) : NULL;
}

void *arena_alloc_array(struct arena *a, size_t size, size_t n)
{
	if (size && n > SIZE_MAX / 2 / size) {
		a->failed = true;
		return NULL;
	}
	return arena_alloc(a, size * n);
}

char *arena_strndup(struct arena *a, const char *bytes, size_t n)
{
	char *copy = take(a, n < SIZE_MAX ? n + 1 : n);

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
	return text ? arena_strndup(a, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;
	char *text;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	return text;
}
