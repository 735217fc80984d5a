/*
 * What an unknown word could be.
 *
 * A line often says so itself: X=/; rm -rf "$X". Every value that the line gives to a variable is
 * tried (see variables.c); the home directory is written "~", however it was spelled. This finds
 * matches; it never proves that there is none, and only `all` says that nothing else is possible.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"

bool word_text_is(struct shell_text t, const char *s)
{
	return strlen(s) == t.len && memcmp(t.bytes, s, t.len) == 0;
}

bool word_in_list(const char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (**list == *s && strcmp(*list, s) == 0)
			return true;
	return false;
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
	if (!assigned && word_text_is(param->name, "HOME"))
		tails[count++] = "~";
	else if (!assigned && word_text_is(param->name, "PWD") && l->base)
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
		case SHELL_PART_GLOB:
			join_one(l, c, look_string(l, part->text.bytes, part->text.len));
			break;
		case SHELL_PART_TILDE:
			if (word_text_is(part->text, "~")) {
				join_one(l, c, "~");
			} else if (word_text_is(part->text, "~+")) {
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

/* One text from one directory, against all globs. */
static enum match path_meets(struct look *l, const char *const *globs, const char *base,
                             const char *text, bool pattern)
{
	const char *equals = strchr(text, '='), *value = NULL;
	const char *folded = path_fold(l, base, text, strlen(text));
	size_t left = equals ? (size_t)(equals + 1 - text) : 0;
	enum match best = MATCH_NO;

	/* of=/dev/x: the glob names the left side, too. */
	if (equals)
		value = path_fold(l, base, equals + 1, strlen(equals + 1));
	for (; folded && *globs && best != MATCH_YES; globs++) {
		best = match_most(best, text_meets(l, *globs, folded, pattern));
		if (value && strncmp(*globs, text, left) == 0)
			best = match_most(best, text_meets(l, *globs + left, value, pattern));
	}
	return folded ? best : MATCH_MAYBE;
}

/* From the directory of the line, and from every one that it changes to. */
static enum match from_all(struct look *l, const char *const *globs, const char *text, bool pattern)
{
	enum match best = path_meets(l, globs, l->base, text, pattern);

	if (text[0] == '/' || text[0] == '~')
		return best;
	look_words_read(l);
	for (size_t i = 0; i < l->base_count && best != MATCH_YES; i++)
		if (l->bases[i])
			best = match_most(best, path_meets(l, globs, l->bases[i], text, pattern));
	if (l->moves_unknown && best == MATCH_NO)
		best = MATCH_MAYBE;
	return best;
}

/* Whether an unknown word that begins so could come out as something that the glob matches. */
static bool could_become(const struct shell_fact_word *w, const char *const *globs)
{
	if (w->kind == SHELL_VALUE_MANY || !w->text.len || strchr(w->text.bytes, '/'))
		return true; /* .. may follow, or another word */
	for (; *globs; globs++)
		if ((*globs)[0] != '/' && (*globs)[0] != '~')
			return true;
	return false;
}

static enum match text_fits(struct look *l, const char *const *globs, const char *text,
                            bool pattern)
{
	enum match best;
	const char *plain;

	for (const char *const *g = globs; *g; g++)
		if (glob_matches(*g, text, false))
			return MATCH_YES;
	if (!text[0])
		return MATCH_NO;
	best = from_all(l, globs, text, pattern);
	if (!pattern || best == MATCH_YES)
		return best;
	plain = plain_pattern(l, text);
	return plain ? match_most(best, from_all(l, globs, plain, true)) : MATCH_MAYBE;
}

enum match word_meets(struct look *l, const struct shell_fact_word *w, const char *const *globs,
                      const char **ret_text)
{
	enum match best = MATCH_NO;
	struct candidates c;

	if (!globs)
		return MATCH_NO;
	word_candidates(l, w, &c);
	for (size_t i = 0; i < c.count && best != MATCH_YES; i++) {
		bool pattern = w->kind != SHELL_VALUE_KNOWN && strpbrk(c.text[i], "*?[") != NULL;
		enum match m = text_fits(l, globs, c.text[i], pattern);

		if (m > best && ret_text)
			*ret_text = c.text[i];
		best = match_most(best, m);
	}
	if (!c.all && best == MATCH_NO && could_become(w, globs))
		best = MATCH_MAYBE;
	return best;
}
