#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/fd.h"
#include "change/inside.h"

#define CHUNK      65536
#define NAMES_MAX  4096
#define VALUES_MAX 16384

bool change_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static void path_of(int at, const char *name, char into[64 + NAME_MAX])
{
	snprintf(into, 64 + NAME_MAX, "/proc/self/fd/%d/%.255s", at, name);
}

/* In a user namespace the marks are user attributes, else the kernel's. */
static ssize_t mark(int at, const char *name, const char *what, char *value, size_t size)
{
	static const char *const spaces[] = {"user.overlay.", "trusted.overlay."};
	char path[64 + NAME_MAX], attribute[64];
	ssize_t n = -1;

	path_of(at, name, path);
	for (size_t i = 0; n < 0 && i < array_size(spaces); i++) {
		snprintf(attribute, sizeof(attribute), "%s%s", spaces[i], what);
		n = lgetxattr(path, attribute, value, size);
	}
	return n;
}

bool change_is_opaque(int at, const char *name)
{
	char value[8];

	return mark(at, name, "opaque", value, sizeof(value)) > 0 && value[0] == 'y';
}

/* With an empty value in a user namespace: the mark is there, but does not say what it was. */
bool change_was_copied(int at, const char *name)
{
	return mark(at, name, "origin", NULL, 0) >= 0;
}

bool change_same_bytes(int a, const char *name, int b, const char *other)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	scoped(fd_closep) int one = openat(a, name, flags);
	scoped(fd_closep) int two = openat(b, other, flags);
	char x[CHUNK], y[CHUNK];
	ssize_t n;

	if (one < 0 || two < 0)
		return false;
	do {
		n = read(one, x, sizeof(x));
		if (n < 0 || read(two, y, sizeof(y)) != n || memcmp(x, y, (size_t)n) != 0)
			return false;
	} while (n > 0);
	return true;
}

bool change_same_link(int a, const char *name, int b, const char *other)
{
	char x[PATH_MAX], y[PATH_MAX];
	ssize_t n = readlinkat(a, name, x, sizeof(x)), m = readlinkat(b, other, y, sizeof(y));

	return n >= 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

/* All but overlayfs's own, as one block; negative: too many, or they cannot be read. */
static ssize_t attributes(int at, const char *name, char *into, size_t size)
{
	char path[64 + NAME_MAX], names[NAMES_MAX];
	size_t used = 0;
	ssize_t n;

	path_of(at, name, path);
	n = llistxattr(path, names, sizeof(names));
	if (n < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : -1;
	for (const char *a = names; a < names + n; a += strlen(a) + 1) {
		size_t length = strlen(a) + 1;
		ssize_t value;

		if (strncmp(a, "user.overlay.", 13) == 0 || strncmp(a, "trusted.overlay.", 16) == 0)
			continue;
		if (used + length >= size)
			return -1;
		memcpy(into + used, a, length);
		used += length;
		value = lgetxattr(path, a, into + used, size - used);
		if (value < 0)
			return -1;
		used += (size_t)value;
	}
	return (ssize_t)used;
}

bool change_same_attributes(int a, const char *name, int b, const char *other)
{
	char x[VALUES_MAX], y[VALUES_MAX];
	ssize_t n = attributes(a, name, x, sizeof(x)), m = attributes(b, other, y, sizeof(y));

	return n >= 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

int64_t change_born(int at, const char *name)
{
	struct statx st;

	if (statx(at, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME))
		return -1;
	return st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec;
}
