/*
 * An engine works with one profile below one directory. A principal who may use several directories
 * gets, for each request, the engine of the one that the wanted workspace lies in: the engine looks
 * where the directory really is when it has opened it, so nothing that is moved or linked meanwhile
 * leads out of it. What is compared here before is for the choice and for the words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/hex.h"
#include "session/place.h"
#include "serve/inside.h"

#define BENCHES_MAX 2048 /* each has a descriptor, and a few more once it is used */

void bench_free(struct bench *b)
{
	if (!b)
		return;
	if (b->engine.environment)
		engine_done(&b->engine);
	free(b->profile);
	free(b->root);
	free(b->around);
	free(b);
}

int bench_at(struct serve *s, const char *profile, const char *const *roots, const char *root,
             struct bench **ret, struct error *err)
{
	const char *around = bench_root_of(roots, root);
	struct bench *b;

	if (!around) /* the engine tells what is wrong with it */
		around = root;
	for (b = s->benches; b; b = b->next)
		if (strcmp(b->profile, profile) == 0 && strcmp(b->root, root) == 0 &&
		    strcmp(b->around, around) == 0) {
			*ret = b;
			return 0;
		}
	if (s->bench_count == BENCHES_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "too many directories are in use");
	b = calloc(1, sizeof(*b));
	if (b) {
		b->profile = strdup(profile);
		b->root = strdup(root);
		b->around = strdup(around);
	}
	if (!b || !b->profile || !b->root || !b->around) {
		bench_free(b);
		return error_nomem(err);
	}
	engine_init(&b->engine, s->options.environment);
	b->engine.launcher = s->launcher;
	b->engine.wishes.profile = b->profile;
	b->engine.wishes.policy_file = s->options.policy_file;
	b->engine.wishes.workspace = b->root;
	b->engine.wishes.root = b->around;
	b->engine.wishes.confined = true;
	b->engine.wishes.output_prefix = "nacre://output/";
	b->next = s->benches;
	s->benches = b;
	s->bench_count++;
	*ret = b;
	return 0;
}

int bench_store(struct serve *s, struct store **ret, struct error *err)
{
	struct bench *b;
	int r = bench_at(s, s->options.profiles[0], s->options.workspaces, s->options.workspaces[0],
	                 &b, err);

	if (r == 0)
		*ret = &b->engine.store;
	return r;
}

const char *const *bench_roots(const struct call *c)
{
	return c->who.workspaces ? c->who.workspaces : c->serve->options.workspaces;
}

static bool is_offered(const struct serve *s, const char *profile)
{
	for (const char *const *p = s->options.profiles; *p; p++)
		if (strcmp(*p, profile) == 0)
			return true;
	return false;
}

static const char *default_profile(const struct call *c)
{
	for (const char *const *p = c->serve->options.profiles; *p; p++)
		if (principal_may_use(&c->who, *p))
			return *p;
	return NULL;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *bench_root_of(const char *const *roots, const char *workspace)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *best = NULL;
	size_t best_len = 0;

	if (!realpath(workspace, path) || !is_directory(path))
		return NULL;
	for (; *roots; roots++)
		if (realpath(*roots, real) && place_is_inside(path, real) &&
		    (!best || strlen(real) < best_len)) {
			best = *roots;
			best_len = strlen(real);
		}
	return best;
}

bool bench_is_below(const char *const *roots, const char *directory)
{
	char real[PATH_MAX];

	for (; *directory && *roots; roots++)
		if (realpath(*roots, real) && place_is_inside(directory, real))
			return true;
	return false;
}

/* The first root if it holds the directory of this name, or NULL. */
static const char *first_root(const char *root, const char *name)
{
	const char *const roots[] = {root, NULL};
	char path[PATH_MAX];

	if (!*name || snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
		return NULL;
	return bench_root_of(roots, path);
}

int bench_find(struct call *c, const char *profile, const char *workspace, struct bench **ret,
               struct error *err)
{
	const char *const *roots = bench_roots(c);
	const char *root = roots[0];

	if (!profile)
		profile = default_profile(c);
	if (!profile || !is_offered(c->serve, profile) || !principal_may_use(&c->who, profile))
		return error_set(err, ERROR_INPUT, EACCES, "this profile is not offered to you");
	if (!root)
		return error_set(err, ERROR_INPUT, EACCES, "there is no workspace for you");
	/* What is not there and what is somebody else's look alike from outside. */
	if (workspace)
		root = workspace[0] == '/' ? bench_root_of(roots, workspace)
		                           : first_root(root, workspace);
	if (!root)
		return error_set(err, ERROR_INPUT, ENOENT, "Workspace not found");
	return bench_at(c->serve, profile, roots, root, ret, err);
}

int bench_session(const struct call *c, struct arena *arena, const char **session)
{
	struct digest digest;
	char *name;

	if (!*session || !c->client->name[0])
		return 0;
	name = arena_printf(arena, "%s/%s", c->client->name, *session);
	if (!name)
		return -ENOMEM;
	digest_make(name, strlen(name), &digest);
	name = arena_alloc(arena, 2 * 20 + 3);
	if (!name)
		return -ENOMEM;
	memcpy(name, "h-", 2);
	hex_write(digest.bytes, 20, name + 2);
	*session = name;
	return 0;
}
