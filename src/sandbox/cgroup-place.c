/*
 * Where control groups can be made. The file systems are looked for where every distribution
 * mounts them; a layout that is different is as good as none.
 */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/fd.h"

#define SELF_MAX     4096
#define CGROUP_FS    "/sys/fs/cgroup"
#define LEAF         "nacre-host" /* what lived in a group before it was divided */
#define SETTLE_TRIES 50

static const char *const names[CGROUP_CONTROLLERS] = {"memory", "pids"};

/* Whether one word of LIST, LENGTH bytes long, is NAME. */
static bool has_word(const char *list, size_t length, const char *separators, const char *name)
{
	const char *end = list + length;

	while (list < end) {
		size_t word = strcspn(list, separators);

		if (word > (size_t)(end - list))
			word = (size_t)(end - list);
		if (word == strlen(name) && memcmp(list, name, word) == 0)
			return true;
		list += word + 1;
	}
	return false;
}

/* The path of the line for CONTROLLER ("": version 2) in the text of /proc/self/cgroup. */
static int self_path(const char *text, const char *controller, char path[CGROUP_PATH_MAX])
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		const char *list = memchr(text, ':', (size_t)(end - text)), *at;
		size_t n;

		at = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
		if (at &&
		    (*controller ? has_word(list + 1, (size_t)(at - list - 1), ",", controller)
		                 : at == list + 1)) {
			n = (size_t)(end - at - 1);
			if (n == 0 || n >= CGROUP_PATH_MAX)
				return -ENAMETOOLONG;
			memcpy(path, at + 1, n);
			path[n] = '\0';
			/* A group outside of our cgroup namespace has no path here. */
			return strstr(path, "/..") ? -ENOENT : 0;
		}
		text = *end ? end + 1 : end;
	}
	return -ENOENT;
}

static int join(char into[CGROUP_PATH_MAX], const char *a, const char *b, const char *c)
{
	int n = snprintf(into, CGROUP_PATH_MAX, "%s%s%s", a, b, c);

	return n < CGROUP_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool may_write(const char *directory, const char *file)
{
	char path[CGROUP_PATH_MAX];

	return join(path, directory, "/", file) == 0 && access(path, W_OK) == 0 &&
	       access(directory, W_OK) == 0;
}

static bool file_names(const char *directory, const char *file, const char *controller)
{
	char path[CGROUP_PATH_MAX], text[512];
	ssize_t n;

	if (join(path, directory, "/", file) < 0)
		return false;
	n = fd_read_text(AT_FDCWD, path, text, sizeof(text));
	return n >= 0 && has_word(text, (size_t)n, " \n", controller);
}

/* The number in a file; UINT64_MAX: "max", or there is no such file. */
static uint64_t limit_of(const char *directory, const char *file)
{
	char path[CGROUP_PATH_MAX], text[64];

	if (join(path, directory, "/", file) < 0 ||
	    fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 || *text < '0' || *text > '9')
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

/* Limits that hold for all processes of the group together, and that a copy would not. */
static bool is_bounded(const char *directory)
{
	static const char *const files[] = {"memory.max", "memory.high", "cpu.max"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (limit_of(directory, files[i]) != UINT64_MAX)
			return true;
	return false;
}

/* Given to us, by systemd's mark: ours to divide, with whatever lives in it. */
static bool is_marked(const char *directory)
{
	char mark;

	return (getxattr(directory, "user.delegate", &mark, 1) == 1 && mark == '1') ||
	       (getxattr(directory, "trusted.delegate", &mark, 1) == 1 && mark == '1');
}

/* Ours to divide as we like: of an ordinary user, or marked so. */
static bool is_delegated(const char *directory)
{
	struct stat st;

	if (stat(directory, &st) == 0 && st.st_uid == geteuid() && geteuid() != 0)
		return true;
	return is_marked(directory);
}

/* Works where no process lives in the group itself. */
static int enable(const char *directory, const char *controller)
{
	char path[CGROUP_PATH_MAX], order[32];
	scoped(fd_closep) int fd = -1;
	int n = snprintf(order, sizeof(order), "+%s", controller);

	if (join(path, directory, "/", "cgroup.subtree_control") < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, order, (size_t)n) == n ? 0 : -errno;
}

static bool offers(const char *directory, const char *controller)
{
	if (file_names(directory, "cgroup.subtree_control", controller))
		return true;
	return file_names(directory, "cgroup.controllers", controller) && is_delegated(directory) &&
	       enable(directory, controller) == 0;
}

static void use(struct cgroup_place *place, const char directory[CGROUP_PATH_MAX], bool pids)
{
	place->kind = CGROUP_V2;
	memcpy(place->path[CGROUP_MEMORY], directory, CGROUP_PATH_MAX);
	if (pids)
		memcpy(place->path[CGROUP_PIDS], directory, CGROUP_PATH_MAX);
}

/* Our own group, if it was given to us and processes live in it: they can move into a leaf. */
static bool settle_in(const char own[CGROUP_PATH_MAX], struct cgroup_place *place)
{
	if (!is_marked(own) || !may_write(own, "cgroup.procs") ||
	    !may_write(own, "cgroup.subtree_control") ||
	    !file_names(own, "cgroup.controllers", names[CGROUP_MEMORY]))
		return false;
	use(place, own, file_names(own, "cgroup.controllers", names[CGROUP_PIDS]));
	place->settle = true;
	place->bounded = false;
	place->processes = 0; /* its own limits hold for what is inside */
	return true;
}

/* The nearest group from our own upwards whose children can have a memory limit. */
static bool find_v2(const char *root, const char *self, struct cgroup_place *place)
{
	char path[CGROUP_PATH_MAX], directory[CGROUP_PATH_MAX], own[CGROUP_PATH_MAX];

	if (self_path(self, "", path) < 0 || join(directory, root, "/", "cgroup.controllers") < 0 ||
	    access(directory, F_OK) < 0 ||
	    join(own, root, strcmp(path, "/") == 0 ? "" : path, "") < 0)
		return false;
	for (;;) {
		char *slash = strrchr(path, '/');
		uint64_t processes;

		if (join(directory, root, strcmp(path, "/") == 0 ? "" : path, "") < 0)
			return false;
		if (may_write(directory, "cgroup.procs") &&
		    offers(directory, names[CGROUP_MEMORY])) {
			use(place, directory, offers(directory, names[CGROUP_PIDS]));
			return true;
		}
		place->bounded = is_bounded(directory);
		if (place->bounded || !slash || strcmp(path, "/") == 0)
			return settle_in(own, place);
		processes = limit_of(directory, "pids.max");
		if (processes != UINT64_MAX && (!place->processes || processes < place->processes))
			place->processes = processes ? processes : 1;
		slash[slash == path ? 1 : 0] = '\0';
	}
}

/* Writes every number that one file lists into the other: the kernel moves these processes. */
static int move_all(int from, int to)
{
	char text[SELF_MAX];
	ssize_t n = pread(from, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (const char *p = text; *p;) {
		size_t length = strcspn(p, "\n");

		/* One that ends meanwhile is no longer in the way. */
		if (p[length] == '\n' && write(to, p, length) < 0 && errno != ESRCH)
			return -errno;
		p += length + (p[length] == '\n');
	}
	return 0;
}

int cgroup_settle(const struct cgroup_place *place)
{
	const char *group = place->path[CGROUP_MEMORY];
	char path[CGROUP_PATH_MAX];
	scoped(fd_closep) int from = -1, to = -1;
	int r = -EBUSY;

	if (join(path, group, "/", LEAF) < 0)
		return -ENAMETOOLONG;
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (join(path, group, "/", LEAF "/cgroup.procs") < 0)
		return -ENAMETOOLONG;
	to = open(path, O_WRONLY | O_CLOEXEC);
	if (join(path, group, "/", "cgroup.procs") < 0)
		return -ENAMETOOLONG;
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (to < 0 || from < 0)
		return -errno;
	/* A process that forks while it is moved leaves its child behind for the next round. */
	for (int i = 0; r == -EBUSY && i < SETTLE_TRIES; i++) {
		r = move_all(from, to);
		if (r == 0)
			r = enable(group, names[CGROUP_MEMORY]);
	}
	if (r == 0 && *place->path[CGROUP_PIDS])
		r = enable(group, names[CGROUP_PIDS]);
	return r;
}

static void find_v1(const char *root, const char *self, enum cgroup_controller c,
                    struct cgroup_place *place)
{
	char path[CGROUP_PATH_MAX], mount[CGROUP_PATH_MAX], directory[CGROUP_PATH_MAX];

	if (self_path(self, names[c], path) < 0 || join(mount, root, "/", names[c]) < 0 ||
	    join(directory, mount, strcmp(path, "/") == 0 ? "" : path, "") < 0 ||
	    !may_write(directory, "tasks"))
		return;
	place->kind = CGROUP_V1;
	memcpy(place->path[c], directory, sizeof(directory));
}

void cgroup_find_at(const char *root, const char *self, struct cgroup_place *ret_place)
{
	char unified[CGROUP_PATH_MAX];

	*ret_place = (struct cgroup_place){.kind = CGROUP_NONE};
	if (find_v2(root, self, ret_place))
		return;
	if (join(unified, root, "/", "unified") == 0 && find_v2(unified, self, ret_place))
		return;
	if (ret_place->bounded)
		return;
	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++)
		find_v1(root, self, c, ret_place);
}

void cgroup_find(struct cgroup_place *ret_place)
{
	char self[SELF_MAX];

	*ret_place = (struct cgroup_place){.kind = CGROUP_NONE};
	if (fd_read_text(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) > 0)
		cgroup_find_at(CGROUP_FS, self, ret_place);
}
