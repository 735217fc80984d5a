#include "mcp/last-line.h"

#include <string.h>
#include "base/buffer.h"
#include "base/utf8.h"
#include "output/clean.h"
#include "task/find.h"
#include "task/follow.h"

#define LOOK_BYTES 1024 /* longer lines are shown by their end */

static const char *find_last_line(const char *text, size_t *n)
{
	const char *start;

	while (*n > 0 && (text[*n - 1] == '\n' || text[*n - 1] == '\r' || text[*n - 1] == ' '))
		(*n)--;
	start = memrchr(text, '\n', *n);
	start = start ? start + 1 : text;
	*n -= (size_t)(start - text);
	return start;
}

void last_line_read(struct last_line *l, int dir_fd, char *into, size_t size)
{
	scoped(follow_freep) struct follow *follow = NULL;
	scoped(buffer_donep) struct buffer clean = {0};
	struct clean_options options = {0};
	struct clean_facts facts;
	struct follow_piece piece = {0};
	struct find_entry e = {0};
	char bytes[LOOK_BYTES];
	const char *line;
	uint64_t from;
	size_t n;
	int stream;

	*into = '\0';
	if (dir_fd < 0)
		return;
	find_look(dir_fd, "", &e);
	stream = e.bytes[0] == l->bytes[0] && e.bytes[1] != l->bytes[1];
	memcpy(l->bytes, e.bytes, sizeof(l->bytes));
	from = e.bytes[stream] > LOOK_BYTES ? e.bytes[stream] - LOOK_BYTES : 0;
	if (follow_new(dir_fd, stream ? FOLLOW_ERR : FOLLOW_OUT, from, &follow, NULL) < 0 ||
	    follow_next(follow, bytes, sizeof(bytes), &piece) != FOLLOW_BYTES ||
	    clean_text(bytes, (size_t)piece.n, &options, &clean, &facts) < 0)
		return;
	n = clean.len;
	line = find_last_line(buffer_str(&clean), &n);
	n = n < size ? n : size - 1;
	n = utf8_valid_prefix(line, n);
	memcpy(into, line, n);
	into[n] = '\0';
}
