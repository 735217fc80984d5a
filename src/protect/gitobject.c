/*
 * The forms that git's objects have: names, zlib streams, deltas, trees, headers. Bytes in, bytes
 * out; any bytes may come.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include "base/buffer.h"
#include "base/hex.h"
#include "protect/git.h"
#include "protect/objects.h"
#include "protect/sha1.h"

#define HEADER_MAX 32 /* of a loose object: "commit 12345", and its end */

static const char *const kind_names[] = {
	[GIT_COMMIT] = "commit", [GIT_TREE] = "tree", [GIT_BLOB] = "blob", [GIT_TAG] = "tag"};

bool git_id_is(const struct git_id *a, const struct git_id *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

bool git_id_read(const char *digits, size_t n, struct git_id *ret_id)
{
	struct git_id id = {.n = (uint8_t)(n / 2)};
	char text[2 * GIT_ID_MAX + 1];

	if (n != 40 && n != 64)
		return false;
	memcpy(text, digits, n);
	text[n] = '\0';
	if (!hex_read(text, id.bytes, id.n))
		return false;
	*ret_id = id;
	return true;
}

void git_id_write(const struct git_id *id, char into[2 * GIT_ID_MAX + 1])
{
	hex_write(id->bytes, id->n, into);
}

void git_id_of(enum git_kind kind, const void *bytes, size_t n, size_t id_bytes,
               struct git_id *ret_id)
{
	char header[HEADER_MAX];
	size_t length = (size_t)snprintf(header, sizeof(header), "%s %zu", kind_names[kind], n) + 1;

	*ret_id = (struct git_id){.n = (uint8_t)id_bytes};
	if (id_bytes == SHA1_BYTES) {
		struct sha1 s;

		sha1_begin(&s);
		sha1_add(&s, header, length);
		sha1_add(&s, bytes, n);
		sha1_end(&s, ret_id->bytes);
	} else {
		crypto_hash_sha256_state s;

		(void)crypto_hash_sha256_init(&s);
		(void)crypto_hash_sha256_update(&s, (const unsigned char *)header, length);
		(void)crypto_hash_sha256_update(&s, bytes, n);
		(void)crypto_hash_sha256_final(&s, ret_id->bytes);
	}
}

int git_inflate(const struct git_text *packed, size_t max, struct buffer *into)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)packed->bytes,
	              .avail_in = (uInt)packed->n};
	int r = packed->n <= UINT32_MAX && inflateInit(&z) == Z_OK ? Z_OK : Z_MEM_ERROR;
	char part[16384];

	if (r != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = (Bytef *)part;
		z.avail_out = sizeof(part);
		r = inflate(&z, Z_NO_FLUSH);
		if (into->len + sizeof(part) - z.avail_out > max)
			r = Z_BUF_ERROR;
		else
			buffer_append(into, part, sizeof(part) - z.avail_out);
	} while (r == Z_OK && buffer_error(into) == 0 && (z.avail_in > 0 || z.avail_out == 0));
	inflateEnd(&z);
	return buffer_error(into) < 0 ? buffer_error(into) : r == Z_STREAM_END ? 0 : -EBADMSG;
}

int git_loose_parse(const struct git_text *packed, enum git_kind *ret_kind, struct buffer *into)
{
	char header[HEADER_MAX];
	size_t length;
	int r = git_inflate(packed, GIT_OBJECT_MAX + HEADER_MAX, into);

	if (r < 0)
		return r;
	for (int kind = GIT_COMMIT; kind <= GIT_TAG; kind++) {
		size_t n = strlen(kind_names[kind]);
		const char *end = memchr(buffer_str(into), 0, into->len);

		if (!end || strncmp(into->data, kind_names[kind], n) != 0 || into->data[n] != ' ')
			continue;
		length = (size_t)(end - into->data) + 1;
		snprintf(header, sizeof(header), "%s %zu", kind_names[kind], into->len - length);
		if (strcmp(header, into->data) != 0)
			return -EBADMSG;
		memmove(into->data, into->data + length, into->len - length);
		into->len -= length;
		*ret_kind = (enum git_kind)kind;
		return 0;
	}
	return -EBADMSG;
}

/* A number of a delta's beginning; false: there is none. */
static bool delta_number(const struct git_text *d, size_t *at, size_t *ret_number)
{
	size_t number = 0;

	for (int shift = 0; *at < d->n && shift < 35; shift += 7) {
		uint8_t byte = (uint8_t)d->bytes[(*at)++];

		number |= (size_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

/* Some of the four or three bytes of a number are there, the lowest first. */
static bool delta_part(const struct git_text *d, size_t *at, unsigned which, size_t *ret_number)
{
	*ret_number = 0;
	for (int shift = 0; which; which >>= 1, shift += 8)
		if (which & 1) {
			if (*at >= d->n)
				return false;
			*ret_number |= (size_t)(uint8_t)d->bytes[(*at)++] << shift;
		}
	return true;
}

int git_delta_apply(const struct git_text *base, const struct git_text *delta, struct buffer *into)
{
	size_t at = 0, from, to;

	if (!delta_number(delta, &at, &from) || !delta_number(delta, &at, &to) || from != base->n ||
	    to > GIT_OBJECT_MAX)
		return -EBADMSG;
	while (at < delta->n) {
		uint8_t order = (uint8_t)delta->bytes[at++];
		size_t offset, n;

		if (order & 0x80) { /* a piece of the base */
			if (!delta_part(delta, &at, order & 0xf, &offset) ||
			    !delta_part(delta, &at, order >> 4 & 7, &n))
				return -EBADMSG;
			n = n ? n : 0x10000;
			if (offset > base->n || n > base->n - offset || n > to - into->len)
				return -EBADMSG;
			buffer_append(into, base->bytes + offset, n);
		} else { /* as many bytes as the order says */
			if (order == 0 || order > delta->n - at || order > to - into->len)
				return -EBADMSG;
			buffer_append(into, delta->bytes + at, order);
			at += order;
		}
		if (buffer_error(into) < 0)
			return buffer_error(into);
	}
	return into->len == to ? 0 : -EBADMSG;
}

bool git_header_next(const struct git_text *object, const char *word, size_t id_bytes, size_t *at,
                     struct git_id *ret_id)
{
	size_t n = strlen(word);

	while (*at < object->n && object->bytes[*at] != '\n') { /* an empty line ends the header */
		const char *line = object->bytes + *at, *end = memchr(line, '\n', object->n - *at);
		size_t length = end ? (size_t)(end - line) : object->n - *at;

		*at += length + (end != NULL);
		if (length == n + 2 * id_bytes && memcmp(line, word, n) == 0)
			return git_id_read(line + n, 2 * id_bytes, ret_id);
	}
	return false;
}

bool git_tree_find(const struct git_text *tree, const char *name, size_t n, size_t id_bytes,
                   unsigned *ret_mode, struct git_id *ret_id)
{
	for (size_t at = 0; at < tree->n;) {
		const char *entry = tree->bytes + at, *end = memchr(entry, 0, tree->n - at);
		unsigned mode = 0;
		size_t digits = 0, length;

		if (!end || tree->n - (size_t)(end - tree->bytes) - 1 < id_bytes)
			return false;
		for (; digits < 6 && entry[digits] >= '0' && entry[digits] <= '7'; digits++)
			mode = mode * 8 + (unsigned)(entry[digits] - '0');
		if (digits == 0 || entry[digits] != ' ')
			return false;
		length = (size_t)(end - entry) - digits - 1;
		at += (size_t)(end - entry) + 1 + id_bytes;
		if (length != n || memcmp(entry + digits + 1, name, n) != 0)
			continue;
		*ret_mode = mode;
		*ret_id = (struct git_id){.n = (uint8_t)id_bytes};
		memcpy(ret_id->bytes, end + 1, id_bytes);
		return true;
	}
	return false;
}
