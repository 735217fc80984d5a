#include "audit/scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"

#define CHUNK ((size_t)256 << 10)

static ssize_t read_at(int fd, char *into, size_t n, uint64_t at)
{
	ssize_t got;

	do
		got = pread(fd, into, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got;
}

int scan_lines(int fd, uint64_t from, uint64_t until, scan_visit *visit, void *context,
               uint64_t *ret_rest, struct error *err)
{
	scoped(buffer_donep) struct buffer bytes = {.max = AUDIT_LINE_MAX + 2 * CHUNK};
	uint64_t at = from; /* of bytes.data[0] */

	*ret_rest = from;
	for (;;) {
		size_t begin = 0, want = CHUNK;
		char *room, *newline;
		ssize_t n;

		if (until - at - bytes.len < want)
			want = (size_t)(until - at - bytes.len);
		room = buffer_reserve(&bytes, CHUNK);
		if (!room)
			return error_nomem(err);
		n = want > 0 ? read_at(fd, room, want, at + bytes.len) : 0;
		if (n < 0)
			return error_sys(err, errno, "reading the audit log");
		if (n == 0)
			return 0;
		bytes.len += (size_t)n;
		while ((newline = memchr(bytes.data + begin, '\n', bytes.len - begin))) {
			size_t length = (size_t)(newline - bytes.data) - begin;
			int r = visit(context, bytes.data + begin, length, at + begin);

			if (r != 0)
				return r;
			begin += length + 1;
			*ret_rest = at + begin;
		}
		memmove(bytes.data, bytes.data + begin, bytes.len - begin);
		bytes.len -= begin;
		at += begin;
		if (bytes.len > AUDIT_LINE_MAX)
			return 0;
	}
}

struct walk {
	struct audit_chain chain;
	int64_t opened_ms;
	bool stopped;
};

static int step(void *context, const char *line, size_t n, uint64_t offset)
{
	struct walk *w = context;
	struct audit_line l;

	/* Damage that was marked before, and foreign signatures, are the verifier's to tell. */
	if (audit_line_read(line, n, &l) || (w->chain.begun && l.seq <= w->chain.link.seq) ||
	    (w->chain.begun && memcmp(l.prev, w->chain.link.hash, AUDIT_HASH_BYTES) != 0) ||
	    (w->chain.begun && l.kind != AUDIT_BREAK && l.seq != w->chain.link.seq + 1)) {
		w->stopped = true;
		return 1;
	}
	if (w->opened_ms == 0)
		w->opened_ms = l.wall_ms;
	w->chain.begun = true;
	w->chain.records++;
	w->chain.link.seq = l.seq;
	memcpy(w->chain.link.hash, l.hash, AUDIT_HASH_BYTES);
	return 0;
}

static struct scan_end end_of(const struct walk *w, uint64_t size)
{
	return (struct scan_end){.size = size,
	                         .link = w->chain.link,
	                         .opened_ms = w->opened_ms,
	                         .records = w->chain.records,
	                         .whole_line = w->stopped};
}

void scan_bytes(const char *bytes, size_t n, const struct audit_link *link,
                struct scan_end *ret_end)
{
	struct walk w = {.chain = {.link = *link, .begun = true}};
	const char *newline;
	size_t at = 0;

	while ((newline = memchr(bytes + at, '\n', n - at)) &&
	       step(&w, bytes + at, (size_t)(newline - bytes) - at, at) == 0)
		at = (size_t)(newline - bytes) + 1;
	*ret_end = end_of(&w, at);
}

int scan_chain(int fd, uint64_t from, const struct audit_link *link, bool fresh,
               struct scan_end *ret_end, struct error *err)
{
	struct walk w = {.chain = {.link = *link, .begun = !fresh}};
	uint64_t rest;
	int r = scan_lines(fd, from, UINT64_MAX, step, &w, &rest, err);

	if (r < 0)
		return r;
	*ret_end = end_of(&w, rest);
	return 0;
}
