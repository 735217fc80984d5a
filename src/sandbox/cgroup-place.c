/*
 * Where control groups can be made. The file systems are looked for where every distribution
 * mounts them; a layout that is different is as good as none.
 */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/fd.h"

#define SELF_MAX  4096
#define CGROUP_FS "/sys/fs/cgroup"

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
	scoped(fd_closep) int fd = -1;
	ssize_t n;

	if (join(path, directory, "/", file) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	return has_word(text, (size_t)n, " \n", controller);
}

/* Ours to divide as we like: of an ordinary user, or marked so by systemd. */
static bool is_delegated(const char *directory)
{
	struct stat st;
	char mark;

	if (stat(directory, &st) == 0 && st.st_uid == geteuid() && geteuid() != 0)
		return true;
	return (getxattr(directory, "user.delegate", &mark, 1) == 1 && mark == '1') ||
	       (getxattr(directory, "trusted.delegate", &mark, 1) == 1 && mark == '1');
}

/* Works where no process lives in the group itself. */
static bool enable(const char *directory, const char *controller)
{
	char path[CGROUP_PATH_MAX], order[32];
	scoped(fd_closep) int fd = -1;
	int n = snprintf(order, sizeof(order), "+%s", controller);

	if (join(path, directory, "/", "cgroup.subtree_control") < 0)
		return false;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, order, (size_t)n) == n;
}

static bool offers(const char *directory, const char *controller)
{
	if (file_names(directory, "cgroup.subtree_control", controller))
		return true;
	return file_names(directory, "cgroup.controllers", controller) && is_delegated(directory) &&
	       enable(directory, controller);
}

/* The nearest group from our own upwards whose children can have a memory limit. */
static bool find_v2(const char *root, const char *self, struct cgroup_place *place)
{
	char path[CGROUP_PATH_MAX], directory[CGROUP_PATH_MAX];

	if (self_path(self, "", path) < 0 || join(directory, root, "/", "cgroup.controllers") < 0 ||
	    access(directory, F_OK) < 0)
		return false;
	for (;;) {
		char *slash = strrchr(path, '/');

		if (join(directory, root, strcmp(path, "/") == 0 ? "" : path, "") == 0 &&
		    may_write(directory, "cgroup.procs") &&
		    offers(directory, names[CGROUP_MEMORY])) {
			place->kind = CGROUP_V2;
			memcpy(place->path[CGROUP_MEMORY], directory, sizeof(directory));
			if (offers(directory, names[CGROUP_PIDS]))
				memcpy(place->path[CGROUP_PIDS], directory, sizeof(directory));
			return true;
		}
		if (!slash || strcmp(path, "/") == 0)
			return false;
		slash[slash == path ? 1 : 0] = '\0';
	}
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
	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++)
		find_v1(root, self, c, ret_place);
}

void cgroup_find(struct cgroup_place *ret_place)
{
	scoped(fd_closep) int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char self[SELF_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, self, sizeof(self) - 1);

	*ret_place = (struct cgroup_place){.kind = CGROUP_NONE};
	if (n <= 0)
		return;
	self[n] = '\0';
	cgroup_find_at(CGROUP_FS, self, ret_place);
}
