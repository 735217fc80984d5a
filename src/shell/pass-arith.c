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
#define PENDING_MAX 16   /* of more, nothing is sure */

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
static size_t number_end(const char *s, size_t i, size_t n, bool *straight)
{
	size_t start = i;

	/* What is not plainly decimal may be refused. */
	for (; i < n && (is_digit(s[i]) || is_letter(s[i]) || s[i] == '#' || s[i] == '@' ||
	                 s[i] == NUMBER_MARK);
	     i++)
		if (!is_digit(s[i]) && !(s[i] == NUMBER_MARK && i == start))
			*straight = false;
	if (i > start + 1 && (s[start] == '0' || s[start] == NUMBER_MARK))
		*straight = false;
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
	bool straight;   /* nothing so far can fail or be left out at run time */
	unsigned depth;  /* of subscripts; 1 outside */
	unsigned parens; /* open at depth 1 */
	/* Assigned in the part of the comma list that is being read: $((i=i)) reads i before. */
	struct shell_text pending[PENDING_MAX];
	size_t pending_count;
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
	if (assigned && !subscript && c->pending_count < PENDING_MAX)
		c->pending[c->pending_count++] = name;
	return true;
}

static void part_ended(struct scan *c)
{
	for (size_t i = 0; c->straight && i < c->pending_count; i++)
		pass_sure(c->p, c->pending[i], PASS_SURE_VARIABLE);
	c->pending_count = 0;
}

/* A multiplication, or a division by a number that is written out and not zero. */
static bool is_safe_factor(const struct scan *c, size_t at)
{
	bool times = c->s[at] == '*';

	for (at++; at < c->n && is_space(c->s[at]); at++)
		;
	return at < c->n && (times ? c->s[at] != '*' && (at < 2 || c->s[at - 2] != '*')
	                           : c->s[at] >= '1' && c->s[at] <= '9');
}

static void operator_at(struct scan *c, size_t at)
{
	char op = c->s[at];

	if (strchr("?&|(:<>", op) || (strchr("/%*", op) && !is_safe_factor(c, at)))
		c->straight = false;
	if (c->depth != 1)
		return;
	if (op == '(')
		c->parens++;
	else if (op == ')' && c->parens)
		c->parens--;
	else if (op == ',' && !c->parens)
		part_ended(c);
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
			i = number_end(c->s, i, end, &c->straight);
		} else if (is_space(c->s[i]) ||
		           (c->s[i] && strchr("+-*/%<>=!&|^~?:,()", c->s[i]))) {
			operator_at(c, i);
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

	c.straight = true;
	if (!scan_text(&c, 0, n))
		unsafe(p, range);
	else
		part_ended(&c);
	p->may_fail |= !c.straight;
}

void pass_arith(struct shell_pass *p, const struct shell_word *word)
{
	scoped(buffer_donep) struct buffer b = {.max = (size_t)2 * SHELL_TEXT_MAX};

	if (!word)
		return;
	if (!shape(p, word->parts, &b) || buffer_error(&b)) {
		p->may_fail = true;
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
