/*
 * The system's list of users, read as text: no library that asks other services stands between.
 */
#include "base/passwd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

#define FIELD_NAME  0
#define FIELD_UID   2
#define FIELD_HOME  5
#define FIELD_COUNT 7

/* No ".", no "..", no "//", no "/" at the end. */
static bool is_clean(const char *path)
{
	for (const char *part = path; *part; part = strchrnul(part + 1, '/')) {
		size_t n = strcspn(part + 1, "/");

		if (n == 0 || (n == 1 && part[1] == '.') ||
		    (n == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return strlen(path) < PATH_MAX;
}

bool passwd_home_resolve(const char *path, char into[PATH_MAX])
{
	if (!path || *path != '/')
		return false;
	if (!realpath(path, into)) {
		if (!is_clean(path))
			return false;
		snprintf(into, PATH_MAX, "%s", path);
	}
	return strcmp(into, "/") != 0;
}

bool passwd_next(const char **line, struct passwd_user *ret)
{
	while (**line) {
		const char *fields[FIELD_COUNT], *end = strchrnul(*line, '\n');
		size_t n = 0, length;

		for (const char *at = *line; at && n < FIELD_COUNT;) {
			fields[n++] = at;
			at = memchr(at, ':', (size_t)(end - at));
			at += at != NULL;
		}
		*line = *end ? end + 1 : end;
		if (n < FIELD_COUNT)
			continue;
		length = (size_t)(fields[FIELD_HOME + 1] - fields[FIELD_HOME] - 1);
		if (length >= PATH_MAX)
			continue;
		ret->name = fields[FIELD_NAME];
		ret->uid = (uid_t)strtoul(fields[FIELD_UID], NULL, 10);
		snprintf(ret->home, PATH_MAX, "%.*s", (int)length, fields[FIELD_HOME]);
		return true;
	}
	return false;
}

int passwd_read(struct buffer *text)
{
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, "/etc/passwd");

	if (fd < 0)
		return path_is_absent(fd) || fd == -EACCES || fd == -EINVAL ? 0 : fd;
	return fd_read_all(fd, text);
}

bool passwd_home_of_name(const char *name, size_t n, char into[PATH_MAX])
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	const char *line;
	struct passwd_user user;

	if (passwd_read(&text) < 0)
		return false;
	for (line = buffer_str(&text); passwd_next(&line, &user);)
		if (strncmp(user.name, name, n) == 0 && user.name[n] == ':')
			return passwd_home_resolve(user.home, into);
	return false;
}
