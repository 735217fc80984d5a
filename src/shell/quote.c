/*
 * Quoted text, and the list of parts that a word is collected in.
 *
 * Literal bytes gather in the reader's scratch memory until something else begins. Whoever reads a
 * construct that has words of its own flushes first, so that the scratch is never used twice at
 * once.
 */
#include "shell/reader.h"

void shell_parts_init(struct part_list *list)
{
	list->first = NULL;
	list->tail = &list->first;
}

struct shell_part *shell_part_add(struct shell_reader *r, struct part_list *list,
                                  enum shell_part_kind kind, uint32_t start)
{
	struct shell_part *part = shell_alloc(r, sizeof(*part));

	if (!part)
		return NULL;
	part->kind = kind;
	part->range = shell_span(r, start, r->pos);
	*list->tail = part;
	list->tail = &part->next;
	return part;
}

void shell_literal_flush(struct shell_reader *r, struct part_list *list)
{
	struct shell_part *part;

	if (!r->scratch_open)
		return;
	r->scratch_open = false;
	part = shell_part_add(r, list, SHELL_PART_LITERAL, r->scratch_start);
	if (!part)
		return;
	part->quote = r->scratch_quote;
	part->text = shell_copy(r, r->scratch, r->scratch_len);
}

void shell_literal_put(struct shell_reader *r, struct part_list *list, enum shell_quote quote,
                       uint32_t start, const char *bytes, size_t n)
{
	if (r->scratch_open && r->scratch_quote != quote)
		shell_literal_flush(r, list);
	if (!r->scratch_open) {
		r->scratch_open = true;
		r->scratch_quote = quote;
		r->scratch_start = start;
		r->scratch_len = 0;
	}
	/* An escape is never longer than what it was written as, so the scratch has the room. */
	if (n)
		memcpy(r->scratch + r->scratch_len, bytes, n);
	r->scratch_len += (uint32_t)n;
}

bool shell_read_single(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos;
	const char *from = r->s + start + 1;
	const char *quote = memchr(from, '\'', r->end - start - 1);

	if (!quote)
		return shell_fail(r, SHELL_ERROR, start, r->end, "unmatched '");
	shell_literal_put(r, list, SHELL_QUOTE_FULL, start, from, (size_t)(quote - from));
	r->pos = (uint32_t)(quote - r->s) + 1;
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Up to MAX digits of the base at *p; returns how many there were. */
static int read_digits(const char *s, uint32_t *p, uint32_t end, int base, int max,
                       uint32_t *ret_value)
{
	int n = 0;

	*ret_value = 0;
	while (n < max && *p < end) {
		int v = hex_value(s[*p]);

		if (v < 0 || v >= base)
			break;
		*ret_value = *ret_value * (uint32_t)base + (uint32_t)v;
		(*p)++;
		n++;
	}
	return n;
}

static size_t encode_utf8(uint32_t code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* The escape whose letter is at *p (behind the backslash); its bytes go to TO. */
static size_t ansi_escape(struct shell_reader *r, uint32_t *p, uint32_t end, char *to)
{
	static const char letters[] = "abeEfnrtv\\'\"?";
	static const char values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	char c = r->s[*p];
	const char *at = strchr(letters, c);
	uint32_t start = *p - 1, value;
	size_t n;

	if (c && at) {
		(*p)++;
		to[0] = values[at - letters];
		return 1;
	}
	if (c >= '0' && c <= '7') {
		read_digits(r->s, p, end, 8, 3, &value);
		to[0] = (char)value;
		return 1;
	}
	if (c == 'c' && *p + 1 < end) {
		c = r->s[*p + 1];
		*p += c == '\\' && *p + 2 < end && r->s[*p + 2] == '\\' ? 3 : 2;
		to[0] = (char)(c == '?' ? 0x7f : c & 0x1f);
		return 1;
	}
	if (c == 'x' || c == 'u' || c == 'U') {
		(*p)++;
		if (c == 'x' && *p < end && r->s[*p] == '{') {
			shell_fail(r, SHELL_UNSUPPORTED, start, *p, "escape \\x{");
			return 0;
		}
		if (!read_digits(r->s, p, end, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, &value)) {
			to[0] = '\\';
			to[1] = c;
			return 2;
		}
		if (c == 'x') {
			to[0] = (char)value;
			return 1;
		}
		if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
			shell_fail(r, SHELL_UNSUPPORTED, start, *p, "no Unicode character");
		n = value <= 0x10ffff ? encode_utf8(value, to) : 0;
		return n;
	}
	to[0] = '\\';
	to[1] = c;
	(*p)++;
	return 2;
}

/* At the ' of $'...'. A NUL ends the value, not the quotes. *ret_hard: there is a NUL, or what
 * would mean more if it were not quoted. */
static bool read_ansi(struct shell_reader *r, struct part_list *list, bool *ret_hard)
{
	uint32_t start = r->pos, p = start + 1, end = p;
	bool ended = false;
	char to[8];

	while (end < r->end && r->s[end] != '\'')
		end += r->s[end] == '\\' && end + 1 < r->end ? 2 : 1;
	if (end >= r->end)
		return shell_fail(r, SHELL_ERROR, start, r->end, "unmatched '");
	shell_literal_put(r, list, SHELL_QUOTE_FULL, start, "", 0);
	*ret_hard = false;
	while (p < end && shell_ok(r)) {
		size_t n = 1;

		to[0] = r->s[p++];
		if (to[0] == '\\' && p < end)
			n = ansi_escape(r, &p, end, to);
		if (n == 1 && !to[0])
			ended = true;
		*ret_hard = *ret_hard || ended || (n && strchr("$`\\\"'{}", to[0]));
		if (!ended)
			shell_literal_put(r, list, SHELL_QUOTE_FULL, start, to, n);
	}
	r->pos = end + 1;
	return shell_ok(r);
}

bool shell_read_ansi(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos;
	bool hard = false, empty;

	if (!read_ansi(r, list, &hard))
		return false;
	/* In ${ } in double quotes bash puts the value in its place and then expands the whole,
	 * also where a $( ) stands between, so that an empty one is gone, and that of - = ? + is
	 * split; in an array it puts a '\'' there that it cannot read. */
	empty = r->pos - start <= strlen("$''");
	if (((hard || empty || r->in_default) && r->in_param && r->in_double) ||
	    (hard && r->in_array && r->reprinted))
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "$' in a quoted expansion");
	return true;
}

bool shell_read_double(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos;
	struct part_list inner;
	struct shell_part *part;
	bool literal = true;

	shell_literal_flush(r, list);
	shell_parts_init(&inner);
	if (!shell_enter(r))
		return false;
	r->pos++;
	r->in_double++;
	if (!shell_read_quoted(r, &inner, QUOTED_DOUBLE))
		return false;
	r->in_double--;
	r->pos++;
	shell_leave(r);
	for (part = inner.first; part; part = part->next)
		literal = literal && part->kind == SHELL_PART_LITERAL;
	if (!inner.first) {
		shell_literal_put(r, list, SHELL_QUOTE_FULL, start, "", 0);
		return true;
	}
	if (literal) {
		*list->tail = inner.first;
		list->tail = inner.tail;
		return true;
	}
	part = shell_part_add(r, list, SHELL_PART_DOUBLE, start);
	if (part)
		part->parts = inner.first;
	return part != NULL;
}

/*
 * A single quote in ${x:-...} inside double quotes: bash looks for its partner when it looks for
 * the closing brace, but when it expands the text both quotes and what is between them are plain
 * text.
 */
static bool read_quoted_single(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = r->pos, end = r->end;
	const char *quote = memchr(r->s + start + 1, '\'', end - start - 1);
	size_t n;

	if (!quote)
		return shell_fail(r, SHELL_ERROR, start, end, "unmatched '");
	n = (size_t)(quote - r->s) - start - 1;
	if (memchr(r->s + start + 1, '"', n) || memchr(r->s + start + 1, '\\', n))
		return shell_fail(r, SHELL_UNSUPPORTED, start, start + 1,
		                  "single quote in a quoted expansion");
	shell_literal_put(r, list, SHELL_QUOTE_FULL, start, "'", 1);
	r->pos++;
	r->end = (uint32_t)(quote - r->s);
	if (!shell_read_quoted(r, list, QUOTED_HEREDOC)) {
		/* An expansion between the quotes has one of its own. */
		if (r->tree->status == SHELL_ERROR)
			r->tree->status = SHELL_UNSUPPORTED;
		return false;
	}
	r->end = end;
	shell_literal_put(r, list, SHELL_QUOTE_FULL, r->pos, "'", 1);
	r->pos++;
	return true;
}

/* A backslash in text that is expanded as in double quotes. */
static void read_quoted_backslash(struct shell_reader *r, struct part_list *list,
                                  enum quoted_mode mode)
{
	enum shell_quote quote = mode == QUOTED_ARITH ? SHELL_QUOTE_NONE : SHELL_QUOTE_FULL;
	uint32_t start = r->pos;
	char c = shell_at(r, start + 1);
	bool escapes;

	if (!c || c == '\n') {
		if (!c)
			shell_literal_put(r, list, quote, start, "\\", 1);
		r->pos += c ? 2 : 1;
		return;
	}
	escapes = c == '$' || c == '`' || c == '\\' || (c == '"' && mode != QUOTED_HEREDOC) ||
	          (c == '}' && mode == QUOTED_OPERAND);
	if (mode == QUOTED_ARITH)
		escapes = false;
	/* bash drops this backslash before it expands the text: $\(id) becomes $(id). */
	if (mode == QUOTED_INNER && !escapes)
		shell_fail(r, SHELL_UNSUPPORTED, start, start + 2,
		           "backslash in quotes in a quoted expansion");
	if (mode == QUOTED_OPERAND && shell_has_process(r->s, start + 1, start + 3))
		shell_fail(r, SHELL_UNSUPPORTED, start, start + 2, "<( in a quoted expansion");
	r->pos += 2;
	shell_literal_put(r, list, quote, start, r->s + start + escapes, 2u - escapes);
}

/* Whether a $ that no backslash quotes is the last character. */
static bool ends_in_dollar(const char *s, uint32_t start, uint32_t end)
{
	uint32_t p = end - 1;

	if (end == start || s[p] != '$')
		return false;
	while (p > start && s[p - 1] == '\\')
		p--;
	return (end - p) % 2;
}

static bool read_quoted_double(struct shell_reader *r, struct part_list *list)
{
	uint32_t start = ++r->pos;
	bool outer = r->in_inner, whole;
	struct shell_part **first;

	shell_literal_flush(r, list);
	first = list->tail;
	r->in_inner = true;
	if (!shell_enter(r) || !shell_read_quoted(r, list, QUOTED_INNER))
		return false;
	r->in_inner = outer;
	shell_leave(r);
	whole = first == &list->first && shell_at(r, shell_after(r, r->pos)) == '}';
	for (const struct shell_part *p = *first; p && !whole; p = p->next)
		if (p->kind == SHELL_PART_PARAM && (p->param->subscript > SHELL_SUBSCRIPT_WORD ||
		                                    strchr("@*", p->param->name.bytes[0])))
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "$@ in quotes in a quoted expansion");
	/* bash takes what follows the quotes together with it. */
	if (ends_in_dollar(r->s, start, r->pos) && shell_at(r, shell_after(r, r->pos)) != '}')
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos - 1, r->pos,
		                  "$ in a quoted expansion");
	r->pos++;
	return true;
}

bool shell_read_quoted(struct shell_reader *r, struct part_list *list, enum quoted_mode mode)
{
	enum shell_quote quote = mode == QUOTED_ARITH ? SHELL_QUOTE_NONE : SHELL_QUOTE_FULL;
	uint32_t start = r->pos, from;
	bool hard;

	while (shell_ok(r)) {
		char c = shell_at(r, r->pos);

		if (!c) {
			if (mode == QUOTED_DOUBLE || mode == QUOTED_INNER)
				return shell_fail(r, SHELL_ERROR, start - 1, r->end,
				                  "unmatched \"");
			if (mode == QUOTED_OPERAND)
				return shell_fail(r, SHELL_ERROR, start - 1, r->end, "unmatched {");
			break;
		}
		if ((c == '"' && (mode == QUOTED_DOUBLE || mode == QUOTED_INNER)) ||
		    (c == '}' && mode == QUOTED_OPERAND))
			break;
		if (c == '\\') {
			read_quoted_backslash(r, list, mode);
		} else if (c == '$' && mode == QUOTED_OPERAND && shell_peek2(r) == '\'') {
			if (r->in_heredoc || r->in_arith)
				return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos + 2,
				                  "$' in a here-document or arithmetic");
			r->pos = shell_after(r, r->pos);
			from = r->pos;
			if (!read_ansi(r, list, &hard))
				return false;
			if (hard)
				return shell_fail(r, SHELL_UNSUPPORTED, from, r->pos,
				                  "$' in a quoted expansion");
		} else if (c == '$' && mode == QUOTED_OPERAND && shell_peek2(r) == '"') {
			return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos + 2,
			                  "$\" in a quoted expansion");
		} else if (c == '$' || c == '`') {
			shell_read_expansion(r, list, true, quote);
		} else if (c == '"' && mode == QUOTED_OPERAND) {
			read_quoted_double(r, list);
		} else if (c == '\'' && mode == QUOTED_OPERAND) {
			read_quoted_single(r, list);
		} else {
			from = r->pos++;
			while (r->pos < r->end && !shell_is(r->s[r->pos], CLASS_SPECIAL) &&
			       r->s[r->pos] != '}')
				r->pos++;
			if (mode == QUOTED_OPERAND && shell_has_process(r->s, from, r->pos))
				return shell_fail(r, SHELL_UNSUPPORTED, from, r->pos,
				                  "<( in a quoted expansion");
			shell_literal_put(r, list, quote, from, r->s + from, r->pos - from);
		}
	}
	shell_literal_flush(r, list);
	return shell_ok(r);
}
