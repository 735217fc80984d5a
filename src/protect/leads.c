/*
 * Where a path of the workspace leads by a symbolic link, and paths without dots. Who can change
 * what lies there, or a link on the way, has changed what the path means.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "protect/inside.h"

/* ROOTED: ".." at the beginning means nothing. */
static const char *fold(struct protect *p, const char *path, bool rooted)
{
	size_t n = strlen(path), len = 0;
	char *folded = arena_alloc(p->arena, n + 2);

	while (folded && *path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && strncmp(path, "..", 2) == 0) {
			if (len == 0 && !rooted)
				return NULL;
			while (len > 0 && folded[--len] != '/')
				;
		} else if (part > 0 && !(part == 1 && *path == '.')) {
			if (len > 0)
				folded[len++] = '/';
			memcpy(folded + len, path, part);
			len += part;
		}
		path += part + (path[part] == '/');
	}
	if (folded)
		folded[len] = '\0';
	return folded && len > 0 ? folded : NULL;
}

const char *protect_fold(struct protect *p, const char *path)
{
	return fold(p, path, false);
}

const char *protect_fold_absolute(struct protect *p, const char *path)
{
	const char *folded = fold(p, path, true);

	return arena_printf(p->arena, "/%s", folded ? folded : "");
}

/* What TEXT means in the directory of FROM. */
static const char *resolve(struct protect *p, const char *from, const char *text)
{
	const char *slash = strrchr(from, '/'), *path;
	size_t n = strlen(p->workspace);

	if (*text == '/')
		return strncmp(text, p->workspace, n) == 0 && text[n] == '/'
		               ? protect_fold(p, text + n + 1)
		               : NULL;
	path = arena_printf(p->arena, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, text);
	return path ? protect_fold(p, path) : NULL;
}

const char *protect_lead_of_link(struct protect *p, const char *path, int fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return resolve(p, path, text);
}
