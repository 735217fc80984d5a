/*
 * Assignments: name=value, name[index]=value, name=( elements ).
 */
#include "shell/reader.h"

/* Whether the text has an unquoted character that would end a word. */
static bool has_meta(struct shell_reader *r, uint32_t from, uint32_t to)
{
	while (from < to)
		if (shell_is(r->s[from], CLASS_META) || !shell_measure_one(r, &from))
			return true;
	return false;
}

/* The ] for the [ at P in an argument; *ret_close is 0 where the word ends before it. */
static bool argument_close(struct shell_reader *r, uint32_t p, uint32_t *ret_close)
{
	uint32_t depth = 0;

	*ret_close = 0;
	while (p < r->end && !shell_is(r->s[p], CLASS_META)) {
		depth += r->s[p] == '[';
		if (r->s[p] == ']' && --depth == 0) {
			*ret_close = p;
			break;
		}
		if (!shell_measure_one(r, &p))
			return false;
	}
	return true;
}

/* = or += at P; moves behind it. */
static bool take_equals(const struct shell_reader *r, uint32_t *p, bool *ret_append)
{
	uint32_t q = *p;

	*ret_append = shell_at(r, q) == '+';
	if (*ret_append)
		q = shell_after(r, q);
	if (shell_at(r, q) != '=')
		return false;
	*p = q + 1;
	return true;
}

/* At the [ at POS: *ret_close is its partner, or 0 if this is no subscript of an assignment. */
static bool find_subscript(struct shell_reader *r, uint32_t open, bool argument,
                           uint32_t *ret_close)
{
	uint32_t pos = r->pos, close, p;
	bool append;

	*ret_close = 0;
	if (argument) {
		if (!argument_close(r, open, &close))
			return false;
		if (!close)
			return true;
	} else {
		r->pos = open + 1;
		if (!shell_measure(r, '[', ']', &close))
			return false;
		r->pos = pos;
		if (shell_has_process(r->s, open, close))
			return shell_fail(r, SHELL_UNSUPPORTED, open, close,
			                  "process substitution in a subscript");
	}
	p = shell_past(r, close + 1);
	if (take_equals(r, &p, &append))
		*ret_close = close;
	else if (!argument && has_meta(r, open + 1, close))
		return shell_fail(r, SHELL_UNSUPPORTED, open, close, "blank in brackets");
	return true;
}

/* bash expands the braces of [index]=value, so that there are several, unless the array is an
 * associative one. */
static bool check_braces(struct shell_reader *r, uint32_t start)
{
	bool open = false, several = false;

	for (uint32_t p = start; p < r->pos;) {
		char c = r->s[p];

		open = open || c == '{';
		several = several || (open && (c == ',' || c == '.'));
		if (several && c == '}')
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "braces behind a subscript");
		if (!shell_measure_one(r, &p))
			return false;
	}
	return true;
}

static bool begins_with_bracket(const struct shell_word *word)
{
	const struct shell_part *part = word->parts;

	return part && (part->kind == SHELL_PART_LITERAL || part->kind == SHELL_PART_GLOB) &&
	       part->text.len && part->text.bytes[0] == '[';
}

/* One element; the results of brace expansion are elements of their own. */
static bool read_element(struct shell_reader *r, struct shell_array_item ***tail)
{
	struct shell_array_item *item = shell_alloc(r, sizeof(*item));
	struct shell_word *word, *first, *last;
	uint32_t start = r->pos, close = 0;

	if (!item)
		return false;
	if (r->s[start] == '[' && !find_subscript(r, start, false, &close))
		return false;
	if (close) {
		r->pos = start + 1;
		item->index = shell_read_arith(r, close);
		r->pos = shell_past(r, close + 1);
		if (!item->index || !take_equals(r, &r->pos, &item->append))
			return false;
		item->value = shell_read_word(r, WORD_VALUE);
		item->range = shell_span(r, start, r->pos);
		**tail = item;
		*tail = &item->next;
		return item->value && check_braces(r, start);
	}
	word = shell_read_word(r, WORD_ELEMENT);
	if (!word)
		return false;
	if (r->pos == start) /* an operator */
		return shell_unexpected(r);
	if (!shell_expand_braces(r, word, WORD_ELEMENT, &first, &last))
		return false;
	while (first) {
		struct shell_word *next = first->next;

		item = item ? item : shell_alloc(r, sizeof(*item));
		if (!item)
			return false;
		/* bash takes it for a subscript then. */
		if (first->from_braces && begins_with_bracket(first))
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "bracket out of braces in an array");
		first->next = NULL;
		item->value = first;
		item->range = first->range;
		**tail = item;
		*tail = &item->next;
		item = NULL;
		first = next;
	}
	return true;
}

/* At the ( behind name=. */
static struct shell_word *read_array(struct shell_reader *r)
{
	struct shell_word *word = shell_alloc(r, sizeof(*word));
	struct part_list parts;
	struct shell_part *part;
	struct shell_array_item *items = NULL, **tail = &items;
	uint32_t start = r->pos;
	char c;

	if (!word || !shell_enter(r))
		return NULL;
	r->pos++;
	r->in_array = true;
	for (;;) {
		shell_skip_blanks(r);
		c = shell_peek(r);
		if (c == ')')
			break;
		if (c == '\n' && r->heredocs) {
			shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			           "here-document before an array that goes over lines");
			return NULL;
		}
		if (c == '\n') {
			r->pos++;
			continue;
		}
		if (!c) {
			shell_fail(r, SHELL_ERROR, start, r->end, "unmatched (");
			return NULL;
		}
		if (!read_element(r, &tail))
			return NULL;
	}
	r->pos++;
	r->in_array = false;
	shell_leave(r);
	c = shell_peek(r);
	if (c && !shell_is(c, CLASS_META)) {
		shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "text behind an array");
		return NULL;
	}
	shell_parts_init(&parts);
	part = shell_part_add(r, &parts, SHELL_PART_ARRAY, start);
	if (!part)
		return NULL;
	part->items = items;
	word->parts = part;
	word->range = part->range;
	return word;
}

bool shell_at_subscript(struct shell_reader *r)
{
	uint32_t p;

	if (!shell_is_name_start(shell_peek(r)))
		return false;
	for (p = r->pos; shell_is(shell_at(r, p), CLASS_NAME);)
		p = shell_after(r, p);
	return shell_at(r, p) == '[';
}

struct shell_assign *shell_read_assign(struct shell_reader *r, bool argument)
{
	uint32_t start, p, close = 0, open = 0;
	struct shell_assign *assign;
	char name[256];
	size_t n = 0;
	bool append;
	char c;

	if (!shell_is_name_start(shell_peek(r)))
		return NULL;
	start = p = r->pos;
	for (; (c = shell_at(r, p)) && shell_is(c, CLASS_NAME); p = shell_after(r, p)) {
		if (n < sizeof(name))
			name[n] = c;
		n++;
	}
	if (c == '[') {
		open = p;
		if (!find_subscript(r, open, argument, &close) || !close)
			return NULL;
		p = shell_past(r, close + 1);
	}
	if (!take_equals(r, &p, &append))
		return NULL;
	if (n > sizeof(name)) {
		shell_fail(r, SHELL_LIMIT, start, p, "name too long");
		return NULL;
	}
	assign = shell_alloc(r, sizeof(*assign));
	if (!assign)
		return NULL;
	assign->name = shell_copy(r, name, n);
	assign->append = append;
	if (close) {
		r->pos = open + 1;
		assign->index = shell_read_arith(r, close);
		if (!assign->index)
			return NULL;
	}
	r->pos = p;
	if (shell_peek(r) != '(') {
		assign->value = shell_read_word(r, WORD_VALUE);
	} else if (close) {
		shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "array as an array element");
	} else {
		assign->value = read_array(r);
	}
	assign->range = shell_span(r, start, r->pos);
	return shell_ok(r) ? assign : NULL;
}

struct shell_word *shell_word_of_assign(struct shell_reader *r, struct shell_assign *assign)
{
	struct shell_word *word = shell_alloc(r, sizeof(*word));
	struct part_list parts;
	struct shell_part *part;
	const char *equals = assign->append ? "+=" : "=";

	if (!word)
		return NULL;
	shell_parts_init(&parts);
	part = shell_part_add(r, &parts, SHELL_PART_LITERAL, r->pos);
	if (!part)
		return NULL;
	part->range = assign->range;
	part->text.bytes =
		arena_printf(r->arena, "%s%s", assign->name.bytes, assign->index ? "[" : equals);
	if (assign->index && part->text.bytes) {
		part->text.len = strlen(part->text.bytes);
		for (struct shell_part *p = assign->index->parts; p; p = p->next) {
			part = shell_part_add(r, &parts, p->kind, r->pos);
			if (!part)
				return NULL;
			*part = *p;
			part->next = NULL;
		}
		part = shell_part_add(r, &parts, SHELL_PART_LITERAL, r->pos);
		if (!part)
			return NULL;
		part->range = assign->range;
		part->text.bytes = arena_printf(r->arena, "]%s", equals);
	}
	if (!part->text.bytes) {
		shell_fail(r, SHELL_LIMIT, r->pos, r->pos, "out of memory");
		return NULL;
	}
	part->text.len = strlen(part->text.bytes);
	part->next = assign->value->parts;
	word->range = assign->range;
	word->parts = parts.first;
	word->assign = assign;
	return word;
}
