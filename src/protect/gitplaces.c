/*
 * A path that git's configuration names, walked as the kernel would: whatever on the way lies in
 * the workspace cannot be replaced, and what lies at its end cannot be written. Where it begins
 * does not matter: a link elsewhere may lead into the workspace, and one in it may lead out.
 */
#include "protect/git.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "protect/inside.h"

#define LINKS_MAX 40

struct walk {
	struct protect *list;
	char at[PATH_MAX];   /* reached; without links; "" is the root */
	char rest[PATH_MAX]; /* to be walked still */
	int links;
	enum git_named kind;
};

static const char *const hook_names[] = {"applypatch-msg",
                                         "commit-msg",
                                         "fsmonitor-watchman",
                                         "p4-changelist",
                                         "p4-post-changelist",
                                         "p4-pre-submit",
                                         "p4-prepare-changelist",
                                         "post-applypatch",
                                         "post-checkout",
                                         "post-commit",
                                         "post-index-change",
                                         "post-merge",
                                         "post-receive",
                                         "post-rewrite",
                                         "post-update",
                                         "pre-applypatch",
                                         "pre-auto-gc",
                                         "pre-commit",
                                         "pre-merge-commit",
                                         "pre-push",
                                         "pre-rebase",
                                         "pre-receive",
                                         "prepare-commit-msg",
                                         "proc-receive",
                                         "push-to-checkout",
                                         "reference-transaction",
                                         "sendemail-validate",
                                         "update"};

/* Nothing can be put over the workspace itself. */
static int protect_hooks_of_workspace(struct protect *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_size(hook_names); i++)
		r = protect_inside(p, hook_names[i]);
	return r;
}

/* PATH in the workspace cannot be replaced. */
static int pin(struct protect *p, const char *path)
{
	const char *below = arena_printf(p->arena, "%s/-", path);

	return below ? protect_pin_parents(p, below) : -ENOMEM;
}

static int protect_end(struct walk *w, bool is_directory)
{
	const char *inside = git_inside(w->list, w->at);

	if (w->kind == GIT_NAMED_WAY)
		return inside ? pin(w->list, w->at) : 0;
	/* A word that is a directory is no program. */
	if (is_directory && w->kind == GIT_NAMED_PROGRAM)
		return 0;
	if (strcmp(w->at, w->list->workspace) == 0)
		return w->kind == GIT_NAMED_HOOKS ? protect_hooks_of_workspace(w->list) : 0;
	return inside ? protect_inside(w->list, arena_printf(w->list->arena, "%s", inside)) : 0;
}

/* What is behind W->AT is not there: it must not appear. */
static int protect_missing(struct walk *w)
{
	const char *inside = git_inside(w->list, w->at), *path;
	int r;

	if (w->kind == GIT_NAMED_WAY || (!inside && strcmp(w->at, w->list->workspace) != 0))
		return 0;
	path = arena_printf(w->list->arena, "%s/%s", inside ? inside : ".", w->rest);
	if (!path)
		return -ENOMEM;
	/* A directory that is made as a link would lead ".." elsewhere. */
	if (strstr(w->rest, "..")) {
		const char *first = arena_printf(w->list->arena, "%s/%.*s", inside ? inside : ".",
		                                 (int)strcspn(w->rest, "/"), w->rest);

		first = first ? protect_fold(w->list, first) : NULL;
		r = first ? protect_inside(w->list, first) : 0;
		if (r < 0)
			return r;
	}
	path = protect_fold(w->list, path);
	return path ? protect_inside(w->list, path) : 0;
}

/* Out of a directory by "..": it must stay the one that it is. */
static int go_up(struct walk *w)
{
	char *slash = strrchr(w->at, '/');
	int r = git_inside(w->list, w->at) ? pin(w->list, w->at) : 0;

	if (slash)
		*slash = '\0';
	return r;
}

/* The link NAME in W->AT. */
static int follow(struct walk *w, const char *name, const char *behind)
{
	const char *link = arena_printf(w->list->arena, "%s/%s", w->at, name), *inside;
	char text[PATH_MAX], rest[PATH_MAX];
	ssize_t n = link ? readlink(link, text, sizeof(text) - 1) : -1;
	int r = 0;

	if (n <= 0 || ++w->links > LINKS_MAX) /* git gets no further either */
		return link ? -ELOOP : -ENOMEM;
	text[n] = '\0';
	inside = git_inside(w->list, link);
	if (inside)
		r = protect_inside(w->list, inside);
	else
		witness_add(w->list->witnesses, link, false);
	if (snprintf(rest, sizeof(rest), "%s/%s", text, behind) >= (int)sizeof(rest))
		return -ELOOP;
	memcpy(w->rest, rest, sizeof(rest));
	if (*text == '/')
		w->at[0] = '\0';
	return r;
}

/* One part of the path; 1: the walk has ended. */
static int step(struct walk *w)
{
	char name[NAME_MAX + 1], path[PATH_MAX + NAME_MAX];
	size_t n = strcspn(w->rest, "/"), skipped = n + strspn(w->rest + n, "/");
	struct stat st;
	int r = 0;

	if (n > NAME_MAX || strlen(w->at) + n + 2 > sizeof(w->at))
		return 1; /* no file has such a name */
	snprintf(name, sizeof(name), "%.*s", (int)n, w->rest);
	if (n == 2 && strcmp(name, "..") == 0) {
		r = go_up(w);
	} else if (n > 0 && strcmp(name, ".") != 0) {
		snprintf(path, sizeof(path), "%s/%s", w->at, name);
		if (lstat(path, &st) < 0) {
			r = -errno;
			witness_add(w->list->witnesses, arena_printf(w->list->arena, "%s", path),
			            false);
			/* Outside, git may not look either where we may not. Inside it is looked
			 * at once more, and refused. */
			if (path_is_absent(r) || r == -EACCES)
				r = protect_missing(w);
			else
				r = protect_refuse(w->list, r, "'%.150s' cannot be looked at: %s",
				                   path, strerrordesc_np(-r));
			return r < 0 ? r : 1;
		}
		if (S_ISLNK(st.st_mode)) {
			r = follow(w, name, w->rest + skipped);
			return r == -ELOOP ? 1 : r;
		}
		if (S_ISDIR(st.st_mode) && st.st_dev == w->list->workspace_device &&
		    st.st_ino == w->list->workspace_inode)
			snprintf(w->at, sizeof(w->at), "%s", w->list->workspace);
		else
			memcpy(w->at, path, strlen(path) + 1);
	}
	memmove(w->rest, w->rest + skipped, strlen(w->rest + skipped) + 1);
	if (r < 0 || *w->rest)
		return r;
	r = protect_end(w, lstat(w->at[0] ? w->at : "/", &st) == 0 && S_ISDIR(st.st_mode));
	return r < 0 ? r : 1;
}

int git_place_protect(struct protect *p, const char *path, enum git_named kind)
{
	struct walk w = {.list = p, .kind = kind};
	int r = 0;

	if (*path != '/' || strlen(path) >= sizeof(w.rest))
		return 0;
	/* A link that leads here may be on the way again. */
	if (p->place_depth >= LINKS_MAX)
		return 0;
	p->place_depth++;
	snprintf(w.rest, sizeof(w.rest), "%s", path);
	while (r == 0)
		r = step(&w);
	p->place_depth--;
	return r < 0 ? r : 0;
}
