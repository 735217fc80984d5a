/*
 * nacre policy import: the configuration of another shell tool as a policy file.
 *
 * An application has a file of its own: YAML or JSON, with lists of commands, times and sizes under
 * names of its own. This reads such a file and prints a profile that says the same. Standard error
 * tells what came of each key, with its line: what it became, or why it has no counterpart.
 *
 * policy-import-keys.c has the table of keys. The result is loaded as any other policy is before it
 * is printed, so what is printed can be used.
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
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy-import.h"
#include "engine/result.h"
#include "profile/profile.h"
#include "yaml/yaml.h"

#define NAME_MAX_LEN 64

struct import_options {
	const char *name, *base;
};

/* The depth of a tree is bounded by the reader. */
static void walk(struct import *m, const struct yaml_node *map, const char *before)
{
	char key[IMPORT_KEY_MAX];

	for (const struct yaml_node *n = map->first; n; n = n->next) {
		snprintf(key, sizeof(key), "%s%s%s", before, *before ? "." : "", n->key->text);
		if (import_take(m, n, key))
			continue;
		if (n->kind == YAML_MAP)
			walk(m, n, key);
		else
			import_tell(m, n, key, "left out: it has no counterpart");
	}
}

/* The tool decides what is inherited, so it is looked for first. */
static const char *find_base(const struct yaml_node *root)
{
	const struct yaml_node *list = yaml_map_get(root, "tools");
	const char *found = list ? import_profile_of(list) : NULL;

	if (!found && (list = yaml_map_get(root, "tool")))
		found = import_profile_of(list);
	if (found)
		return found;
	if (yaml_map_get(root, "shell") || yaml_map_get(root, "coding"))
		return "universal";
	return yaml_map_get(root, "CommandPolicy") || yaml_map_get(root, "WorkspaceRoot")
	               ? "workspace"
	               : "bash";
}

/* "config/experts/writer/config.yaml" is writer's. */
static void name_by_file(const char *file, char into[NAME_MAX_LEN])
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	size_t n = 0;

	if (slash && strncmp(base, "config.", 7) == 0) {
		for (base = slash; base > file && base[-1] != '/'; base--)
			;
	}
	for (; *base && *base != '.' && *base != '/' && n + 1 < NAME_MAX_LEN; base++) {
		char c = (char)(*base >= 'A' && *base <= 'Z' ? *base | 0x20 : *base);

		into[n++] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
	}
	into[n] = '\0';
	if (n == 0 || profile_builtin_find(into, false) || profile_builtin_find(into, true)) {
		char name[NAME_MAX_LEN];

		snprintf(name, sizeof(name), "my-%.50s", n ? into : "tool");
		memcpy(into, name, sizeof(name));
	}
}

static void put_part(struct buffer *out, const char *before, const struct buffer *part,
                     const char *after)
{
	if (part->len > 0)
		buffer_printf(out, "%s%s%s", before, buffer_str(part), after);
}

static bool is_permissive(const char *base)
{
	return strcmp(base, "bash") == 0 || strcmp(base, "universal") == 0;
}

static void put_profile(const struct import *m, struct buffer *out)
{
	buffer_printf(out, "# Made by 'nacre policy import' of %s\nprofile: ", m->file);
	import_put_text(out, m->name);
	if (m->description) {
		buffer_puts(out, "\ndescription: ");
		import_put_text(out, m->description);
	}
	buffer_printf(out, "\ninherits: %s\n", m->base);
	/* A list of what may run is a wall only if nothing else may. */
	if (m->allow.len > 0 && !m->has_default && is_permissive(m->base))
		buffer_puts(out, "default: deny\n");
	put_part(out, "", &m->other, "");
	put_part(out, "shell: {", &m->shell, "}\n");
	put_part(out, "timeout: {", &m->timeout, "}\n");
	put_part(out, "output: {", &m->output, "}\n");
	put_part(out, "syntax: {ban: [", &m->ban, "]}\n");
	put_part(out, "workspace: {", &m->workspace, "}\n");
	put_part(out, "docker: {", &m->docker, "}\n");
	put_part(out, "never: [{id: imported, commands: [", &m->never, "]}]\n");
	put_part(out, "deny: [{id: imported, commands: [", &m->deny, "]}]\n");
	put_part(out, "danger:\n", &m->danger, "");
	put_part(out, "ask: [", &m->ask, "]\n");
	put_part(out, "allow: [", &m->allow, "]\n");
}

/* As a run would load it: what is printed can be used. */
static int check_result(const char *text, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX - 32], path[PATH_MAX], user_dir[4096];
	scoped(profile_freep) struct profile *profile = NULL;
	struct profile_request request;
	scoped(fd_closep) int fd = -1;
	int r;

	if (snprintf(dir, sizeof(dir), "%s/nacre-import-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	    (int)sizeof(dir))
		return error_set(err, ERROR_INPUT, ENAMETOOLONG, "TMPDIR is too long");
	if (!mkdtemp(dir))
		return error_sys(err, errno, "a temporary directory");
	snprintf(path, sizeof(path), "%s/policy.yaml", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	if (r < 0) {
		error_sys(err, -r, "%s", path);
	} else {
		profile_request_init(&request, user_dir, sizeof(user_dir));
		request.policy_file = path;
		request.unchecked = true;
		r = profile_load(&request, &profile, err);
	}
	(void)unlink(path);
	(void)rmdir(dir);
	return r;
}

static int read_tree(struct arena *arena, const char *file, const struct yaml_node **ret,
                     struct error *err)
{
	scoped(buffer_donep) struct buffer bytes = {.max = YAML_BYTES_MAX};
	scoped(fd_closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_read_all(fd, &bytes);

	if (r < 0)
		return error_set(err, ERROR_INPUT, -r, "%s: %s", file, strerrordesc_np(-r));
	return yaml_read(arena, file, buffer_str(&bytes), bytes.len, ret, err);
}

static void import_done(struct import *m)
{
	struct buffer *parts[] = {&m->shell,  &m->allow, &m->deny,    &m->danger, &m->never,
	                          &m->ask,    &m->ban,   &m->timeout, &m->output, &m->workspace,
	                          &m->docker, &m->other, &m->report};

	for (size_t i = 0; i < array_size(parts); i++)
		buffer_done(parts[i]);
}

static int convert(struct import *m, const struct yaml_node *root)
{
	scoped(buffer_donep) struct buffer out = {0}, clean = {0};
	char name[NAME_MAX_LEN];
	struct error err = {0};

	if (root->kind != YAML_MAP) {
		cli_complain("%s: a map of keys was expected", m->file);
		return EXIT_NACRE_FAILED;
	}
	if (!m->base)
		m->base = find_base(root);
	walk(m, root, "");
	if (!m->name) {
		name_by_file(m->file, name);
		m->name = name;
	}
	cli_put_clean(buffer_str(&m->report), &clean);
	fputs(buffer_str(&clean), stderr);
	if (m->taken == 0) {
		cli_complain("%s: no key of it is about commands", m->file);
		return 1;
	}
	put_profile(m, &out);
	if (buffer_error(&out) < 0 || check_result(buffer_str(&out), &err) < 0) {
		cli_complain("%s cannot be converted: %s", m->file,
		             err.text[0] ? err.text : "it is too long");
		return 1;
	}
	return cli_print(&out);
}

static int import(void *options, int argc, char **argv)
{
	const struct import_options *o = options;
	struct arena *arena = arena_new(YAML_ARENA_MAX);
	struct import m = {.file = argv[0], .base = o->base, .name = o->name};
	const struct yaml_node *root;
	struct error err = {0};
	int code = EXIT_NACRE_FAILED;

	if (!arena || read_tree(arena, argv[0], &root, &err) < 0)
		cli_complain("%s", arena ? err.text : "out of memory");
	else
		code = convert(&m, root);
	import_done(&m);
	arena_free(arena);
	return code;
}

#define IMPORT struct import_options
static const struct cli_option options[] = {
	{"name", "NAME", "name of the profile (default: of the file)", CLI_TEXT(IMPORT, name)},
	{"profile", "PROFILE", "the profile to inherit (default: by the tools in the file)",
         CLI_TEXT(IMPORT, base)},
	{0},
};
#undef IMPORT

const struct cli_command cli_policy_import = {
	.name = "policy import",
	.summary = "convert the configuration of another shell tool",
	.usage = "[OPTIONS] FILE",
	.about =
		"Prints a policy file that says what FILE says: the YAML or JSON of an application "
		"with a shell tool of its own. Standard error tells what came of each key.",
	.notes = "The exit code is 1 if nothing in FILE is about commands.",
	.operand = "FILE",
	.options = options,
	.least = 1,
	.most = 1,
	.size = sizeof(struct import_options),
	.main = import,
};
