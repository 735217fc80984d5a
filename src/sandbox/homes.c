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
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/passwd.h"
#include "base/path.h"
#include "sandbox/box.h"

static const char *usable(struct sandbox_plan *p, const char *path)
{
	char real[PATH_MAX];

	return passwd_home_resolve(path, real) ? arena_strdup(p->arena, real) : NULL;
}

static int add_other(struct sandbox_plan *p, const char *home)
{
	char real[PATH_MAX];

	if (!passwd_home_resolve(home, real) || (p->home && strcmp(real, p->home) == 0) ||
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

int box_homes_find(struct sandbox_plan *p, const char *path, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = PASSWD_MAX};
	int r = passwd_read(&text);
	struct passwd_user user;
	const char *line;

	if (r < 0) /* whose secrets the workspace may have in it would not be known */
		return error_sys(err, -r, "/etc/passwd");
	p->home = usable(p, path);
	for (line = buffer_str(&text); !p->home && passwd_next(&line, &user);)
		if (user.uid == geteuid())
			p->home = usable(p, user.home);
	for (line = buffer_str(&text); r == 0 && passwd_next(&line, &user);)
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
