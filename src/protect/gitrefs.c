/*
 * Git's names of commits: HEAD, the files below refs, packed-refs, the stash with its log, and the
 * HEADs of linked work trees. What is no regular file is not read, links are not followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "protect/refs.h"

#define DEPTH_MAX  16
#define PACKED_MAX ((size_t)4 << 20)
#define REF        "ref: "
#define SETTLED_NS 20000000
#define LINKS_MAX  5 /* as many as git follows */

struct walk {
	git_refs_visit *visit; /* NULL: only a look */
	void *context;
	size_t count;
	bool brief; /* files of refs are not looked at */
	struct git_look look;
	int64_t newest_ns; /* change of a file */
};

static void mix(uint64_t *look, uint64_t value)
{
	*look = (*look ^ value) * 0x100000001b3;
}

static int64_t time_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static void mix_file(struct walk *w, const char *name, const struct stat *st, bool is_ref)
{
	const uint64_t parts[] = {st->st_ino, (uint64_t)st->st_size,
	                          (uint64_t)time_of(&st->st_mtim), (uint64_t)time_of(&st->st_ctim)};
	uint64_t file = 0xcbf29ce484222325;

	for (; *name; name++)
		mix(&file, (uint8_t)*name);
	for (size_t i = 0; i < array_size(parts); i++)
		mix(&file, parts[i]);
	mix(&w->look.whole, file);
	if (!is_ref)
		mix(&w->look.brief, file);
	if (time_of(&st->st_ctim) > w->newest_ns)
		w->newest_ns = time_of(&st->st_ctim);
}

static int take_id(struct walk *w, const char *digits)
{
	struct git_id id;
	size_t n = strspn(digits, "0123456789abcdef");

	if (!git_id_read(digits, n, &id))
		return 0;
	return ++w->count > REFS_MAX ? -E2BIG : w->visit(w->context, &id);
}

/* The ids at the beginning of lines; of a log, the second ones. */
static int take_lines(struct walk *w, int fd, bool is_log)
{
	scoped(buffer_donep) struct buffer text = {.max = PACKED_MAX};
	int r = fd_read_all(fd, &text);

	for (const char *line = buffer_str(&text); r == 0 && *line;) {
		const char *end = strchrnul(line, '\n');

		if (is_log)
			line += strcspn(line, " \n") + (*line != '\n');
		if (line < end)
			r = take_id(w, line + (*line == '^'));
		line = end + (*end == '\n');
	}
	return r;
}

static int take_file(struct walk *w, int at, const char *name, const struct stat *st, bool is_log)
{
	scoped(fd_closep) int fd = -1;

	if (!w->visit || !S_ISREG(st->st_mode))
		return 0;
	fd = fd_open_regular(at, name);
	return fd < 0 ? 0 : take_lines(w, fd, is_log);
}

static int take_named(struct walk *w, int at, const char *name, bool is_log)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	mix_file(w, name, &st, false);
	return take_file(w, at, name, &st, is_log);
}

static int take_directory(struct walk *w, int at, const char *name, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct stat st;
	size_t entries = 0;

	if (!dir) {
		fd_close(fd);
		return 0;
	}
	if (fstat(fd, &st) == 0)
		mix_file(w, name, &st, false);
	while (r == 0 && (d = readdir(dir))) {
		if (d->d_name[0] == '.') /* no name of git's begins so */
			continue;
		if (++entries > REFS_MAX || depth == DEPTH_MAX)
			r = -E2BIG;
		else if (w->brief && d->d_type == DT_REG)
			continue;
		else if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		else if (S_ISDIR(st.st_mode))
			r = take_directory(w, fd, d->d_name, depth + 1);
		else {
			mix_file(w, d->d_name, &st, d->d_type == DT_REG);
			r = take_file(w, fd, d->d_name, &st, false);
		}
	}
	closedir(dir);
	return r;
}

static int take_work_trees(struct walk *w, int git_fd)
{
	int fd = openat(git_fd, "worktrees", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	char name[NAME_MAX + 8];

	if (!dir)
		fd_close(fd);
	for (size_t i = 0; dir && r == 0 && (d = readdir(dir)); i++) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/HEAD", d->d_name);
		r = i > REFS_MAX ? -E2BIG : take_named(w, fd, name, false);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int take_all(struct walk *w, int git_fd)
{
	int r = take_named(w, git_fd, "HEAD", false);

	if (r == 0)
		r = take_directory(w, git_fd, "refs", 0);
	if (r == 0)
		r = take_named(w, git_fd, "packed-refs", false);
	if (r == 0)
		r = take_named(w, git_fd, "logs/refs/stash", true);
	return r == 0 ? take_work_trees(w, git_fd) : r;
}

int git_refs_read(int git_fd, git_refs_visit *visit, void *context)
{
	struct walk w = {.visit = visit, .context = context};

	return take_all(&w, git_fd);
}

void git_refs_look(int git_fd, bool whole, struct git_look *ret_look)
{
	struct walk w = {.brief = !whole, .look = {0xcbf29ce484222325, 0xcbf29ce484222325}};

	/* Times have the grain of a tick: a change shortly before now may not be the last one. */
	if (take_all(&w, git_fd) < 0 || w.newest_ns > clock_read_ns(CLOCK_REALTIME) - SETTLED_NS) {
		*ret_look = (struct git_look){0};
		return;
	}
	ret_look->brief = w.look.brief & ~1ull;
	ret_look->whole = whole ? w.look.whole & ~1ull : 0;
}

/* NAME is "refs/...", and may lead to another one. */
static bool read_name(int git_fd, const char *name, struct buffer *text)
{
	scoped(fd_closep) int fd = -1;

	if (strncmp(name, "refs/", 5) != 0 || strstr(name, ".."))
		return false;
	fd = fd_open_regular(git_fd, name);
	buffer_clear(text);
	return fd >= 0 && fd_read_all(fd, text) == 0;
}

static bool find_packed(int git_fd, const char *name, struct git_id *ret_id)
{
	scoped(buffer_donep) struct buffer text = {.max = PACKED_MAX};
	scoped(fd_closep) int fd = fd_open_regular(git_fd, "packed-refs");
	size_t n = strlen(name);

	if (fd < 0 || fd_read_all(fd, &text) < 0)
		return false;
	for (const char *line = buffer_str(&text); *line;) {
		const char *end = strchrnul(line, '\n');
		size_t digits = strcspn(line, " \n");

		if (line[digits] == ' ' && (size_t)(end - line) == digits + 1 + n &&
		    memcmp(line + digits + 1, name, n) == 0)
			return git_id_read(line, digits, ret_id);
		line = end + (*end == '\n');
	}
	return false;
}

bool git_ref_follow(int git_fd, const char *text, size_t n, struct git_id *ret_id)
{
	scoped(buffer_donep) struct buffer next = {.max = PATH_MAX};
	char name[PATH_MAX];

	for (int i = 0; i < LINKS_MAX; i++) {
		while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
			n--;
		if (n <= strlen(REF) || memcmp(text, REF, strlen(REF)) != 0)
			return git_id_read(text, n, ret_id);
		if (n - strlen(REF) >= sizeof(name) || memchr(text, 0, n))
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)(n - strlen(REF)), text + strlen(REF));
		if (!read_name(git_fd, name, &next))
			return find_packed(git_fd, name, ret_id);
		text = buffer_str(&next);
		n = next.len;
	}
	return false;
}
