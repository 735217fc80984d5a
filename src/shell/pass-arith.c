/*
 * Arithmetic: which variables an expression reads.
 *
 * bash evaluates the value of a variable that an expression names as an expression again, and a
 * subscript in it is expanded: x='a[$(id)]' makes $((x)) run id. So an expression is harmless only
 * if all that it names is known to hold numbers. Names that are only assigned do not matter.
 */
#include "shell/pass.h"

#include <string.h>
#include "base/buffer.h"

#define NUMBER_MARK '\1' /* stands for an expansion that gives an integer */

static const char eval_arith[] = "eval-arith";

static void unsafe(struct shell_pass *p, struct shell_range range)
{
	pass_opaque(p, range, "the values in an arithmetic expression are evaluated as code",
	            "eval-arith");
}

/* The text of the expression after expansion, as far as it matters; false: not known. */
static bool shape(struct shell_pass *p, const struct shell_part *part, struct buffer *out)
{
	for (; part; part = part->next) {
		switch (part->kind) {
		case SHELL_PART_LITERAL:
		case SHELL_PART_GLOB:
		case SHELL_PART_TILDE:
			buffer_append(out, part->text.bytes, part->text.len);
			break;
		case SHELL_PART_DOUBLE:
			if (!shape(p, part->parts, out))
				return false;
			break;
		case SHELL_PART_PARAM:
		case SHELL_PART_COMMAND:
		case SHELL_PART_ARITH:
			if (!pass_part_is_number(p, part, eval_arith))
				return false;
			buffer_putc(out, NUMBER_MARK);
			break;
		case SHELL_PART_EXTGLOB:
		case SHELL_PART_PROCESS_IN:
		case SHELL_PART_PROCESS_OUT:
		case SHELL_PART_ARRAY:
			return false;
		}
	}
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Behind a number: 0x1f, 16#ff. */
static size_t number_end(const char *s, size_t i, size_t n)
{
	while (i < n && (is_digit(s[i]) || is_letter(s[i]) || s[i] == '#' || s[i] == '@' ||
	                 s[i] == NUMBER_MARK))
		i++;
	return i;
}

/* The place behind the ] that closes the [ at I; N if none does. */
static size_t subscript_end(const char *s, size_t i, size_t n)
{
	size_t open = 0;

	for (; i < n; i++) {
		if (s[i] == '[')
			open++;
		else if (s[i] == ']' && --open == 0)
			return i + 1;
	}
	return n;
}

/* Whether what stands before it makes the name at I an operand of ++ or --. */
static bool counted_before(const char *s, size_t i)
{
	while (i > 0 && is_space(s[i - 1]))
		i--;
	return i >= 2 && (s[i - 1] == '+' || s[i - 1] == '-') && s[i - 2] == s[i - 1];
}

struct scan {
	struct shell_pass *p;
	const char *s;
	size_t n;
	struct shell_range range;
	bool straight; /* no part of the expression is left out at run time */
	unsigned depth;
};

static bool scan_text(struct scan *c, size_t i, size_t end);

/* One name at *I, with its subscript; *I is moved behind it. */
static bool scan_name(struct scan *c, size_t *i)
{
	size_t start = *i, j = start, after;
	struct shell_text name;
	bool subscript, assigned;

	while (j < c->n && (is_letter(c->s[j]) || is_digit(c->s[j])))
		j++;
	if (j < c->n && c->s[j] == NUMBER_MARK)
		return false; /* x$y is another name */
	name = pass_text(c->p, c->s + start, j - start);
	subscript = j < c->n && c->s[j] == '[';
	if (subscript) {
		after = subscript_end(c->s, j, c->n);
		if (c->s[after - 1] != ']' || !scan_text(c, j + 1, after - 1))
			return false;
		j = after;
	}
	*i = j;
	while (j < c->n && is_space(c->s[j]))
		j++;
	assigned = j < c->n && c->s[j] == '=' && !(j + 1 < c->n && c->s[j + 1] == '=') &&
	           !counted_before(c->s, start);
	if (!assigned && !pass_need(c->p, name, PASS_CHECK_NUMBER, eval_arith, c->range))
		return false;
	pass_write(c->p, name, PASS_WORTH_NUMBER);
	if (assigned && !subscript && c->straight)
		pass_sure(c->p, name, PASS_SURE_VARIABLE);
	return true;
}

static bool scan_text(struct scan *c, size_t i, size_t end)
{
	if (++c->depth > SHELL_DEPTH_MAX)
		return false;
	while (i < end) {
		if (is_letter(c->s[i])) {
			if (!scan_name(c, &i))
				return false;
		} else if (is_digit(c->s[i]) || c->s[i] == NUMBER_MARK) {
			i = number_end(c->s, i, end);
		} else if (is_space(c->s[i]) ||
		           (c->s[i] && strchr("+-*/%<>=!&|^~?:,()", c->s[i]))) {
			i++;
		} else {
			return false;
		}
	}
	c->depth--;
	return true;
}

static void scan(struct shell_pass *p, const char *s, size_t n, struct shell_range range)
{
	struct scan c = {.p = p, .s = s, .n = n, .range = range};

	c.straight = !memchr(s, '?', n) && !memchr(s, '&', n) && !memchr(s, '|', n);
	if (!scan_text(&c, 0, n))
		unsafe(p, range);
}

void pass_arith(struct shell_pass *p, const struct shell_word *word)
{
	scoped(buffer_donep) struct buffer b = {.max = (size_t)2 * SHELL_TEXT_MAX};

	if (!word)
		return;
	if (!shape(p, word->parts, &b) || buffer_error(&b)) {
		unsafe(p, word->range);
		return;
	}
	scan(p, buffer_str(&b), b.len, word->range);
}

void pass_arith_text(struct shell_pass *p, struct shell_text text, struct shell_range range)
{
	if (memchr(text.bytes, NUMBER_MARK, text.len))
		unsafe(p, range);
	else
		scan(p, text.bytes, text.len, range);
}
