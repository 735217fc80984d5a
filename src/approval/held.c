#include "approval/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "approval/approval.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/path.h"

#define DIFFERENCE_MAX ((size_t)32 << 10) /* what is longer nobody reads */

/* How many bytes both begin with, in whole lines. */
static size_t same_head(const struct held_text *a, const struct held_text *b)
{
	size_t lines = 0;

	for (size_t i = 0; i < a->n && i < b->n && a->bytes[i] == b->bytes[i]; i++)
		if (a->bytes[i] == '\n')
			lines = i + 1;
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0 ? a->n : lines;
}

static bool begins_line(const struct held_text *t, size_t at)
{
	return at == 0 || t->bytes[at - 1] == '\n';
}

/* The same for the end of both, of what comes after HEAD. */
static size_t same_tail(const struct held_text *a, const struct held_text *b, size_t head)
{
	size_t lines = 0;

	for (size_t i = 1; head + i <= a->n && head + i <= b->n; i++) {
		if (a->bytes[a->n - i] != b->bytes[b->n - i])
			break;
		if (begins_line(a, a->n - i) && begins_line(b, b->n - i))
			lines = i;
	}
	return lines;
}

/* Tabs, of which a configuration is full, as spaces. */
static void put_line(const char *bytes, size_t n, struct buffer *out)
{
	while (n > 0) {
		const char *tab = memchr(bytes, '\t', n);
		size_t plain = tab ? (size_t)(tab - bytes) : n;

		approval_escape(bytes, plain, false, out);
		if (tab)
			buffer_puts(out, "    ");
		plain += tab != NULL;
		bytes += plain;
		n -= plain;
	}
}

static void put_lines(char sign, const char *bytes, size_t n, struct buffer *out)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		size_t line = end ? (size_t)(end - bytes) : n;

		buffer_putc(out, '\n');
		buffer_putc(out, sign);
		put_line(bytes, line, out);
		n -= end ? line + 1 : line;
		bytes += line + 1;
	}
}

void held_put_difference(const struct held_text *was, const struct held_text *now,
                         struct buffer *out)
{
	size_t head = same_head(was, now), tail = same_tail(was, now, head), begin = out->len;

	put_lines('-', was->bytes + head, was->n - head - tail, out);
	put_lines('+', now->bytes + head, now->n - head - tail, out);
	if (buffer_error(out) == 0 && out->len - begin > DIFFERENCE_MAX) {
		out->len = begin + DIFFERENCE_MAX;
		buffer_puts(out, "\n[the rest is not shown]");
	}
}

static const char *as_digits(struct arena *arena, const struct held_text *t)
{
	char *digits = arena_alloc(arena, 2 * t->n + 1);

	if (digits)
		hex_write(t->bytes, t->n, digits);
	return digits;
}

int held_fill(struct approval *a, const struct held_file *f, struct arena *arena)
{
	static const char *const no_env[] = {NULL};
	static const struct held_text nothing = {"", 0};
	scoped(buffer_donep) struct buffer words = {0};

	if (f->now.n > HELD_BYTES_MAX || (f->was && f->was->n > HELD_BYTES_MAX))
		return -E2BIG;
	buffer_puts(&words, "put ");
	approval_escape(f->path, strlen(f->path), false, &words);
	buffer_puts(&words, " in place, which a command has written:");
	held_put_difference(f->was ? f->was : &nothing, &f->now, &words);
	if (buffer_error(&words) < 0)
		return -ENOMEM;
	a->command = arena_strndup(arena, words.data, words.len);
	a->workspace = a->cwd = approval_escaped(arena, f->workspace, false);
	a->env = no_env;
	a->reason = "the path is protected: git, editors or shells would run what it names";
	a->held = f->path;
	a->held_in = f->workspace;
	a->held_now = as_digits(arena, &f->now);
	a->held_was = f->was ? as_digits(arena, f->was) : NULL;
	a->held_runs = f->runs;
	if (!a->command || !a->workspace || !a->held_now || (f->was && !a->held_was))
		return -ENOMEM;
	return object_digest_strings(
		(const char *const[]){"held", f->workspace, f->path, a->held_now, NULL},
		&a->object.parts[OBJECT_ARGV]);
}

/* Text of the approval's own file; NULL: there is no memory, or it is damaged. */
static char *bytes_of(const char *digits, size_t *ret_n)
{
	size_t n = strlen(digits) / 2;
	char *bytes = n <= HELD_BYTES_MAX ? malloc(n + 1) : NULL;

	if (bytes && !hex_read(digits, bytes, n)) {
		free(bytes);
		return NULL;
	}
	*ret_n = n;
	return bytes;
}

/* The directory that the file is in. One that is missing is made, where nothing was there. */
static int open_parent(int workspace_fd, const char *path, bool make)
{
	char part[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return fcntl(workspace_fd, F_DUPFD_CLOEXEC, 3);
	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (const char *at = strchr(path, '/'); make && at; at = strchr(at + 1, '/')) {
		const char *before = memrchr(path, '/', (size_t)(at - path));
		scoped(fd_closep) int above = -1;

		snprintf(part, sizeof(part), "%.*s", before ? (int)(before - path) : 1,
		         before ? path : ".");
		above = path_open_beneath(workspace_fd, part, O_PATH | O_DIRECTORY);
		snprintf(part, sizeof(part), "%.*s", (int)(at - (before ? before + 1 : path)),
		         before ? before + 1 : path);
		if (above < 0 || (mkdirat(above, part, 0777) < 0 && errno != EEXIST))
			return above < 0 ? above : -errno;
	}
	snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
	return path_open_beneath(workspace_fd, part, O_PATH | O_DIRECTORY);
}

/* Into the same file: what is mounted elsewhere on it stays. */
static int write_over(int fd, const struct approval *a, const char *now, size_t n)
{
	scoped(buffer_donep) struct buffer is = {.max = HELD_BYTES_MAX};
	scoped(freep) char *was = NULL;
	size_t was_n = 0;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ESTALE;
	r = fd_read_all(fd, &is);
	if (r < 0)
		return r == -E2BIG ? -ESTALE : r;
	was = bytes_of(a->held_was, &was_n);
	if (!was || is.len != was_n || memcmp(buffer_str(&is), was, was_n) != 0)
		return -ESTALE;
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = fd_write_all(fd, now, n);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

static int put(int parent, const struct approval *a)
{
	const char *slash = strrchr(a->held, '/'), *name = slash ? slash + 1 : a->held;
	const int always = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	scoped(freep) char *now = NULL;
	scoped(fd_closep) int fd = -1;
	size_t n = 0;

	now = bytes_of(a->held_now, &n);
	if (!now)
		return -EINVAL;
	if (a->held_was) {
		fd = openat(parent, name, O_RDWR | always);
		return fd < 0 ? (errno == ENOENT || errno == ELOOP ? -ESTALE : -errno)
		              : write_over(fd, a, now, n);
	}
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | always, a->held_runs ? 0777 : 0666);
	if (fd < 0)
		return errno == EEXIST ? -ESTALE : -errno;
	return fd_write_all(fd, now, n);
}

int held_put_in_place(const struct approval *a, struct error *err)
{
	scoped(fd_closep) int workspace_fd =
		open(a->held_in, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	scoped(fd_closep) int parent = -1;
	int r = workspace_fd < 0 ? -errno : 0;

	if (r == 0) {
		parent = open_parent(workspace_fd, a->held, !a->held_was);
		r = parent < 0 ? parent : put(parent, a);
	}
	if (r == -ESTALE)
		return error_set(err, ERROR_INPUT, ESTALE,
		                 "'%.100s' is not what it was when this was asked: it stays as it "
		                 "is. Let the command run again",
		                 a->held);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "'%.100s' could not be put in place: %s",
	                         a->held, strerrordesc_np(-r))
	             : 0;
}
