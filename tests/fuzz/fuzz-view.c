/*
 * Any bytes, through a capture of any size, seen in any style. The first eight bytes choose limits,
 * style and chunk size, the rest is the output of a command. Whatever comes, the view is valid
 * UTF-8 and within its limit; a trap is a finding.
 *
 * The same bytes are then read as a capture record, which must be refused or be sound.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "output/capture.h"
#include "output/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		__builtin_trap();
}

static void check(const struct view *v, const struct view_limits *l)
{
	must(strlen(v->text) == v->len);
	must(utf8_valid_prefix(v->text, v->len) == v->len);
	must(v->truncated == (v->notice != NULL));
	if (v->binary)
		return;
	if (l->style == VIEW_HALVES || l->style == VIEW_TAIL_CHARS)
		must(v->shown_chars <= l->limit);
	if (l->style == VIEW_BYTES || l->style == VIEW_EDGES || l->style == VIEW_SALIENT)
		must(v->shown_bytes <= l->limit);
	if (l->style == VIEW_SALIENT && v->total_lines > 0)
		must(v->len <= l->limit);
	if (!l->keep_escapes)
		must(!memchr(v->text, 0x1b, v->len) && !memchr(v->text, '\r', v->len));
}

static void look(const struct capture_snapshot *s, const struct view_limits *l)
{
	scoped(view_donep) struct view v = {0};

	if (view_make(s, l, NULL, &v, NULL) == 0)
		check(&v, l);
}

static void read_as_record(const uint8_t *data, size_t size, const struct view_limits *l)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(fd_closep) int fd = memfd_create("record", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, data, size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return;
	if (capture_read(fd, 4096, &s, NULL) < 0)
		return;
	must(s.head_len + s.tail_len <= 4096);
	look(&s, l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(capture_freep) struct capture *c = NULL;
	struct capture_limits within;
	struct view_limits l;
	size_t chunk, part;

	if (size < 8 || size > 1 << 16)
		return 0;
	within = (struct capture_limits){.head = (size_t)data[0] * 8, .tail = (size_t)data[1] * 8,
	                                .middle = (size_t)(data[5] >> 2) * 64};
	l = (struct view_limits){.style = (enum view_style)(data[2] % VIEW_STYLE_MAX),
	                         .limit = 1 + data[3] * 4u,
	                         .edge = data[4],
	                         .lines = data[7],
	                         .keep_escapes = data[5] & 1,
	                         .show_controls = data[5] & 2};
	chunk = 1 + data[6];
	read_as_record(data + 8, size - 8, &l);

	if (capture_new(&within, &c, NULL) < 0)
		return 0;
	for (size_t i = 8; i < size; i += part) {
		part = size - i < chunk ? size - i : chunk;
		capture_append(c, data + i, part);
	}
	if (capture_copy(c, &s, NULL) == 0)
		look(&s, &l);
	return 0;
}
