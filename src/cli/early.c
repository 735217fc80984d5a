#include "cli/early.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "engine/result.h"
#include "output/binary.h"
#include "output/clean.h"

#define SLACK   ((size_t)64 << 10) /* for escape sequences and rewritten lines */
#define PIECE   ((size_t)4096)     /* a pipe that is writable takes that without waiting */
#define RAW_MAX ((size_t)2 << 20)

void early_init(struct early *e, const struct view_limits *view, enum output_mode mode)
{
	*e = (struct early){.view = *view, .mode = mode};
	for (int i = 0; i < 2; i++)
		e->streams[i] = (struct early_stream){.file = -1, .raw.max = RAW_MAX};
}

void early_done(struct early *e)
{
	for (int i = 0; i < 2; i++) {
		fd_close(take_fd(&e->streams[i].file));
		buffer_done(&e->streams[i].raw);
		buffer_done(&e->streams[i].text);
	}
}

/* Whether the file had more than was known. */
static bool read_more(struct early_stream *s, size_t most)
{
	char bytes[16384];
	size_t before = s->raw.len;
	ssize_t n;

	while (s->raw.len < most &&
	       (n = pread(s->file, bytes, sizeof(bytes), (off_t)s->raw.len)) > 0)
		buffer_append(&s->raw, bytes, (size_t)n);
	return s->raw.len > before;
}

static size_t whole_lines(const char *text, size_t n)
{
	const char *last = n > 0 ? memrchr(text, '\n', n) : NULL;

	return last ? (size_t)(last - text) + 1 : 0;
}

/*
 * The text of all whole lines so far, up to the limit. It is made anew from the beginning, since a
 * sequence may reach across lines; a text that is no longer what was written ends it all.
 */
static void clean_lines(struct early *e, struct early_stream *s, size_t limit)
{
	const struct clean_options options = {.keep_escapes = e->view.keep_escapes,
	                                      .show_controls = e->view.show_controls,
	                                      .ends_mid = true};
	scoped(buffer_donep) struct buffer text = {0};
	struct clean_facts facts;
	size_t n = whole_lines(s->raw.data, s->raw.len);
	const char *type;

	s->closed = binary_detect(s->raw.data, s->raw.len, &type); /* it is described, not shown */
	if (n == 0 || s->closed)
		return;
	if (buffer_error(&s->raw) < 0 || clean_text(s->raw.data, n, &options, &text, &facts) < 0 ||
	    text.len < s->text.len ||
	    memcmp(buffer_str(&text), buffer_str(&s->text), s->text.len) != 0) {
		s->closed = true;
		return;
	}
	s->closed = text.len > limit;
	n = whole_lines(text.data, s->closed ? limit : text.len);
	if (n > s->text.len)
		buffer_append(&s->text, text.data + s->text.len, n - s->text.len);
}

/* As much as is taken without waiting: a reader who sleeps must not keep us from signals. */
static int write_some(struct early_stream *s, int to)
{
	struct pollfd p = {.fd = to, .events = POLLOUT};

	while (s->written < s->text.len) {
		size_t n = s->text.len - s->written;
		ssize_t taken;

		if (poll(&p, 1, 0) != 1)
			return 0;
		taken = write(to, s->text.data + s->written, n < PIECE ? n : PIECE);
		if (taken < 0)
			return errno == EINTR || errno == EAGAIN ? 0 : -errno;
		s->written += (size_t)taken;
	}
	return 0;
}

int early_look(struct early *e, int task_dir_fd)
{
	static const char *const names[2] = {"out", "err"};
	size_t limit = view_sure_beginning(&e->view);
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		struct early_stream *s = &e->streams[i];
		int to = i == 0 || e->mode == OUTPUT_STDERR ? STDOUT_FILENO : STDERR_FILENO;

		if (!output_mode_shows(e->mode, i) || limit == 0)
			continue;
		if (s->file < 0 && task_dir_fd >= 0)
			s->file = fd_open_regular(task_dir_fd, names[i]);
		if (s->file >= 0 && !s->closed && read_more(s, limit + SLACK))
			clean_lines(e, s, limit);
		r = write_some(s, to);
	}
	return r;
}

size_t early_written(const struct early *e, int i, const char *text, size_t n)
{
	const struct early_stream *s = &e->streams[i];
	size_t same = 0;

	while (same < s->written && same < n && s->text.data[same] == text[same])
		same++;
	return same;
}
