/*
 * Files of clients, read and replaced so that nobody can lead us elsewhere.
 *
 * An agent may write in the workspace, and so in .claude or .codex of a project: a link there could
 * point at any file of the person who runs `nacre init`. So each part below the base is opened by
 * itself and is no link, and it belongs to this user. The file is replaced in the directory that is
 * held open, under its own name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "cli/setup.h"
#include "edit/jsonc.h"

static int check_owner(const struct stat *st, const char *name, struct error *err)
{
	if (st->st_uid != geteuid())
		return error_set(err, ERROR_INPUT, EPERM,
		                 "'%.150s' belongs to another user (%u): nothing is written there",
		                 name, (unsigned)st->st_uid);
	if (!S_ISLNK(st->st_mode) &&
	    ((st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_gid != getegid())))
		return error_set(err, ERROR_INPUT, EPERM,
		                 "'%.150s' can be changed by others: nothing is written there. "
		                 "Run `chmod go-w` on it first",
		                 name);
	return 0;
}

/* One directory further; *FD is replaced. -ENOENT: it is not there. */
static int enter(int *fd, const char *name, bool make, struct error *err)
{
	scoped(fd_closep) int next = -1;
	struct stat st;

	if (make && mkdirat(*fd, name, 0700) < 0 && errno != EEXIST)
		return error_sys(err, errno, "'%.150s'", name);
	next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0 && errno == ENOENT)
		return -ENOENT;
	if (next < 0 && (errno == ELOOP || errno == ENOTDIR))
		return error_set(
			err, ERROR_INPUT, ELOOP,
			"'%.150s' is a link or no directory: nothing is written through it", name);
	if (next < 0 || fstat(next, &st) < 0)
		return error_sys(err, errno, "'%.150s'", name);
	if (check_owner(&st, name, err) < 0)
		return -EPERM;
	fd_close(*fd);
	*fd = take_fd(&next);
	return 0;
}

static int open_directory(const char *base, const char *rel, bool make, int *ret_fd,
                          const char **ret_name, struct error *err)
{
	scoped(fd_closep) int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char part[NAME_MAX + 1];
	const char *slash;
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT && !make)
		return -ENOENT;
	if (fd < 0 && errno == ENOENT && mkdir(base, 0700) == 0)
		fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, errno, "'%.150s'", base);
	r = check_owner(&st, base, err);
	for (; r == 0 && (slash = strchr(rel, '/')); rel = slash + 1) {
		if ((size_t)(slash - rel) > NAME_MAX)
			return error_set(err, ERROR_INPUT, ENAMETOOLONG, "'%.100s'", rel);
		memcpy(part, rel, (size_t)(slash - rel));
		part[slash - rel] = '\0';
		r = enter(&fd, part, make, err);
	}
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	*ret_name = rel;
	return 0;
}

static int read_file(struct setup_file *f, struct error *err)
{
	scoped(fd_closep) int fd =
		openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return error_set(err, ERROR_INPUT, ELOOP,
		                 "'%.100s' is a link: nothing is written through it. Change the "
		                 "file that it leads to by hand",
		                 f->name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, errno, "'%.150s'", f->name);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "'%.100s' is no regular file, or has another name as well",
		                 f->name);
	if (check_owner(&st, f->name, err) < 0)
		return -EPERM;
	f->text.max = JSONC_BYTES_MAX;
	r = fd_read_all(fd, &f->text);
	if (r < 0)
		return error_sys(err, -r, "'%.150s'", f->name);
	f->exists = true;
	f->mode = st.st_mode & 07777;
	return 0;
}

int setup_file_open(const char *base, const char *rel, bool make, struct setup_file *ret,
                    struct error *err)
{
	struct setup_file f = {.dir_fd = -1};
	int r = open_directory(base, rel, make, &f.dir_fd, &f.name, err);

	if (r == -ENOENT && !make)
		r = 0;
	else if (r == 0)
		r = read_file(&f, err);
	if (r < 0) {
		setup_file_done(&f);
		return error_wrap(err, "%.80s", base);
	}
	*ret = f;
	return 0;
}

void setup_file_done(struct setup_file *f)
{
	fd_close(take_fd(&f->dir_fd));
	buffer_done(&f->text);
}

static int check_unchanged(struct setup_file *f, struct error *err)
{
	struct setup_file now = {.dir_fd = f->dir_fd, .name = f->name};
	bool same;
	int r = read_file(&now, err);

	same = r == 0 && now.exists == f->exists && now.text.len == f->text.len &&
	       (now.text.len == 0 || memcmp(now.text.data, f->text.data, now.text.len) == 0);
	buffer_done(&now.text);
	if (r == 0 && !same)
		r = error_set(err, ERROR_INPUT, EAGAIN,
		              "'%.150s' was changed meanwhile: nothing is written. Start again",
		              f->name);
	return r;
}

int setup_file_replace(struct setup_file *f, const char *bytes, size_t n, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	int r = check_unchanged(f, err);

	if (r < 0)
		return r;
	r = fd_replace_file_synced(f->dir_fd, f->name, bytes, n);
	if (r < 0)
		return error_sys(err, -r, "'%.150s'", f->name);
	fd = openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, f->exists ? f->mode : 0644);
	return 0;
}

int setup_file_remove(struct setup_file *f, struct error *err)
{
	int r = check_unchanged(f, err);

	if (r == 0 && f->exists && unlinkat(f->dir_fd, f->name, 0) < 0)
		r = error_sys(err, errno, "'%.150s'", f->name);
	return r;
}
