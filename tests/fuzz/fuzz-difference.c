/*
 * Two texts with a NUL between. Their difference names no line that neither has, and has as many
 * lines that go and come as the ranges of its blocks say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "change/change.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long lines_of(const char *from, const char *end, char sign)
{
	long n = 0;

	for (const char *at = from; at < end; at = memchr(at, '\n', (size_t)(end - at)) + 1)
		n += *at == sign || *at == ' ';
	return n;
}

static void check_block(const char *head, const char *body, const char *end)
{
	long from, old_count = 1, to, new_count = 1;
	char *at;

	from = strtol(head + 4, &at, 10);
	if (*at == ',')
		old_count = strtol(at + 1, &at, 10);
	to = strtol(at + 2, &at, 10);
	if (*at == ',')
		new_count = strtol(at + 1, &at, 10);
	if (from < 0 || to < 0 || lines_of(body, end, '-') != old_count ||
	    lines_of(body, end, '+') != new_count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *nul = size ? memchr(data, 0, size) : NULL;
	size_t n = nul ? (size_t)(nul - text) : size;
	scoped(buffer_donep) struct buffer out = {0};
	const char *at, *next;

	change_text_diff(&(struct change_text){"a", text, n},
	                 &(struct change_text){"b", nul ? nul + 1 : "", nul ? size - n - 1 : 0},
	                 &out);
	if (out.len == 0 || memchr(out.data, 0, out.len))
		return 0;
	for (at = strstr(out.data, "\n@@ "); at; at = next) {
		const char *body = strchr(at + 1, '\n') + 1;

		next = strstr(body - 1, "\n@@ ");
		check_block(at + 1, body, next ? next + 1 : out.data + out.len);
	}
	return 0;
}
