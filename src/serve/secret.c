#include "serve/secret.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"
#include "task/store.h"

static int make(void *key, size_t n, struct error *err)
{
	if (getrandom(key, n, 0) != (ssize_t)n)
		return error_sys(err, errno, "random bytes");
	return 0;
}

/* A file of another user, or one that others can read, is no secret. */
static int read_file(int state_fd, const char *name, void *key, size_t n)
{
	scoped(fd_closep) int fd = openat(state_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return -EPERM;
	return read(fd, key, n) == (ssize_t)n ? 0 : -EIO;
}

/* Of two who make it at the same time the first one's stays: link() replaces nothing. */
static int make_file(int state_fd, const char *name, const void *key, size_t n)
{
	char temporary[64];
	int fd, r;

	snprintf(temporary, sizeof(temporary), ".%.40s.%d", name, (int)getpid());
	fd = openat(state_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	            0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, key, n);
	fd_close(fd);
	if (r == 0 && linkat(state_fd, temporary, state_fd, name, 0) < 0)
		r = -errno;
	(void)unlinkat(state_fd, temporary, 0);
	return r == -EEXIST ? 0 : r;
}

int secret_load(const struct store *store, const char *name, void *key, size_t n, struct error *err)
{
	scoped(fd_closep) int state_fd = -1;
	int r;

	if (store->tasks_fd < 0 || store->temporary)
		return make(key, n, err);
	state_fd = openat(store->tasks_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state_fd < 0)
		return make(key, n, err);
	r = read_file(state_fd, name, key, n);
	if (r == -ENOENT) {
		r = make(key, n, err);
		if (r < 0)
			return r;
		r = make_file(state_fd, name, key, n);
		if (r == 0)
			r = read_file(state_fd, name, key, n);
		if (r < 0 && (r == -EROFS || r == -EACCES || r == -ENOSPC || r == -EDQUOT))
			return make(key, n, err);
	}
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r,
	                         "the secret '%s' in the state directory: %s", name,
	                         r == -EPERM ? "it is not private" : strerrordesc_np(-r))
	             : 0;
}

int secret_text(size_t bytes, char *into, struct error *err)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t secret[64];
	uint32_t bits = 0;
	int have = 0;

	assert(bytes <= sizeof(secret));
	if (make(secret, bytes, err) < 0)
		return -EIO;
	for (size_t i = 0; i < bytes; i++) {
		bits = bits << 8 | secret[i];
		for (have += 8; have >= 6; have -= 6)
			*into++ = letters[bits >> (have - 6) & 63];
	}
	if (have > 0)
		*into++ = letters[bits << (6 - have) & 63];
	*into = '\0';
	explicit_bzero(secret, sizeof(secret));
	return 0;
}
