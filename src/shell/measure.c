/*
 * Where an expansion ends, found by counting.
 *
 * Measuring meets command substitutions that are read again later; their trees are remembered, so
 * that nesting does not multiply the cost.
 */
#include "shell/reader.h"

bool shell_remember(struct shell_reader *r, uint32_t start, uint32_t end, struct shell_list *list)
{
	struct remembered *m;

	if (!r->remembered) {
		/* A table of pointers. NOLINTNEXTLINE(bugprone-sizeof-expression) */
		r->remembered = shell_alloc(r, (r->size + 1) * sizeof(*r->remembered));
		if (!r->remembered)
			return false;
	}
	m = shell_alloc(r, sizeof(*m));
	if (!m)
		return false;
	m->end = end;
	m->list = list;
	r->remembered[start] = m;
	return true;
}

const struct remembered *shell_recall(const struct shell_reader *r, uint32_t start)
{
	const struct remembered *m = r->remembered ? r->remembered[start] : NULL;

	return m && m->end <= r->end ? m : NULL;
}

static bool measure(struct shell_reader *r, uint32_t *p, char open, char close, bool in_double);

/* From behind an opening quote to behind the next QUOTE that has no backslash in front of it. */
static bool measure_escaped(struct shell_reader *r, uint32_t *p, char quote)
{
	while (shell_at(r, *p) && r->s[*p] != quote)
		*p += r->s[*p] == '\\' && *p + 1 < r->end ? 2 : 1;
	if (*p >= r->end)
		return false;
	(*p)++;
	return true;
}

/* At the $ at *p. Between parentheses bash counts also those in ${ } and $[ ]. */
static bool measure_dollar(struct shell_reader *r, uint32_t *p, bool in_double, bool in_parens)
{
	uint32_t q = shell_after(r, *p), pos = r->pos;
	char next = shell_at(r, q);

	*p = q;
	if (next == '$') { /* $$, which does not begin another expansion */
		(*p)++;
		return true;
	}
	if (next == '\'' && !in_double) {
		q++;
		if (!measure_escaped(r, &q, '\''))
			return shell_fail(r, SHELL_ERROR, *p, r->end, "unmatched '");
		*p = q;
		return true;
	}
	if (next == '(' && shell_at(r, shell_after(r, q)) == '(') {
		const struct remembered *m = shell_recall(r, q);

		(*p)++;
		if (!m)
			return measure(r, p, '(', ')', false) && shell_remember(r, q, *p, NULL);
		*p = m->end;
		return true;
	}
	if (next == '(') {
		r->pos = q;
		if (!shell_read_substitution(r))
			return false;
		*p = r->pos;
		r->pos = pos;
		return true;
	}
	if ((next == '{' || next == '[') && !in_parens) {
		(*p)++;
		return measure(r, p, next == '[' ? '[' : 0, next == '[' ? ']' : '}', false);
	}
	return true;
}

/* At an expansion or a quote at *p: moves behind it; a single character otherwise. */
static bool measure_one(struct shell_reader *r, uint32_t *p, bool in_double, bool in_parens)
{
	char c = r->s[*p];

	if (c == '$')
		return measure_dollar(r, p, in_double, in_parens);
	if (c == '\\') {
		*p += *p + 1 < r->end ? 2 : 1;
		return true;
	}
	if (c == '\'' && !in_double) {
		const char *quote = memchr(r->s + *p + 1, '\'', r->end - *p - 1);

		if (!quote)
			return shell_fail(r, SHELL_ERROR, *p, r->end, "unmatched '");
		*p = (uint32_t)(quote - r->s) + 1;
		return true;
	}
	if (c == '"' && !in_double) {
		bool ok;

		(*p)++;
		r->in_double++;
		ok = measure(r, p, 0, '"', true);
		r->in_double--;
		return ok;
	}
	(*p)++;
	if (c == '`' && !measure_escaped(r, p, '`'))
		return shell_fail(r, SHELL_ERROR, *p, r->end, "unmatched `");
	return true;
}

static bool measure(struct shell_reader *r, uint32_t *p, char open, char close, bool in_double)
{
	uint32_t start = *p, count = 1;

	if (!shell_enter(r))
		return false;
	for (;;) {
		char c = shell_at(r, *p);

		if (!c)
			return shell_fail(r, SHELL_ERROR, start - 1, r->end,
			                  close == '}'   ? "unmatched {"
			                  : close == ']' ? "unmatched ["
			                  : close == '"' ? "unmatched \""
			                                 : "unmatched (");
		if (c == close && --count == 0)
			break;
		if (c == close || (open && c == open)) {
			count += c == open;
			(*p)++;
		} else if (!measure_one(r, p, in_double, open == '(')) {
			return false;
		}
	}
	(*p)++;
	shell_leave(r);
	return true;
}

bool shell_measure_one(struct shell_reader *r, uint32_t *p)
{
	r->measuring++;
	if (!measure_one(r, p, false, false))
		return false;
	r->measuring--;
	return true;
}

bool shell_measure(struct shell_reader *r, char open, char close, uint32_t *ret_end)
{
	uint32_t p = r->pos;

	r->measuring++;
	if (!measure(r, &p, open, close, false))
		return false;
	r->measuring--;
	*ret_end = p - 1;
	return true;
}
