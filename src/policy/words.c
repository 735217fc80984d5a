/*
 * What an unknown word could be.
 *
 * A line often says so itself: X=/; rm -rf "$X". Every value that the line gives to a variable is
 * tried, wherever it stands; the home directory is written "~", however it was spelled. And where
 * the line changes the directory, relative names are tried from there, too. This finds matches; it
 * never proves that there is none, and only `all` says that nothing else is possible.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"

bool text_is(struct shell_text t, const char *s)
{
	return strlen(s) == t.len && memcmp(t.bytes, s, t.len) == 0;
}

bool list_has(const char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

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

	return list_has(names, name);
}

static void read_assigns(struct look *l, const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->assign_count; i++)
		if (c->assigns[i].value.kind == SHELL_VALUE_KNOWN)
			add_value(l, c->assigns[i].name, c->assigns[i].value.text);
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

static void read_move(struct look *l, const struct shell_fact_command *c)
{
	struct candidates to;
	size_t at = 1;

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
	for (size_t i = 0; i < to.count && l->base_count < array_size(l->bases); i++)
		l->bases[l->base_count++] = path_fold(l, l->base, to.text[i], strlen(to.text[i]));
}

static void add_base(struct look *l, struct shell_text t)
{
	if (l->base_count < array_size(l->bases))
		l->bases[l->base_count++] = path_fold(l, l->base, t.bytes, t.len);
	l->moves = true;
}

/* env -C DIR, env --chdir=DIR */
static void read_env_move(struct look *l, const struct shell_fact_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct shell_text t = c->words[i].text;

		if (t.len < 2 || t.bytes[0] != '-')
			continue;
		if ((text_is(t, "-C") || text_is(t, "--chdir")) && i + 1 < c->word_count)
			add_base(l, c->words[i + 1].text);
		else if (t.bytes[1] == 'C' && t.len > 2)
			add_base(l, (struct shell_text){t.bytes + 2, t.len - 2});
		else if (strncmp(t.bytes, "--ch", 4) == 0 && strchr(t.bytes, '='))
			add_base(l, (struct shell_text){strchr(t.bytes, '=') + 1,
			                                strlen(strchr(t.bytes, '=') + 1)});
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
		moves |= c->word_count &&
		         (text_is(c->words[0].text, "cd") || text_is(c->words[0].text, "pushd") ||
		          text_is(c->words[0].text, "popd") || text_is(c->words[0].text, "env"));
	}
	if (l->facts->tree->list)
		read_loops(l, l->facts->tree->list, 0);
	for (size_t i = 0; moves && i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];

		if (c->word_count && text_is(c->words[0].text, "env"))
			read_env_move(l, c);

		if (c->word_count &&
		    (text_is(c->words[0].text, "cd") || text_is(c->words[0].text, "pushd")))
			read_move(l, c);
		else if (c->word_count && text_is(c->words[0].text, "popd"))
			l->moves = l->moves_unknown = true;
	}
}

/* Candidates */

static void join_all(struct look *l, struct candidates *c, const char *const *tails, size_t count)
{
	struct candidates joined = {.all = c->all};

	for (size_t i = 0; i < c->count; i++) {
		for (size_t k = 0; k < count; k++) {
			char *text;

			if (joined.count == CANDIDATE_MAX) {
				joined.all = false;
				break;
			}
			text = arena_printf(l->arena, "%s%s", c->text[i], tails[k]);
			if (!text) {
				l->failed = true;
				return;
			}
			joined.text[joined.count++] = text;
		}
	}
	*c = joined;
}

static void join_one(struct look *l, struct candidates *c, const char *tail)
{
	join_all(l, c, &tail, 1);
}

static void parts_candidates(struct look *l, const struct shell_part *part, struct candidates *c);

static void param_candidates(struct look *l, const struct shell_param *param, struct candidates *c)
{
	const char *tails[CANDIDATE_MAX];
	size_t count = 0;
	bool assigned = false;

	for (size_t i = 0; i < l->value_count && count < CANDIDATE_MAX - 2; i++) {
		const struct value *v = &l->values[i];

		if (v->name.len != param->name.len ||
		    memcmp(v->name.bytes, param->name.bytes, v->name.len) != 0)
			continue;
		assigned = true;
		tails[count++] = look_string(l, v->text.bytes, v->text.len);
	}
	if (!assigned && text_is(param->name, "HOME"))
		tails[count++] = "~";
	else if (!assigned && text_is(param->name, "PWD") && l->base)
		tails[count++] = l->base;
	else
		c->all = false; /* another value, from before or from elsewhere, is possible */
	if (param->op != SHELL_PARAM_PLAIN && param->op != SHELL_PARAM_ERROR)
		c->all = false;
	if ((param->op == SHELL_PARAM_DEFAULT || param->op == SHELL_PARAM_ASSIGN ||
	     param->op == SHELL_PARAM_ALTERNATE) &&
	    count < CANDIDATE_MAX - 1) {
		struct candidates word = {.text = {""}, .count = 1, .all = true};

		parts_candidates(l, param->word ? param->word->parts : NULL, &word);
		if (word.count)
			tails[count++] = word.text[0];
	}
	join_all(l, c, tails, count);
}

static void parts_candidates(struct look *l, const struct shell_part *part, struct candidates *c)
{
	for (; part && c->count && !l->failed; part = part->next) {
		switch (part->kind) {
		case SHELL_PART_LITERAL:
			join_one(l, c, look_string(l, part->text.bytes, part->text.len));
			break;
		case SHELL_PART_GLOB:
			join_one(l, c, look_string(l, part->text.bytes, part->text.len));
			break;
		case SHELL_PART_TILDE:
			if (text_is(part->text, "~")) {
				join_one(l, c, "~");
			} else if (text_is(part->text, "~+")) {
				join_one(l, c, l->base ? l->base : ".");
			} else {
				join_one(l, c, "~"); /* somebody's home */
				c->all = false;
			}
			break;
		case SHELL_PART_DOUBLE:
			parts_candidates(l, part->parts, c);
			break;
		case SHELL_PART_PARAM:
			param_candidates(l, part->param, c);
			break;
		case SHELL_PART_EXTGLOB:
		case SHELL_PART_COMMAND:
		case SHELL_PART_ARITH:
		case SHELL_PART_PROCESS_IN:
		case SHELL_PART_PROCESS_OUT:
		case SHELL_PART_ARRAY:
			c->all = false;
			c->count = 0;
			break;
		}
	}
}

/* The parts of a path that are a pattern and say little else, as a star: "/???" is as bad as "/"
 * and a star. */
static const char *plain_pattern(struct look *l, const char *text)
{
	struct shell_text t = {text, strlen(text)};
	char *out = look_alloc(l, t.len + 1);
	size_t used = 0;

	for (size_t i = 0; out && i < t.len;) {
		size_t n = strcspn(t.bytes + i, "/"), letters = 0;
		bool pattern = false;

		for (size_t k = i; k < i + n; k++) {
			pattern |= strchr("*?[", t.bytes[k]) != NULL;
			letters += !strchr("*?[]!^-.", t.bytes[k]);
		}
		if (pattern && (letters < 3 || memchr(t.bytes + i, '[', n))) {
			out[used++] = '*';
		} else {
			memcpy(out + used, t.bytes + i, n);
			used += n;
		}
		i += n;
		if (i < t.len)
			out[used++] = t.bytes[i++];
	}
	return out;
}

void word_candidates(struct look *l, const struct shell_fact_word *w, struct candidates *ret)
{
	*ret = (struct candidates){.text = {""}, .count = 1, .all = true};
	if (w->kind == SHELL_VALUE_KNOWN) {
		ret->text[0] = w->text.bytes;
		return;
	}
	if (w->pipe) {
		*ret = (struct candidates){.text = {"/dev/fd/63"}, .count = 1, .all = true};
		return;
	}
	if (w->kind == SHELL_VALUE_GLOB) {
		ret->text[0] = look_string(l, w->pattern.bytes, w->pattern.len);
		if (!ret->text[0])
			ret->count = 0;
		return;
	}
	look_words_read(l);
	if (w->node) {
		parts_candidates(l, w->node->parts, ret);
	} else {
		ret->count = 0;
		ret->all = false;
	}
	if (l->failed)
		*ret = (struct candidates){0};
}

/* Paths against globs */

/* How well one text, perhaps a pattern, fits one glob; with ~ for the home directory. */
static enum match text_meets(struct look *l, const char *glob, const char *text, bool pattern)
{
	const char *home = l->q->home;
	size_t n = home ? strlen(home) : 0;
	char *tilde;

	if (glob_matches(glob, text, false))
		return MATCH_YES;
	if (pattern && globs_meet(glob, text))
		return MATCH_MAYBE;
	if (glob[0] == '~' && n > 1 && strncmp(text, home, n) == 0 &&
	    (!text[n] || text[n] == '/')) {
		tilde = arena_printf(l->arena, "~%s", text + n);
		if (!tilde)
			l->failed = true;
		else if (glob_matches(glob, tilde, false))
			return MATCH_YES;
	}
	if (glob[0] == '/' && text[0] == '~' && n > 1) {
		tilde = arena_printf(l->arena, "%s%s", home, text + 1);
		if (!tilde)
			l->failed = true;
		else if (glob_matches(glob, tilde, false))
			return MATCH_YES;
	}
	return MATCH_NO;
}

static enum match path_meets(struct look *l, const char *glob, const char *base, const char *text,
                             bool pattern, const char **ret_text)
{
	const char *equals = strchr(text, '=');
	const char *folded = path_fold(l, base, text, strlen(text));
	enum match m;

	if (!folded)
		return MATCH_MAYBE;
	m = text_meets(l, glob, folded, pattern);
	/* of=/dev/x: the glob names the left side, too. */
	if (m != MATCH_YES && equals && strncmp(glob, text, (size_t)(equals - text) + 1) == 0) {
		folded = path_fold(l, base, equals + 1, strlen(equals + 1));
		if (folded)
			m = match_most(m,
			               text_meets(l, glob + (equals - text) + 1, folded, pattern));
	}
	if (m && ret_text)
		*ret_text = text;
	return m;
}

/* From the directory of the line, and from every one that it changes to. */
static enum match from_all(struct look *l, const char *glob, const char *text, bool pattern,
                           const char **ret_text)
{
	enum match best = path_meets(l, glob, l->base, text, pattern, ret_text);

	if (text[0] == '/' || text[0] == '~')
		return best;
	look_words_read(l);
	for (size_t i = 0; i < l->base_count && best != MATCH_YES; i++)
		if (l->bases[i])
			best = match_most(
				best, path_meets(l, glob, l->bases[i], text, pattern, ret_text));
	if (l->moves_unknown && best == MATCH_NO)
		best = MATCH_MAYBE;
	return best;
}

/* Whether an unknown word that begins so could come out as something that the glob matches. */
static bool could_become(const struct shell_fact_word *w, const char *glob)
{
	if (w->kind == SHELL_VALUE_MANY || !w->text.len || strchr(w->text.bytes, '/'))
		return true; /* .. may follow, or another word */
	return glob[0] != '/' && glob[0] != '~';
}

enum match word_meets(struct look *l, const struct shell_fact_word *w, const char *const *globs,
                      const char **ret_text)
{
	enum match best = MATCH_NO;
	struct candidates c;

	word_candidates(l, w, &c);
	for (const char *const *g = globs; g && *g && best != MATCH_YES; g++) {
		for (size_t i = 0; i < c.count && best != MATCH_YES; i++) {
			bool pattern =
				w->kind != SHELL_VALUE_KNOWN && strpbrk(c.text[i], "*?[") != NULL;

			if (glob_matches(*g, c.text[i], false)) {
				best = MATCH_YES;
				if (ret_text)
					*ret_text = c.text[i];
				break;
			}
			if (c.text[i][0])
				best = match_most(best,
				                  from_all(l, *g, c.text[i], pattern, ret_text));
			if (pattern && best != MATCH_YES) {
				const char *plain = plain_pattern(l, c.text[i]);

				if (plain)
					best = match_most(best,
					                  from_all(l, *g, plain, true, ret_text));
			}
		}
		if (!c.all && best == MATCH_NO && could_become(w, *g))
			best = MATCH_MAYBE;
	}
	return best;
}
