#include "session/search-path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/path.h"
#include "profile/profile.h"

struct places {
	const struct search_ground *ground;
	char home[PATH_MAX]; /* canonical; empty: none */
	const char **readable, **writable;
};

/* The real path of what stands in a list of the profile. False: it is not there. */
static bool resolve(const struct places *p, const char *entry, char into[PATH_MAX])
{
	char path[PATH_MAX];
	bool at_home = entry[0] == '~' && (entry[1] == '/' || !entry[1]);

	if (at_home && !*p->home)
		return false;
	if (snprintf(path, sizeof(path), "%s%s", at_home ? p->home : "",
	             at_home ? entry + 1 : entry) >= (int)sizeof(path))
		return false;
	return path[0] == '/' && realpath(path, into);
}

/* The real paths of a list, up to NULL. NULL: no memory. */
static const char **resolve_all(struct arena *arena, const struct places *p,
                                const char *const *list)
{
	const char **all;
	size_t n = 0, used = 0;
	char real[PATH_MAX];

	while (list && list[n])
		n++;
	all = arena_alloc(arena, (n + 1) * sizeof(*all));
	for (size_t i = 0; all && i < n; i++) {
		if (!resolve(p, list[i], real))
			continue;
		all[used] = arena_strdup(arena, real);
		if (!all[used++])
			return NULL;
	}
	if (all)
		all[used] = NULL;
	return all;
}

/* The longest entry of the list that PATH lies in; 0: none. */
static size_t covered(const char *const *list, const char *path)
{
	size_t longest = 0;

	for (; *list; list++)
		if (path_is_in(path, *list) && strlen(*list) > longest)
			longest = strlen(*list);
	return longest;
}

/* Whether a command can put a program there. REAL has no links in it. */
static bool can_be_filled(const struct places *p, const char *real)
{
	const struct search_ground *g = p->ground;
	size_t readable = covered(p->readable, real), writable = covered(p->writable, real);

	if (path_is_in(real, g->workspace))
		return true; /* a grant inside of it takes nothing away */
	if (readable || writable)
		return writable >= readable;
	return path_is_in(real, "/tmp") || path_is_in(real, "/var/tmp") ||
	       path_is_in(real, "/dev/shm") ||
	       (g->private_home && *p->home && path_is_in(real, p->home));
}

/* A relative entry is a place of the workspace. What is not there now may be made later, by a link
 * that leads to a place of the command's. */
static bool is_kept(const struct places *p, const char *entry)
{
	char real[PATH_MAX];

	return entry[0] == '/' && realpath(entry, real) && !can_be_filled(p, real);
}

const char *search_path_clean(struct arena *arena, const char *path,
                              const struct search_ground *ground)
{
	struct places p = {.ground = ground};
	char *clean = arena_alloc(arena, strlen(path) + 1), entry[PATH_MAX];
	size_t used = 0, n;

	if (!clean)
		return NULL;
	if (ground->home && ground->home[0] == '/' && !realpath(ground->home, p.home))
		snprintf(p.home, sizeof(p.home), "%s", ground->home);
	if (strcmp(p.home, "/") == 0)
		p.home[0] = '\0';
	p.readable = resolve_all(arena, &p, ground->readable);
	p.writable = resolve_all(arena, &p, ground->writable);
	if (!p.readable || !p.writable)
		return NULL;
	for (;; path += n + 1) {
		n = strcspn(path, ":");
		snprintf(entry, sizeof(entry), "%.*s", (int)n, path);
		if (n < sizeof(entry) && is_kept(&p, entry))
			used += (size_t)sprintf(clean + used, "%s%s", used ? ":" : "", entry);
		if (!path[n])
			break;
	}
	clean[used] = '\0';
	return clean;
}

const struct search_ground *search_ground_of(const struct profile *profile, const char *workspace,
                                             struct search_ground *into)
{
	const struct sandbox_spec *box = &profile->sandbox;

	if (box->tier == SANDBOX_TIER_NONE || box->tier == SANDBOX_TIER_CONTAINER)
		return NULL;
	*into = (struct search_ground){.workspace = workspace,
	                               .home = getenv("HOME"),
	                               .readable = box->readable,
	                               .writable = box->writable,
	                               .private_home = box->tier == SANDBOX_TIER_STRICT};
	return into;
}
