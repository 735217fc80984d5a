#include "approval/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/fd.h"

const char *gather_text_of(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN && !memchr(w->text.bytes, '\0', w->text.len)
	               ? w->text.bytes
	               : "";
}

bool gather_is_word(const struct shell_fact_word *w, const char *text)
{
	return w->kind == SHELL_VALUE_KNOWN && w->text.len == strlen(text) &&
	       memcmp(w->text.bytes, text, w->text.len) == 0;
}

void gather_places_done(struct gather_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		fd_close(p->fds[i]);
}

static bool is_there(const struct gather_places *p, const struct object_file *f)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->ids[i].device == f->device && p->ids[i].inode == f->inode)
			return true;
	return false;
}

/* Each directory once, or four times `cd .` would leave no room for another. */
static void add_place(struct gathering *g, struct gather_places *p, size_t from, const char *to)
{
	scoped(fd_closep) int fd = openat(g->bases.fds[from], to, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct object_file f = {0};
	const char *name;
	struct statx st;

	if (fd < 0 || object_look(fd, "", AT_EMPTY_PATH, &st) < 0)
		return;
	object_fill(&st, &f);
	if (is_there(p, &f))
		return;
	if (p->count == GATHER_PLACES_MAX) {
		g->full = true;
		return;
	}
	name = to[0] == '/' ? arena_strdup(g->arena, to)
	                    : arena_printf(g->arena, "%s/%s", g->bases.names[from], to);
	if (!name) {
		g->failed = -ENOMEM;
		return;
	}
	p->fds[p->count] = take_fd(&fd);
	p->names[p->count] = name;
	p->ids[p->count].device = f.device;
	p->ids[p->count++].inode = f.inode;
}

static void add_from_all(struct gathering *g, struct gather_places *p, const char *to)
{
	size_t known = g->bases.count;

	for (size_t from = 0; from < known && *to && !g->failed; from++)
		if (gather_counts(g))
			add_place(g, p, from, to);
}

static void add_base(struct gathering *g, const char *to)
{
	add_from_all(g, &g->bases, to);
}

static void add_dir(struct gathering *g, const char *to)
{
	add_from_all(g, &g->dirs, to);
}

/* "env -C x", "make -sCx", "tar --directory=x". */
static void add_option_base(struct gathering *g, const struct shell_fact_command *c, size_t k)
{
	static const char *const longs[] = {"--chdir", "--directory"};
	const char *word = gather_text_of(&c->words[k]), *at;
	const char *next = k + 1 < c->word_count ? gather_text_of(&c->words[k + 1]) : "";

	if (word[0] == '-' && word[1] != '-')
		for (at = strchr(word, 'C'); at; at = strchr(at + 1, 'C'))
			add_base(g, at[1] ? at + 1 : next);
	for (size_t i = 0; i < array_size(longs); i++) {
		size_t n = strlen(longs[i]);

		if (strncmp(word, longs[i], n) == 0 && (!word[n] || word[n] == '='))
			add_base(g, word[n] ? word + n + 1 : next);
	}
}

void gather_bases(struct gathering *g)
{
	const struct shell_facts *facts = g->subject->facts;

	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		bool runs = gather_runs(g, i);

		for (size_t k = 1; k < c->word_count; k++) {
			add_option_base(g, c, k);
			/* docker build x, npm --prefix x test, python3 x */
			if (runs)
				gather_pieces(g, gather_text_of(&c->words[k]), true, add_base);
		}
		if (c->word_count > 1 &&
		    (gather_is_word(&c->words[0], "cd") || gather_is_word(&c->words[0], "pushd")))
			add_base(g, gather_text_of(&c->words[c->word_count - 1]));
	}
	if (!gather_is_known(facts, true))
		gather_line(g, add_base);
	if (gather_sets_path(facts))
		gather_line(g, add_dir);
}
