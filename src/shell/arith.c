/*
 * Arithmetic.
 *
 * $(( is first measured by counting parentheses; if what is inside is balanced and ends with )) it
 * is arithmetic, else it is a command substitution that begins with a subshell.
 */
#include "shell/reader.h"

/* Whether single quotes, which are text here, could stand around an expansion whose canonical text
 * has quotes of its own: where bash looks for the end, they would not pair any more. */
static bool has_quoted_expansion(const struct shell_part *part)
{
	bool quote = false, printed = false;

	for (; part; part = part->next) {
		if (part->kind == SHELL_PART_LITERAL)
			quote = quote || memchr(part->text.bytes, '\'', part->text.len);
		else
			printed = printed || part->kind != SHELL_PART_PARAM || part->param->word ||
			          part->param->index;
	}
	return quote && printed;
}

struct shell_word *shell_read_arith(struct shell_reader *r, uint32_t end)
{
	uint32_t old_end = r->end, start = r->pos;
	struct shell_word *word = shell_alloc(r, sizeof(*word));
	bool outer = r->in_arith;
	struct part_list parts;

	if (!word || !shell_enter(r))
		return NULL;
	shell_parts_init(&parts);
	r->end = end;
	r->in_arith = true;
	if (!shell_read_quoted(r, &parts, QUOTED_ARITH)) {
		/* The end is known to be right, so an inner construct that runs past it is not read
		 * as bash reads it. */
		if (r->tree->status == SHELL_ERROR)
			r->tree->status = SHELL_UNSUPPORTED;
		return NULL;
	}
	r->end = old_end;
	r->in_arith = outer;
	shell_leave(r);
	word->range = shell_span(r, start, end);
	word->parts = parts.first;
	if (has_quoted_expansion(parts.first)) {
		shell_fail(r, SHELL_UNSUPPORTED, start, end, "quotes around an expansion");
		return NULL;
	}
	return word;
}

/* Whether the text between the inner parentheses of (( and )), which was measured before, is
 * balanced for bash. */
static bool balanced(struct shell_reader *r, uint32_t p, uint32_t end)
{
	uint32_t open = 0;

	while (p < end) {
		char c = r->s[p++];

		if (c == '(') {
			open++;
		} else if (c == ')') {
			if (!open--)
				return false;
		} else if (c == '\\') {
			p++;
		} else if (c == '\'') {
			while (p < end && r->s[p++] != c)
				;
		} else if (c == '"' || (c == '$' && shell_at(r, p) == '\'')) {
			p--;
			if (!shell_measure_one(r, &p))
				return false;
		}
	}
	return open == 0;
}

static bool parens_balanced(const struct shell_part *part, bool verbatim);

static bool operand_balanced(const struct shell_word *word, bool verbatim)
{
	return !word || parens_balanced(word->parts, verbatim);
}

/* Whether bash counts as many parentheses in the canonical text as in the one that was written:
 * those in an operand come to stand in quotes, so there must be none. */
static bool parens_balanced(const struct shell_part *part, bool verbatim)
{
	uint32_t open = 0;

	for (; part; part = part->next) {
		const struct shell_param *param = part->param;
		bool plain;

		for (size_t i = 0; part->kind == SHELL_PART_LITERAL && i < part->text.len; i++) {
			char c = part->text.bytes[i];

			if ((c == '(' || c == ')') && !verbatim)
				return false;
			open += c == '(';
			if (c == ')' && !open--)
				return false;
		}
		if (part->kind == SHELL_PART_DOUBLE && !parens_balanced(part->parts, false))
			return false;
		if (part->kind != SHELL_PART_PARAM)
			continue;
		plain = param->op == SHELL_PARAM_SUBSTRING;
		if (!operand_balanced(param->index, true) ||
		    !operand_balanced(param->word, plain) || !operand_balanced(param->word2, plain))
			return false;
	}
	return open == 0;
}

bool shell_arith_check(struct shell_reader *r, const struct shell_word *word)
{
	if (!word || parens_balanced(word->parts, true))
		return word != NULL;
	return shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
	                  "parentheses in arithmetic");
}

bool shell_read_double_paren(struct shell_reader *r, struct part_list *list, uint32_t start)
{
	uint32_t first = r->pos, inner = shell_after(r, first) + 1, close, last;
	const struct remembered *m = shell_recall(r, first);
	struct shell_part *part;

	if (m && m->list)
		return shell_add_command(r, list, start, shell_read_substitution(r));
	r->pos = first + 1;
	if (m)
		close = m->end - 1;
	else if (!shell_measure(r, '(', ')', &close))
		return false;
	for (last = close; last >= 2 && r->s[last - 1] == '\n' && r->s[last - 2] == '\\';)
		last -= 2;
	last--;
	if (last >= inner && r->s[last] == ')' && balanced(r, inner, last)) {
		struct shell_word *word;

		if (shell_has_comment(r->s, inner, last, false))
			return shell_fail(r, SHELL_UNSUPPORTED, start, close, "# in $((");

		r->pos = inner;
		word = shell_read_arith(r, last);
		r->pos = close + 1;
		part = shell_arith_check(r, word) ? shell_part_add(r, list, SHELL_PART_ARITH, start)
		                                  : NULL;
		if (part)
			part->word = word;
	} else {
		r->pos = first;
		return shell_add_command(r, list, start, shell_read_counted(r, close));
	}
	return part != NULL;
}

bool shell_read_bracket_arith(struct shell_reader *r, struct part_list *list, uint32_t start)
{
	struct shell_part *part;
	struct shell_word *word;
	uint32_t close;

	r->pos++;
	if (!shell_measure(r, '[', ']', &close))
		return false;
	if (!balanced(r, r->pos, close))
		return shell_fail(r, SHELL_UNSUPPORTED, start, close, "parentheses in $[ ]");
	word = shell_read_arith(r, close);
	r->pos = close + 1;
	part = shell_arith_check(r, word) ? shell_part_add(r, list, SHELL_PART_ARITH, start) : NULL;
	if (part) {
		part->word = word;
		part->bracket = true;
	}
	return part != NULL;
}
