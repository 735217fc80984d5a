/*
 * Rules about a line: its text, what it writes, what it pipes where.
 *
 * Text rules look at the line as it was given, at its canonical text, where every word is quoted
 * and every construct has one spelling, and at the words of each command joined with blanks.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "policy/inside.h"

#include <pcre2.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "shell/knowledge.h"
#include "shell/print.h"

/* Syntax */

const char *syntax_banned(struct look *l)
{
	const struct policy_syntax *syntax = &l->policy->rules->syntax;
	const char *best = NULL, *best_at = NULL;

	for (const char *const *b = syntax->banned; b && *b; b++) {
		const char *at = memmem(l->q->text, l->q->text_len, *b, strlen(*b));

		if (!at || !**b)
			continue;
		if (!best || at < best_at || (at == best_at && strlen(*b) > strlen(best))) {
			best = *b;
			best_at = at;
		}
	}
	return best;
}

/* Text */

static bool text_has(const struct look *l, const struct compiled_rule *c, const char *text,
                     size_t n)
{
	int r;

	if (c->rule->literal)
		return memmem(text, n, c->rule->literal, strlen(c->rule->literal)) != NULL;
	r = pcre2_match(c->regex, (PCRE2_SPTR)text, n, 0, 0, l->policy->match_data,
	                l->policy->match_context);
	return r != PCRE2_ERROR_NOMATCH; /* a limit that is hit counts as a match */
}

static const char *joined_words(struct look *l, const struct shell_fact_command *c)
{
	scoped(buffer_donep) struct buffer out = {0};

	for (size_t i = 0; i < c->word_count; i++) {
		struct shell_text t = c->words[i].kind == SHELL_VALUE_GLOB ? c->words[i].pattern
		                                                           : c->words[i].text;

		buffer_puts(&out, i ? " " : "");
		buffer_append(&out, t.bytes, t.len);
	}
	return look_string(l, buffer_str(&out), out.len);
}

static enum match text_match(struct look *l, const struct compiled_rule *c)
{
	scoped(buffer_donep) struct buffer canonical = {0};

	if (text_has(l, c, l->q->text, l->q->text_len))
		return MATCH_YES;
	if (l->facts->tree->list) {
		shell_print(l->facts->tree->list, &canonical);
		if (!buffer_error(&canonical) &&
		    text_has(l, c, buffer_str(&canonical), canonical.len))
			return MATCH_YES;
	}
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const char *words = joined_words(l, &l->facts->commands[i]);

		if (words && text_has(l, c, words, strlen(words)))
			return MATCH_YES;
	}
	return c->bomb && facts_have_bomb(l->facts) ? MATCH_YES : MATCH_NO;
}

/* Writes */

static bool writes(const char *op)
{
	return (op[0] == '>' && strcmp(op, ">&") != 0) || op[0] == '&' || strcmp(op, "<>") == 0;
}

/* Names of what is open already. */
static bool is_stream(const struct shell_fact_word *w)
{
	static const char *const names[] = {"/dev/null",   "/dev/zero",   "/dev/full", "/dev/stdin",
	                                    "/dev/stdout", "/dev/stderr", "/dev/tty",  NULL};

	return w->pipe ||
	       (w->kind == SHELL_VALUE_KNOWN &&
	        (list_has(names, w->text.bytes) ||
	         (strncmp(w->text.bytes, "/dev/fd/", 8) == 0 && !strstr(w->text.bytes, ".."))));
}

/* Of these only the last operand, or the value of -t, is written. */
static bool writes_last(const char *name)
{
	static const char *const names[] = {"cp",  "install", "ln",   "rsync",
	                                    "scp", "gcp",     "link", NULL};

	return list_has(names, name);
}

static bool option_is_flag(const struct subject *s, const char *by)
{
	const struct knowledge_command *k = knowledge_find(s->name);

	for (size_t i = 0; k && i < k->count; i++)
		for (size_t j = 0; j < k->rows[i].count; j++) {
			const struct knowledge_item *item = &k->rows[i].items[j];

			if (item->kind == KNOWLEDGE_OPTION && strcmp(item->name, by) == 0)
				return item->value != SHELL_OPTION_VALUE;
		}
	return false;
}

struct written { /* which words of a command it writes */
	bool operands, last, values;
};

static struct written written_by(const struct subject *s)
{
	static const char *const more[] = {"setfacl", "setfattr", "chattr", "visudo", "vipw",
	                                   "vigr",    "vi",       "vim",    "nvim",   "nano",
	                                   "emacs",   "ed",       "ex",     "pico",   NULL};
	struct written w = {0};

	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];

		if (strcmp(d->effect, "write") != 0 && strcmp(d->effect, "priv") != 0)
			continue;
		if (d->by[0] != '-' || option_is_flag(s, d->by))
			w.operands = true;
		if (d->by[0] == '-')
			w.values = true;
	}
	if (writes_last(s->name)) {
		w.last = true;
		w.operands = false;
		w.values = true;
	}
	if (strcmp(s->name, "dd") == 0)
		w = (struct written){.operands = true};
	if (list_has(more, s->name))
		w.operands = w.values = true;
	if (strcmp(s->name, "git") == 0 && s->command->word_count > 1 &&
	    text_is(s->command->words[1].text, "clone"))
		w.operands = true;
	return w;
}

static enum match operand_written(struct look *l, const struct subject *s,
                                  const struct shell_fact_word *w, const char *const *globs,
                                  const char **ret_operand)
{
	struct shell_fact_word value = *w;

	if (strcmp(s->name, "dd") == 0) {
		if (w->text.len < 3 || memcmp(w->text.bytes, "of=", 3) != 0)
			return w->kind == SHELL_VALUE_KNOWN || w->text.len ? MATCH_NO : MATCH_MAYBE;
		value.text.bytes += 3;
		value.text.len -= 3;
		value.node = NULL;
		w = &value;
	}
	return word_meets(l, w, globs, ret_operand);
}

static enum match option_written(struct look *l, const struct shell_fact_word *w,
                                 const char *const *globs, const char **ret_operand)
{
	struct shell_fact_word value = *w;

	if (!option_glued_value(w, &value.text))
		return MATCH_NO;
	value.node = NULL;
	/* -oFILE, -xoFILE */
	if (w->text.bytes[1] != '-' && strchr(value.text.bytes, '/') &&
	    value.text.bytes[0] != '.') {
		const char *slash = strchr(value.text.bytes, '/');

		value.text.len -= (size_t)(slash - value.text.bytes);
		value.text.bytes = slash;
	}
	return word_meets(l, &value, globs, ret_operand);
}

/* Names in a program of sed or awk that writes files: wherever a path could begin. */
static enum match script_written(struct look *l, const struct shell_fact_word *w,
                                 const char *const *globs, const char **ret_operand)
{
	static const char path_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_./-";

	for (const char *at = strchr(w->text.bytes, '/'); at; at = strchr(at + 1, '/')) {
		const char *folded = path_fold(l, "/", at, strspn(at, path_bytes));

		for (const char *const *g = globs; folded && *g; g++) {
			if (glob_matches(*g, folded, false)) {
				*ret_operand = folded;
				return MATCH_LIKELY;
			}
		}
	}
	return MATCH_NO;
}

static enum match words_written(struct look *l, struct subject *s, const char *const *globs,
                                const char **ret_operand)
{
	const struct shell_fact_command *c = s->command;
	struct written which = written_by(s);
	const struct word_role *roles;
	enum match best = MATCH_NO, m;
	size_t last = 0;

	if (!which.operands && !which.last && !which.values)
		return MATCH_NO;
	roles = subject_roles(l, s);
	if (!roles)
		return MATCH_MAYBE;
	for (size_t i = 1; i < c->word_count; i++)
		if (roles[i].role == ROLE_OPERAND || roles[i].role == ROLE_OPEN)
			last = i;
	for (size_t i = 1; i < c->word_count && best != MATCH_YES; i++) {
		const char *text = NULL;
		bool operand = roles[i].role == ROLE_OPERAND || roles[i].role == ROLE_OPEN;

		m = MATCH_NO;
		if (first_operand_is_code(s->name) && roles[i].role != ROLE_OPTION)
			m = script_written(l, &c->words[i], globs, &text);
		if (m == MATCH_NO && operand &&
		    (which.operands || (which.last && i == last) ||
		     (which.values && roles[i].maybe_value)))
			m = operand_written(l, s, &c->words[i], globs, &text);
		else if (roles[i].role == ROLE_VALUE && which.values)
			m = word_meets(l, &c->words[i], globs, &text);
		else if (roles[i].role == ROLE_OPTION && which.values)
			m = option_written(l, &c->words[i], globs, &text);
		if (m > best)
			*ret_operand = text;
		best = match_most(best, m);
	}
	return best;
}

enum match write_match(struct look *l, const struct policy_rule *rule, const char **ret_operand)
{
	enum match best = MATCH_NO, m;

	for (size_t i = 0; i < l->facts->command_count && best != MATCH_YES; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];
		const char *text = NULL;

		for (size_t k = 0; k < c->redirect_count && best != MATCH_YES; k++) {
			if (c->redirects[k].heredoc || !writes(c->redirects[k].op) ||
			    is_stream(&c->redirects[k].target))
				continue;
			m = word_meets(l, &c->redirects[k].target, rule->write_to, &text);
			if (m > best)
				*ret_operand = text;
			best = match_most(best, m);
		}
		if (best == MATCH_YES || !l->subjects[i].name || !l->subjects[i].runs)
			continue;
		m = words_written(l, &l->subjects[i], rule->write_to, &text);
		if (m > best)
			*ret_operand = text;
		best = match_most(best, m);
	}
	return best;
}

enum match danger_match(struct look *l, const struct compiled_rule *c, const char **ret_operand)
{
	*ret_operand = NULL;
	if (c->rule->literal || c->rule->regex)
		return text_match(l, c);
	if (c->rule->pipe_from && c->rule->pipe_to)
		return pipe_match(l, c->rule, ret_operand);
	if (c->rule->write_to)
		return write_match(l, c->rule, ret_operand);
	return MATCH_NO;
}
