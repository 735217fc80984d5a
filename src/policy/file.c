/*
 * The file behind a name.
 *
 * A name is looked up in PATH as execvp() does it, links are followed, and each name on the way
 * counts: ./x -> /usr/bin/sudo is sudo. An ordinary program costs one lstat() per directory of PATH
 * up to its own, and two calls per link.
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
#include "base/path.h"

#define LINKS_MAX 16

static bool is_below(const char *path, const char *top)
{
	size_t n = top ? strlen(top) : 0;

	while (n > 1 && top[n - 1] == '/')
		n--;
	return n > 1 && strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Directories that belong to the system wherever there is one. */
static bool is_system_place(const char *path, size_t n)
{
	static const char *const places[] = {"/usr/bin",          "/bin",
	                                     "/usr/sbin",         "/sbin",
	                                     "/usr/local/bin",    "/usr/local/sbin",
	                                     "/etc/alternatives", NULL};
	static const char *const trees[] = {"/usr/lib/", "/usr/share/", "/usr/libexec/", "/lib/",
	                                    NULL};

	for (const char *const *p = places; *p; p++)
		if (strlen(*p) == n && memcmp(*p, path, n) == 0)
			return true;
	for (const char *const *p = trees; *p; p++)
		if (n > strlen(*p) && memcmp(*p, path, strlen(*p)) == 0)
			return true;
	return false;
}

/* A directory, or a file in it. */
static bool place_is_trusted(struct look *l, const char *path)
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
	if (is_below(path, l->q->workspace) || is_below(path, paths_workspace(l)))
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

static void found(struct policy_file *f, const char *path, const struct stat *st)
{
	f->found = true;
	f->real = path;
	f->base = base_of(path);
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->nlink = st->st_nlink;
}

/* Asks the kernel for the file at the end of the path. */
static void resolve(struct look *l, const char *path, struct policy_file *f)
{
	scoped(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	char real[PATH_MAX];
	const char *copy;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (path_of_fd(fd, real) < 0 || real[0] != '/')
		return;
	copy = look_string(l, real, strlen(real));
	if (!copy)
		return;
	found(f, copy, &st);
	f->trusted = f->trusted && dir_is_trusted(l, copy);
}

/* What a link says, as a path of its own. */
static const char *next_link(struct look *l, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));
	const char *slash = strrchr(path, '/');
	const char *dir;

	if (n <= 0 || (size_t)n == sizeof(target))
		return NULL;
	dir = look_string(l, path, slash ? (size_t)(slash - path) : 0);
	return dir ? path_fold(l, dir, target, (size_t)n) : NULL;
}

/*
 * Follows the links of the last part of a path, one by one: each name counts, and each directory.
 * Links further up do not change the name. Folding ".." by its text may be wrong behind such a
 * link, so the kernel has the last word, but for the system's own files.
 */
static void follow(struct look *l, const char *path, struct policy_file *f)
{
	const char *at = path;
	struct stat st;

	for (int hop = 0; hop < LINKS_MAX; hop++) {
		at = next_link(l, at);
		if (!at || fstatat(AT_FDCWD, at, &st, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		f->trusted = f->trusted && dir_is_trusted(l, at);
		if (S_ISREG(st.st_mode)) {
			found(f, at, &st);
			break;
		}
		if (!S_ISLNK(st.st_mode))
			return;
		if (f->link_count < array_size(f->links))
			f->links[f->link_count++] = base_of(at);
	}
	if (!f->found || !f->trusted)
		resolve(l, path, f);
}

static void look_at(struct look *l, const char *path, const struct stat *st, struct policy_file *f)
{
	if (S_ISLNK(st->st_mode)) {
		follow(l, path, f);
	} else if (S_ISREG(st->st_mode)) {
		f->in_place = true;
		found(f, path, st);
	}
}

/* Looks into the directories of PATH; each that a command could write and comes first is a doubt.
 */
static void search(struct look *l, const char *name, struct policy_file *f)
{
	const char *at = l->q->path ? l->q->path : "/usr/local/bin:/usr/bin:/bin";
	size_t name_len = strlen(name);

	f->trusted = f->nowhere = true;
	for (;;) {
		size_t n = strcspn(at, ":");
		char *path = look_alloc(l, n + name_len + 3);
		struct stat st;

		if (!path) {
			f->nowhere = false;
			return;
		}
		memcpy(path, n ? at : ".", n ? n : 1);
		path[n ? n : 1] = '\0';
		if (path[0] != '/' || !(is_system_place(path, n) || place_is_trusted(l, path)))
			f->trusted = false;
		if (path[0] == '/') {
			bool there;

			path[n] = '/';
			memcpy(path + n + 1, name, name_len + 1);
			there = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
			f->nowhere &= !there && (errno == ENOENT || errno == ENOTDIR) &&
			              (l->q->own_path || is_system_place(path, n));
			if (there &&
			    (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_mode & 0111))) {
				look_at(l, path, &st, f);
				if (f->found)
					return;
			}
		} else {
			f->nowhere = false;
		}
		if (!at[n])
			return;
		at += n + 1;
	}
}

static void look_up(struct look *l, const struct subject *s, struct policy_file *f)
{
	struct stat st;
	char *path;

	if (!strchr(s->word, '/')) {
		search(l, s->word, f);
		return;
	}
	path = s->word[0] == '/' ? look_string(l, s->word, strlen(s->word))
	                         : arena_printf(l->arena, "%s/%s", l->base, s->word);
	if (!path)
		return;
	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		f->missing = errno == ENOENT && path[strlen(path) - 1] != '/';
		return;
	}
	f->trusted = s->word[0] == '/' && dir_is_trusted(l, path);
	look_at(l, path, &st, f);
}

const struct policy_file *subject_file(struct look *l, struct subject *s)
{
	struct policy_file *f = &s->file;
	struct file_cache *cache = l->files;
	size_t i = 0;

	if (f->looked)
		return f;
	if (s->name && s->runs && s->command->kind != SHELL_KIND_BUILTIN) {
		while (cache && i < cache->count && strcmp(cache->words[i], s->word) != 0)
			i++;
		if (cache && i < cache->count)
			*f = cache->files[i];
		else
			look_up(l, s, f);
		if (cache && i == cache->count && i < array_size(cache->words)) {
			cache->words[i] = s->word;
			cache->files[i] = *f;
			cache->count++;
		}
	}
	look_words_read(l);
	f->looked = true;
	if (s->word && strchr(s->word, '/'))
		f->known = s->word[0] == '/' || !l->moves;
	else
		f->known = !l->sets_path;
	return f;
}

/* Who asks must not learn what is in places that its commands do not see: of paths this is told of
 * ./NAME alone, and of names where PATH is not the caller's. */
bool subject_is_nowhere(struct look *l, struct subject *s)
{
	const struct policy_file *f;

	if (!s->word || !s->runs || s->word[0] == '~' || s->command->kind != SHELL_KIND_EXTERNAL)
		return false;
	f = subject_file(l, s);
	if (!strchr(s->word, '/'))
		return f->known && f->nowhere;
	return f->known && f->missing && strncmp(s->word, "./", 2) == 0 && s->word[2] != '.' &&
	       !strchr(s->word + 2, '/');
}

bool file_is_that_of(struct look *l, const struct policy_file *f, const char *name)
{
	struct policy_file other = {.looked = true, .known = true};

	search(l, name, &other);
	/* A link to a program of another name (pkill -> pgrep) is not what the program is. */
	return other.found && other.dev == f->dev && other.ino == f->ino &&
	       strcmp(other.base, name) == 0;
}
