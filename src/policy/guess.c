/*
 * Guesses: the line, with words in place that it says itself.
 *
 * X='-rf /'; rm $X is decided as rm -rf / as well. A guess is only ever used to refuse: what it
 * finds is what bash would run if the variable has the value that the line has given to it.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"

struct guessing {
	struct look *l;
	void (*try)(struct look *l, const char *line, size_t n, void *data);
	void *data;
	size_t count;
};

static void put_quoted(struct buffer *out, const char *text, size_t n)
{
	buffer_putc(out, '\'');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\'')
			buffer_puts(out, "'\\''");
		else
			buffer_putc(out, text[i]);
	}
	buffer_putc(out, '\'');
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("_./:,+%@=-~", c);
}

/* Text that bash would split and expand: words apart, stars as they are, all else quoted. */
static void put_split(struct buffer *out, const char *text)
{
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, " \t\n");

		for (size_t i = 0; i < n; i++) {
			if (is_plain(at[i]) || strchr("*?", at[i]))
				buffer_putc(out, at[i]);
			else
				put_quoted(out, at + i, 1);
		}
		at += n + strspn(at + n, " \t\n");
		buffer_puts(out, *at ? " " : "");
	}
}

/* One word, as the number says which of its values it has. */
static void put_word(struct buffer *out, const struct shell_fact_word *w,
                     const struct candidates *c, size_t which)
{
	const char *text;

	if (w->kind == SHELL_VALUE_KNOWN) {
		put_quoted(out, w->text.bytes, w->text.len);
		return;
	}
	if (!c->count) {
		put_quoted(out, w->text.bytes, w->text.len);
		buffer_puts(out, w->kind == SHELL_VALUE_ONE ? "\"$_\"" : "$_");
		return;
	}
	text = c->text[which % c->count];
	if (text[0] == '~' && (!text[1] || text[1] == '/')) {
		buffer_putc(out, '~');
		text++;
	}
	if (w->kind == SHELL_VALUE_ONE)
		put_quoted(out, text, strlen(text));
	else
		put_split(out, text);
}

static void guess(struct guessing *g, const struct buffer *line)
{
	char *copy;

	if (g->count >= GUESS_MAX || buffer_error(line))
		return;
	copy = look_string(g->l, buffer_str(line), line->len);
	if (!copy)
		return;
	g->count++;
	g->try(g->l, copy, line->len, g->data);
}

#define WORDS_MAX 64

/* A command some of whose words have values; PIPED is what its own unknown words could be. */
static void guess_command(struct guessing *g, const struct shell_fact_command *c, const char *piped)
{
	struct candidates *can;
	size_t most = 0;

	if (c->word_count > WORDS_MAX)
		return;
	can = look_alloc(g->l, (c->word_count + 1) * sizeof(*can));
	for (size_t i = 0; can && i < c->word_count; i++) {
		if (c->words[i].kind == SHELL_VALUE_KNOWN || c->words[i].kind == SHELL_VALUE_GLOB)
			continue;
		if (piped && !c->words[i].node)
			can[i] = (struct candidates){.text = {piped}, .count = 1};
		else
			word_candidates(g->l, &c->words[i], &can[i]);
		most = can[i].count > most ? can[i].count : most;
	}
	for (size_t k = 0; can && k < most; k++) {
		scoped(buffer_donep) struct buffer line = {0};

		for (size_t i = 0; i < c->word_count; i++) {
			buffer_puts(&line, i ? " " : "");
			if (c->words[i].kind == SHELL_VALUE_GLOB)
				put_split(&line, c->words[i].pattern.bytes);
			else
				put_word(&line, &c->words[i], &can[i], k);
		}
		guess(g, &line);
	}
}

/* What is printed into xargs or a shell. */
static void guess_pipe(struct guessing *g, const struct shell_command *from)
{
	const struct shell_facts *facts = g->l->facts;
	const struct shell_command *to = from->next;
	struct shell_text text = word_echoed(g->l, from);

	if (!text.bytes)
		return;
	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		const struct subject *s = &g->l->subjects[i];

		if (c->range.start < to->range.start || c->range.end > to->range.end || !s->name)
			continue;
		if (strstr(c->via, "wrapper:xargs")) {
			guess_command(g, c, text.bytes);
		} else if (s->runs &&
		           (strcmp(s->name, "sh") == 0 || strstr(s->name, "bash") ||
		            strcmp(s->name, "dash") == 0 || strcmp(s->name, "zsh") == 0 ||
		            strcmp(s->name, "ksh") == 0)) {
			scoped(buffer_donep) struct buffer line = {0};

			buffer_append(&line, text.bytes, text.len);
			guess(g, &line);
		}
	}
}

static void guess_pipes(struct guessing *g, const struct shell_list *list)
{
	if (!list)
		return;
	for (const struct shell_statement *s = list->statements; s; s = s->next)
		for (const struct shell_pipeline *p = s->pipelines; p; p = p->next)
			for (const struct shell_command *c = p->commands; c && c->next; c = c->next)
				guess_pipe(g, c);
}

/* find / -exec rm -rf {} +: the words are what find starts from, or lie below. */
static void guess_find(struct guessing *g, const struct shell_fact_command *c)
{
	const struct shell_facts *facts = g->l->facts;

	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *find = &facts->commands[i];

		if (!g->l->subjects[i].name || strcmp(g->l->subjects[i].name, "find") != 0 ||
		    find->range.start != c->range.start || find->range.end != c->range.end)
			continue;
		for (size_t k = 1; k < find->word_count; k++) {
			struct candidates from;

			if (find->words[k].text.len && strchr("-(!", find->words[k].text.bytes[0]))
				break;
			word_candidates(g->l, &find->words[k], &from);
			for (size_t n = 0; n < from.count; n++)
				guess_command(g, c, from.text[n]);
		}
	}
}

void guess_all(struct look *l, void (*try)(struct look *l, const char *line, size_t n, void *data),
               void *data)
{
	struct guessing g = {.l = l, .try = try, .data = data};

	if (l->facts->status == SHELL_FACTS_STATIC)
		return;
	look_words_read(l);
	for (size_t i = 0; l->value_count && i < l->facts->command_count && g.count < GUESS_MAX;
	     i++)
		guess_command(&g, &l->facts->commands[i], NULL);
	for (size_t i = 0; i < l->facts->command_count && g.count < GUESS_MAX; i++)
		if (strstr(l->facts->commands[i].via, "find:-"))
			guess_find(&g, &l->facts->commands[i]);
	guess_pipes(&g, l->facts->tree->list);
}
