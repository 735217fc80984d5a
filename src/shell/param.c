/*
 * ${...}: the parameter, its subscript, the operator and the operands.
 *
 * What is none of bash's forms ("bad substitution" when it runs) is unsupported here.
 */
#include "shell/reader.h"

/* bash says so when it runs, if it has found the brace, which it looks for without any knowledge of
 * what stands in front of it: a } in a subscript will do. */
static bool bad(struct shell_reader *r, uint32_t start)
{
	uint32_t pos = r->pos, close;

	r->pos = shell_after(r, start) + 1;
	return shell_measure(r, 0, '}', &close) &&
	       shell_fail(r, SHELL_UNSUPPORTED, start, pos, "bad substitution");
}

static bool is_special_param(char c)
{
	return c && strchr("@*#?-$!", c);
}

/* A name, a number or a special parameter at pos. */
static bool read_name(struct shell_reader *r, struct shell_param *param)
{
	char c = shell_peek(r);
	size_t n = 0, capacity = 16;
	char *name;
	bool digits = c >= '0' && c <= '9';

	if (is_special_param(c)) {
		param->name = shell_copy(r, &c, 1);
		r->pos++;
		return shell_ok(r);
	}
	if (!shell_is(c, CLASS_NAME))
		return false;
	name = shell_alloc(r, capacity);
	while (name && (c = shell_peek(r)) && shell_is(c, CLASS_NAME)) {
		if (digits && !(c >= '0' && c <= '9'))
			return false;
		if (n + 1 == capacity) {
			char *larger = shell_alloc(r, capacity * 2);

			if (larger)
				memcpy(larger, name, n);
			name = larger;
			capacity *= 2;
			if (!name)
				return false;
		}
		name[n++] = c;
		r->pos++;
	}
	param->name = (struct shell_text){name, n};
	return name != NULL;
}

static bool read_subscript(struct shell_reader *r, struct shell_param *param)
{
	const struct shell_part *part;
	uint32_t close;

	r->pos++;
	if (!shell_measure(r, '[', ']', &close)) {
		if (r->tree->status == SHELL_ERROR) /* bash finds out only when it runs */
			r->tree->status = SHELL_UNSUPPORTED;
		return false;
	}
	for (uint32_t p = r->pos; p < close; p++)
		if ((r->s[p] == '<' || r->s[p] == '>') && r->s[p + 1] == '(')
			return shell_fail(r, SHELL_UNSUPPORTED, p, p + 2, "<( in a subscript");
	param->subscript = SHELL_SUBSCRIPT_WORD;
	param->index = shell_read_arith(r, close);
	if (!param->index)
		return false;
	part = param->index->parts;
	if (part && !part->next && part->kind == SHELL_PART_LITERAL && part->text.len == 1 &&
	    (part->text.bytes[0] == '@' || part->text.bytes[0] == '*')) {
		param->subscript =
			part->text.bytes[0] == '@' ? SHELL_SUBSCRIPT_AT : SHELL_SUBSCRIPT_STAR;
		param->index = NULL;
	}
	r->pos = close + 1;
	return true;
}

/* Characters that are printed as $'...' divide the quotes, and $@ is special in one of several. */
static bool has_divided_list(const struct shell_part *part)
{
	bool list = false, divided = false;

	for (; part; part = part->next) {
		if (part->kind == SHELL_PART_PARAM)
			list = list || part->param->subscript > SHELL_SUBSCRIPT_WORD ||
			       strchr("@*", part->param->name.bytes[0]);
		for (size_t i = 0; part->kind == SHELL_PART_LITERAL && i < part->text.len; i++)
			divided = divided || part->text.bytes[i] < ' ' || part->text.bytes[i] > '~';
	}
	return list && divided;
}

/* How much of {a,b} or {a..b} was seen. */
struct brace_scan {
	bool open, separator, close;
	char before;
};

/* bash expands braces that stand in quotes in a quoted operand, since it takes those for the end
 * of the outer ones; and the canonical text has such quotes. */
static void scan_braces(const struct shell_part *part, struct brace_scan *b)
{
	for (; part; part = part->next) {
		for (size_t i = 0; part->kind == SHELL_PART_LITERAL && i < part->text.len; i++) {
			char c = part->text.bytes[i];

			b->close = b->close || (c == '}' && b->separator);
			b->separator = b->separator ||
			               (b->open && (c == ',' || (c == '.' && b->before == '.')));
			b->open = b->open || c == '{';
			b->before = c;
		}
		if (part->kind == SHELL_PART_DOUBLE)
			scan_braces(part->parts, b);
		if (part->kind == SHELL_PART_PARAM && part->param->word)
			scan_braces(part->param->word->parts, b);
	}
}

/* What would be printed as $'...' where that is text; then the reading has failed. */
static bool has_control(struct shell_reader *r, uint32_t start)
{
	for (uint32_t p = start; p < r->pos; p++)
		if (shell_is_control(r->s[p])) {
			shell_fail(r, SHELL_UNSUPPORTED, p, p + 1,
			           "control character in a quoted expansion");
			return true;
		}
	return false;
}

/*
 * The message of ?, in double quotes. bash expands it as if there were none around it, but looks
 * for braces as in double quotes.
 */
static bool read_message(struct shell_reader *r, struct shell_param *param)
{
	struct brace_scan braces = {0};
	bool outer = r->in_message;
	uint32_t start = r->pos;

	r->in_message = true;
	param->word = shell_read_operand(r, WORD_OPERAND, "}", false);
	r->in_message = outer;
	if (!param->word || has_control(r, start))
		return false;
	scan_braces(param->word->parts, &braces);
	if (braces.close)
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		                  "braces in a quoted expansion");
	return true;
}

/* The operand of - = ? +, which is quoted as its surroundings are, but for the message of ?. */
static bool read_default(struct shell_reader *r, struct shell_param *param, bool in_double)
{
	struct brace_scan braces = {0};
	struct part_list parts;
	uint32_t start = r->pos;

	if (!in_double) {
		param->word = shell_read_operand(r, WORD_OPERAND, "}", false);
		return param->word != NULL;
	}
	if (param->op == SHELL_PARAM_ERROR)
		return read_message(r, param);
	shell_parts_init(&parts);
	param->word = shell_alloc(r, sizeof(*param->word));
	if (!param->word)
		return false;
	if (!shell_read_quoted(r, &parts, QUOTED_OPERAND) || (r->in_arith && has_control(r, start)))
		return false;
	if (has_divided_list(parts.first))
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		                  "$@ with special characters in a quoted expansion");
	scan_braces(parts.first, &braces);
	if (braces.close)
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		                  "braces in a quoted expansion");
	param->word->range = shell_span(r, start, r->pos);
	param->word->parts = parts.first;
	return true;
}

static bool read_replace(struct shell_reader *r, struct shell_param *param)
{
	char c = shell_peek(r);

	if (c == '/') {
		param->twice = true;
		r->pos++;
	} else if (c == '#' || c == '%') {
		param->letter = c;
		r->pos++;
	}
	/* A slash right behind // belongs to the pattern. */
	param->word = shell_read_operand(r, WORD_OPERAND_PATTERN, "/}",
	                                 param->twice && shell_peek(r) == '/');
	if (!param->word)
		return false;
	if (shell_peek(r) == '/') {
		r->pos++;
		param->word2 = shell_read_operand(r, WORD_OPERAND_REPLACE, "}", false);
		if (!param->word2)
			return false;
	}
	return true;
}

/* Where the offset of ${x:offset:length} ends: a colon that is not one of a ?: inside. */
static uint32_t offset_end(struct shell_reader *r, uint32_t close)
{
	uint32_t parens = 0, questions = 0;

	for (uint32_t p = r->pos; p < close; p++) {
		switch (r->s[p]) {
		case '(':
			parens++;
			break;
		case ')':
			parens -= parens > 0;
			break;
		case '?':
			questions++;
			break;
		case ':':
			if (parens)
				break;
			if (!questions)
				return p;
			questions--;
			break;
		case '\\':
			p++;
			break;
		case '$':
		case '`': {
			/* An expansion here can have colons of its own. */
			uint32_t pos = r->pos, end = r->end, q = p;
			struct part_list skipped;

			shell_parts_init(&skipped);
			r->pos = p;
			r->end = close;
			r->measuring++;
			if (shell_read_expansion(r, &skipped, true, SHELL_QUOTE_NONE))
				q = r->pos;
			shell_literal_flush(r, &skipped);
			r->measuring--;
			r->pos = pos;
			r->end = end;
			if (q > p)
				p = q - 1;
			break;
		}
		default:
			break;
		}
	}
	return close;
}

/* Up to END. Where <( stands bash reads commands when it looks for the brace, and prints them anew,
 * though they are arithmetic when it runs. */
static struct shell_word *read_substring_number(struct shell_reader *r, uint32_t end)
{
	struct shell_word *word = shell_read_arith(r, end);

	for (const struct shell_part *part = word ? word->parts : NULL; part; part = part->next) {
		if (part->kind != SHELL_PART_LITERAL ||
		    (!strstr(part->text.bytes, "<(") && !strstr(part->text.bytes, ">(")))
			continue;
		shell_fail(r, SHELL_UNSUPPORTED, part->range.start, part->range.end,
		           "<( in a substring");
		return NULL;
	}
	return word;
}

static bool read_substring(struct shell_reader *r, struct shell_param *param)
{
	uint32_t close, middle;

	param->op = SHELL_PARAM_SUBSTRING;
	if (!shell_measure(r, 0, '}', &close))
		return false;
	middle = offset_end(r, close);
	if (!shell_ok(r))
		return false;
	param->word = read_substring_number(r, middle);
	if (!param->word)
		return false;
	r->pos = middle;
	if (middle < close) {
		r->pos++;
		param->word2 = read_substring_number(r, close);
		if (!param->word2)
			return false;
	}
	r->pos = close;
	return true;
}

static bool read_pattern_op(struct shell_reader *r, struct shell_param *param,
                            enum shell_param_op op, char c)
{
	param->op = op;
	if (shell_peek(r) == c) {
		param->twice = true;
		r->pos++;
	}
	param->word = shell_read_operand(r, WORD_OPERAND_PATTERN, "}", false);
	return param->word != NULL;
}

/* Behind ${x#. bash reads ${##$''} as the length of $#; and a backtick is printed as $( ), what is
 * a control character in quotes as $'...'. */
static bool read_prefix_pattern(struct shell_reader *r, struct shell_param *param, uint32_t start)
{
	bool dollar = shell_peek(r) == '$' || shell_peek(r) == '`';
	const struct shell_part *first;

	if (!read_pattern_op(r, param, SHELL_PARAM_REMOVE_PREFIX, '#'))
		return false;
	first = param->word->parts;
	dollar = dollar || (!param->twice && first && first->kind == SHELL_PART_LITERAL &&
	                    first->text.len && shell_is_control(first->text.bytes[0]));
	if (dollar && param->name.len == 1 && param->name.bytes[0] == '#')
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "$ behind ${##");
	return true;
}

static bool read_operator(struct shell_reader *r, struct shell_param *param, bool in_double,
                          uint32_t start)
{
	char c = shell_peek(r);

	r->pos++;
	if (c == ':') {
		c = shell_peek(r);
		if (!c || !strchr("-=?+", c))
			return read_substring(r, param);
		param->colon = true;
		r->pos++;
	}
	switch (c) {
	case '-':
		param->op = SHELL_PARAM_DEFAULT;
		return read_default(r, param, in_double);
	case '=':
		param->op = SHELL_PARAM_ASSIGN;
		return read_default(r, param, in_double);
	case '?':
		param->op = SHELL_PARAM_ERROR;
		return read_default(r, param, in_double);
	case '+':
		param->op = SHELL_PARAM_ALTERNATE;
		return read_default(r, param, in_double);
	case '#':
		return read_prefix_pattern(r, param, start);
	case '%':
		return read_pattern_op(r, param, SHELL_PARAM_REMOVE_SUFFIX, c);
	case '^':
		return read_pattern_op(r, param, SHELL_PARAM_UPPER, c);
	case ',':
		return read_pattern_op(r, param, SHELL_PARAM_LOWER, c);
	case '~':
		return read_pattern_op(r, param, SHELL_PARAM_TOGGLE, c);
	case '/':
		param->op = SHELL_PARAM_REPLACE;
		return read_replace(r, param);
	case '@':
		c = shell_peek(r);
		if (!c || !strchr("QEPAKakUuL", c))
			return bad(r, start);
		param->op = SHELL_PARAM_TRANSFORM;
		param->letter = c;
		r->pos++;
		return true;
	default:
		return bad(r, start);
	}
}

/* # and ! in front: an operator of their own, or the parameter $# or $!. */
static void read_prefix(struct shell_reader *r, struct shell_param *param)
{
	char c = shell_peek(r);
	uint32_t next = shell_after(r, r->pos);
	char first = shell_at(r, next);
	char second = (char)(first ? shell_at(r, shell_after(r, next)) : 0);

	if (c != '#' && c != '!')
		return;
	if (!shell_is(first, CLASS_NAME) && !(is_special_param(first) && second == '}'))
		return;
	if (c == '#')
		param->op = SHELL_PARAM_LENGTH;
	else
		param->indirect = true;
	r->pos = next;
}

static bool is_empty_word(const struct shell_word *word)
{
	for (const struct shell_part *p = word ? word->parts : NULL; p; p = p->next)
		if (p->kind != SHELL_PART_LITERAL || p->text.len > 0)
			return p->kind == SHELL_PART_DOUBLE && !p->parts;
	return true;
}

bool shell_read_param(struct shell_reader *r, struct part_list *list, bool in_double,
                      uint32_t start)
{
	struct shell_param *param = shell_alloc(r, sizeof(*param));
	struct shell_part *part;
	char c;

	if (!param || !shell_enter(r))
		return false;
	r->in_param++;
	r->pos++;
	read_prefix(r, param);
	if (!read_name(r, param))
		return bad(r, start);
	if (shell_peek(r) == '[') {
		if (!shell_is_name_start(param->name.bytes[0]))
			return bad(r, start);
		if (!read_subscript(r, param))
			return false;
	}
	c = shell_peek(r);
	if (!c)
		return bad(r, start);
	if (param->indirect && (c == '@' || c == '*') && shell_peek2(r) == '}' &&
	    !param->subscript && shell_is_name_start(param->name.bytes[0])) {
		param->op = SHELL_PARAM_NAMES;
		param->indirect = false;
		param->letter = c;
		r->pos++;
	} else if (c != '}') {
		if (param->op == SHELL_PARAM_LENGTH)
			return bad(r, start);
		if (!read_operator(r, param, in_double, start))
			return false;
		/* Without its empty operand ${#-""} would be a length. */
		if (param->name.len == 1 && param->name.bytes[0] == '#' &&
		    is_empty_word(param->word))
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "empty operand of $#");
	}
	if (!shell_take(r, "}"))
		return bad(r, start);
	shell_leave(r);
	r->in_param--;
	part = shell_part_add(r, list, SHELL_PART_PARAM, start);
	if (part)
		part->param = param;
	return part != NULL;
}
