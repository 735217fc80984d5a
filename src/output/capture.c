#include "output/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buffer.h"
#include "base/error.h"
#include "output/count.h"
#include "output/salient.h"

/*
 * One private mapping holds the head and behind it the ring of the tail. A mapping costs no memory
 * until it is touched, so a command that prints a line costs a page and not the limits, and nothing
 * is left to allocate while the command runs.
 *
 * The ring needs no indices: the number of bytes that came after the head says how full it is, and
 * modulo its size where the next byte goes.
 */
struct capture {
	struct capture_limits limits;
	struct capture_counts counts;
	char *map; /* NULL when both limits are 0 */
	char *ring;
	size_t ring_at;          /* where the next byte goes */
	struct salient *salient; /* NULL: not needed yet, or there is no memory for it */
	bool overflowed;         /* the stream is longer than head and tail */
};

int capture_new(const struct capture_limits *limits, struct capture **ret_capture,
                struct error *err)
{
	scoped(capture_freep) struct capture *c = NULL;
	size_t size;
	void *map;

	if (__builtin_add_overflow(limits->head, limits->tail, &size) || size > PTRDIFF_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "capture limits are too large");
	c = calloc(1, sizeof(*c));
	if (!c)
		return error_sys(err, ENOMEM, "capture");
	c->limits = *limits;
	c->counts.nul_at = CAPTURE_NO_NUL;
	if (size) {
		map = mmap(NULL, size, PROT_READ | PROT_WRITE,
		           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (map == MAP_FAILED)
			return error_sys(err, errno, "memory of a capture");
		c->map = map;
		c->ring = c->map + limits->head;
	}
	*ret_capture = take_ptr(&c);
	return 0;
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	if (c->map)
		munmap(c->map, c->limits.head + c->limits.tail);
	salient_free(c->salient);
	free(c);
	return NULL;
}

static size_t head_len(const struct capture *c)
{
	return c->counts.bytes < c->limits.head ? (size_t)c->counts.bytes : c->limits.head;
}

static size_t tail_len(const struct capture *c)
{
	uint64_t behind = c->counts.bytes - head_len(c);

	return behind < c->limits.tail ? (size_t)behind : c->limits.tail;
}

static void ring_put(struct capture *c, const char *bytes, size_t n)
{
	size_t size = c->limits.tail, first;

	if (!size)
		return;
	if (n > size) { /* only the last bytes survive; they fill the ring from any place in it */
		bytes += n - size;
		n = size;
	}
	first = size - c->ring_at;
	if (first > n)
		first = n;
	memcpy(c->ring + c->ring_at, bytes, first);
	memcpy(c->ring, bytes + first, n - first);
	c->ring_at = (c->ring_at + n) % size;
}

/* Lines are looked for from the beginning on, which until now is all there. */
static void begin_salient(struct capture *c)
{
	struct iovec tail[2];

	c->overflowed = true;
	c->salient = salient_new(c->limits.middle);
	if (!c->salient)
		return;
	salient_feed(c->salient, c->map, head_len(c));
	capture_tail(c, tail);
	for (int i = 0; i < 2; i++)
		salient_feed(c->salient, tail[i].iov_base, tail[i].iov_len);
}

static void look_for_salient(struct capture *c, const void *bytes, size_t n)
{
	if (!c->limits.middle || !c->map)
		return;
	if (!c->overflowed && n > c->limits.head + c->limits.tail - (size_t)c->counts.bytes)
		begin_salient(c);
	if (c->salient)
		salient_feed(c->salient, bytes, n);
}

void capture_append(struct capture *c, const void *bytes, size_t n)
{
	const char *from = bytes;
	size_t have = head_len(c), room;
	struct count found = {0};

	if (!n)
		return;
	look_for_salient(c, bytes, n);
	count_bytes(bytes, n, &found);
	c->counts.chars += found.chars;
	c->counts.newlines += found.newlines;
	if (found.has_nul && c->counts.nul_at == CAPTURE_NO_NUL) {
		const char *nul = memchr(bytes, 0, n);

		c->counts.nul_at = c->counts.bytes + (uint64_t)(nul - from);
	}
	c->counts.bytes += n;

	room = c->limits.head - have;
	if (room) {
		if (room > n)
			room = n;
		memcpy(c->map + have, from, room);
		from += room;
		n -= room;
	}
	if (n)
		ring_put(c, from, n);
}

const struct capture_counts *capture_counts(const struct capture *c)
{
	return &c->counts;
}

uint64_t capture_omitted(const struct capture *c)
{
	return c->counts.bytes - head_len(c) - tail_len(c);
}

void capture_head(const struct capture *c, const char **ret_bytes, size_t *ret_n)
{
	*ret_bytes = c->map ? c->map : "";
	*ret_n = head_len(c);
}

void capture_tail(const struct capture *c, struct iovec ret_parts[2])
{
	size_t n = tail_len(c);

	memset(ret_parts, 0, 2 * sizeof(ret_parts[0]));
	if (n < c->limits.tail) { /* not yet wrapped */
		ret_parts[0] = (struct iovec){.iov_base = c->ring, .iov_len = n};
	} else if (n) {
		ret_parts[0] =
			(struct iovec){.iov_base = c->ring + c->ring_at, .iov_len = n - c->ring_at};
		ret_parts[1] = (struct iovec){.iov_base = c->ring, .iov_len = c->ring_at};
	}
}

size_t capture_tail_copy(const struct capture *c, void *ret_bytes, size_t size)
{
	struct iovec parts[2];
	size_t n = tail_len(c), skip = n > size ? n - size : 0;
	char *to = ret_bytes;

	capture_tail(c, parts);
	for (int i = 0; i < 2; i++) {
		size_t gone = skip < parts[i].iov_len ? skip : parts[i].iov_len;

		skip -= gone;
		if (parts[i].iov_len > gone)
			memcpy(to, (char *)parts[i].iov_base + gone, parts[i].iov_len - gone);
		to += parts[i].iov_len - gone;
	}
	return (size_t)(to - (char *)ret_bytes);
}

void capture_put_middle(const struct capture *c, struct buffer *into)
{
	if (c->salient)
		salient_put(c->salient, into);
}

int capture_copy(const struct capture *c, struct capture_snapshot *ret_snapshot, struct error *err)
{
	scoped(buffer_donep) struct buffer middle = {0};
	struct capture_snapshot s = {
		.counts = c->counts, .head_len = head_len(c), .tail_len = tail_len(c)};

	s.data = malloc(s.head_len + s.tail_len + 1);
	if (!s.data)
		return error_sys(err, ENOMEM, "copy of a capture");
	if (s.head_len)
		memcpy(s.data, c->map, s.head_len);
	capture_tail_copy(c, s.data + s.head_len, s.tail_len);
	s.data[s.head_len + s.tail_len] = 0;
	capture_put_middle(c, &middle);
	s.middle_len = middle.len;
	s.middle = middle.len > 0 ? buffer_take(&middle) : NULL;
	if (!s.middle) /* without memory the view does without them */
		s.middle_len = 0;
	*ret_snapshot = s;
	return 0;
}
