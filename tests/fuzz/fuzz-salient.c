/*
 * Any bytes as the output of a command, of which the lines that matter are kept. The first two
 * bytes choose how much is kept and the size of the pieces. Whatever comes, the pieces do not
 * matter, what is kept is bounded, and its lines are in their order.
 *
 * The same bytes are then read as such lines from another process, which must be sound or end.
 */
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "output/salient.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		__builtin_trap();
}

static void look(const char *bytes, size_t n, size_t kept, size_t piece, struct buffer *into)
{
	scoped(salient_freep) struct salient *s = salient_new(kept);

	if (!s)
		return;
	for (size_t i = 0; i < n; i += piece)
		salient_feed(s, bytes + i, n - i < piece ? n - i : piece);
	salient_put(s, into);
}

static size_t read_lines(const char *at, size_t n, bool ordered)
{
	const char *end = at + n;
	struct salient_line line;
	size_t bytes = 0;
	uint64_t last = 0;

	while (salient_next(&at, end, &line)) {
		must(line.text >= at - line.len && line.text + line.len <= end);
		must(line.len <= SALIENT_TEXT_MAX);
		must(!ordered || line.number > last);
		last = line.number;
		bytes += line.len;
	}
	must(!ordered || at == end);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(buffer_donep) struct buffer once = {0}, often = {0};
	const char *bytes = (const char *)data + 2;
	size_t kept, piece;

	if (size < 2 || size > 1 << 20)
		return 0;
	kept = 800 + data[0] * 64u;
	piece = 1 + data[1] * 37u;
	look(bytes, size - 2, kept, size, &once);
	look(bytes, size - 2, kept, piece, &often);
	must(once.len == often.len &&
	     (once.len == 0 || memcmp(once.data, often.data, once.len) == 0));
	must(read_lines(buffer_str(&once), once.len, true) <= 2 * kept + SALIENT_TEXT_MAX);
	(void)read_lines(bytes, size - 2, false);
	return 0;
}
