/*
 * More of the host than the workspace, and less: paths that a profile grants, and secrets inside of
 * what is granted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define GRANTS_MAX 64

struct grant {
	const char *asked; /* absolute, perhaps through links */
	const char *path;  /* canonical */
	int fd;
	bool writable;
};

struct grants {
	struct grant items[GRANTS_MAX];
	size_t count;
};

static void grants_done(struct grants *g)
{
	for (size_t i = 0; i < g->count; i++)
		fd_close(g->items[i].fd);
}

/* A room's home has its own configuration of git, which began as a copy of the operator's. */
static bool is_in_room(const struct sandbox_plan *p, const char *asked)
{
	size_t n = p->home ? strlen(p->home) : 0;

	return p->room.path && p->room.home >= 0 && p->home && path_is_in(asked, p->home) &&
	       asked[n] == '/' &&
	       (strcmp(asked + n, "/.gitconfig") == 0 || path_is_in(asked + n, "/.config/git"));
}

/* What is not there is not granted. */
static int collect(struct sandbox_plan *p, struct grants *g, const char *const *list, bool writable)
{
	struct grant *grant;
	struct stat st;

	for (; list && *list; list++) {
		const char *asked = box_expand(p, *list);

		if (!asked || is_in_room(p, asked))
			continue;
		if (g->count == GRANTS_MAX)
			return -E2BIG;
		witness_add(p->witnesses, asked, false);
		grant = &g->items[g->count];
		grant->path = box_real(p, asked, &st);
		if (grant->path && strcmp(grant->path, asked) != 0)
			witness_add(p->witnesses, grant->path, false);
		grant->fd = grant->path ? open(grant->path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (grant->fd < 0)
			continue;
		g->count++;
		grant->asked = asked;
		grant->writable = writable;
	}
	return 0;
}

/* A directory before what lies in it; of two grants for one path the stronger first. */
static int by_path(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (int)y->writable - (int)x->writable;
}

static bool is_covered(const struct sandbox_plan *p, const struct grants *g, size_t n)
{
	const struct grant *grant = &g->items[n];

	if (path_is_in(grant->path, p->workspace))
		return !grant->writable || !p->spec->workspace_readonly;
	for (size_t i = 0; i < n; i++)
		if (path_is_in(grant->path, g->items[i].path) &&
		    (g->items[i].writable || !grant->writable))
			return true;
	return !grant->writable && box_ground_of(p, grant->path) == BOX_GROUND_HOST;
}

/* Whether the name by which the Nth was asked for is there by another one's name: it is the same,
 * or leads through it. */
static bool has_name(const struct grants *g, size_t n)
{
	const char *asked = g->items[n].asked;

	for (size_t i = 0; i < g->count; i++) {
		const struct grant *other = &g->items[i];

		if (strcmp(other->asked, other->path) == 0 || i == n)
			continue;
		if (strcmp(asked, other->asked) == 0 ? i < n : path_is_in(asked, other->asked))
			return true;
	}
	return false;
}

/* The name by which it was asked for, where that is a link. */
static int plan_alias(struct sandbox_plan *p, const struct grants *g, size_t n)
{
	const struct grant *grant = &g->items[n];
	enum box_ground_kind ground = box_ground_of(p, grant->asked);
	struct box_step *s;
	const char *parent;
	int r;

	if (strcmp(grant->asked, grant->path) == 0 || ground == BOX_GROUND_HOST || has_name(g, n))
		return 0;
	parent = arena_strndup(p->arena, grant->asked,
	                       (size_t)(strrchr(grant->asked, '/') - grant->asked));
	if (!parent)
		return -ENOMEM;
	r = *parent ? box_point(p, parent, true) : 0;
	if (r < 0)
		return r;
	s = box_step_add(p, ground == BOX_GROUND_SKELETON ? BOX_SKELETON : BOX_GRANTS, BOX_SYMLINK,
	                 grant->asked + 1);
	if (!s)
		return -ENOMEM;
	s->source = grant->path;
	s->each = ground == BOX_GROUND_SCRATCH; /* a new scratch file system hides it */
	return 0;
}

static int plan_grant(struct sandbox_plan *p, const struct grant *grant)
{
	uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	enum landlock_right right = p->runs_own ? LANDLOCK_WRITE_EXEC : LANDLOCK_WRITE;
	int r;

	if (!grant->writable)
		attr |= MOUNT_ATTR_RDONLY;
	if (p->spec->exec == SANDBOX_EXEC_LISTED || (grant->writable && !p->runs_own))
		attr |= MOUNT_ATTR_NOEXEC;
	r = box_grant(p, grant->path, grant->fd, attr);
	return r == 0 && grant->writable ? box_rule_add(p, grant->path, right) : r;
}

/* In the order of their paths, the workspace at its place among them. */
int box_grants_plan(struct sandbox_plan *p)
{
	scoped(grants_done) struct grants g = {.count = 0};
	bool workspace_done = false;
	int r;

	r = collect(p, &g, p->spec->writable, true);
	/* The addresses of name servers may lie in /run, which is not there. */
	if (r == 0 && p->spec->network == SANDBOX_NETWORK_HOST)
		r = collect(p, &g, (const char *const[]){"/etc/resolv.conf", NULL}, false);
	if (r == 0)
		r = collect(p, &g, p->spec->readable, false);
	/* Who may connect does not write: read-only, so that nobody changes the socket's mode. */
	if (r == 0)
		r = collect(p, &g, p->spec->sockets, false);
	if (r < 0)
		return r;
	if (g.count > 0)
		qsort(g.items, g.count, sizeof(g.items[0]), by_path);
	for (size_t i = 0; r == 0 && i < g.count; i++) {
		if (!workspace_done && strcmp(p->workspace, g.items[i].path) < 0) {
			r = box_workspace_plan(p);
			workspace_done = true;
		}
		if (r == 0 && !is_covered(p, &g, i))
			r = plan_grant(p, &g.items[i]);
		if (r == 0)
			r = plan_alias(p, &g, i);
	}
	return r == 0 && !workspace_done ? box_workspace_plan(p) : r;
}

/* Nothing is put over the workspace itself. */
static int hide(struct sandbox_plan *p, const char *path)
{
	struct stat st;
	const char *real = box_real(p, path, &st);
	int r;

	if (!real || path_is_in(p->workspace, real) || box_ground_of(p, real) != BOX_GROUND_HOST)
		return 0;
	r = box_protect_hidden(p, real);
	return r == 0 ? box_mask(p, real, S_ISDIR(st.st_mode)) : r;
}

/* Where nacre keeps its own: in a workspace that is the home directory a command could read the
 * tasks of others, and write the profile of the next command. What is missing must not appear. */
int box_own_places(struct sandbox_plan *p, const char *into[BOX_OWN_PLACES])
{
	const struct {
		const char *variable, *suffix;
	} places[] = {{"NACRE_STATE_DIR", ""},
	              {"XDG_STATE_HOME", "/nacre"},
	              {"XDG_CONFIG_HOME", "/nacre"}};
	const char *const at_home[] = {".local/state/nacre", ".config/nacre"};
	int n = 0;

	for (size_t i = 0; i < array_size(places); i++) {
		const char *value = getenv(places[i].variable);

		if (value && *value == '/')
			into[n++] = arena_printf(p->arena, "%s%s", value, places[i].suffix);
	}
	for (size_t i = 0; i < array_size(at_home); i++) {
		if (p->home)
			into[n++] = arena_printf(p->arena, "%s/%s", p->home, at_home[i]);
		for (size_t j = 0; j < p->other_home_count; j++)
			into[n++] = arena_printf(p->arena, "%s/%s", p->other_homes[j], at_home[i]);
	}
	for (size_t i = 0; i < p->hidden_count; i++)
		if (*p->hidden[i] == '/')
			into[n++] = p->hidden[i];
	for (int i = 0; i < n; i++)
		if (!into[i])
			return -ENOMEM;
	return n;
}

/* Where keys are looked for, keys that were put there open something: what is missing must not
 * appear either. */
static int hide_secret(void *context, const char *path)
{
	struct sandbox_plan *p = context;
	struct stat st;

	witness_add(p->witnesses, path, false);
	return box_real(p, path, &st) ? hide(p, path) : box_protect_path(p, path);
}

/* A file can be looked at where it lies in the workspace: it is the policy, and may be the
 * project's. Whatever is not there must not appear. */
static int hide_own(struct sandbox_plan *p, const char *path)
{
	struct stat st;
	const char *real = box_real(p, path, &st);

	witness_add(p->witnesses, path, false);
	if (!real)
		return box_protect_path(p, path);
	return S_ISREG(st.st_mode) && path_is_in(real, p->workspace) ? box_protect_path(p, real)
	                                                             : hide(p, path);
}

int box_secrets_plan(struct sandbox_plan *p)
{
	const char *own[BOX_OWN_PLACES];
	int n = box_own_places(p, own), r = n < 0 ? n : box_secrets_visit(p, hide_secret, p);

	for (int i = 0; r == 0 && i < n; i++)
		r = hide_own(p, own[i]);
	return r;
}
