/*
 * [[ ... ]]. Newlines are allowed where an operand may begin and behind a complete test, not
 * between a word and its operator.
 */
#include "shell/reader.h"

static struct shell_test *read_or(struct shell_reader *r);

static struct shell_test *test_new(struct shell_reader *r, enum shell_test_kind kind,
                                   uint32_t start)
{
	struct shell_test *t = shell_alloc(r, sizeof(*t));

	if (t) {
		t->kind = kind;
		t->range.start = start;
	}
	return t;
}

static struct shell_test *fail(struct shell_reader *r)
{
	shell_unexpected(r);
	return NULL;
}

/* -f and its kin: a dash and one letter. */
static bool is_unary(const struct shell_word *word)
{
	const char *s = word->plain ? word->parts->text.bytes : "";

	return s[0] == '-' && s[1] && !s[2] && strchr("abcdefghknoprstuvwxzGLNORS", s[1]);
}

static bool is_binary(const struct shell_word *word)
{
	static const char *const names[] = {"=",   "==",  "!=",  "=~",  "-eq", "-ne", "-lt",
	                                    "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};

	for (size_t i = 0; word->plain && i < array_size(names); i++)
		if (!strcmp(word->parts->text.bytes, names[i]))
			return true;
	return false;
}

/* Whether ]] stands there; in a regular expression it goes on with ( and |. */
static bool at_test_end(struct shell_reader *r, enum word_mode mode)
{
	uint32_t end;

	if (shell_reserved(r, &end) != RESERVED_TEST_END)
		return false;
	return mode != WORD_REGEX || (shell_at(r, end) != '(' && shell_at(r, end) != '|');
}

/* A word; not an operator, not the number of a redirection, not ]]. */
static struct shell_word *read_operand(struct shell_reader *r, enum word_mode mode)
{
	struct shell_word *word;
	uint32_t start;
	char c;

	shell_skip_blanks(r);
	c = shell_peek(r);
	start = r->pos;
	if (!c || at_test_end(r, mode)) {
		shell_unexpected(r);
		return NULL;
	}
	word = shell_read_word(r, mode);
	if (!word)
		return NULL;
	c = shell_peek(r);
	if (r->pos == start) {
		shell_unexpected(r);
		return NULL;
	}
	if ((c == '<' || c == '>') && word->plain &&
	    !word->parts->text.bytes[strspn(word->parts->text.bytes, "0123456789")]) {
		shell_unexpected(r);
		return NULL;
	}
	return word;
}

/* Whether the token at pos can follow a word that stands alone. */
static bool at_word_end(struct shell_reader *r)
{
	uint32_t end;
	char c;

	shell_skip_blanks(r);
	c = shell_peek(r);
	if ((c == '&' || c == '|') && shell_peek2(r) == c)
		return true;
	return c == ')' || shell_reserved(r, &end) == RESERVED_TEST_END;
}

static struct shell_test *read_comparison(struct shell_reader *r, uint32_t start)
{
	struct shell_test *t = test_new(r, SHELL_TEST_WORD, start);
	struct shell_word *op;
	enum word_mode mode = WORD_SUBJECT;
	char c;

	if (!t || !(t->left = read_operand(r, WORD_SUBJECT)))
		return NULL;
	t->range = shell_span(r, start, r->pos);
	if (is_unary(t->left)) {
		t->kind = SHELL_TEST_UNARY;
		t->op = t->left->parts->text;
		t->left = read_operand(r, WORD_SUBJECT);
		if (!t->left || !shell_skip_newlines(r))
			return NULL;
		return t;
	}
	if (at_word_end(r))
		return t;
	c = shell_peek(r);
	if ((c == '<' || c == '>') && shell_peek2(r) != '(') {
		char next = shell_peek2(r);

		if (next == '<' || next == '>' || next == '&' || next == '|')
			return fail(r);
		t->op = shell_copy(r, &c, 1);
		r->pos++;
	} else {
		uint32_t before = r->pos;

		op = read_operand(r, WORD_SUBJECT);
		if (!op)
			return NULL;
		if (!is_binary(op)) {
			r->pos = before;
			return fail(r);
		}
		t->op = op->parts->text;
		if (!strcmp(t->op.bytes, "=~"))
			mode = WORD_REGEX;
		else if (t->op.bytes[0] != '-')
			mode = WORD_EXTENDED;
	}
	t->kind = SHELL_TEST_BINARY;
	t->right = read_operand(r, mode);
	if (!t->right)
		return NULL;
	t->range = shell_span(r, start, r->pos);
	return shell_skip_newlines(r) ? t : NULL;
}

static struct shell_test *read_term(struct shell_reader *r)
{
	struct shell_test *t;
	uint32_t start, end;

	if (!shell_skip_newlines(r))
		return NULL;
	shell_peek(r);
	start = r->pos;
	if (shell_take_reserved(r, RESERVED_BANG)) {
		shell_negated(r);
		t = test_new(r, SHELL_TEST_NOT, start);
		if (!t || !shell_enter(r) || !(t->a = read_term(r)))
			return NULL;
		shell_leave(r);
		t->range = shell_span(r, start, r->pos);
		return t;
	}
	if (shell_take(r, "(")) {
		t = test_new(r, SHELL_TEST_GROUP, start);
		if (!t || !shell_enter(r) || !(t->a = read_or(r)) || !shell_skip_newlines(r))
			return NULL;
		shell_leave(r);
		if (!shell_take(r, ")"))
			return fail(r);
		t->range = shell_span(r, start, r->pos);
		return shell_skip_newlines(r) ? t : NULL;
	}
	if (shell_reserved(r, &end) == RESERVED_TEST_END)
		return fail(r);
	return read_comparison(r, start);
}

static struct shell_test *join(struct shell_reader *r, enum shell_test_kind kind,
                               struct shell_test *a, struct shell_test *b)
{
	struct shell_test *t = a && b ? test_new(r, kind, a->range.start) : NULL;

	if (!t)
		return NULL;
	t->range = (struct shell_range){a->range.start, b->range.end};
	t->a = a;
	t->b = b;
	return t;
}

/* && and || are kept as lists to the right, as bash does; each step is one level of the tree. */
static struct shell_test *read_and(struct shell_reader *r)
{
	struct shell_test *a = read_term(r);

	if (!a || !shell_take(r, "&&"))
		return a;
	if (!shell_enter(r))
		return NULL;
	a = join(r, SHELL_TEST_AND, a, read_and(r));
	shell_leave(r);
	return a;
}

static struct shell_test *read_or(struct shell_reader *r)
{
	struct shell_test *a = read_and(r);

	if (!a || !shell_take(r, "||"))
		return a;
	if (!shell_enter(r))
		return NULL;
	a = join(r, SHELL_TEST_OR, a, read_or(r));
	shell_leave(r);
	return a;
}

struct shell_test *shell_read_test(struct shell_reader *r)
{
	return read_or(r);
}
