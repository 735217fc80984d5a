/*
 * The arguments of a call are in the memory of whoever made it, and may change at any time. They
 * are used to find out which file is meant, by its identity, and for nothing else: all files are
 * opened below the workspace, by paths that the plan knows.
 */
#include "protect/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "protect/checkout.h"
#include "protect/git.h"
#include "protect/inside.h"
#include "protect/refs.h"

#define GO_ON         1 /* an answer: the kernel makes the call */
#define QUESTIONS_MAX 64
#define CONFIG_MAX    ((size_t)64 << 10)
#define LOCK          ".lock"

union question { /* a newer kernel's may be longer */
	struct seccomp_notif q;
	char room[256];
};

union reply {
	struct seccomp_notif_resp r;
	char room[256];
};

/* One name of a renaming: its directory, if it was opened, and the last part. */
struct place {
	pid_t pid;
	int at; /* descriptor of the caller, or AT_FDCWD */
	char path[PATH_MAX];
	const char *name; /* in PATH */
	struct stat directory;
};

/* A string of the caller's, as much of it as can be read: it may end where nothing follows. */
static bool read_path(pid_t pid, uint64_t from, char into[PATH_MAX])
{
	const uint64_t page = 4096;
	size_t n = 0;

	while (n < PATH_MAX) {
		size_t step = (size_t)(page - (from + n) % page);
		struct iovec here = {into + n, step < PATH_MAX - n ? step : PATH_MAX - n};
		struct iovec there = {(void *)(uintptr_t)(from + n), here.iov_len};
		ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

		if (got <= 0)
			return false;
		if (memchr(into + n, 0, (size_t)got))
			return true;
		n += (size_t)got;
	}
	return false;
}

/* The last part of its path is what most renamings are told apart by. */
static bool place_read(struct place *p, pid_t pid, int at, uint64_t from)
{
	const char *slash;

	p->pid = pid;
	p->at = at;
	if (!read_path(pid, from, p->path))
		return false;
	slash = strrchr(p->path, '/');
	p->name = slash ? slash + 1 : p->path;
	return *p->name != '\0';
}

static int open_in(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Which directory it is in, as the caller sees it: a descriptor, or negative. */
static int place_open(struct place *p)
{
	scoped(fd_closep) int root = -1;
	scoped(fd_closep) int fd = -1;
	char link[64], base[PATH_MAX] = "", path[2 * PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)p->pid);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->path[0] != '/') {
		if (p->at == AT_FDCWD)
			snprintf(link, sizeof(link), "/proc/%d/cwd", (int)p->pid);
		else
			snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)p->pid, p->at);
		n = readlink(link, base, sizeof(base) - 1);
		if (n <= 0 || base[0] != '/')
			return -1;
		base[n] = '\0';
	}
	snprintf(path, sizeof(path), "%s/%.*s.", base, (int)(p->name - p->path), p->path);
	fd = root < 0 ? -1 : open_in(root, path);
	return fd >= 0 && fstat(fd, &p->directory) == 0 ? take_fd(&fd) : -1;
}

static bool place_find(struct place *p)
{
	scoped(fd_closep) int fd = place_open(p);

	return fd >= 0;
}

/* The file that the command would like to replace: by its identity, and its name there. */
struct subject {
	const struct protect_offer *offer;
	const char *name; /* in the offer's path */
	int directory;    /* of the file, below the workspace */
};

static int open_directory(int workspace_fd, const struct protect_offer *o, const char *name)
{
	char path[PATH_MAX];

	if (name == o->path)
		return fcntl(workspace_fd, F_DUPFD_CLOEXEC, 3);
	snprintf(path, sizeof(path), "%.*s", (int)(name - o->path) - 1, o->path);
	return workspace_open(workspace_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool subject_find(const struct protect *p, struct place *to, struct subject *ret)
{
	scoped(fd_closep) int workspace_fd = -1;
	bool looked = false;

	for (size_t i = 0; i < p->offer_count; i++) {
		const struct protect_offer *o = &p->offers[i];
		const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;
		scoped(fd_closep) int fd = -1;
		struct stat st;

		if (strcmp(to->name, name) != 0)
			continue;
		if (!looked && (!place_find(to) || (workspace_fd = workspace_open_anew(p)) < 0))
			return false;
		looked = true;
		fd = open_directory(workspace_fd, o, name);
		if (fd < 0 || fstat(fd, &st) < 0 || !is_same(&st, &to->directory))
			continue;
		*ret = (struct subject){.offer = o, .name = name, .directory = take_fd(&fd)};
		return true;
	}
	return false;
}

/* FLAGS besides those that keep a link, a device or a FIFO from mattering. */
static int open_regular(int directory, const char *name, int flags, struct stat *ret_stat)
{
	scoped(fd_closep) int fd =
		openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_stat) < 0)
		return -errno;
	return S_ISREG(ret_stat->st_mode) && ret_stat->st_nlink == 1 ? take_fd(&fd) : -EPERM;
}

/* Somebody who reads the file sees the old content, a beginning of the new or all of it. */
static int write_over(int fd, const struct buffer *now, const struct buffer *was)
{
	if (now->len == was->len && memcmp(buffer_str(now), buffer_str(was), now->len) == 0)
		return 0;
	if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    fd_write_all(fd, buffer_str(now), now->len) == 0)
		return 0;
	if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
		(void)fd_write_all(fd, buffer_str(was), was->len);
	return -EIO;
}

/* Two commands may have the same file. */
static int lock_file(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -EBUSY : 0;
}

static bool is_harmless(const struct subject *s, const struct buffer *now, const struct buffer *was)
{
	const struct git_text new_text = {buffer_str(now), now->len};
	const struct git_text old_text = {buffer_str(was), was->len};

	return git_config_may_replace(&new_text, &old_text) &&
	       (strcmp(s->offer->path, PROTECT_MODULES) != 0 ||
	        protect_modules_are_harmless(s->directory, &new_text, &old_text));
}

bool broker_may_replace(const struct protect *p, const char *path, int was_root, int now_root)
{
	scoped(buffer_donep) struct buffer now = {.max = CONFIG_MAX}, was = {.max = CONFIG_MAX};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct subject s = {.name = name, .directory = -1};
	scoped(fd_closep) int there = -1;
	scoped(fd_closep) int from = -1;
	scoped(fd_closep) int into = -1;
	char above[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < p->offer_count; i++)
		if (strcmp(p->offers[i].path, path) == 0)
			s.offer = &p->offers[i];
	if (!s.offer || snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 1,
	                         slash ? path : ".") >= (int)sizeof(above))
		return false;
	s.directory = workspace_open(was_root, above, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	there = workspace_open(now_root, above, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	into = s.directory < 0 ? -1 : open_regular(s.directory, name, O_RDONLY, &st);
	from = there < 0 ? -1 : open_regular(there, name, O_RDONLY, &st);
	if (into >= 0 && from >= 0 && fd_read_all(into, &was) == 0 &&
	    fd_read_all(from, &now) == 0 && is_harmless(&s, &now, &was)) {
		fd_close(s.directory);
		return true;
	}
	fd_close(s.directory);
	return false;
}

/* The new content is in the file beside it, as git leaves it there. */
static int replace(const struct subject *s, const struct broker_told *told)
{
	scoped(buffer_donep) struct buffer now = {.max = CONFIG_MAX};
	scoped(buffer_donep) struct buffer was = {.max = CONFIG_MAX};
	scoped(fd_closep) int from = -1;
	scoped(fd_closep) int into = -1;
	char lock[NAME_MAX + 1];
	struct stat st;
	int r;

	snprintf(lock, sizeof(lock), "%.200s" LOCK, s->name);
	into = open_regular(s->directory, s->name, O_RDWR, &st);
	if (into < 0 || st.st_ino != s->offer->inode || st.st_dev != s->offer->device)
		return GO_ON; /* it was replaced from outside: the kernel decides */
	from = open_regular(s->directory, lock, O_RDONLY, &st);
	if (from < 0)
		return from;
	r = lock_file(into);
	if (r == 0)
		r = fd_read_all(into, &was);
	if (r == 0)
		r = fd_read_all(from, &now);
	if (r < 0) {
		told->refused(told->owner, s->offer->path);
		return r;
	}
	if (!is_harmless(s, &now, &was)) {
		told->held(told->owner, &(struct broker_file){.path = s->offer->path,
		                                              .now = buffer_str(&now),
		                                              .now_bytes = now.len,
		                                              .was = buffer_str(&was),
		                                              .was_bytes = was.len});
		return -EPERM;
	}
	r = write_over(into, &now, &was);
	if (r == 0)
		(void)unlinkat(s->directory, lock, 0);
	return r;
}

static bool still_waits(int listener, const struct seccomp_notif *q)
{
	uint64_t id = q->id;

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool is_git_lock(struct place *from, const struct place *to)
{
	size_t n = strlen(to->name);

	return strncmp(from->name, to->name, n) == 0 && strcmp(from->name + n, LOCK) == 0 &&
	       place_find(from) && is_same(&from->directory, &to->directory);
}

/* The commit that the new file of a ref, or HEAD, leads to. */
static bool commit_of_lock(const struct protect *p, struct place *lock, struct git_id *ret_commit)
{
	scoped(buffer_donep) struct buffer text = {.max = PATH_MAX};
	scoped(fd_closep) int workspace_fd = workspace_open_anew(p);
	scoped(fd_closep) int git = -1;
	scoped(fd_closep) int at = place_open(lock);
	scoped(fd_closep) int fd = at < 0 ? -1 : fd_open_regular(at, lock->name);

	if (fd < 0 || fd_read_all(fd, &text) < 0 || workspace_fd < 0)
		return false;
	git = openat(workspace_fd, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return git >= 0 && git_ref_follow(git, buffer_str(&text), text.len, ret_commit);
}

/* Git puts its index in place when all files are written, and then a ref. */
static void settle(struct protect *p, struct place *from, const struct place *to,
                   const struct broker_told *told)
{
	size_t n = strlen(to->name);
	struct git_id commit;

	if (strncmp(from->name, to->name, n) != 0 || strcmp(from->name + n, LOCK) != 0)
		return;
	if (strcmp(to->name, "index") == 0)
		checkout_settle(told->checkout, p, told);
	else if (commit_of_lock(p, from, &commit))
		checkout_settle_removals(told->checkout, p, &commit, told);
}

/* Programs that do the same as git, and are not git, hear from the kernel that they cannot. */
static bool is_git(pid_t pid)
{
	char path[64], name[16] = "";
	scoped(fd_closep) int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && strcmp(name, "git\n") == 0;
}

static bool works_in_workspace(const struct protect *p, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	return stat(path, &st) == 0 && st.st_dev == p->workspace_device &&
	       st.st_ino == p->workspace_inode;
}

/* The command gets the descriptor that its call asks for. */
static int give(int listener, const struct seccomp_notif *q, int fd, int64_t *ret_value)
{
	struct seccomp_notif_addfd give = {.id = q->id, .srcfd = (uint32_t)fd};
	int number = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give);

	if (number < 0)
		return -errno;
	*ret_value = number;
	return 0;
}

/* `git restore` leaves the index as it is: it removes the new one, when all files are written. */
static bool is_index_lock(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, "index" LOCK) == 0;
}

/* Git makes or removes a file of its work tree. */
static int decide_checkout(const struct protect *p, int listener, const struct seccomp_notif *q,
                           const struct broker_told *told, int64_t *ret_value)
{
	const __u64 *a = q->data.args;
	bool at =
		q->data.nr == SYS_openat || q->data.nr == SYS_unlinkat || q->data.nr == SYS_mkdirat;
	bool makes = q->data.nr == SYS_openat, removes = q->data.nr == SYS_unlinkat;
	char path[PATH_MAX];
	int r, fd = -1;

#ifdef SYS_unlink
	removes = removes || q->data.nr == SYS_unlink;
#endif
	if (!told->checkout || !read_path((pid_t)q->pid, at ? a[1] : a[0], path))
		return GO_ON;
	if (removes && !checkout_is_empty(told->checkout) && is_index_lock(path))
		checkout_settle(told->checkout, p, told);
	if (!checkout_concerns(p, path) || !works_in_workspace(p, (pid_t)q->pid) ||
	    !is_git((pid_t)q->pid) || !still_waits(listener, q))
		return GO_ON;
	if (!makes)
		return removes ? checkout_remove(told->checkout, p, path) : checkout_mkdir(p, path);
	r = checkout_make(told->checkout, p, path, a[3], &fd);
	return r == 0 ? give(listener, q, fd, ret_value) : r;
}

static int decide_rename(struct protect *p, int listener, const struct seccomp_notif *q,
                         const struct broker_told *told)
{
	const __u64 *a = q->data.args;
	bool plain = true, at = true;
	struct place from, to;
	struct subject s = {.directory = -1};
	int r;

#ifdef SYS_rename
	at = q->data.nr != SYS_rename;
#endif
	if (q->data.nr == SYS_renameat2)
		plain = (unsigned)a[4] == 0;
	if (!place_read(&to, (pid_t)q->pid, at ? (int)a[2] : AT_FDCWD, at ? a[3] : a[1]))
		return GO_ON;
	if (!checkout_is_empty(told->checkout) &&
	    place_read(&from, (pid_t)q->pid, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0]) &&
	    still_waits(listener, q))
		settle(p, &from, &to, told);
	if (!subject_find(p, &to, &s))
		return GO_ON;
	if (plain &&
	    place_read(&from, (pid_t)q->pid, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0]) &&
	    is_git_lock(&from, &to) && still_waits(listener, q)) {
		r = replace(&s, told);
	} else {
		told->refused(told->owner, s.offer->path);
		r = GO_ON;
	}
	fd_close(s.directory);
	return r;
}

static bool is_rename(const struct seccomp_notif *q)
{
#ifdef SYS_rename
	if (q->data.nr == SYS_rename)
		return true;
#endif
	return q->data.nr == SYS_renameat || q->data.nr == SYS_renameat2;
}

bool broker_answer(struct protect *p, int listener, const struct broker_told *told)
{
	struct pollfd more = {.fd = listener, .events = POLLIN};

	for (int i = 0; i < QUESTIONS_MAX && poll(&more, 1, 0) == 1; i++) {
		union question question = {0};
		union reply reply = {0};
		int64_t value = 0;
		int r;

		if (!(more.revents & POLLIN))
			return false;
		/* A question that was waited for may be gone, with who asked it. */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question.q) < 0) {
			if (errno != ENOENT && errno != EINTR)
				return false;
			continue;
		}
		r = is_rename(&question.q)
		            ? decide_rename(p, listener, &question.q, told)
		            : decide_checkout(p, listener, &question.q, told, &value);
		reply.r.id = question.q.id;
		reply.r.val = r == 0 ? value : 0;
		reply.r.error = r < 0 ? r : 0;
		reply.r.flags = r == GO_ON ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND,
		            &reply.r); /* or the caller is dead */
	}
	return true;
}
