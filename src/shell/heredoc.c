/*
 * Here-documents: their bodies begin behind the next newline of the text (not of a quoted string),
 * in the order of the redirections.
 *
 * If the delimiter is not quoted, \<newline> joins lines before a line is compared with it, and the
 * body is expanded as in double quotes (but " is text); else the body is as it stands.
 */
#include "shell/reader.h"

struct heredoc {
	struct heredoc *next;
	struct shell_redirect *redirect;
};

bool shell_heredoc_add(struct shell_reader *r, struct shell_redirect *redirect)
{
	struct heredoc *h = shell_alloc(r, sizeof(*h));

	if (!h)
		return false;
	h->redirect = redirect;
	r->heredoc_count++;
	*r->heredocs_tail = h;
	r->heredocs_tail = &h->next;
	return true;
}

bool shell_heredoc_misplaced(struct shell_reader *r)
{
	return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos,
	                  "more behind a here-document in a substitution");
}

/* The end of the line at P (its newline, or the end of the text), and whether it is the delimiter.
 */
static uint32_t scan_line(const struct shell_reader *r, const struct shell_redirect *d, uint32_t p,
                          bool *ret_is_delimiter, bool *ret_begins)
{
	const char *want = d->delimiter.bytes;
	bool equal = true;

	*ret_begins = false;
	while (p < r->end && r->s[p] != '\n') {
		if (d->expand && r->s[p] == '\\' && p + 1 < r->end) {
			if (r->s[p + 1] == '\n') {
				p += 2;
				continue;
			}
			equal = equal && *want == '\\';
			want += equal;
			p++;
		}
		if (equal && !*want)
			*ret_begins = true;
		equal = equal && *want && *want == r->s[p];
		want += equal;
		p++;
	}
	*ret_is_delimiter = equal && !*want;
	return p;
}

static void ended_early(struct shell_reader *r, struct shell_redirect *d)
{
	d->unterminated = true;
	r->tree->unterminated_heredoc = true;
}

/* Whether the delimiter is right before the ) of the substitution: bash warns, and goes on there.
 */
static bool at_closing(const struct shell_reader *r, const struct shell_redirect *d, uint32_t p)
{
	size_t n = d->delimiter.len;

	return r->in_substitution && n < r->end - p && r->s[p + n] == ')' &&
	       memcmp(r->s + p, d->delimiter.bytes, n) == 0;
}

static bool check_rest(struct shell_reader *r, uint32_t line, uint32_t end)
{
	/* bash ends the document inside $( ) also where the delimiter only begins the line and a )
	 * follows; what it then does with more on the line is not guessed. */
	if (r->in_substitution && memchr(r->s + line, ')', end - line))
		return shell_fail(r, SHELL_UNSUPPORTED, line, end,
		                  "here-document delimiter with more on its line");
	return true;
}

/* Lines are joined before the tabs in front of a line are taken away. */
static bool at_continuation(const char *s, const struct shell_redirect *d, uint32_t p, uint32_t end)
{
	return d->expand && p + 1 < end && s[p] == '\\' && s[p + 1] == '\n';
}

/* Moves over the body and its delimiter; the body is from the old position to *ret_end. LAST: no
 * other body follows. */
static bool find_end(struct shell_reader *r, struct shell_redirect *d, bool last, uint32_t *ret_end)
{
	while (r->pos < r->end) {
		uint32_t line = r->pos, p = line, end;
		bool is_delimiter, begins;

		if (d->strip_tabs)
			while ((p < r->end && r->s[p] == '\t') ||
			       at_continuation(r->s, d, p, r->end))
				p += r->s[p] == '\t' ? 1 : 2;
		end = scan_line(r, d, p, &is_delimiter, &begins);
		r->pos = end < r->end ? end + 1 : end;
		if (is_delimiter) {
			*ret_end = line;
			return true;
		}
		if (begins && last && at_closing(r, d, p)) {
			r->pos = p + (uint32_t)d->delimiter.len;
			*ret_end = line;
			ended_early(r, d);
			return true;
		}
		if (begins && !check_rest(r, p, end))
			return false;
	}
	ended_early(r, d);
	*ret_end = r->end;
	return true;
}

/* The body as bash keeps it: tabs and continuations gone, a newline at the end. */
static bool clean_body(struct shell_reader *r, const struct shell_redirect *d, uint32_t start,
                       uint32_t end, struct shell_text *ret, bool *ret_changed)
{
	char *text = shell_alloc(r, end - start + 3);
	bool at_start = true;
	size_t n = 0;

	if (!text)
		return false;
	for (uint32_t p = start; p < end; p++) {
		char c = r->s[p];

		if (at_start && c == '\t' && d->strip_tabs)
			continue;
		if (at_continuation(r->s, d, p, end)) {
			p++;
			continue;
		}
		if (c == '\\' && d->expand && p + 1 < end) {
			text[n++] = c;
			c = r->s[++p];
		}
		text[n++] = c;
		at_start = c == '\n';
	}
	/* Also a last line of nothing but tabs is a line. */
	if (end > start && r->s[end - 1] != '\n' && (!n || text[n - 1] == '\n')) {
		text[n++] = '\n';
		*ret_changed = true;
	}
	if (n && text[n - 1] != '\n') {
		if (n > 1 && d->expand && text[n - 1] == '\\')
			return shell_fail(r, SHELL_UNSUPPORTED, start, end,
			                  "here-document that ends in \\");
		text[n++] = '\n';
		*ret_changed = true;
	}
	*ret_changed = *ret_changed || n != end - start;
	*ret = (struct shell_text){text, n};
	return true;
}

static bool read_body(struct shell_reader *r, struct shell_redirect *d, uint32_t start,
                      uint32_t end)
{
	struct shell_reader sub;
	struct shell_text text = {0};
	struct part_list parts;
	bool changed = false;

	d->body = shell_alloc(r, sizeof(*d->body));
	if (!d->body || !clean_body(r, d, start, end, &text, &changed))
		return false;
	d->body->range = shell_span(r, start, end);
	shell_parts_init(&parts);
	if (!shell_sub_reader(r, &sub, text, start, end) || !shell_enter(&sub))
		return false;
	sub.in_heredoc = true;
	sub.in_double = 1;
	/* Ranges inside the body hold as long as nothing was taken out of it. */
	if (!changed && !r->derived) {
		sub.derived = false;
		sub.s = r->s;
		sub.pos = start;
		sub.end = end;
		sub.size = r->size;
	}
	if (!d->expand) {
		struct shell_part *part;

		sub.pos = sub.end;
		part = text.len ? shell_part_add(&sub, &parts, SHELL_PART_LITERAL, start) : NULL;
		if (part) {
			part->quote = SHELL_QUOTE_FULL;
			part->text = text;
		}
	} else if (!shell_read_quoted(&sub, &parts, QUOTED_HEREDOC)) {
		if (r->tree->status == SHELL_ERROR) /* bash finds out only when it runs */
			r->tree->status = SHELL_UNSUPPORTED;
		return false;
	}
	d->body->parts = parts.first;
	return shell_ok(r);
}

bool shell_heredoc_read(struct shell_reader *r)
{
	struct heredoc *h = r->heredocs;

	r->heredocs = NULL;
	r->heredocs_tail = &r->heredocs;
	for (; h; h = h->next) {
		uint32_t start = r->pos, end;

		if (!find_end(r, h->redirect, !h->next, &end) ||
		    !read_body(r, h->redirect, start, end))
			return false;
	}
	return true;
}
