/*
 * The file behind a name.
 *
 * A name is looked up in PATH as execvp() does it, links are followed, and each name on the way
 * counts: ./x -> /usr/bin/sudo is sudo. An ordinary program costs one lstat() per directory of PATH
 * before its own, and nothing else.
 *
 * A file is trusted if no command could have put it there: neither the directory that the name was
 * found in nor that of the file at the end is in the workspace, in a place for temporary files, or
 * writable for everybody.
 */
#include "policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"

static bool is_below(const char *path, const char *top)
{
	size_t n = top ? strlen(top) : 0;

	while (n > 1 && top[n - 1] == '/')
		n--;
	return n > 1 && strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_system_place(const char *path, size_t n)
{
	static const char *const places[] = {"/usr/bin", "/bin", "/usr/sbin", "/sbin", NULL};

	for (const char *const *p = places; *p; p++)
		if (strlen(*p) == n && memcmp(*p, path, n) == 0)
			return true;
	return false;
}

bool place_is_trusted(struct look *l, const char *path)
{
	static const char *const open_places[] = {"/tmp",      "/var/tmp", "/dev/shm",
	                                          "/run/user", "/proc",    NULL};
	struct stat st;

	if (path[0] != '/')
		return false;
	if (is_system_place(path, strlen(path)))
		return true;
	for (const char *const *p = open_places; *p; p++)
		if (is_below(path, *p))
			return false;
	if (is_below(path, l->q->workspace) || is_below(path, l->workspace_real))
		return false;
	for (const char *const *p = l->q->writable; p && *p; p++) {
		if ((*p)[0] == '~' && l->q->home) {
			const char *full = arena_printf(l->arena, "%s%s", l->q->home, *p + 1);

			if (!full || is_below(path, full))
				return false;
		} else if (is_below(path, *p)) {
			return false;
		}
	}
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR; /* nothing is found there, either */
	if (st.st_mode & S_IWOTH && !S_ISLNK(st.st_mode))
		return false;
	return !l->q->unboxed || geteuid() == 0 || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool dir_is_trusted(struct look *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	if (!slash)
		return false;
	dir = look_string(l, path, slash == path ? 1 : (size_t)(slash - path));
	return dir && place_is_trusted(l, dir);
}

/* The names of the links between the path and the file, as far as they are kept. */
static void read_links(struct look *l, const char *path, struct policy_file *f)
{
	char target[PATH_MAX];
	const char *at = path;

	while (f->link_count < sizeof(f->links) / sizeof(f->links[0])) {
		ssize_t n = readlink(at, target, sizeof(target) - 1);
		const char *slash = strrchr(at, '/');
		char *next;

		if (n <= 0)
			return;
		target[n] = '\0';
		if (target[0] == '/')
			next = look_string(l, target, (size_t)n);
		else
			next = arena_printf(l->arena, "%.*s/%s", slash ? (int)(slash - at) : 0, at,
			                    target);
		if (!next) {
			l->failed = true;
			return;
		}
		f->links[f->link_count++] = base_of(next);
		if (!dir_is_trusted(l, next))
			f->trusted = false;
		at = next;
	}
}

/* Follows the path to its end. */
static bool resolve(struct look *l, const char *path, struct policy_file *f)
{
	scoped(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	char link[64], real[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	if (n <= 0 || real[0] != '/')
		return false;
	f->real = look_string(l, real, (size_t)n);
	if (!f->real)
		return false;
	f->found = true;
	f->base = base_of(f->real);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->nlink = st.st_nlink;
	f->trusted = f->trusted && dir_is_trusted(l, f->real);
	return true;
}

static void look_at(struct look *l, const char *path, const struct stat *st, struct policy_file *f)
{
	if (S_ISREG(st->st_mode) && f->trusted) {
		*f = (struct policy_file){.looked = true,
		                          .found = true,
		                          .known = f->known,
		                          .trusted = true,
		                          .in_place = true,
		                          .real = path,
		                          .base = base_of(path),
		                          .dev = st->st_dev,
		                          .ino = st->st_ino,
		                          .nlink = st->st_nlink};
		return;
	}
	f->in_place = S_ISREG(st->st_mode);
	if (resolve(l, path, f) && S_ISLNK(st->st_mode))
		read_links(l, path, f);
}

/* Looks into the directories of PATH; each that a command could write and comes first is a doubt.
 */
static void search(struct look *l, const char *name, struct policy_file *f)
{
	const char *at = l->q->path ? l->q->path : "/usr/local/bin:/usr/bin:/bin";
	size_t name_len = strlen(name);

	f->trusted = true;
	for (;;) {
		size_t n = strcspn(at, ":");
		char *path = look_alloc(l, n + name_len + 3);
		struct stat st;

		if (!path)
			return;
		memcpy(path, n ? at : ".", n ? n : 1);
		path[n ? n : 1] = '\0';
		if (path[0] != '/' || !(is_system_place(path, n) || place_is_trusted(l, path)))
			f->trusted = false;
		if (path[0] == '/') {
			path[n] = '/';
			memcpy(path + n + 1, name, name_len + 1);
			if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_mode & 0111))) {
				look_at(l, path, &st, f);
				if (f->found)
					return;
			}
		}
		if (!at[n])
			return;
		at += n + 1;
	}
}

const struct policy_file *subject_file(struct look *l, struct subject *s)
{
	struct policy_file *f = &s->file;
	struct stat st;
	char *path;

	if (f->looked)
		return f;
	f->looked = true;
	f->known = !l->sets_path;
	if (!s->name || !s->runs || s->command->kind == SHELL_KIND_BUILTIN)
		return f;
	if (!strchr(s->word, '/')) {
		search(l, s->word, f);
		return f;
	}
	look_words_read(l);
	f->known = s->word[0] == '/' || !l->moves;
	path = s->word[0] == '/' ? look_string(l, s->word, strlen(s->word))
	                         : arena_printf(l->arena, "%s/%s", l->base, s->word);
	if (!path || fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return f;
	f->trusted = s->word[0] == '/' && dir_is_trusted(l, path);
	look_at(l, path, &st, f);
	return f;
}

bool file_is_that_of(struct look *l, const struct policy_file *f, const char *name)
{
	struct policy_file other = {.looked = true, .known = true};

	search(l, name, &other);
	/* A link to a program of another name (pkill -> pgrep) is not what the program is. */
	return other.found && other.dev == f->dev && other.ino == f->ino &&
	       strcmp(other.base, name) == 0;
}
