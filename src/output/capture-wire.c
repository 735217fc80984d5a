/*
 * A snapshot on its way to another process: a header of fixed size, the head, the tail, and the
 * lines between that matter.
 *
 * Writer and reader are the same binary on the same machine, so numbers travel as they lie in
 * memory. The reader still believes nothing: the writer may be an older nacre that was left
 * running, or a broken one, and the sizes are what memory is allocated by.
 */
#include "output/capture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "output/salient.h"

static const char wire_magic[8] = {'n', 'a', 'c', 'r', 'e', 'c', 'a', 'p'};

enum { WIRE_VERSION = 2 };

struct wire_header {
	char magic[8];
	uint32_t version;
	uint32_t size; /* of this header */
	struct capture_counts counts;
	uint64_t head_len;
	uint64_t tail_len;
	uint64_t middle_len;
};
_Static_assert(sizeof(struct wire_header) == CAPTURE_HEADER_MAX, "the header has no padding");

static int write_all(int fd, struct iovec *parts, size_t n, struct error *err)
{
	ssize_t done;

	while (n) {
		if (!parts->iov_len) {
			parts++;
			n--;
			continue;
		}
		done = writev(fd, parts, (int)n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return error_sys(err, errno, "write of a capture");
		for (size_t left = (size_t)done; left && n;) {
			size_t step = left < parts->iov_len ? left : parts->iov_len;

			parts->iov_base = (char *)parts->iov_base + step;
			parts->iov_len -= step;
			left -= step;
			if (!parts->iov_len) {
				parts++;
				n--;
			}
		}
	}
	return 0;
}

enum { PARTS = 5, MIDDLE_MAX = 4 * SALIENT_KEPT_MAX };

/* The parts of a record: its header, the head, the tail in two, and the lines between. */
static void fill_parts(const struct capture *c, struct wire_header *h, struct buffer *middle,
                       struct iovec parts[PARTS])
{
	const char *head;
	size_t head_len;

	capture_head(c, &head, &head_len);
	capture_tail(c, parts + 2);
	*h = (struct wire_header){.version = WIRE_VERSION, .size = sizeof(*h)};
	memcpy(h->magic, wire_magic, sizeof(h->magic));
	h->counts = *capture_counts(c);
	h->head_len = head_len;
	h->tail_len = parts[2].iov_len + parts[3].iov_len;
	capture_put_middle(c, middle);
	if (buffer_error(middle) < 0)
		buffer_clear(middle);
	h->middle_len = middle->len;
	parts[4] = (struct iovec){.iov_base = middle->data, .iov_len = middle->len};
	parts[0] = (struct iovec){.iov_base = h, .iov_len = sizeof(*h)};
	parts[1] = (struct iovec){.iov_base = (void *)(uintptr_t)head, .iov_len = head_len};
}

int capture_write(const struct capture *c, int fd, struct error *err)
{
	scoped(buffer_donep) struct buffer middle = {.max = MIDDLE_MAX};
	struct wire_header h;
	struct iovec parts[PARTS];

	fill_parts(c, &h, &middle, parts);
	return write_all(fd, parts, PARTS, err);
}

void capture_put(const struct capture *c, struct buffer *into)
{
	scoped(buffer_donep) struct buffer middle = {.max = MIDDLE_MAX};
	struct wire_header h;
	struct iovec parts[PARTS];

	fill_parts(c, &h, &middle, parts);
	for (int i = 0; i < PARTS; i++)
		buffer_append(into, parts[i].iov_base, parts[i].iov_len);
}

/* Where a record comes from: a descriptor, or memory. */
struct source {
	int fd; /* -1: memory */
	const char *at, *end;
};

static ssize_t read_some(struct source *s, void *into, size_t n)
{
	size_t left = (size_t)(s->end - s->at);

	if (!s->at)
		return read(s->fd, into, n);
	if (n > left)
		n = left;
	memcpy(into, s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static int read_all(struct source *s, void *bytes, size_t n, struct error *err)
{
	char *to = bytes;
	ssize_t got;

	while (n) {
		got = read_some(s, to, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err, errno, "read of a capture");
		if (!got)
			return error_set(err, ERROR_SYSTEM, EBADMSG, "a capture ends too early");
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

static const char *header_fault(const struct wire_header *h, size_t max_kept)
{
	const struct capture_counts *k = &h->counts;

	if (memcmp(h->magic, wire_magic, sizeof(h->magic)) != 0)
		return "is not a capture";
	if (h->version != WIRE_VERSION || h->size != sizeof(*h))
		return "has another version";
	if (h->head_len > max_kept || h->tail_len > max_kept - h->head_len)
		return "keeps too much";
	if (h->head_len + h->tail_len > k->bytes)
		return "keeps more than there was";
	if (h->middle_len > MIDDLE_MAX)
		return "keeps too many lines";
	if (k->chars > k->bytes || k->newlines > k->chars)
		return "counts wrong";
	if (k->nul_at != CAPTURE_NO_NUL && k->nul_at >= k->bytes)
		return "has a NUL behind its end";
	return NULL;
}

static int read_record(struct source *from, size_t max_kept, struct capture_snapshot *ret_snapshot,
                       struct error *err)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	struct wire_header h;
	const char *fault;
	int r;

	r = read_all(from, &h, sizeof(h), err);
	if (r < 0)
		return r;
	fault = header_fault(&h, max_kept < PTRDIFF_MAX ? max_kept : PTRDIFF_MAX);
	if (fault)
		return error_set(err, ERROR_SYSTEM, EBADMSG, "a capture record %s", fault);
	s.counts = h.counts;
	s.head_len = (size_t)h.head_len;
	s.tail_len = (size_t)h.tail_len;
	s.data = malloc(s.head_len + s.tail_len + 1);
	if (!s.data)
		return error_sys(err, ENOMEM, "capture");
	r = read_all(from, s.data, s.head_len + s.tail_len, err);
	if (r < 0)
		return r;
	s.data[s.head_len + s.tail_len] = 0;
	if (h.middle_len > 0) {
		s.middle_len = (size_t)h.middle_len;
		s.middle = malloc(s.middle_len);
		if (!s.middle)
			return error_sys(err, ENOMEM, "capture");
		r = read_all(from, s.middle, s.middle_len, err);
		if (r < 0)
			return r;
	}
	*ret_snapshot = s;
	/* Moved: the cleanup finds nothing. NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores) */
	s = (struct capture_snapshot){0};
	return 0;
}

int capture_read(int fd, size_t max_kept, struct capture_snapshot *ret_snapshot, struct error *err)
{
	struct source from = {.fd = fd};

	return read_record(&from, max_kept, ret_snapshot, err);
}

int capture_take(const char **at, const char *end, size_t max_kept,
                 struct capture_snapshot *ret_snapshot, struct error *err)
{
	struct source from = {.fd = -1, .at = *at, .end = end};
	int r = read_record(&from, max_kept, ret_snapshot, err);

	*at = from.at;
	return r;
}

void capture_snapshot_done(struct capture_snapshot *s)
{
	free(s->data);
	free(s->middle);
	*s = (struct capture_snapshot){0};
}

uint64_t capture_snapshot_omitted(const struct capture_snapshot *s)
{
	return s->counts.bytes - s->head_len - s->tail_len;
}
