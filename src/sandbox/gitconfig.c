/*
 * What git's own configuration names in the workspace: another directory of hooks, other files of
 * configuration. Whoever can write these has what the protection of .git/hooks and .git/config
 * takes from them, so they are protected alike.
 *
 * Only the two keys are looked for, and their values are read as git writes them. The file is the
 * operator's: a command cannot have changed it, unless nothing protects it.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/box.h"

#define CONFIG_MAX ((size_t)256 << 10)
#define NAMED_MAX  32
#define DEPTH_MAX  4 /* a file that is named may name others */

struct reading {
	struct sandbox_plan *plan;
	int named, depth;
};

const char *box_fold(struct sandbox_plan *p, const char *path)
{
	size_t n = strlen(path), len = 0;
	char *folded = arena_alloc(p->arena, n + 2);

	while (folded && *path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && strncmp(path, "..", 2) == 0) {
			if (len == 0)
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

/* The path of VALUE, relative to the workspace; BASE is what a relative one is relative to, NULL:
 * nothing in the workspace. NULL: it lies elsewhere. */
static const char *place_of(struct sandbox_plan *p, const char *base, const char *value)
{
	size_t n = strlen(p->workspace);

	if (*value == '~' && value[1] == '/' && p->home)
		value = arena_printf(p->arena, "%s%s", p->home, value + 1);
	if (!value)
		return NULL;
	if (*value == '/')
		return strncmp(value, p->workspace, n) == 0 && value[n] == '/'
		               ? box_fold(p, value + n + 1)
		               : NULL;
	value = base ? arena_printf(p->arena, "%s/%s", base, value) : NULL;
	return value ? box_fold(p, value) : NULL;
}

/* Without quotes, and without what is behind it. */
static const char *value_of(struct sandbox_plan *p, const char *text)
{
	char *value = arena_alloc(p->arena, strlen(text) + 1);
	size_t len = 0;
	bool quoted = false;

	for (; value && *text; text++) {
		if (*text == '"') {
			quoted = !quoted;
		} else if (!quoted && (*text == '#' || *text == ';')) {
			break;
		} else {
			if (*text == '\\' && text[1])
				text++;
			value[len++] = *text;
		}
	}
	while (len > 0 && isspace((unsigned char)value[len - 1]))
		len--;
	if (value)
		value[len] = '\0';
	return value;
}

static int read_file(struct reading *r, int fd, const char *base);

/* BASE: the directory of the file that names it, relative to the workspace; NULL: elsewhere. */
static int take_include(struct reading *r, const char *base, const char *value)
{
	const char *path = place_of(r->plan, base, value);
	const char *slash = path ? strrchr(path, '/') : NULL, *directory;
	int code;

	if (!path || ++r->named > NAMED_MAX)
		return 0;
	code = box_protect_inside(r->plan, path);
	if (code < 0 || r->depth >= DEPTH_MAX)
		return code;
	directory = arena_strndup(r->plan->arena, path, slash ? (size_t)(slash - path) : 0);
	if (!directory)
		return -ENOMEM;
	r->depth++;
	code = read_file(r, box_open_inside(r->plan->workspace_fd, path, O_RDONLY | O_NONBLOCK),
	                 *directory ? directory : ".");
	r->depth--;
	return code;
}

/* One "key = value" of a section. */
static int take_key(struct reading *r, const char *section, const char *line, const char *base)
{
	size_t n = strcspn(line, " \t=");
	const char *value = strchr(line, '='), *path;

	if (!value)
		return 0;
	value++;
	value = value_of(r->plan, value + strspn(value, " \t"));
	if (!value)
		return -ENOMEM;
	if (strcmp(section, "core") == 0 && n == 9 && strncasecmp(line, "hookspath", n) == 0) {
		path = place_of(r->plan, ".", value); /* as seen from the top of the work tree */
		return path ? box_protect_inside(r->plan, path) : 0;
	}
	if ((strcmp(section, "include") == 0 || strcmp(section, "includeif") == 0) && n == 4 &&
	    strncasecmp(line, "path", n) == 0)
		return take_include(r, base, value);
	return 0;
}

/* Takes FD, which may be a negative errno. */
static int read_file(struct reading *r, int fd, const char *base)
{
	scoped(fd_closep) int file = fd;
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	char section[16] = "", *line, *rest;
	struct stat st;
	int code = 0;

	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_all(file, &text) < 0 || text.len == 0)
		return 0;
	(void)buffer_str(&text);
	for (line = strtok_r(text.data, "\n", &rest); code == 0 && line;
	     line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t\r");
		if (*line == '[') {
			size_t n = strcspn(line + 1, " \t\"]");

			for (size_t i = 0; i <= n && i < sizeof(section); i++) {
				bool is_name = i < n && i + 1 < sizeof(section);

				section[i] = (char)(is_name ? tolower((unsigned char)line[1 + i])
				                            : '\0');
			}
			line = strchr(line, ']'); /* a key may stand behind it */
			if (!line)
				continue;
			line += 1 + strspn(line + 1, " \t");
		}
		code = take_key(r, section, line, base);
	}
	return code;
}

static int read_users(struct reading *r)
{
	static const char *const of_home[] = {".gitconfig", ".config/git/config"};
	struct sandbox_plan *p = r->plan;
	int code = 0;

	for (size_t i = 0; code == 0 && p->home && i < array_size(of_home); i++) {
		const char *path = arena_printf(p->arena, "%s/%s", p->home, of_home[i]);

		if (!path)
			return -ENOMEM;
		if (!path_is_in(p->home, p->workspace)) /* else a command may have written it */
			code = read_file(r, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), NULL);
	}
	return code;
}

int box_gitconfig_plan(struct sandbox_plan *p, const char *directory)
{
	struct reading r = {.plan = p};
	const char *path;

	if (!directory)
		return read_users(&r);
	path = arena_printf(p->arena, "%s/config", directory);
	if (!path)
		return -ENOMEM;
	box_witness_add(p, arena_printf(p->arena, "%s/%s", p->workspace, path), true);
	return read_file(&r, box_open_inside(p->workspace_fd, path, O_RDONLY | O_NONBLOCK),
	                 directory);
}
