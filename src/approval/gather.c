/*
 * Which files belong to the object: the program that is executed, the program behind every command
 * of the line, and every word that is the name of a regular file, alone or behind an option's "=":
 * scripts, Dockerfiles, patches. Words are looked for in the working directory and in directories
 * that the line changes to; of a script the program that runs it belongs to it. Where words are not
 * known, all pieces of the line that could be names are looked for. Files that are only written to
 * by a redirection do not belong to it, nor do those that a pattern matches or a program finds by
 * itself (make its Makefile).
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
	f->path = arena_strndup(g->arena, path, strlen(path));
	if (!f->path) {
		g->failed = -ENOMEM;
		return;
	}
	object_fill(st, f);
	g->bytes += st->stx_size <= OBJECT_CONTENT_MAX ? st->stx_size : 0;
	g->failed = g->bytes > OBJECT_CONTENTS_MAX ? -E2BIG : object_fill_content(at, name, st, f);
	g->count++;
}

/* Whatever is no regular file, or not there, is no part of the object. */
static void try_path(struct gathering *g, const char *word)
{
	struct statx st;

	if (!*word || strlen(word) >= PATH_MAX)
		return;
	if (word[0] == '/') {
		if (object_look(AT_FDCWD, word, 0, &st) == 0 && S_ISREG(st.stx_mode))
			add_file(g, word, AT_FDCWD, word, &st);
		return;
	}
	for (size_t i = 0; i < g->base_count; i++) {
		char *path;

		if (g->tries++ == GATHER_TRIES_MAX)
			g->failed = -E2BIG;
		if (g->failed || object_look(g->bases[i], word, 0, &st) < 0 ||
		    !S_ISREG(st.stx_mode))
			continue;
		path = arena_printf(g->arena, "%s/%s", g->base_names[i], word);
		if (!path)
			g->failed = -ENOMEM;
		else
			add_file(g, path, g->bases[i], word, &st);
	}
}

/* "-f" "x", "--file=x", "-fx", "@x" and "dir=x" may all name the file x. */
static void try_word(struct gathering *g, const struct shell_fact_word *w)
{
	const char *text = w->text.bytes, *value;

	if (w->kind != SHELL_VALUE_KNOWN || memchr(text, '\0', w->text.len))
		return;
	try_path(g, text);
	if (text[0] == '-' && text[1] && text[1] != '-')
		try_path(g, text + 2);
	value = strchr(text, '=');
	if (value)
		try_path(g, value + 1);
	if (text[0] == '@')
		try_path(g, text + 1);
}

static bool is_changing(const struct shell_fact_command *c)
{
	return c->word_count &&
	       (c->open || gather_is_word(&c->words[0], "cd") ||
	        gather_is_word(&c->words[0], "pushd") || !*gather_text_of(&c->words[0]));
}

/* Of all commands, or of those that may change the directory. */
static bool is_known(const struct shell_facts *facts, bool bases)
{
	bool known = facts->status != SHELL_FACTS_OPAQUE;

	for (size_t i = 0; i < facts->command_count && known; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		for (size_t k = 0; k < c->word_count && (!bases || is_changing(c)); k++)
			known &= c->words[k].kind == SHELL_VALUE_KNOWN;
		for (size_t k = 0; k < c->redirect_count && !bases; k++)
			known &= c->redirects[k].target.kind == SHELL_VALUE_KNOWN;
	}
	return known;
}

/* Where words are not known (`x=run.sh; sh $x`, `sh "$PWD/run.sh"`), whatever in the line could be
 * the name of a file or directory is taken for one: behind a variable's name from its slash on. */
static void gather_pieces(struct gathering *g, const struct object_subject *s, bool bases)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				  "_./+-,@%~:";
	char piece[PATH_MAX];

	for (const char *const *a = s->argv; *a && !is_known(s->facts, bases); a++)
		for (const char *p = *a; *p && !g->failed;) {
			size_t n = strspn(p, set);
			const char *slash;

			if (n > 0 && n < sizeof(piece)) {
				memcpy(piece, p, n);
				piece[n] = '\0';
				slash = strchr(piece, '/');
				(bases ? gather_add_bases : try_path)(g, piece);
				if (slash && slash[1])
					(bases ? gather_add_bases : try_path)(g, slash + 1);
			}
			p += n + (p[n] != '\0');
		}
}

static void gathering_done(struct gathering *g)
{
	for (size_t i = 1; i < g->base_count; i++)
		fd_close(g->bases[i]);
}

static void gather_programs(struct gathering *g, const struct object_subject *s)
{
	if (s->argv[0][0] == '/')
		try_path(g, s->argv[0]);
	for (size_t i = 0; i < s->answer->command_count; i++) {
		if (s->answer->commands[i].resolved)
			try_path(g, s->answer->commands[i].resolved);
		/* A name with a slash says itself which file it is, also behind a cd. */
		if (s->facts->commands[i].word_count &&
		    s->facts->commands[i].words[0].kind == SHELL_VALUE_KNOWN &&
		    strchr(s->facts->commands[i].words[0].text.bytes, '/'))
			try_path(g, s->facts->commands[i].words[0].text.bytes);
	}
}

static void gather_operands(struct gathering *g, const struct shell_facts *facts)
{
	for (size_t i = 0; i < facts->command_count && !g->failed; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		for (size_t k = 1; k < c->word_count && !g->failed; k++)
			try_word(g, &c->words[k]);
		for (size_t k = 0; k < c->redirect_count && !g->failed; k++)
			if (!c->redirects[k].heredoc && c->redirects[k].op[0] == '<')
				try_word(g, &c->redirects[k].target);
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
		    object_look(path[0] == '/' ? AT_FDCWD : g->bases[0], path, 0, &st) < 0 ||
		    !S_ISREG(st.stx_mode) || !(st.stx_mode & 0111))
			continue;
		try_path(g, path);
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
			try_path(g, word);
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

int object_gather(const struct object_subject *s, struct arena *arena, struct approval_object *o)
{
	scoped(gathering_done) struct gathering g = {
		.arena = arena, .bases = {s->cwd_fd}, .base_names = {s->cwd}, .base_count = 1};

	struct object_file start = {0};
	struct statx st;

	if (object_look(s->cwd_fd, "", AT_EMPTY_PATH, &st) == 0)
		object_fill(&st, &start);
	g.base_ids[0].device = start.device;
	g.base_ids[0].inode = start.inode;
	g.path = path_of(s->envp);
	gather_bases(&g, s->facts);
	gather_pieces(&g, s, true);
	gather_programs(&g, s);
	gather_interpreters(&g);
	o->program_count = g.count;
	gather_operands(&g, s->facts);
	gather_pieces(&g, s, false);
	gather_interpreters(&g);
	if (g.failed)
		return g.failed;
	o->programs = o->files = g.files;
	o->file_count = g.count;
	return 0;
}
