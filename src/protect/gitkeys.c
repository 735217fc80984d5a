/*
 * What git's configurations name: directories of hooks, programs, and more files of configuration.
 * Whoever can write these has what the protection of .git/hooks and .git/config takes from them, so
 * they are protected alike. An include with a condition is one whose condition may hold tomorrow.
 *
 * Only files that git runs or trusts by itself are looked for. What an alias names is run by those
 * who type it.
 */
#include "protect/git.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "protect/inside.h"

#define FILES_MAX  512  /* of one plan */
#define VALUES_MAX 1024 /* of one repository */

struct git_file {
	struct git_file *next;
	const char *path;
	bool is_read;
};

struct reading {
	struct protect *list;
	struct git_keys *keys;
	size_t *count;
	size_t values;
	const struct git_file *file; /* the one that is being read */
};

static const struct {
	const char *section, *key;
	enum git_named kind;
} named[] = {
	{"core", "hookspath", GIT_NAMED_HOOKS},
	{"core", "attributesfile", GIT_NAMED_FILE},
	{"core", "fsmonitor", GIT_NAMED_PROGRAM},
	{"core", "sshcommand", GIT_NAMED_PROGRAM},
	{"core", "gitproxy", GIT_NAMED_PROGRAM},
	{"core", "askpass", GIT_NAMED_PROGRAM},
	{"core", "editor", GIT_NAMED_PROGRAM},
	{"core", "pager", GIT_NAMED_PROGRAM},
	{"core", "alternaterefscommand", GIT_NAMED_PROGRAM},
	{"sequence", "editor", GIT_NAMED_PROGRAM},
	{"credential", "helper", GIT_NAMED_PROGRAM},
	{"diff", "external", GIT_NAMED_PROGRAM},
	{"diff", "command", GIT_NAMED_PROGRAM},
	{"diff", "textconv", GIT_NAMED_PROGRAM},
	{"filter", "clean", GIT_NAMED_PROGRAM},
	{"filter", "smudge", GIT_NAMED_PROGRAM},
	{"filter", "process", GIT_NAMED_PROGRAM},
	{"merge", "driver", GIT_NAMED_PROGRAM},
	{"gpg", "program", GIT_NAMED_PROGRAM},
	{"gpg", "defaultkeycommand", GIT_NAMED_PROGRAM},
	{"interactive", "difffilter", GIT_NAMED_PROGRAM},
	{"uploadpack", "packobjectshook", GIT_NAMED_PROGRAM},
	{"trailer", "command", GIT_NAMED_PROGRAM},
	{"trailer", "cmd", GIT_NAMED_PROGRAM},
};

static int add_value(struct reading *r, enum git_named kind, const char *text, size_t n)
{
	struct git_value *v;

	for (v = r->keys->values; v; v = v->next)
		if (v->kind == kind && strlen(v->text) == n && strncmp(v->text, text, n) == 0)
			return 0;
	if (++r->values > VALUES_MAX)
		return protect_refuse(
			r->list, -E2BIG,
			"'%.110s' and what it includes name more than %d files. git may "
			"run them, so nothing runs. Remove some",
			r->file->path, VALUES_MAX);
	v = arena_alloc(r->list->arena, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = (struct git_value){.next = r->keys->values,
	                        .kind = kind,
	                        .text = arena_strndup(r->list->arena, text, n)};
	r->keys->values = v;
	return v->text ? 0 : -ENOMEM;
}

/* A line for the shell, mostly: each word that has a "/" may be a file. */
static int add_programs(struct reading *r, const char *line)
{
	static const char between[] = " \t\n\"'`;&|<>()$=!";
	int code = 0;

	for (line += strspn(line, between); code == 0 && *line; line += strspn(line, between)) {
		size_t n = strcspn(line, between);

		if (*line != '-' && memchr(line, '/', n) && !memmem(line, n, "://", 3))
			code = add_value(r, GIT_NAMED_PROGRAM, line, n);
		line += n;
	}
	return code;
}

/* One name for each file: that of its real directory. What a link leads to has another directory,
 * and git does not look for more files there. */
static const char *one_name(struct protect *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *directory = arena_strndup(p->arena, path, (size_t)(slash - path));
	char real[PATH_MAX];

	if (!directory)
		return NULL;
	return realpath(*directory ? directory : "/", real)
	               ? arena_printf(p->arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, slash)
	               : protect_fold_absolute(p, path);
}

static int add_file(struct reading *r, const char *path)
{
	struct git_file *f, **end = &r->keys->files;

	path = one_name(r->list, path);
	if (!path)
		return -ENOMEM;
	for (; (f = *end); end = &f->next)
		if (strcmp(f->path, path) == 0)
			return 0;
	if (++*r->count > FILES_MAX)
		return protect_refuse(
			r->list, -E2BIG,
			"git reads more than %d files of configuration, by '%.100s' at "
			"last. It may run what they name, so nothing runs. Remove some",
			FILES_MAX, r->file ? r->file->path : path);
	f = arena_alloc(r->list->arena, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct git_file){.path = path};
	*end = f;
	return 0;
}

/* A relative path begins at the directory of the file that names it. */
static int take_include(struct reading *r, const char *value)
{
	const char *slash = strrchr(r->file->path, '/');
	const char *base =
		arena_strndup(r->list->arena, r->file->path, (size_t)(slash - r->file->path));
	const char *path = base ? git_path_of_value(r->list, base, value) : NULL;
	int code;

	if (!base)
		return -ENOMEM;
	if (!path)
		return 0;
	code = git_place_protect(r->list, path, GIT_NAMED_FILE);
	return code == 0 ? add_file(r, path) : code;
}

static int take_key(void *context, const struct git_key *key)
{
	struct reading *r = context;

	if (!key->value || !*key->value)
		return 0;
	if ((strcmp(key->section, "include") == 0 || strcmp(key->section, "includeif") == 0) &&
	    strcmp(key->key, "path") == 0)
		return take_include(r, key->value);
	if (strcmp(key->section, "core") == 0 && strcmp(key->key, "worktree") == 0) {
		r->keys->tree = arena_strdup(r->list->arena, key->value);
		return r->keys->tree ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < array_size(named); i++) {
		if (strcmp(key->section, named[i].section) != 0 ||
		    strcmp(key->key, named[i].key) != 0)
			continue;
		return named[i].kind == GIT_NAMED_PROGRAM
		               ? add_programs(r, key->value)
		               : add_value(r, named[i].kind, key->value, strlen(key->value));
	}
	return 0;
}

/* All files that are known and not read yet; each may name more. */
static int read_all(struct reading *r)
{
	int code = 0;

	for (struct git_file *f = r->keys->files; code == 0 && f; f = f->next) {
		scoped(buffer_donep) struct buffer text = {.max = GIT_FILE_MAX};

		if (f->is_read)
			continue;
		f->is_read = true;
		r->file = f;
		code = git_file_read(r->list, f->path, &text);
		if (code > 0)
			code = git_config_parse(buffer_str(&text), text.len, take_key, r);
	}
	return code;
}

int git_keys_read(struct protect *p, const char *path, size_t *count, struct git_keys *keys)
{
	struct reading r = {.list = p, .keys = keys, .count = count};
	int code = path ? add_file(&r, path) : -ENOMEM;

	return code == 0 ? read_all(&r) : code;
}

int git_keys_read_users(struct protect *p, size_t *count, struct git_keys *keys)
{
	static const char *const of_home[] = {".gitconfig", ".config/git/config"};
	static const struct {
		const char *variable, *behind;
	} told[] = {{"XDG_CONFIG_HOME", "/git/config"},
	            {"GIT_CONFIG_GLOBAL", ""},
	            {"GIT_CONFIG_SYSTEM", ""}};
	int code = git_keys_read(p, "/etc/gitconfig", count, keys);

	for (size_t i = 0; code == 0 && i < array_size(of_home); i++) {
		if (p->home)
			code = git_keys_read(p,
			                     arena_printf(p->arena, "%s/%s", p->home, of_home[i]),
			                     count, keys);
		for (size_t j = 0; code == 0 && j < p->other_home_count; j++)
			code = git_keys_read(
				p, arena_printf(p->arena, "%s/%s", p->other_homes[j], of_home[i]),
				count, keys);
	}
	for (size_t i = 0; code == 0 && i < array_size(told); i++) {
		const char *value = getenv(told[i].variable);

		if (value && *value == '/')
			code = git_keys_read(p,
			                     arena_printf(p->arena, "%s%s", value, told[i].behind),
			                     count, keys);
	}
	return code;
}
