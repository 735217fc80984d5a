/*
 * Whose home directories there are: the one that "~" means in a profile, and others whose secrets a
 * workspace may have in it.
 *
 * What a request asks for has no say in it. HOME of nacre's own environment is believed, since the
 * operator set it; where it is missing or means nothing the system's list of users is asked. That
 * list also has the homes of all others, for whom root may be working: whose the workspace is says
 * little, since a directory in a home may be anybody's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define PASSWD_MAX  ((size_t)1 << 20)
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

/* One that is not there yet is made in the box. False: it is no home. */
static bool resolve(const char *path, char into[PATH_MAX])
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

static const char *usable(struct sandbox_plan *p, const char *path)
{
	char real[PATH_MAX];

	return resolve(path, real) ? arena_strdup(p->arena, real) : NULL;
}

struct user {
	const char *name; /* up to the next colon */
	uid_t uid;
	char home[PATH_MAX];
};

/* The next user of the text of /etc/passwd with a home directory; *line is moved behind. */
static bool next_user(const char **line, struct user *ret)
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

static int add_other(struct sandbox_plan *p, const char *home)
{
	char real[PATH_MAX];

	if (!resolve(home, real) || (p->home && strcmp(real, p->home) == 0) ||
	    (!path_is_in(p->workspace, real) &&
	     (!path_is_in(real, p->workspace) || p->spec->tier == SANDBOX_TIER_NONE)))
		return 0;
	for (size_t i = 0; i < p->other_home_count; i++)
		if (strcmp(real, p->other_homes[i]) == 0)
			return 0;
	if (p->other_home_count == BOX_OTHER_HOMES)
		return -E2BIG;
	home = arena_strdup(p->arena, real);
	if (home)
		p->other_homes[p->other_home_count++] = home;
	return home ? 0 : -ENOMEM;
}

/* 0, also where there is no list that could be read by anybody. */
static int read_users(struct buffer *text)
{
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, "/etc/passwd");

	if (fd < 0)
		return path_is_absent(fd) || fd == -EACCES || fd == -EINVAL ? 0 : fd;
	return fd_read_all(fd, text);
}

const char *box_home_of_name(struct sandbox_plan *p, const char *name, size_t n)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	const char *line;
	struct user user;

	if (read_users(&text) < 0)
		return NULL;
	for (line = buffer_str(&text); next_user(&line, &user);)
		if (strncmp(user.name, name, n) == 0 && user.name[n] == ':')
			return usable(p, user.home);
	return NULL;
}

int box_homes_find(struct sandbox_plan *p, const char *path, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	int r = read_users(&text);
	struct user user;
	const char *line;

	if (r < 0) /* whose secrets the workspace may have in it would not be known */
		return error_sys(err, -r, "/etc/passwd");
	p->home = usable(p, path);
	for (line = buffer_str(&text); !p->home && next_user(&line, &user);)
		if (user.uid == geteuid())
			p->home = usable(p, user.home);
	for (line = buffer_str(&text); r == 0 && next_user(&line, &user);)
		r = add_other(p, user.home);
	if (r == -E2BIG)
		return error_set(
			err, ERROR_INPUT, E2BIG,
			"this directory has the home directories of more than %d users in "
			"it, and cannot be the workspace. Choose a directory in one of them.",
			BOX_OTHER_HOMES);
	return r < 0 ? error_set(err, ERROR_SYSTEM, -r, "out of memory") : 0;
}

const char *box_expand(struct sandbox_plan *p, const char *path)
{
	if (*path == '/')
		return path;
	if (*path == '~' && (path[1] == '/' || !path[1]))
		return p->home ? arena_printf(p->arena, "%s%s", p->home, path + 1) : NULL;
	return arena_printf(p->arena, "%s/%s", p->workspace, path);
}

/* Of the other homes only what the workspace has in it, or is in, can be reached at all. */
int box_secrets_visit(struct sandbox_plan *p, int (*visit)(void *context, const char *path),
                      void *context)
{
	int r = 0;

	for (const char *const *s = p->spec->secrets; r == 0 && s && *s; s++) {
		const char *path = box_expand(p, *s);

		if (path)
			r = visit(context, path);
		for (size_t i = 0; r == 0 && **s == '~' && i < p->other_home_count; i++) {
			path = arena_printf(p->arena, "%s%s", p->other_homes[i], *s + 1);
			if (!path)
				return -ENOMEM;
			if (path_is_in(path, p->workspace) || path_is_in(p->workspace, path))
				r = visit(context, path);
		}
	}
	return r;
}
