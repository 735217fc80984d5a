/*
 * Whose home directories there are: the one that "~" means in a profile, and others whose secrets a
 * workspace may have in it.
 *
 * What a request asks for has no say in it. HOME of nacre's own environment is believed, since the
 * operator set it; where it is missing or means nothing the system's list of users is asked. That
 * list also has the home of whoever runs nacre, should HOME be another place, and of the owners of
 * the workspace and of its root, for whom root may be working.
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

/* One that is not there yet is made in the box. NULL: it is no home. */
static const char *usable(struct sandbox_plan *p, const char *path)
{
	char resolved[PATH_MAX];

	if (!path || *path != '/')
		return NULL;
	if (!realpath(path, resolved)) {
		if (!is_clean(path))
			return NULL;
		snprintf(resolved, sizeof(resolved), "%s", path);
	}
	return strcmp(resolved, "/") == 0 ? NULL
	                                  : arena_strndup(p->arena, resolved, strlen(resolved));
}

/* The home directory of the user whose field of the text of /etc/passwd is this, with a colon. */
static const char *home_where(struct sandbox_plan *p, const char *text, size_t field,
                              const char *wanted)
{
	char home[PATH_MAX];

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *fields[FIELD_COUNT], *end;
		size_t n = 0;

		line += *line == '\n';
		end = strchrnul(line, '\n');
		for (const char *at = line; at && n < FIELD_COUNT;) {
			fields[n++] = at;
			at = memchr(at, ':', (size_t)(end - at));
			at += at != NULL;
		}
		if (n < FIELD_COUNT || strncmp(fields[field], wanted, strlen(wanted)) != 0)
			continue;
		snprintf(home, sizeof(home), "%.*s",
		         (int)(fields[FIELD_HOME + 1] - fields[FIELD_HOME] - 1),
		         fields[FIELD_HOME]);
		return usable(p, home);
	}
	return NULL;
}

static const char *home_of(struct sandbox_plan *p, const char *text, uid_t uid)
{
	char wanted[16];

	snprintf(wanted, sizeof(wanted), "%u:", (unsigned)uid);
	return home_where(p, text, FIELD_UID, wanted);
}

const char *box_home_of_name(struct sandbox_plan *p, const char *name, size_t n)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, "/etc/passwd");
	const char *wanted = arena_printf(p->arena, "%.*s:", (int)n, name);

	return wanted && fd >= 0 && fd_read_all(fd, &text) == 0
	               ? home_where(p, buffer_str(&text), FIELD_NAME, wanted)
	               : NULL;
}

static void add_other(struct sandbox_plan *p, const char *home)
{
	if (!home || (p->home && strcmp(home, p->home) == 0) ||
	    (!path_is_in(home, p->workspace) && !path_is_in(p->workspace, home)))
		return;
	for (size_t i = 0; i < p->other_home_count; i++)
		if (strcmp(home, p->other_homes[i]) == 0)
			return;
	if (p->other_home_count < BOX_OTHER_HOMES)
		p->other_homes[p->other_home_count++] = home;
}

int box_homes_find(struct sandbox_plan *p, const char *path)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	scoped(fd_closep) int fd = fd_open_regular(AT_FDCWD, "/etc/passwd");
	const char *own = NULL, *owners = NULL, *roots = NULL;
	struct stat st;

	/* Whose secrets the workspace may have in it would not be known. */
	if (fd < 0 && !path_is_absent(fd) && fd != -EACCES && fd != -EINVAL)
		return fd;
	if (fd >= 0 && fd_read_all(fd, &text) == 0) {
		own = home_of(p, buffer_str(&text), geteuid());
		if (fstat(p->workspace_fd, &st) == 0 && st.st_uid != geteuid())
			owners = home_of(p, buffer_str(&text), st.st_uid);
		if (p->above_count > 0 && p->above[0].owner != geteuid())
			roots = home_of(p, buffer_str(&text), p->above[0].owner);
	}
	p->home = usable(p, path);
	if (!p->home)
		p->home = own;
	add_other(p, own);
	add_other(p, owners);
	add_other(p, roots);
	return 0;
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
