#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"

#define LOCK_TRIES    200
#define LOCK_PAUSE_MS 5

void fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

int fd_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	ssize_t done;

	while (n > 0) {
		done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) { /* somebody shares it and made it non-blocking */
			struct pollfd ready = {.fd = fd, .events = POLLOUT};

			if (poll(&ready, 1, -1) >= 0 || errno == EINTR)
				continue;
		}
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int fd_read_all(int fd, struct buffer *into)
{
	size_t max = into->max ? into->max : BUFFER_MAX_DEFAULT, want;
	char probe, *to;
	ssize_t n;

	for (;;) {
		/* At the limit one byte more decides between the end of the file and too much. */
		want = max - into->len < 16384 ? max - into->len : 16384;
		to = want ? buffer_reserve(into, want) : &probe;
		if (!to)
			return buffer_error(into);
		n = read(fd, to, want ? want : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (!want)
			return into->failed = -E2BIG;
		into->len += (size_t)n;
		into->data[into->len] = '\0';
	}
}

ssize_t fd_read_text(int dir_fd, const char *path, char *text, size_t size)
{
	scoped(fd_closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	assert(size > 0);
	text[0] = '\0';
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text[len] = '\0';
	return n < 0 ? -errno : (ssize_t)len;
}

int fd_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int fd_fill_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	} while (fd < 3);
	close(fd);
	return 0;
}

void fd_null_standard(void)
{
	scoped(fd_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		(void)dup2(null, fd);
}

void fd_close_except(const int *keep, size_t count)
{
	unsigned from = 3, next;

	for (;;) {
		next = ~0U;
		for (size_t i = 0; i < count; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			(void)close_range(from, next == ~0U ? ~0U : next - 1, 0);
		if (next == ~0U)
			return;
		from = next + 1;
	}
}

int fd_open_regular(int dir_fd, const char *name)
{
	scoped(fd_closep) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(&fd) : -EINVAL;
}

int fd_open_locked(int at, const char *name, mode_t rights, mode_t *ret_before)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	scoped(fd_closep) int held = -1;
	char link[32];
	struct stat st;
	int fd;

	if (ret_before)
		*ret_before = 0;
	fd = openat(at, name, O_RDONLY | flags);
	if (fd < 0 && errno != EACCES)
		return -errno;
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & rights) == rights)
		return fd;
	fd_close(fd);
	/* Held first: by its name it could be another one meanwhile, and a link by now. */
	held = openat(at, name, O_PATH | flags);
	if (held < 0 || fstat(held, &st) < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	if (chmod(link, (st.st_mode & 07777) | rights) < 0)
		return -errno;
	if (ret_before)
		*ret_before = st.st_mode;
	fd = open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int fd_open_private(int at, const char *path)
{
	scoped(fd_closep) int fd =
		openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 022) ? take_fd(&fd) : -EPERM;
}

int fd_lock(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return -EBUSY;
}

static int replace_file(int dir_fd, const char *name, const void *bytes, size_t n, bool synced)
{
	scoped(fd_closep) int fd = -1;
	char temporary[256];
	int r;

	r = snprintf(temporary, sizeof(temporary), ".%s.new", name);
	if (r < 0 || (size_t)r >= sizeof(temporary))
		return -ENAMETOOLONG;
	/* Whatever bears the name is not ours, a FIFO perhaps, which would keep us waiting. */
	(void)unlinkat(dir_fd, temporary, 0);
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, n);
	/* Before it has its name: the name may reach the disk long before the bytes do. */
	if (r == 0 && synced && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

int fd_replace_file(int dir_fd, const char *name, const void *bytes, size_t n)
{
	return replace_file(dir_fd, name, bytes, n, false);
}

int fd_replace_file_synced(int dir_fd, const char *name, const void *bytes, size_t n)
{
	int r = replace_file(dir_fd, name, bytes, n, true);

	return r == 0 && fsync(dir_fd) < 0 ? -errno : r;
}
