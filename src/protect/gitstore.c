/*
 * Where a repository keeps its objects: one by one in files, many in packs, and in the directories
 * that info/alternates names. All of it may change while it is read, so it is never mapped, and
 * every offset and length is taken for a guess. The hash decides at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "protect/git.h"
#include "protect/objects.h"

#define PLACES_MAX 8
#define PACKS_MAX  128
#define DEPTH_MAX  64 /* deltas of deltas: git makes 50 */
#define DELTA_MAX  ((size_t)256 << 10)
#define HEADER     8    /* bytes before the table of an index */
#define FANOUT     1024 /* bytes of that table */
#define FAR_OFFSET 0x80000000u
#define OFS_DELTA  6 /* kinds that only packs have */
#define REF_DELTA  7

struct pack {
	int index, data; /* data -1: not opened yet */
	int place;
	uint32_t count;
	char name[NAME_MAX + 1]; /* of the data */
};

struct git_store {
	int places[PLACES_MAX];
	size_t place_count;
	struct pack packs[PACKS_MAX];
	size_t pack_count;
	bool listed; /* the packs are known */
};

static void add_place(struct git_store *s, int at, const char *path)
{
	int fd = s->place_count < PLACES_MAX ? openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC)
	                                     : -1;

	if (fd >= 0)
		s->places[s->place_count++] = fd;
}

/* Each line is a directory, relative to the one that names it. */
static void add_alternates(struct git_store *s, int place)
{
	scoped(buffer_donep) struct buffer text = {.max = 65536};
	scoped(fd_closep) int fd = fd_open_regular(place, "info/alternates");
	char *rest;

	if (fd < 0 || fd_read_all(fd, &text) < 0 || text.len == 0)
		return;
	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		add_place(s, place, line);
}

int git_store_new(int git_fd, struct git_store **ret_store)
{
	scoped(git_store_freep) struct git_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	add_place(s, git_fd, "objects");
	if (s->place_count == 0)
		return -ENOENT;
	for (size_t i = 0; i < s->place_count; i++) /* which may grow */
		add_alternates(s, s->places[i]);
	*ret_store = take_ptr(&s);
	return 0;
}

struct git_store *git_store_free(struct git_store *s)
{
	for (size_t i = 0; s && i < s->place_count; i++)
		fd_close(s->places[i]);
	for (size_t i = 0; s && i < s->pack_count; i++) {
		fd_close(s->packs[i].index);
		fd_close(s->packs[i].data);
	}
	free(s);
	return NULL;
}

static bool read_at(int fd, void *into, size_t n, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, into, n, (off_t)offset) == (ssize_t)n;
}

static uint32_t number_of(const uint8_t b[4])
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool read_number(int fd, uint64_t offset, uint32_t *ret)
{
	uint8_t bytes[4];

	if (!read_at(fd, bytes, sizeof(bytes), offset))
		return false;
	*ret = number_of(bytes);
	return true;
}

static void add_pack(struct git_store *s, int place, int directory, const char *name)
{
	static const uint8_t version_2[HEADER] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
	size_t n = strlen(name);
	uint8_t header[HEADER];
	struct pack p = {.data = -1, .place = place};

	if (n < 5 || n > NAME_MAX - 8 || strcmp(name + n - 4, ".idx") != 0 ||
	    s->pack_count == PACKS_MAX)
		return;
	p.index = fd_open_regular(directory, name);
	if (p.index < 0)
		return;
	if (!read_at(p.index, header, sizeof(header), 0) ||
	    memcmp(header, version_2, sizeof(header)) != 0 ||
	    !read_number(p.index, HEADER + FANOUT - 4, &p.count)) {
		fd_close(p.index);
		return;
	}
	snprintf(p.name, sizeof(p.name), "pack/%.*s.pack", (int)(n - 4) % 240, name);
	s->packs[s->pack_count++] = p;
}

static void list_packs(struct git_store *s)
{
	s->listed = true;
	for (size_t i = 0; i < s->place_count; i++) {
		int fd = openat(s->places[i], "pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		struct dirent *d;

		if (!dir) {
			fd_close(fd);
			continue;
		}
		while ((d = readdir(dir)) && s->pack_count < PACKS_MAX)
			add_pack(s, (int)i, fd, d->d_name);
		closedir(dir);
	}
}

/* Where the object begins in the pack's data. */
static bool find_offset(const struct pack *p, const struct git_id *id, uint64_t *ret_offset)
{
	uint32_t low = 0, high, offset, far[2];
	uint64_t names = HEADER + FANOUT, offsets = names + (uint64_t)p->count * (id->n + 4u);

	if ((id->bytes[0] > 0 && !read_number(p->index, HEADER + 4u * (id->bytes[0] - 1u), &low)) ||
	    !read_number(p->index, HEADER + 4u * id->bytes[0], &high) || high > p->count)
		return false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint8_t name[GIT_ID_MAX];
		int order;

		if (!read_at(p->index, name, id->n, names + (uint64_t)middle * id->n))
			return false;
		order = memcmp(id->bytes, name, id->n);
		if (order == 0) {
			if (!read_number(p->index, offsets + 4ull * middle, &offset))
				return false;
			*ret_offset = offset;
			if (!(offset & FAR_OFFSET))
				return true;
			offsets += 4ull * p->count + 8ull * (offset & ~FAR_OFFSET);
			if (!read_number(p->index, offsets, &far[0]) ||
			    !read_number(p->index, offsets + 4, &far[1]))
				return false;
			*ret_offset = (uint64_t)far[0] << 32 | far[1];
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* The stream that begins at OFFSET, of SIZE bytes when it is unpacked. */
static int inflate_at(int fd, uint64_t offset, size_t size, struct buffer *into)
{
	z_stream z = {0};
	uint8_t in[8192];
	char *out = buffer_reserve(into, size + 1);
	int r = Z_OK;

	if (!out || inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)size + 1; /* one more, so that the end is seen */
	while (r == Z_OK && z.avail_out > 0) {
		ssize_t n = offset > INT64_MAX ? -1 : pread(fd, in, sizeof(in), (off_t)offset);

		if (n <= 0)
			break;
		offset += (uint64_t)n;
		z.next_in = in;
		z.avail_in = (uInt)n;
		r = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	if (r != Z_STREAM_END || z.avail_out != 1)
		return -EBADMSG;
	into->len += size;
	return 0;
}

struct entry { /* of a pack */
	int kind;
	size_t size;
	uint64_t data; /* where its stream begins */
	uint64_t base; /* of a delta, in the same pack */
	struct git_id base_id;
};

static bool entry_read(int fd, uint64_t offset, size_t id_bytes, struct entry *e)
{
	uint8_t b[48 + GIT_ID_MAX];
	ssize_t n = offset > INT64_MAX ? -1 : pread(fd, b, sizeof(b), (off_t)offset);
	size_t at = 0;
	int shift = 4;

	if (n < 2)
		return false;
	memset(b + n, 0, sizeof(b) - (size_t)n); /* what ends too early is no number */
	*e = (struct entry){.kind = b[0] >> 4 & 7, .size = b[0] & 0xf};
	while (b[at++] & 0x80) {
		if (shift > 32)
			return false;
		e->size |= (size_t)(b[at] & 0x7f) << shift;
		shift += 7;
	}
	if (e->kind == OFS_DELTA) {
		uint64_t back = b[at] & 0x7f;

		for (int i = 0; b[at++] & 0x80; i++) {
			if (i == 8)
				return false;
			back = (back + 1) << 7 | (b[at] & 0x7f);
		}
		if (back == 0 || back >= offset)
			return false;
		e->base = offset - back;
	} else if (e->kind == REF_DELTA) {
		e->base_id.n = (uint8_t)id_bytes;
		memcpy(e->base_id.bytes, b + at, id_bytes);
		at += id_bytes;
	}
	e->data = offset + at;
	return e->size <= GIT_OBJECT_MAX;
}

static int read_object(struct git_store *s, const struct git_id *id, int depth,
                       enum git_kind *ret_kind, struct buffer *into);

static int read_packed(struct git_store *s, const struct pack *p, uint64_t offset, size_t id_bytes,
                       int depth, enum git_kind *ret_kind, struct buffer *into)
{
	scoped(buffer_donep) struct buffer delta = {.max = DELTA_MAX + 1};
	scoped(buffer_donep) struct buffer base = {.max = GIT_OBJECT_MAX + 1};
	struct entry e;
	int r;

	if (depth > DEPTH_MAX || !entry_read(p->data, offset, id_bytes, &e))
		return -EBADMSG;
	if (e.kind >= GIT_COMMIT && e.kind <= GIT_TAG) {
		*ret_kind = (enum git_kind)e.kind;
		return inflate_at(p->data, e.data, e.size, into);
	}
	if (e.kind != OFS_DELTA && e.kind != REF_DELTA)
		return -EBADMSG;
	r = inflate_at(p->data, e.data, e.size, &delta);
	if (r == 0)
		r = e.kind == OFS_DELTA
		            ? read_packed(s, p, e.base, id_bytes, depth + 1, ret_kind, &base)
		            : read_object(s, &e.base_id, depth + 1, ret_kind, &base);
	return r < 0 ? r
	             : git_delta_apply(&(struct git_text){buffer_str(&base), base.len},
	                               &(struct git_text){buffer_str(&delta), delta.len}, into);
}

static int read_from_packs(struct git_store *s, const struct git_id *id, int depth,
                           enum git_kind *ret_kind, struct buffer *into)
{
	if (!s->listed)
		list_packs(s);
	for (size_t i = 0; i < s->pack_count; i++) {
		struct pack *p = &s->packs[i];
		uint64_t offset;

		if (!find_offset(p, id, &offset))
			continue;
		if (p->data < 0)
			p->data = fd_open_regular(s->places[p->place], p->name);
		buffer_clear(into);
		if (p->data >= 0 && read_packed(s, p, offset, id->n, depth, ret_kind, into) == 0)
			return 0;
	}
	return -ENOENT;
}

static int read_loose(const struct git_store *s, const struct git_id *id, enum git_kind *ret_kind,
                      struct buffer *into)
{
	char digits[2 * GIT_ID_MAX + 1], name[2 * GIT_ID_MAX + 2];

	git_id_write(id, digits);
	snprintf(name, sizeof(name), "%.2s/%s", digits, digits + 2);
	for (size_t i = 0; i < s->place_count; i++) {
		scoped(buffer_donep) struct buffer packed = {.max = GIT_OBJECT_MAX};
		scoped(fd_closep) int fd = fd_open_regular(s->places[i], name);

		buffer_clear(into);
		if (fd >= 0 && fd_read_all(fd, &packed) == 0 &&
		    git_loose_parse(&(struct git_text){buffer_str(&packed), packed.len}, ret_kind,
		                    into) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Not verified: it may be the base of a delta, and the whole is. */
static int read_object(struct git_store *s, const struct git_id *id, int depth,
                       enum git_kind *ret_kind, struct buffer *into)
{
	return read_from_packs(s, id, depth, ret_kind, into) == 0 ||
	                       read_loose(s, id, ret_kind, into) == 0
	               ? 0
	               : -ENOENT;
}

int git_store_read(struct git_store *s, const struct git_id *id, enum git_kind *ret_kind,
                   struct buffer *into)
{
	struct git_id is;
	enum git_kind kind = GIT_BLOB;

	/* Packs that are damaged must not hide an object that is there, and the reverse. */
	for (int loose = 0; loose < 2; loose++) {
		buffer_clear(into);
		if ((loose ? read_loose(s, id, &kind, into)
		           : read_from_packs(s, id, 0, &kind, into)) < 0)
			continue;
		git_id_of(kind, buffer_str(into), into->len, id->n, &is);
		if (git_id_is(&is, id)) {
			*ret_kind = kind;
			return 0;
		}
	}
	return -ENOENT;
}
