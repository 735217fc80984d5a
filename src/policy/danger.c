/*
 * Rules about a line: its text, and what of it must not stand there.
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
#include "shell/print.h"

/* Syntax */

static const char *first_banned(const char *const *banned, const char *text, size_t n)
{
	const char *best = NULL, *best_at = NULL;

	for (const char *const *b = banned; b && *b; b++) {
		const char *at = memmem(text, n, *b, strlen(*b));

		if (!at || !**b)
			continue;
		if (!best || at < best_at || (at == best_at && strlen(*b) > strlen(best))) {
			best = *b;
			best_at = at;
		}
	}
	return best;
}

/* A line is one text, however the profile looks at lists of words. */
const char *danger_syntax(struct look *l)
{
	const struct policy_syntax *syntax = &l->policy->rules->syntax;
	const char *found = first_banned(syntax->banned, l->q->text, l->q->text_len);

	for (const char *const *w = l->q->words; !syntax->in_command && !found && w && *w; w++)
		found = first_banned(syntax->banned, *w, strlen(*w));
	return found;
}

/* Text */

#define USES_BEFORE_JIT 16

static bool text_has(const struct look *l, struct compiled_rule *c, struct shell_text t)
{
	int r;

	if (c->rule->literal)
		return memmem(t.bytes, t.len, c->rule->literal, strlen(c->rule->literal)) != NULL;
	/* Machine code pays off in a process that decides often. Without a compiler for this
	 * machine the expression is interpreted: slower, the same. */
	if (++c->uses == USES_BEFORE_JIT)
		(void)pcre2_jit_compile(c->regex, PCRE2_JIT_COMPLETE);
	r = pcre2_match(c->regex, (PCRE2_SPTR)t.bytes, t.len, 0, 0, l->policy->match_data,
	                l->policy->match_context);
	return r != PCRE2_ERROR_NOMATCH; /* a limit that is hit counts as a match */
}

static struct shell_text keep(struct look *l, const struct buffer *b)
{
	char *copy = look_string(l, buffer_str(b), b->len);

	if (buffer_error(b))
		l->failed = true;
	return (struct shell_text){copy ? copy : "", copy ? b->len : 0};
}

static struct shell_text joined_words(struct look *l, const struct shell_fact_command *c)
{
	scoped(buffer_donep) struct buffer out = {0};

	for (size_t i = 0; i < c->word_count; i++) {
		struct shell_text t = c->words[i].kind == SHELL_VALUE_GLOB ? c->words[i].pattern
		                                                           : c->words[i].text;

		buffer_puts(&out, i ? " " : "");
		buffer_append(&out, t.bytes, t.len);
	}
	return keep(l, &out);
}

/* The line, its canonical text, and the words of each command. */
static void make_texts(struct look *l)
{
	scoped(buffer_donep) struct buffer canonical = {0};

	l->texts = look_alloc(l, (l->facts->command_count + 2) * sizeof(*l->texts));
	if (!l->texts)
		return;
	l->texts[l->text_count++] = (struct shell_text){l->q->text, l->q->text_len};
	if (l->facts->tree->list) {
		shell_print(l->facts->tree->list, &canonical);
		l->texts[l->text_count++] = keep(l, &canonical);
	}
	for (size_t i = 0; i < l->facts->command_count; i++)
		if (l->facts->commands[i].word_count)
			l->texts[l->text_count++] = joined_words(l, &l->facts->commands[i]);
}

static enum match text_match(struct look *l, struct compiled_rule *c)
{
	/* A line that only speaks of one (echo, a commit message) is none. */
	if (c->bomb)
		return pipe_has_bomb(l->facts) ? MATCH_YES : MATCH_NO;
	if (!l->texts)
		make_texts(l);
	for (size_t i = 0; i < l->text_count; i++)
		if (text_has(l, c, l->texts[i]))
			return MATCH_YES;
	return MATCH_NO;
}

enum match danger_match(struct look *l, struct compiled_rule *c, const char **ret_operand)
{
	*ret_operand = c->rule->literal ? c->rule->literal : c->rule->regex; /* the pattern */
	if (*ret_operand)
		return text_match(l, c);
	if (c->rule->pipe_from && c->rule->pipe_to)
		return pipe_match(l, c->rule, ret_operand);
	if (c->rule->write_to)
		return write_match(l, c->rule, ret_operand);
	return MATCH_NO;
}
