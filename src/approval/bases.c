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

static bool is_base(const struct gathering *g, const struct object_file *f)
{
	for (size_t i = 0; i < g->base_count; i++)
		if (g->base_ids[i].device == f->device && g->base_ids[i].inode == f->inode)
			return true;
	return false;
}

/* Each directory once, or four times `cd .` would leave no room for another. */
static void add_base(struct gathering *g, size_t from, const char *to)
{
	scoped(fd_closep) int fd = openat(g->bases[from], to, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct object_file f = {0};
	const char *name;
	struct statx st;

	if (fd < 0 || object_look(fd, "", AT_EMPTY_PATH, &st) < 0)
		return;
	object_fill(&st, &f);
	if (is_base(g, &f))
		return;
	name = to[0] == '/' ? arena_strndup(g->arena, to, strlen(to))
	                    : arena_printf(g->arena, "%s/%s", g->base_names[from], to);
	if (!name || g->base_count == GATHER_BASES_MAX) {
		g->failed = name ? -E2BIG : -ENOMEM;
		return;
	}
	g->bases[g->base_count] = take_fd(&fd);
	g->base_names[g->base_count] = name;
	g->base_ids[g->base_count].device = f.device;
	g->base_ids[g->base_count++].inode = f.inode;
}

void gather_add_bases(struct gathering *g, const char *to)
{
	size_t known = g->base_count;

	for (size_t from = 0; from < known && *to && !g->failed; from++) {
		if (g->tries++ == GATHER_TRIES_MAX)
			g->failed = -E2BIG;
		add_base(g, from, to);
	}
}

/* "env -C x", "make -Cx", "tar --directory=x". */
static void gather_option_base(struct gathering *g, const struct shell_fact_command *c, size_t k)
{
	static const char *const longs[] = {"--chdir", "--directory"};
	const char *word = gather_text_of(&c->words[k]);
	const char *next = k + 1 < c->word_count ? gather_text_of(&c->words[k + 1]) : "";

	if (strncmp(word, "-C", 2) == 0)
		gather_add_bases(g, word[2] ? word + 2 : next);
	for (size_t i = 0; i < array_size(longs); i++) {
		size_t n = strlen(longs[i]);

		if (strncmp(word, longs[i], n) == 0 && (!word[n] || word[n] == '='))
			gather_add_bases(g, word[n] ? word + n + 1 : next);
	}
}

void gather_bases(struct gathering *g, const struct shell_facts *facts)
{
	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		for (size_t k = 1; k < c->word_count; k++)
			gather_option_base(g, c, k);
		if (c->word_count > 1 &&
		    (gather_is_word(&c->words[0], "cd") || gather_is_word(&c->words[0], "pushd")))
			gather_add_bases(g, gather_text_of(&c->words[c->word_count - 1]));
	}
}
