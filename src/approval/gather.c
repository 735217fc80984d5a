/*
 * Which files belong to the object: the program that is executed, the program behind every command
 * of the line, also in a PATH that the line sets, and every word that could be the name of a
 * regular file, alone, behind an option's "=" or letter, or in code: scripts, Dockerfiles, patches.
 * Words are looked for in the working directory and in directories that the line changes to or
 * names; of a script the program that runs it belongs to it. Where a name cannot be known, all
 * files of the workspace belong to it. What is not there belongs to it, too: a file that appears
 * later makes another object. Files that are only written to by a redirection do not, nor do those
 * that a script names in turn.
 */
#include "approval/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fd.h"
#include "policy/policy.h"

#define SCRIPT_LINE_MAX 256 /* as the kernel reads it */

/* PATH is how the file is called, NAME how it is found from AT. */
static void add_file(struct gathering *g, const char *path, int at, const char *name,
                     const struct statx *st)
{
	struct object_file *f;

	if (g->failed)
		return;
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->files[i].path, path) == 0)
			return;
	if (g->count == OBJECT_FILES_MAX) {
		g->failed = -E2BIG;
		return;
	}
	if (g->count == g->capacity) {
		size_t capacity = g->capacity ? 2 * g->capacity : 16;
		struct object_file *grown = arena_new_array(g->arena, struct object_file, capacity);

		if (!grown) {
			g->failed = -ENOMEM;
			return;
		}
		if (g->count)
			memcpy(grown, g->files, g->count * sizeof(*grown));
		g->files = grown;
		g->capacity = capacity;
	}
	f = &g->files[g->count];
	f->path = arena_strdup(g->arena, path);
	if (!f->path) {
		g->failed = -ENOMEM;
		return;
	}
	object_fill(st, f);
	g->bytes += st->stx_size <= OBJECT_CONTENT_MAX ? st->stx_size : 0;
	g->failed = g->bytes > OBJECT_CONTENTS_MAX ? -E2BIG : object_fill_content(at, name, st, f);
	g->count++;
}

/* Words that nobody can look through are not approved; guesses end, and leave a doubt. */
bool gather_counts(struct gathering *g)
{
	if (g->guessing)
		g->full |= g->guesses++ >= GATHER_TRIES_MAX;
	else if (g->tries++ >= GATHER_TRIES_MAX)
		g->failed = -E2BIG;
	return !g->failed && !(g->guessing && g->full);
}

/* What comes out of it nobody has seen. */
static void note_stream(struct gathering *g, const struct statx *st)
{
	g->streams |= !g->guessing && (S_ISFIFO(st->stx_mode) || S_ISSOCK(st->stx_mode));
}

/* Whatever is no regular file, or not there, is no part of the object. */
void gather_try(struct gathering *g, const char *word)
{
	struct statx st;

	if (!*word || strlen(word) >= PATH_MAX || g->failed)
		return;
	if (word[0] == '/') {
		if (object_look(AT_FDCWD, word, 0, &st) < 0)
			return;
		note_stream(g, &st);
		if (S_ISREG(st.stx_mode))
			add_file(g, word, AT_FDCWD, word, &st);
		return;
	}
	for (size_t i = 0; i < g->bases.count && !g->failed; i++) {
		char *path;

		if (!gather_counts(g))
			return;
		if (object_look(g->bases.fds[i], word, 0, &st) < 0)
			continue;
		note_stream(g, &st);
		if (!S_ISREG(st.stx_mode))
			continue;
		path = arena_printf(g->arena, "%s/%s", g->bases.names[i], word);
		if (!path)
			g->failed = -ENOMEM;
		else
			add_file(g, path, g->bases.fds[i], word, &st);
	}
}

/* In the directories of a PATH that the line sets: also what bash would find first there. */
static void try_in_path(struct gathering *g, const char *name)
{
	for (size_t i = 0; i < g->dirs.count && *name && !strchr(name, '/') && !g->failed; i++) {
		const char *path = arena_printf(g->arena, "%s/%s", g->dirs.names[i], name);

		if (!path)
			g->failed = -ENOMEM;
		else
			gather_try(g, path);
	}
}

static void gathering_done(struct gathering *g)
{
	g->bases.fds[0] = -1;
	gather_places_done(&g->bases);
	gather_places_done(&g->dirs);
}

static void gather_programs(struct gathering *g)
{
	const struct object_subject *s = g->subject;
	bool sets_path = gather_sets_path(s->facts);

	if (s->argv[0][0] == '/')
		gather_try(g, s->argv[0]);
	for (size_t i = 0; i < s->answer->command_count; i++) {
		const struct shell_fact_command *c = &s->facts->commands[i];
		const char *name = c->word_count ? gather_text_of(&c->words[0]) : "";

		if (s->answer->commands[i].resolved)
			gather_try(g, s->answer->commands[i].resolved);
		/* A name with a slash says itself which file it is, also behind a cd. */
		if (strchr(name, '/'))
			gather_try(g, name);
		if (sets_path) /* an empty part of PATH is the working directory */
			gather_try(g, name);
		try_in_path(g, name);
		if (!gather_runs(g, i))
			continue;
		/* env, command and . look for their operand in PATH. */
		for (size_t k = 1; k < c->word_count; k++)
			try_in_path(g, gather_text_of(&c->words[k]));
	}
}

/* What these run by themselves, where they are told nothing else. */
static void gather_defaults(struct gathering *g)
{
	static const struct {
		const char *program, *files[8];
	} table[] = {
		{"make", {"GNUmakefile", "makefile", "Makefile"}},
		{"gmake", {"GNUmakefile", "makefile", "Makefile"}},
		{"ninja", {"build.ninja"}},
		{"just", {"justfile", "Justfile", ".justfile"}},
		{"npm", {"package.json", ".npmrc"}},
		{"npx", {"package.json", ".npmrc"}},
		{"pnpm", {"package.json", ".npmrc", "pnpm-workspace.yaml"}},
		{"yarn", {"package.json", ".yarnrc", ".yarnrc.yml"}},
		{"bun", {"package.json", "bunfig.toml"}},
		{"cargo", {"Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"}},
		{"docker",
	         {"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml",
	          "docker-compose.yaml"}},
		{"docker-compose",
	         {"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}},
		{"podman", {"Containerfile", "Dockerfile"}},
		{"pytest", {"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}},
		{"tox", {"tox.ini", "pyproject.toml", "setup.cfg"}},
		{"pip", {"setup.py", "pyproject.toml", "setup.cfg"}},
		{"rake", {"Rakefile", "rakefile", "Rakefile.rb"}},
		{"bundle", {"Gemfile", "Gemfile.lock"}},
		{"composer", {"composer.json"}},
		{"cmake", {"CMakeLists.txt"}},
		{"meson", {"meson.build"}},
		{"mvn", {"pom.xml", ".mvn/jvm.config", ".mvn/maven.config"}},
		{"gradle",
	         {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
	          "gradle.properties"}},
		{"vagrant", {"Vagrantfile"}},
		{"ansible-playbook", {"ansible.cfg"}},
	};
	const struct shell_facts *facts = g->subject->facts;

	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		const char *name = c->word_count ? gather_text_of(&c->words[0]) : "";
		const char *slash = strrchr(name, '/');

		for (size_t k = 0; k < array_size(table); k++)
			if (strcmp(slash ? slash + 1 : name, table[k].program) == 0)
				for (size_t f = 0;
				     f < array_size(table[k].files) && table[k].files[f]; f++)
					gather_try(g, table[k].files[f]);
	}
}

/* As env looks for it: the first in PATH that can be executed. */
static void try_program(struct gathering *g, const char *name)
{
	const char *dir = g->path;

	for (size_t n; *name && !strchr(name, '/') && *dir && !g->failed;
	     dir += n + (dir[n] != 0)) {
		char path[PATH_MAX];
		struct statx st;

		n = strcspn(dir, ":");
		if (snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? dir : ".", name) >=
		            (int)sizeof(path) ||
		    object_look(path[0] == '/' ? AT_FDCWD : g->bases.fds[0], path, 0, &st) < 0 ||
		    !S_ISREG(st.stx_mode) || !(st.stx_mode & 0111))
			continue;
		gather_try(g, path);
		return;
	}
}

static bool is_env(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash && strcmp(slash, "/env") == 0;
}

/* A script is run by the program that its first line names, which may be a script as well, or env,
 * which looks for another one. */
static void gather_interpreters(struct gathering *g)
{
	for (size_t i = 0; i < g->count && !g->failed; i++) {
		scoped(fd_closep) int fd = object_open(AT_FDCWD, g->files[i].path);
		char line[SCRIPT_LINE_MAX + 1] = "", *rest = line + 2, *word;
		ssize_t n = fd < 0 ? -1 : pread(fd, line, SCRIPT_LINE_MAX, 0);
		bool by_env = false;

		if (n < 3 || line[0] != '#' || line[1] != '!')
			continue;
		line[strcspn(line, "\n")] = '\0';
		while ((word = strsep(&rest, " \t"))) {
			gather_try(g, word);
			if (by_env)
				try_program(g, word);
			if (is_env(word))
				by_env = true;
		}
	}
}

static const char *path_of(const char *const *envp)
{
	for (; envp && *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return "";
}

/* What cannot be named is bound as a whole, or said to be unknown. */
static int settle_doubt(struct gathering *g, struct approval_object *o)
{
	int r = -E2BIG;

	if (!g->streams && !gather_is_in_doubt(g))
		return 0;
	if (!g->streams)
		r = gather_tree(g, &o->tree, &o->tree_files);
	o->names = r == 0 ? OBJECT_NAMES_TREE : OBJECT_NAMES_UNKNOWN;
	return r == -ENOMEM ? r : 0;
}

int object_gather(const struct object_subject *s, struct arena *arena, struct approval_object *o)
{
	scoped(gathering_done) struct gathering g = {
		.subject = s,
		.arena = arena,
		.bases = {.fds = {s->cwd_fd}, .names = {s->cwd}, .count = 1},
		.path = path_of(s->envp),
	};
	struct object_file start = {0};
	struct statx st;
	int r;

	if (object_look(s->cwd_fd, "", AT_EMPTY_PATH, &st) == 0)
		object_fill(&st, &start);
	g.bases.ids[0].device = start.device;
	g.bases.ids[0].inode = start.inode;
	r = gather_find_runs(&g);
	if (r < 0)
		return r;
	gather_bases(&g);
	gather_programs(&g);
	gather_interpreters(&g);
	o->program_count = g.count;
	gather_operands(&g);
	gather_defaults(&g);
	gather_environment(&g);
	gather_interpreters(&g);
	if (g.failed)
		return g.failed;
	r = settle_doubt(&g, o);
	o->programs = o->files = g.files;
	o->file_count = g.count;
	return r;
}
