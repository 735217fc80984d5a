/*
 * Submodules that .gitmodules names. One that is not there yet is made by whoever puts a repository
 * into its place: git goes into it when it is asked about the outer one, and reads its
 * configuration. What git itself would make there may stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "protect/inside.h"
#include "protect/git.h"

#define SUBMODULES_MAX 256
#define PLACE          ".git/modules/"

struct modules {
	struct protect *list;
	const char *top, *file;
	int (*visit)(void *context, const char *tree);
	void *context;
	size_t count;
};

/* TREE is relative to the workspace; NAME is that of its repository, "": in another place. */
static int protect_one(struct protect *p, const char *name, const char *tree)
{
	const char *link = arena_printf(p->arena, "%s/.git", tree), *path;
	int r;

	path = arena_printf(p->arena, PLACE "%s", name);
	if (!link || !path)
		return -ENOMEM;
	/* First what leads to it, which is of no use without what it leads to. One that is there is
	 * protected with all the others. */
	r = protect_submodule(p, link, tree);
	return r == 0 && *name ? protect_submodule(p, path, tree) : r;
}

static int take_key(void *context, const struct git_key *key)
{
	struct modules *m = context;
	struct protect *p = m->list;
	const char *tree, *inside, *name = key->name;
	int r = 0;

	if (strcmp(key->section, "submodule") != 0 || strcmp(key->key, "path") != 0 ||
	    !key->value || !*key->value || *key->value == '/')
		return 0;
	if (++m->count > SUBMODULES_MAX)
		return protect_refuse(
			p, -E2BIG,
			"'%.110s' names more than %d submodules. git may run what is in "
			"them, so nothing runs",
			m->file, SUBMODULES_MAX);
	tree = arena_printf(p->arena, "%s/%s", m->top, key->value);
	tree = tree ? protect_fold_absolute(p, tree) : NULL;
	if (!tree || !path_is_in(tree, m->top)) /* git wants it there, too */
		return 0;
	if (strcmp(m->top, p->workspace) != 0 || strstr(name, ".."))
		name = "";
	inside = git_inside(p, tree);
	if (inside)
		r = protect_one(p, name, inside);
	return r == 0 && (inside || path_is_in(p->workspace, tree)) ? m->visit(m->context, tree)
	                                                            : r;
}

int git_submodules_plan(struct protect *p, const char *top,
                        int (*visit)(void *context, const char *tree), void *context)
{
	scoped(buffer_donep) struct buffer text = {.max = GIT_FILE_MAX};
	struct modules m = {.list = p,
	                    .top = top,
	                    .file = arena_printf(p->arena, "%s/.gitmodules", top),
	                    .visit = visit,
	                    .context = context};
	int r = git_file_read(p, m.file, &text);

	return r > 0 ? git_config_parse(buffer_str(&text), text.len, take_key, &m) : r;
}

static bool put_ups(struct buffer *into, const char *path)
{
	for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		buffer_puts(into, "../");
	return buffer_error(into) == 0;
}

/* New submodules of a .gitmodules. */
struct additions {
	int workspace_fd;
	const struct git_text *was;
	const struct git_key *key; /* that is looked for in it */
	size_t count;
};

static int find_key(void *context, const struct git_key *key)
{
	const struct git_key *wanted = ((struct additions *)context)->key;

	return strcmp(key->section, wanted->section) == 0 && strcmp(key->key, wanted->key) == 0 &&
	       strcmp(key->name, wanted->name) == 0 && key->value &&
	       strcmp(key->value, wanted->value) == 0;
}

static bool is_absent(int workspace_fd, const char *path)
{
	scoped(fd_closep) int fd = workspace_open(workspace_fd, path, O_PATH | O_NOFOLLOW);

	return fd == -ENOENT;
}

/* Not 0: there may be something in it that git would run. */
static int check_addition(void *context, const struct git_key *key)
{
	struct additions *a = context;
	char link[PATH_MAX], place[PATH_MAX];

	if (strcmp(key->section, "submodule") != 0 || strcmp(key->key, "path") != 0)
		return 0;
	if (!key->value || !*key->value || *key->value == '/' || strstr(key->value, "..") ||
	    !*key->name || strstr(key->name, "..") || ++a->count > SUBMODULES_MAX ||
	    strlen(key->value) + strlen(key->name) + 32 > PATH_MAX)
		return 1;
	a->key = key;
	if (a->was && git_config_parse(a->was->bytes, a->was->n, find_key, a) == 1)
		return 0;
	snprintf(link, sizeof(link), "%s/.git", key->value);
	snprintf(place, sizeof(place), PLACE "%s", key->name);
	return (is_absent(a->workspace_fd, link) ||
	        protect_submodule_is_harmless(a->workspace_fd, link, key->value)) &&
	                       (is_absent(a->workspace_fd, place) ||
	                        protect_submodule_is_harmless(a->workspace_fd, place, key->value))
	               ? 0
	               : 1;
}

bool protect_modules_are_harmless(int workspace_fd, const struct git_text *now,
                                  const struct git_text *was)
{
	struct additions a = {.workspace_fd = workspace_fd, .was = was};

	return git_config_parse(now->bytes, now->n, check_addition, &a) == 0;
}

/* Where the file at PATH leads, if that is where git keeps repositories of submodules. */
static bool follow(int workspace_fd, const char *path, const char *tree, char into[PATH_MAX])
{
	scoped(buffer_donep) struct buffer text = {.max = PATH_MAX};
	scoped(buffer_donep) struct buffer wanted = {.max = PATH_MAX};
	size_t n;

	buffer_puts(&wanted, PROTECT_GITFILE);
	if (!put_ups(&wanted, tree) || workspace_read(workspace_fd, path, &text) < 0)
		return false;
	n = wanted.len;
	if (text.len <= n || memcmp(text.data, wanted.data, n) != 0)
		return false;
	text.data[n + strcspn(text.data + n, "\n")] = '\0';
	snprintf(into, PATH_MAX, "%s", text.data + n);
	return strncmp(into, PLACE, strlen(PLACE)) == 0 && !strstr(into, "..");
}

static bool is_directory(int workspace_fd, const char *path)
{
	scoped(fd_closep) int fd =
		openat(workspace_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0;
}

bool protect_submodule_is_harmless(int workspace_fd, const char *path, const char *tree)
{
	scoped(buffer_donep) struct buffer worktree = {.max = PATH_MAX};
	char place[PATH_MAX];

	if (strncmp(path, PLACE, strlen(PLACE)) == 0)
		snprintf(place, sizeof(place), "%s", path);
	else if (!follow(workspace_fd, path, tree, place))
		return is_directory(workspace_fd, path) &&
		       protect_repository_is_harmless(workspace_fd, path, NULL);
	if (!put_ups(&worktree, place))
		return false;
	buffer_puts(&worktree, tree);
	return buffer_error(&worktree) == 0 &&
	       protect_repository_is_harmless(workspace_fd, place, buffer_str(&worktree));
}
