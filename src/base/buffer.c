#include "base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buffer_done(struct buffer *b)
{
	size_t max = b->max;

	free(b->data);
	*b = (struct buffer){.max = max};
}

void buffer_clear(struct buffer *b)
{
	b->len = 0;
	b->failed = 0;
	if (b->data)
		b->data[0] = '\0';
}

char *buffer_reserve(struct buffer *b, size_t n)
{
	size_t max = b->max ? b->max : BUFFER_MAX_DEFAULT;
	size_t capacity;
	char *data;

	if (b->failed)
		return NULL;
	if (n > max || b->len > max - n) {
		b->failed = -E2BIG;
		return NULL;
	}
	if (b->data && b->capacity - b->len > n)
		return b->data + b->len;

	capacity = b->capacity ? b->capacity : 64;
	while (capacity <= b->len + n)
		capacity += capacity / 2 + 1;
	data = realloc(b->data, capacity);
	if (!data) {
		b->failed = -ENOMEM;
		return NULL;
	}
	b->data = data;
	b->data[b->len] = '\0';
	b->capacity = capacity;
	return b->data + b->len;
}

void buffer_append(struct buffer *b, const void *bytes, size_t n)
{
	char *to = buffer_reserve(b, n);

	if (!to)
		return;
	if (n)
		memcpy(to, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buffer_puts(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

void buffer_putc(struct buffer *b, char c)
{
	buffer_append(b, &c, 1);
}

void buffer_put_uint(struct buffer *b, uint64_t value)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	buffer_append(b, first, (size_t)(digits + sizeof(digits) - first));
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args, again;
	char *to = buffer_reserve(b, 0);
	size_t room = to ? b->capacity - b->len : 0;
	int n;

	va_start(args, format);
	va_copy(again, args);
	/* Most of the time it fits. */
	n = vsnprintf(to, room, format, args);
	va_end(args);
	to = n < 0 ? NULL : buffer_reserve(b, (size_t)n);
	if (to && (size_t)n >= room)
		vsnprintf(to, (size_t)n + 1, format, again);
	if (to)
		b->len += (size_t)n;
	else if (room > 0)
		b->data[b->len] = '\0';
	va_end(again);
}

char *buffer_take(struct buffer *b)
{
	char *data;

	if (!b->data)
		buffer_append(b, "", 0);
	if (b->failed)
		return NULL;
	data = b->data;
	*b = (struct buffer){.max = b->max};
	return data;
}
