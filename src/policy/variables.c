/*
 * What the line says about its variables and directories.
 *
 * Every value that the line gives to a name counts, wherever it stands: by assignment, in a loop,
 * as an argument of a function or a shell, from echo. Where the line changes the directory,
 * relative names are tried from there, too.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"

/* Variables */

static void add_value(struct look *l, struct shell_text name, struct shell_text text)
{
	if (l->value_count < VALUE_MAX)
		l->values[l->value_count++] = (struct value){name, text};
}

static bool is_declaration(const char *name)
{
	static const char *const names[] = {"declare",  "export",  "local",
	                                    "readonly", "typeset", NULL};

	return word_in_list(names, name);
}

/* The words of a list that are known, joined with blanks. */
static struct shell_text joined(struct look *l, const struct shell_fact_word *words, size_t count)
{
	scoped(buffer_donep) struct buffer out = {0};
	char *copy;

	for (size_t i = 0; i < count; i++) {
		buffer_puts(&out, i ? " " : "");
		buffer_append(&out, words[i].text.bytes, words[i].text.len);
	}
	copy = look_string(l, buffer_str(&out), out.len);
	return (struct shell_text){copy ? copy : "", copy ? out.len : 0};
}

/* $1, $2 ..., $@ and $*: arguments of a function, of set --, of sh -c. */
static void add_positional(struct look *l, const struct shell_fact_word *words, size_t count,
                           unsigned first)
{
	static const struct shell_text all[] = {{"@", 1}, {"*", 1}};
	static const struct shell_text numbers[] = {{"0", 1}, {"1", 1}, {"2", 1}, {"3", 1},
	                                            {"4", 1}, {"5", 1}, {"6", 1}, {"7", 1},
	                                            {"8", 1}, {"9", 1}};
	size_t skip = first == 0 && count ? 1 : 0;
	struct shell_text text;

	if (!count)
		return;
	for (size_t i = 0; i < count && first + i < array_size(numbers); i++)
		if (words[i].kind == SHELL_VALUE_KNOWN)
			add_value(l, numbers[first + i], words[i].text);
	text = joined(l, words + skip, count - skip);
	add_value(l, all[0], text);
	add_value(l, all[1], text);
}

struct shell_text word_echoed(struct look *l, const struct shell_command *c)
{
	static const struct shell_text none = {NULL, 0};
	struct shell_fact_word words[32];
	const char *name = NULL;
	size_t count = 0;

	if (c->kind != SHELL_SIMPLE)
		return none;
	for (const struct shell_word *w = c->simple.words; w; w = w->next) {
		struct shell_value v;

		if (shell_word_value(l->arena, w, &v) < 0 || v.kind != SHELL_VALUE_KNOWN ||
		    count == array_size(words))
			return none;
		if (!name)
			name = v.text.bytes;
		else if (count || v.text.bytes[0] != '-')
			words[count++] = (struct shell_fact_word){.text = v.text};
	}
	if (!name || !count || (strcmp(name, "echo") != 0 && strcmp(name, "printf") != 0))
		return none;
	if (strcmp(name, "printf") == 0 && count > 1 && strchr(words[0].text.bytes, '%'))
		return joined(l, words + 1, count - 1);
	if (strchr(words[0].text.bytes, '\\')) {
		char *text = look_string(l, words[0].text.bytes, words[0].text.len);

		for (char *at = text; at && (at = strstr(at, "\\n"));) {
			at[0] = ' ';
			at[1] = '\n';
		}
		if (text)
			words[0].text.bytes = text;
	}
	return joined(l, words, count);
}

/* X=$(echo /), X=(rm -rf /) */
static void read_value(struct look *l, const struct shell_fact_assign *a)
{
	const struct shell_part *part = a->value.node ? a->value.node->parts : NULL;
	struct shell_fact_word words[32];
	size_t count = 0;
	struct shell_text text;

	if (part && part->kind == SHELL_PART_DOUBLE && !part->next)
		part = part->parts;
	if (!part || part->next)
		return;
	if (part->kind == SHELL_PART_COMMAND && part->list->statements &&
	    !part->list->statements->next && part->list->statements->pipelines &&
	    part->list->statements->pipelines->command_count == 1) {
		text = word_echoed(l, part->list->statements->pipelines->commands);
		if (text.bytes)
			add_value(l, a->name, text);
	}
	if (part->kind != SHELL_PART_ARRAY)
		return;
	for (const struct shell_array_item *i = part->items; i; i = i->next) {
		struct shell_value v;

		if (count == array_size(words) || shell_word_value(l->arena, i->value, &v) < 0 ||
		    v.kind != SHELL_VALUE_KNOWN)
			return;
		words[count++] = (struct shell_fact_word){.text = v.text};
	}
	if (count)
		add_value(l, a->name, joined(l, words, count));
}

static bool is_shell_code(const struct shell_fact_command *c, size_t at)
{
	struct shell_text t = c->words[at].text;

	return t.len > 1 && t.bytes[0] == '-' && t.bytes[1] != '-' && t.bytes[t.len - 1] == 'c';
}

/* Commands that give values to names in their own ways. */
static void read_givers(struct look *l, const struct shell_fact_command *c)
{
	const char *name = c->words[0].text.bytes;

	if (c->kind == SHELL_KIND_FUNCTION) {
		add_positional(l, c->words + 1, c->word_count - 1, 1);
	} else if (strcmp(name, "set") == 0 && c->word_count > 2 &&
	           word_text_is(c->words[1].text, "--")) {
		add_positional(l, c->words + 2, c->word_count - 2, 1);
	} else if (strcmp(name, "printf") == 0 && c->word_count > 3 &&
	           word_text_is(c->words[1].text, "-v")) {
		add_value(l, c->words[2].text, c->words[c->word_count - 1].text);
	} else if (strcmp(name, "read") == 0 && c->redirect_count &&
	           strcmp(c->redirects[0].op, "<<<") == 0 &&
	           c->redirects[0].target.kind == SHELL_VALUE_KNOWN) {
		add_value(l, c->words[c->word_count - 1].text, c->redirects[0].target.text);
	} else {
		for (size_t i = 1; i + 2 < c->word_count; i++) {
			if (!is_shell_code(c, i))
				continue;
			add_positional(l, c->words + i + 2, c->word_count - i - 2, 0);
			break;
		}
	}
}

static void read_assigns(struct look *l, const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->assign_count; i++) {
		if (c->assigns[i].value.kind == SHELL_VALUE_KNOWN)
			add_value(l, c->assigns[i].name, c->assigns[i].value.text);
		else
			read_value(l, &c->assigns[i]);
	}
	if (c->word_count && c->words[0].kind == SHELL_VALUE_KNOWN)
		read_givers(l, c);
	if (!c->word_count || c->words[0].kind != SHELL_VALUE_KNOWN ||
	    !is_declaration(c->words[0].text.bytes))
		return;
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		const char *equals = memchr(w->text.bytes, '=', w->text.len);

		if (!equals || w->kind != SHELL_VALUE_KNOWN)
			continue;
		add_value(l, (struct shell_text){w->text.bytes, (size_t)(equals - w->text.bytes)},
		          (struct shell_text){equals + 1, strlen(equals + 1)});
	}
}

/* for NAME in WORD...: the facts do not list these. */
static void read_loops(struct look *l, const struct shell_list *list, unsigned depth);

static void read_loop(struct look *l, const struct shell_command *c)
{
	for (const struct shell_word *w = c->loop.words; w; w = w->next) {
		struct shell_value v;

		if (shell_word_value(l->arena, w, &v) < 0)
			l->failed = true;
		else if (v.kind == SHELL_VALUE_KNOWN)
			add_value(l, c->loop.name, v.text);
		else if (v.kind == SHELL_VALUE_GLOB)
			add_value(l, c->loop.name, v.pattern);
	}
}

static void read_command(struct look *l, const struct shell_command *c, unsigned depth)
{
	switch (c->kind) {
	case SHELL_FOR:
	case SHELL_SELECT:
		read_loop(l, c);
		read_loops(l, c->loop.body, depth);
		break;
	case SHELL_GROUP:
	case SHELL_SUBSHELL:
		read_loops(l, c->list, depth);
		break;
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		for (const struct shell_clause *k = c->clauses; k; k = k->next) {
			read_loops(l, k->condition, depth);
			read_loops(l, k->body, depth);
		}
		break;
	case SHELL_FOR_ARITH:
		read_loops(l, c->arith_loop.body, depth);
		break;
	case SHELL_CASE:
		for (const struct shell_case_item *k = c->cases.items; k; k = k->next)
			read_loops(l, k->body, depth);
		break;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
		read_command(l, c->body, depth);
		break;
	case SHELL_SIMPLE:
	case SHELL_ARITH:
	case SHELL_TEST:
		break;
	}
}

static void read_loops(struct look *l, const struct shell_list *list, unsigned depth)
{
	if (!list || depth > SHELL_DEPTH_MAX)
		return;
	for (const struct shell_statement *s = list->statements; s; s = s->next)
		for (const struct shell_pipeline *p = s->pipelines; p; p = p->next)
			for (const struct shell_command *c = p->commands; c; c = c->next)
				read_command(l, c, depth + 1);
}

/* Directories */

static void add_base(struct look *l, const char *from, const char *to)
{
	const char *base = path_fold(l, from, to, strlen(to));

	l->moves = true;
	for (size_t i = 0; base && i < l->base_count; i++)
		if (strcmp(l->bases[i], base) == 0)
			return;
	if (base && l->base_count < array_size(l->bases))
		l->bases[l->base_count++] = base;
	else
		l->moves_unknown = true;
}

static void read_move(struct look *l, const struct shell_fact_command *c)
{
	struct candidates to;
	size_t at = 1, before;

	l->moves = true;
	while (at < c->word_count && c->words[at].kind == SHELL_VALUE_KNOWN &&
	       c->words[at].text.len > 1 && c->words[at].text.bytes[0] == '-')
		at++;
	if (at >= c->word_count) {
		to = (struct candidates){.text = {"~"}, .count = 1, .all = true};
	} else {
		word_candidates(l, &c->words[at], &to);
		if (to.count == 1 && strcmp(to.text[0], "-") == 0)
			to.all = false;
	}
	l->moves_unknown |= !to.all;
	before = l->base_count;
	for (size_t i = 0; i < to.count; i++) {
		add_base(l, l->base, to.text[i]);
		/* From wherever the line may have gone before. */
		for (size_t k = 0; k < before && to.text[i][0] != '/' && to.text[i][0] != '~'; k++)
			add_base(l, l->bases[k], to.text[i]);
	}
}

/* env -C DIR, env --chdir=DIR */
static void read_env_move(struct look *l, const struct shell_fact_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct shell_text t = c->words[i].text;

		if (t.len < 2 || t.bytes[0] != '-')
			continue;
		if ((word_text_is(t, "-C") || word_text_is(t, "--chdir")) && i + 1 < c->word_count)
			add_base(l, l->base, c->words[i + 1].text.bytes);
		else if (t.bytes[1] == 'C' && t.len > 2)
			add_base(l, l->base, t.bytes + 2);
		else if (strncmp(t.bytes, "--ch", 4) == 0 && strchr(t.bytes, '='))
			add_base(l, l->base, strchr(t.bytes, '=') + 1);
	}
}

void look_words_read(struct look *l)
{
	bool moves = false;

	if (l->values_read)
		return;
	l->values_read = true;
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];

		read_assigns(l, c);
		moves |= c->word_count && (word_text_is(c->words[0].text, "cd") ||
		                           word_text_is(c->words[0].text, "pushd") ||
		                           word_text_is(c->words[0].text, "popd") ||
		                           word_text_is(c->words[0].text, "env"));
	}
	if (l->facts->tree->list)
		read_loops(l, l->facts->tree->list, 0);
	for (size_t i = 0; moves && i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];

		if (c->word_count && word_text_is(c->words[0].text, "env"))
			read_env_move(l, c);

		if (c->word_count && (word_text_is(c->words[0].text, "cd") ||
		                      word_text_is(c->words[0].text, "pushd")))
			read_move(l, c);
		else if (c->word_count && word_text_is(c->words[0].text, "popd"))
			l->moves = l->moves_unknown = true;
	}
}
