#include "task/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/remove.h"
#include "task/home.h"

#define SWEEP_EVERY_S 10
#define DISK_LOOK     4096 /* files of one task that are looked at */
#define DISK_DEPTH    16
#define DISK_MANY     ((uint64_t)1 << 30)

/* A task's directory holds these files, and what was planted: anything else is not ours to delete.
 */
static const char *const task_files[] = {"out",
                                         "err",
                                         "spec.json",
                                         "state.json",
                                         "sock",
                                         "sizes",
                                         "index",
                                         "quiet",
                                         ".quiet.new",
                                         ".state.json.new",
                                         ".spec.json.new",
                                         "env",
                                         ".env.new",
                                         HOME_ROOT,
                                         "." HOME_ROOT ".new",
                                         HOME_PUBLISHED,
                                         "." HOME_PUBLISHED ".new"};

/* mkdir -p with private permissions; only the last one must be ours. */
static int make_path(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST) {
			*p = '/';
			return -errno;
		}
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* ACCESS is what we want there ourselves. */
static int open_private(int at, const char *path, int access)
{
	scoped(fd_closep) int fd = fd_open_private(at, path);

	if (fd < 0)
		return fd;
	if (faccessat(fd, ".", access, AT_EACCESS) < 0)
		return -errno;
	return take_fd(&fd);
}

static int wanted_path(char into[PATH_MAX])
{
	const char *set = getenv("NACRE_STATE_DIR"), *xdg = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");
	int n;

	if (set && *set)
		n = snprintf(into, PATH_MAX, "%s", set);
	else if (geteuid() == 0)
		n = snprintf(into, PATH_MAX, "/var/lib/nacre");
	else if (xdg && *xdg == '/')
		n = snprintf(into, PATH_MAX, "%s/nacre", xdg);
	else if (home && *home == '/')
		n = snprintf(into, PATH_MAX, "%s/.local/state/nacre", home);
	else
		return -ENOENT;
	if (n >= PATH_MAX - 64)
		return -ENAMETOOLONG;
	return into[0] == '/' ? 0 : -EINVAL;
}

static int use(struct store *s, const char *state_path)
{
	scoped(fd_closep) int state_fd = open_private(AT_FDCWD, state_path, W_OK | X_OK);
	int fd;

	if (state_fd < 0)
		return state_fd;
	if (mkdirat(state_fd, "tasks", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open_private(state_fd, "tasks", W_OK | X_OK);
	if (fd < 0)
		return fd;
	s->tasks_fd = fd;
	/* wanted_path() and the temporary name leave room for this. */
	if (snprintf(s->path, sizeof(s->path), "%s/tasks", state_path) >= (int)sizeof(s->path))
		return -ENAMETOOLONG;
	return 0;
}

static int use_temporary(struct store *s)
{
	const char *base = getenv("TMPDIR");
	char path[PATH_MAX - 64];
	int r;

	if (!base || *base != '/')
		base = "/tmp";
	if (snprintf(path, sizeof(path), "%s/nacre-XXXXXX", base) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	s->temporary = true;
	/* The sticky bit tells who looks for lasting records (protect/refs.c) that this has none.
	 */
	r = chmod(path, S_ISVTX | 0700) < 0 ? -errno : use(s, path);
	if (r < 0)
		(void)rmdir(path);
	return r;
}

void store_open(struct store *s)
{
	char wanted[PATH_MAX] = "the state directory";
	int r, second;

	*s = (struct store){.tasks_fd = -1};
	r = wanted_path(wanted);
	if (r == 0)
		r = use(s, wanted);
	if (r == -ENOENT && wanted[0] == '/') {
		r = make_path(wanted);
		if (r == 0)
			r = use(s, wanted);
	}
	if (r == 0)
		return;
	second = use_temporary(s);
	if (second == 0)
		snprintf(s->notice, sizeof(s->notice),
		         "%.100s cannot be used (%s); output is kept in %.120s, the audit log "
		         "beside it",
		         wanted, strerrordesc_np(-r), s->path);
	else
		snprintf(s->notice, sizeof(s->notice),
		         "%.100s cannot be used (%s), nor can a temporary directory (%s): output "
		         "is kept "
		         "in memory only",
		         wanted, strerrordesc_np(-r), strerrordesc_np(-second));
}

void store_look(struct store *s)
{
	char wanted[PATH_MAX];
	scoped(fd_closep) int state_fd = -1;

	*s = (struct store){.tasks_fd = -1};
	if (wanted_path(wanted) < 0)
		return;
	state_fd = open_private(AT_FDCWD, wanted, X_OK);
	if (state_fd < 0)
		return;
	s->tasks_fd = open_private(state_fd, "tasks", X_OK);
	if (snprintf(s->path, sizeof(s->path), "%s/tasks", wanted) >= (int)sizeof(s->path))
		fd_close(take_fd(&s->tasks_fd));
}

void store_done(struct store *s)
{
	if (s->tasks_fd >= 0 && s->temporary && rmdir(s->path) == 0) {
		*strrchr(s->path, '/') = '\0';
		(void)rmdir(s->path);
	}
	fd_close(take_fd(&s->tasks_fd));
}

/* What the command had planted in its workspace was moved here. Takes the descriptor. */
static void remove_planted(int dir_fd)
{
	DIR *d = fdopendir(dir_fd);
	struct dirent *e;

	if (!d) {
		fd_close(dir_fd);
		return;
	}
	while ((e = readdir(d)))
		if (strncmp(e->d_name, "planted-", 8) == 0 && unlinkat(dir_fd, e->d_name, 0) < 0)
			remove_tree(dir_fd, e->d_name);
	closedir(d);
}

void store_task_remove(struct store *s, const char *id)
{
	scoped(fd_closep) int fd = -1;

	if (s->tasks_fd < 0)
		return;
	fd = openat(s->tasks_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	for (size_t i = 0; i < array_size(task_files); i++)
		(void)unlinkat(fd, task_files[i], 0);
	if (unlinkat(s->tasks_fd, id, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
		return;
	remove_planted(take_fd(&fd));
	(void)unlinkat(s->tasks_fd, id, AT_REMOVEDIR);
}

struct finished {
	char id[STORE_ID_MAX];
	int64_t ended; /* ns */
	uint64_t bytes;
};

/* All blocks on the disk, not lengths: a file may have holes. What a command has planted can be a
 * tree of any size: one that takes too long to look at, or cannot be, counts as so much that it
 * goes before others. Takes the descriptor. */
static uint64_t disk_bytes(int dir_fd, int depth, int *budget)
{
	uint64_t total = 0;
	struct dirent *e;
	struct stat st;
	DIR *d = dir_fd < 0 ? NULL : fdopendir(dir_fd);

	if (!d) {
		fd_close(dir_fd);
		return 0;
	}
	while (total < DISK_MANY && (e = readdir(d))) {
		scoped(fd_closep) int sub = -1;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		total += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth > 0)
			sub = openat(dir_fd, e->d_name,
			             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (--*budget < 0 || (S_ISDIR(st.st_mode) && sub < 0))
			total += DISK_MANY;
		else if (sub >= 0)
			total += disk_bytes(take_fd(&sub), depth - 1, budget);
	}
	closedir(d);
	return total;
}

bool store_task_is_running(int dir_fd)
{
	scoped(fd_closep) int spec = fd_open_regular(dir_fd, "spec.json");
	scoped(fd_closep) int dir = -1;

	if (spec >= 0)
		return flock(spec, LOCK_SH | LOCK_NB) < 0;
	/* Its own open file: a lock belongs to one of these. */
	dir = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || flock(dir, LOCK_SH | LOCK_NB) < 0;
}

static int older_first(const void *a, const void *b)
{
	const struct finished *x = a, *y = b;

	return (x->ended > y->ended) - (x->ended < y->ended);
}

/* Lists the finished tasks; *ret_total counts the bytes of all. */
static size_t list_finished(struct store *s, struct finished **ret_list, uint64_t *ret_total)
{
	size_t count = 0, capacity = 0;
	struct finished *list = NULL;
	struct dirent *d;
	struct stat st;
	DIR *dir;
	int fd = openat(s->tasks_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return 0;
	}
	while ((d = readdir(dir))) {
		scoped(fd_closep) int task = -1;
		uint64_t bytes;
		int budget;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    strlen(d->d_name) >= STORE_ID_MAX)
			continue; /* a directory whose maker died has a name that begins so, too */
		task = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (task < 0 || fstat(task, &st) < 0)
			continue;
		budget = DISK_LOOK;
		bytes = disk_bytes(openat(task, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		                   DISK_DEPTH, &budget);
		*ret_total += bytes;
		if (store_task_is_running(task))
			continue;
		if (count == capacity) {
			struct finished *more =
				realloc(list, (capacity ? capacity * 2 : 64) * sizeof(*list));

			if (!more)
				break;
			list = more;
			capacity = capacity ? capacity * 2 : 64;
		}
		list[count] = (struct finished){.ended = (int64_t)st.st_mtim.tv_sec * 1000000000 +
		                                         st.st_mtim.tv_nsec,
		                                .bytes = bytes};
		memcpy(list[count++].id, d->d_name, strlen(d->d_name) + 1);
	}
	closedir(dir);
	*ret_list = list;
	return count;
}

bool store_sweep_is_due(struct store *s)
{
	scoped(fd_closep) int fd = -1;
	struct stat st;

	if (s->tasks_fd < 0 || s->temporary)
		return s->tasks_fd >= 0;
	fd = openat(s->tasks_fd, "../swept", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return fd < 0;
	if (st.st_size > 0 && llabs(time(NULL) - st.st_mtim.tv_sec) < SWEEP_EVERY_S)
		return false;
	return pwrite(fd, ".", 1, 0) < 0 || futimens(fd, NULL) == 0;
}

int store_sweep(struct store *s, uint64_t max_bytes, int64_t max_age_ms)
{
	scoped(freep) struct finished *list = NULL;
	uint64_t total = 0;
	size_t count;
	int64_t young = INT64_MIN;
	int removed = 0;

	if (s->tasks_fd < 0)
		return 0;
	count = list_finished(s, &list, &total);
	if (count == 0)
		return 0;
	if (max_age_ms > 0)
		young = (clock_wall_ms() - max_age_ms) * 1000000;
	qsort(list, count, sizeof(*list), older_first);
	for (size_t i = 0; i < count && (total > max_bytes || list[i].ended < young); i++) {
		store_task_remove(s, list[i].id);
		total -= list[i].bytes;
		removed++;
	}
	return removed;
}
