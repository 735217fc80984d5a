/*
 * Comparing trees by meaning.
 *
 * Literal text is compared run by run, whatever quotes it was written in; whether a character was
 * quoted counts only where it can matter, that is in regular expressions, in operands that are
 * split, and for characters that can take part in a pattern with what an expansion gives.
 */
#include <string.h>

#include "shell/print.h"
#include "shell/reader.h"

enum strictness {
	QUOTES_IGNORED,
	QUOTES_OF_PATTERNS,
	QUOTES_OF_OPERANDS,
	QUOTES_OF_UNSPLIT, /* the same for an operand that stays one word: empty quotes are nothing
	                    */
	QUOTES_EXACT,
};

static bool words_equal(const struct shell_word *a, const struct shell_word *b);
static bool word_equal(const struct shell_word *a, const struct shell_word *b,
                       enum strictness strict);
static bool command_equal(const struct shell_command *a, const struct shell_command *b);

static bool text_equal(const struct shell_text *a, const struct shell_text *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

/* A position in a run of literals. */
struct cursor {
	const struct shell_part *part;
	size_t offset;
};

static bool cursor_next(struct cursor *c, char *ret_char, enum shell_quote *ret_quote)
{
	while (c->part && c->part->kind == SHELL_PART_LITERAL && c->offset == c->part->text.len) {
		c->part = c->part->next;
		c->offset = 0;
	}
	if (!c->part || c->part->kind != SHELL_PART_LITERAL)
		return false;
	*ret_char = c->part->text.bytes[c->offset++];
	*ret_quote = c->part->quote;
	return true;
}

static bool quote_matters(enum strictness strict, char c)
{
	switch (strict) {
	case QUOTES_EXACT:
		return true;
	case QUOTES_OF_OPERANDS:
	case QUOTES_OF_UNSPLIT:
		return c != '$';
	case QUOTES_OF_PATTERNS:
		return shell_is(c, CLASS_BARE);
	case QUOTES_IGNORED:
	default:
		return false;
	}
}

/* Compares the runs of literals at *a and *b and moves behind them. */
static bool runs_equal(const struct shell_part **a, const struct shell_part **b,
                       enum strictness strict)
{
	struct cursor ca = {*a, 0}, cb = {*b, 0};
	enum shell_quote qa, qb;
	char xa, xb;

	for (;;) {
		bool more = cursor_next(&ca, &xa, &qa);

		if (more != cursor_next(&cb, &xb, &qb))
			return false;
		if (!more)
			break;
		if (xa != xb)
			return false;
		if (quote_matters(strict, xa) &&
		    (strict == QUOTES_EXACT ? qa != qb
		                            : (qa == SHELL_QUOTE_NONE) != (qb == SHELL_QUOTE_NONE)))
			return false;
	}
	*a = ca.part;
	*b = cb.part;
	return true;
}

static bool param_equal(const struct shell_param *a, const struct shell_param *b)
{
	enum strictness strict =
		a->op == SHELL_PARAM_SUBSTRING ? QUOTES_IGNORED : QUOTES_OF_OPERANDS;

	return text_equal(&a->name, &b->name) && a->op == b->op && a->subscript == b->subscript &&
	       a->indirect == b->indirect && a->colon == b->colon && a->twice == b->twice &&
	       a->letter == b->letter && word_equal(a->index, b->index, QUOTES_IGNORED) &&
	       word_equal(a->word, b->word, strict) && word_equal(a->word2, b->word2, strict);
}

static bool items_equal(const struct shell_array_item *a, const struct shell_array_item *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (a->append != b->append || !word_equal(a->index, b->index, QUOTES_IGNORED) ||
		    !word_equal(a->value, b->value, QUOTES_OF_PATTERNS))
			return false;
	return !a && !b;
}

static bool parts_equal(const struct shell_part *a, const struct shell_part *b,
                        enum strictness strict);

static bool part_equal(const struct shell_part *a, const struct shell_part *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case SHELL_PART_GLOB:
	case SHELL_PART_TILDE:
	case SHELL_PART_LITERAL:
		return text_equal(&a->text, &b->text);
	case SHELL_PART_EXTGLOB:
		return a->extglob->letter == b->extglob->letter &&
		       words_equal(a->extglob->alternatives, b->extglob->alternatives);
	case SHELL_PART_DOUBLE:
		return parts_equal(a->parts, b->parts, QUOTES_IGNORED);
	case SHELL_PART_PARAM:
		return param_equal(a->param, b->param);
	case SHELL_PART_COMMAND:
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
		return shell_list_equal(a->list, b->list);
	case SHELL_PART_ARITH:
		return word_equal(a->word, b->word, QUOTES_IGNORED);
	case SHELL_PART_ARRAY:
	default:
		return items_equal(a->items, b->items);
	}
}

static const struct shell_part *skip_empty(const struct shell_part *part, enum strictness strict)
{
	while (strict == QUOTES_OF_UNSPLIT && part && part->kind == SHELL_PART_LITERAL &&
	       !part->text.len)
		part = part->next;
	return part;
}

static bool parts_equal(const struct shell_part *a, const struct shell_part *b,
                        enum strictness strict)
{
	for (;;) {
		a = skip_empty(a, strict);
		b = skip_empty(b, strict);
		if (!a || !b)
			return !a && !b;
		if (a->kind == SHELL_PART_LITERAL && b->kind == SHELL_PART_LITERAL) {
			if (!runs_equal(&a, &b, strict))
				return false;
			continue;
		}
		if (!part_equal(a, b))
			return false;
		a = a->next;
		b = b->next;
	}
}

static bool is_literal(const struct shell_word *word)
{
	for (const struct shell_part *part = word->parts; part; part = part->next)
		if (part->kind != SHELL_PART_LITERAL)
			return false;
	return true;
}

static bool assign_equal(const struct shell_assign *a, const struct shell_assign *b)
{
	if (!a || !b)
		return a == b;
	return text_equal(&a->name, &b->name) && a->append == b->append &&
	       word_equal(a->index, b->index, QUOTES_IGNORED) &&
	       word_equal(a->value, b->value, QUOTES_OF_PATTERNS);
}

static bool word_equal(const struct shell_word *a, const struct shell_word *b,
                       enum strictness strict)
{
	if (!a || !b)
		return a == b;
	if (!a->assign != !b->assign)
		return false;
	if (a->assign)
		return assign_equal(a->assign, b->assign);
	if (strict == QUOTES_OF_PATTERNS && (is_literal(a) || a->from_braces))
		strict = QUOTES_IGNORED;
	if (strict == QUOTES_OF_OPERANDS && !a->split)
		strict = QUOTES_OF_UNSPLIT;
	return parts_equal(a->parts, b->parts, strict);
}

static bool words_equal(const struct shell_word *a, const struct shell_word *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!word_equal(a, b, QUOTES_OF_PATTERNS))
			return false;
	return !a && !b;
}

static bool redirects_equal(const struct shell_redirect *a, const struct shell_redirect *b)
{
	for (; a && b; a = a->next, b = b->next) {
		if (a->op != b->op || a->fd != b->fd ||
		    !text_equal(&a->fd_variable, &b->fd_variable) ||
		    !word_equal(a->target, b->target, QUOTES_OF_PATTERNS))
			return false;
		if (a->op == SHELL_REDIRECT_HEREDOC &&
		    (a->expand != b->expand || !word_equal(a->body, b->body, QUOTES_IGNORED)))
			return false;
	}
	return !a && !b;
}

static bool list_equal(const struct shell_list *a, const struct shell_list *b)
{
	return a && b ? shell_list_equal(a, b) : a == b;
}

static bool simple_equal(const struct shell_simple *a, const struct shell_simple *b)
{
	const struct shell_assign *x = a->assigns, *y = b->assigns;

	for (; x && y; x = x->next, y = y->next)
		if (!assign_equal(x, y))
			return false;
	if (x || y || a->word_count != b->word_count || !words_equal(a->words, b->words))
		return false;
	if (!a->words)
		return true;
	if (shell_is_looked_up(a->words) != shell_is_looked_up(b->words))
		return false;
	for (const struct shell_word *v = a->words, *w = b->words; v; v = v->next, w = w->next)
		if (shell_is_declaration(a->words) &&
		    shell_is_raw_option(v) != shell_is_raw_option(w))
			return false;
	return true;
}

static bool clauses_equal(const struct shell_clause *a, const struct shell_clause *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!list_equal(a->condition, b->condition) || !list_equal(a->body, b->body))
			return false;
	return !a && !b;
}

static bool cases_equal(const struct shell_case *x, const struct shell_case *y)
{
	const struct shell_case_item *a = x->items, *b = y->items;

	if (!word_equal(x->word, y->word, QUOTES_OF_PATTERNS))
		return false;
	for (; a && b; a = a->next, b = b->next)
		if (a->end != b->end || !words_equal(a->patterns, b->patterns) ||
		    !list_equal(a->body, b->body))
			return false;
	return !a && !b;
}

static bool test_equal(const struct shell_test *a, const struct shell_test *b)
{
	bool regex;

	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || !text_equal(&a->op, &b->op))
		return false;
	regex = a->op.len == 2 && !memcmp(a->op.bytes, "=~", 2);
	return word_equal(a->left, b->left, QUOTES_OF_PATTERNS) &&
	       word_equal(a->right, b->right, regex ? QUOTES_EXACT : QUOTES_OF_PATTERNS) &&
	       test_equal(a->a, b->a) && test_equal(a->b, b->b);
}

static bool body_equal(const struct shell_command *a, const struct shell_command *b)
{
	switch (a->kind) {
	case SHELL_SIMPLE:
		return simple_equal(&a->simple, &b->simple);
	case SHELL_GROUP:
	case SHELL_SUBSHELL:
		return list_equal(a->list, b->list);
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		return clauses_equal(a->clauses, b->clauses);
	case SHELL_FOR:
	case SHELL_SELECT:
		return text_equal(&a->loop.name, &b->loop.name) &&
		       a->loop.has_in == b->loop.has_in &&
		       words_equal(a->loop.words, b->loop.words) &&
		       list_equal(a->loop.body, b->loop.body);
	case SHELL_FOR_ARITH:
		return word_equal(a->arith_loop.init, b->arith_loop.init, QUOTES_IGNORED) &&
		       word_equal(a->arith_loop.condition, b->arith_loop.condition,
		                  QUOTES_IGNORED) &&
		       word_equal(a->arith_loop.step, b->arith_loop.step, QUOTES_IGNORED) &&
		       list_equal(a->arith_loop.body, b->arith_loop.body);
	case SHELL_CASE:
		return cases_equal(&a->cases, &b->cases);
	case SHELL_ARITH:
		return word_equal(a->arith, b->arith, QUOTES_IGNORED);
	case SHELL_TEST:
		return test_equal(a->test, b->test);
	case SHELL_FUNCTION:
	case SHELL_COPROC:
	default:
		return text_equal(&a->name, &b->name) && command_equal(a->body, b->body);
	}
}

static bool command_equal(const struct shell_command *a, const struct shell_command *b)
{
	return a->kind == b->kind && a->pipe_stderr == b->pipe_stderr && body_equal(a, b) &&
	       redirects_equal(a->redirects, b->redirects);
}

static bool pipelines_equal(const struct shell_pipeline *a, const struct shell_pipeline *b)
{
	for (; a && b; a = a->next, b = b->next) {
		const struct shell_command *x = a->commands, *y = b->commands;

		if (a->join != b->join || a->negated != b->negated || a->timed != b->timed ||
		    a->time_posix != b->time_posix)
			return false;
		for (; x && y; x = x->next, y = y->next)
			if (!command_equal(x, y))
				return false;
		if (x || y)
			return false;
	}
	return !a && !b;
}

bool shell_list_equal(const struct shell_list *a, const struct shell_list *b)
{
	const struct shell_statement *x = a->statements, *y = b->statements;

	for (; x && y; x = x->next, y = y->next)
		if (x->background != y->background || !pipelines_equal(x->pipelines, y->pipelines))
			return false;
	return !x && !y;
}
