/*
 * Redirections.
 */
#include "shell/reader.h"

#include <limits.h>

/* Digits at P that < or > follows, as the number of a descriptor; the end of them, or 0. */
static uint32_t number_prefix(const struct shell_reader *r, uint32_t p, int *ret_fd)
{
	long long value = 0;
	uint32_t start = p;
	char c;

	for (; (c = shell_at(r, p)) >= '0' && c <= '9'; p = shell_after(r, p)) {
		value = value * 10 + (c - '0');
		if (value > INT_MAX)
			return 0;
	}
	if (p == start || (c != '<' && c != '>') || shell_at(r, shell_after(r, p)) == '(')
		return 0;
	*ret_fd = (int)value;
	return p;
}

/* At the [ of {name[subscript]}: bash takes an element of an array there, too. */
static bool check_element(struct shell_reader *r, uint32_t p)
{
	uint32_t start = p;

	while (p < r->end && !shell_is(r->s[p], CLASS_META))
		if (!shell_measure_one(r, &p))
			return false;
	if (p < r->end && (r->s[p] == '<' || r->s[p] == '>') &&
	    memrchr(r->s + start, '}', p - start))
		return shell_fail(r, SHELL_UNSUPPORTED, start, p, "subscript in {name}>");
	return true;
}

/* {name} at P that < or > follows; the end of it, or 0 (also after a failure). */
static uint32_t variable_prefix(struct shell_reader *r, uint32_t p, struct shell_text *ret_name)
{
	uint32_t start, op;
	char *name;
	char c;

	if (shell_at(r, p) != '{')
		return 0;
	start = p = shell_after(r, p);
	if (!shell_is_name_start(shell_at(r, p)))
		return 0;
	while (shell_is(shell_at(r, p), CLASS_NAME))
		p = shell_after(r, p);
	if (shell_at(r, p) == '[' && !check_element(r, p))
		return 0;
	if (shell_at(r, p) != '}')
		return 0;
	op = shell_after(r, p);
	c = shell_at(r, op);
	if ((c != '<' && c != '>') || shell_at(r, shell_after(r, op)) == '(')
		return 0;
	name = shell_alloc(r, p - start + 1);
	if (!name)
		return 0;
	*ret_name = (struct shell_text){name, 0};
	for (; start < p; start = shell_after(r, start)) /* without continuations */
		name[ret_name->len++] = r->s[start];
	return op;
}

static bool read_operator(struct shell_reader *r, struct shell_redirect *d)
{
	static const struct {
		const char *text;
		enum shell_redirect_op op;
	} operators[] = {
		{"<<<", SHELL_REDIRECT_STRING},      {"<<-", SHELL_REDIRECT_HEREDOC},
		{"<<", SHELL_REDIRECT_HEREDOC},      {"<&", SHELL_REDIRECT_DUP_IN},
		{"<>", SHELL_REDIRECT_IN_OUT},       {"<", SHELL_REDIRECT_IN},
		{">>", SHELL_REDIRECT_APPEND},       {">&", SHELL_REDIRECT_DUP_OUT},
		{">|", SHELL_REDIRECT_CLOBBER},      {">", SHELL_REDIRECT_OUT},
		{"&>>", SHELL_REDIRECT_BOTH_APPEND}, {"&>", SHELL_REDIRECT_BOTH},
	};

	for (size_t i = 0; i < array_size(operators); i++)
		if (shell_take(r, operators[i].text)) {
			d->op = operators[i].op;
			d->strip_tabs = !strcmp(operators[i].text, "<<-");
			return true;
		}
	return false;
}

/* One piece of a delimiter, without its quotes: $x is taken by its letters. */
static bool delimiter_piece(const struct shell_part *p, bool *ret_dollar, struct shell_text *ret)
{
	*ret_dollar = p->kind == SHELL_PART_PARAM && p->param->bare;
	if (*ret_dollar)
		*ret = p->param->name;
	else
		*ret = p->text;
	return *ret_dollar || p->kind == SHELL_PART_LITERAL || p->kind == SHELL_PART_TILDE;
}

/* Quote removal for a delimiter; nothing in it is expanded. */
static bool read_delimiter(struct shell_reader *r, struct shell_redirect *d,
                           const struct shell_word *word)
{
	struct shell_text piece;
	bool dollar;
	size_t n = 0;
	char *text;

	for (const struct shell_part *p = word->parts; p; p = p->next) {
		if (!delimiter_piece(p, &dollar, &piece))
			return shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
			                  "expansion in a here-document delimiter");
		n += piece.len + dollar;
	}
	text = shell_alloc(r, n + 1);
	if (!text)
		return false;
	d->delimiter = (struct shell_text){text, n};
	for (const struct shell_part *p = word->parts; p; p = p->next) {
		delimiter_piece(p, &dollar, &piece);
		if (dollar)
			*text++ = '$';
		memcpy(text, piece.bytes, piece.len);
		text += piece.len;
	}
	if (strchr(d->delimiter.bytes, '\n'))
		return shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
		                  "newline in a here-document delimiter");
	return true;
}

/* Whether a known target of >& is a descriptor: a number, "number-" or "-". */
static bool is_descriptor(const struct shell_word *word)
{
	char last = 0;

	for (const struct shell_part *p = word ? word->parts : NULL; p; p = p->next) {
		if (p->kind != SHELL_PART_LITERAL)
			return true; /* unknown: stays as it is */
		for (size_t i = 0; i < p->text.len; i++) {
			if (last == '-' ||
			    (!shell_is(p->text.bytes[i], CLASS_DIGIT) && p->text.bytes[i] != '-'))
				return false;
			last = p->text.bytes[i];
		}
	}
	return last != 0;
}

/* Whether anything is quoted, be it nothing, as in E"". */
static bool has_quote(const char *s, uint32_t p, uint32_t end)
{
	for (; p < end; p++)
		if (s[p] == '\'' || s[p] == '"' || (s[p] == '\\' && s[p + 1] != '\n'))
			return true;
	return false;
}

/* More or less than one word is an ambiguous redirect, which bash finds out when it runs. */
static bool expand_target(struct shell_reader *r, struct shell_redirect *d)
{
	struct shell_word *word = d->target, *last;

	if (!shell_expand_braces(r, word, WORD_TARGET, &d->target, &last))
		return false;
	if (!d->target || d->target != last)
		return shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
		                  "braces in the target of a redirection");
	return true;
}

/* A descriptor in several pieces, as >&""1, becomes one. */
static bool join_descriptor(struct shell_reader *r, struct shell_word *word)
{
	struct shell_part *part = word->parts;
	size_t n = 0;
	char *text;

	for (const struct shell_part *p = part; p; p = p->next) {
		if (p->kind != SHELL_PART_LITERAL)
			return true;
		n += p->text.len;
	}
	if (!part || !part->next || !is_descriptor(word))
		return true;
	text = shell_alloc(r, n + 1);
	if (!text)
		return false;
	n = 0;
	for (const struct shell_part *p = part; p; p = p->next) {
		memcpy(text + n, p->text.bytes, p->text.len);
		n += p->text.len;
	}
	part->text = (struct shell_text){text, n};
	part->quote = SHELL_QUOTE_FULL;
	part->next = NULL;
	return true;
}

static bool read_target(struct shell_reader *r, struct shell_redirect *d)
{
	bool dup = d->op == SHELL_REDIRECT_DUP_IN || d->op == SHELL_REDIRECT_DUP_OUT;
	enum word_mode mode = WORD_TARGET;
	struct shell_text name;
	uint32_t start;
	int fd;

	shell_skip_blanks(r);
	start = r->pos;
	/* "-" behind >& is a token of its own: >&-x is >&- and x. */
	if (dup && shell_peek(r) == '-') {
		struct part_list parts;

		d->target = shell_alloc(r, sizeof(*d->target));
		if (!d->target || !shell_count_word(r))
			return false;
		shell_parts_init(&parts);
		r->pos++;
		shell_literal_put(r, &parts, SHELL_QUOTE_NONE, start, "-", 1);
		shell_literal_flush(r, &parts);
		d->target->parts = parts.first;
		d->target->range = shell_span(r, start, r->pos);
		d->target->plain = true;
		return shell_ok(r);
	}
	if (!dup && number_prefix(r, start, &fd))
		return shell_unexpected(r);
	if (variable_prefix(r, start, &name))
		return shell_unexpected(r);
	if (d->op == SHELL_REDIRECT_STRING)
		mode = WORD_STRING;
	else if (d->op == SHELL_REDIRECT_HEREDOC)
		mode = WORD_SUBJECT;
	d->target = shell_read_word(r, mode);
	if (!d->target)
		return false;
	d->expand = d->op == SHELL_REDIRECT_HEREDOC && !has_quote(r->s, start, r->pos);
	if (r->pos == start)
		return shell_unexpected(r);
	if (mode == WORD_TARGET && !expand_target(r, d))
		return false;
	return !dup || join_descriptor(r, d->target);
}

bool shell_read_redirect(struct shell_reader *r, struct shell_redirect **ret)
{
	struct shell_text name = {0};
	struct shell_redirect *d;
	uint32_t start, op;
	int fd = -1;
	char c = shell_peek(r);

	*ret = NULL;
	start = r->pos;
	op = c >= '0' && c <= '9' ? number_prefix(r, start, &fd)
	     : c == '{'           ? variable_prefix(r, start, &name)
	                          : start;
	if ((c >= '0' && c <= '9') || c == '{') {
		if (!op)
			return shell_ok(r);
	} else if (c == '&') {
		if (shell_peek2(r) != '>')
			return true;
	} else if ((c != '<' && c != '>') || shell_peek2(r) == '(') {
		return true;
	}
	d = shell_alloc(r, sizeof(*d));
	if (!d)
		return false;
	d->fd = fd;
	r->pos = op;
	d->fd_variable = name;
	if (!read_operator(r, d) || !read_target(r, d))
		return false;
	d->range = shell_span(r, start, r->pos);
	/* bash prints these as <>f and <<-x. */
	if (r->reprinted && d->op == SHELL_REDIRECT_IN_OUT && d->fd == 1)
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "1<> in a substitution");
	if (d->op == SHELL_REDIRECT_HEREDOC) {
		if (!read_delimiter(r, d, d->target) || !shell_heredoc_add(r, d))
			return false;
		d->target = NULL;
		if (r->reprinted && d->delimiter.bytes[0] == '-')
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "<< -x in a substitution");
	}
	if (d->op == SHELL_REDIRECT_DUP_OUT && (d->fd == -1 || d->fd == 1) &&
	    !d->fd_variable.bytes && !is_descriptor(d->target)) {
		d->op = SHELL_REDIRECT_BOTH;
		d->fd = -1;
		d->written_dup = true;
		/* bash may take the - for the one that closes a descriptor. */
		if (r->pos > 0 && r->s[r->pos - 1] == '-')
			return shell_fail(r, SHELL_UNSUPPORTED, d->range.start, r->pos,
			                  "name in - behind >&");
	}
	*ret = d;
	return shell_ok(r);
}

bool shell_read_redirects(struct shell_reader *r, struct shell_redirect ***tail)
{
	for (;;) {
		struct shell_redirect *d;

		shell_skip_blanks(r);
		if (!shell_read_redirect(r, &d))
			return false;
		if (!d)
			return true;
		**tail = d;
		*tail = &d->next;
		r->after_compound = false;
	}
}

int shell_redirect_fd(const struct shell_redirect *r)
{
	if (r->fd_variable.bytes)
		return -1;
	if (r->fd >= 0)
		return r->fd;
	switch (r->op) {
	case SHELL_REDIRECT_OUT:
	case SHELL_REDIRECT_APPEND:
	case SHELL_REDIRECT_CLOBBER:
	case SHELL_REDIRECT_DUP_OUT:
		return 1;
	case SHELL_REDIRECT_BOTH:
	case SHELL_REDIRECT_BOTH_APPEND:
		return -1;
	case SHELL_REDIRECT_IN:
	case SHELL_REDIRECT_IN_OUT:
	case SHELL_REDIRECT_DUP_IN:
	case SHELL_REDIRECT_STRING:
	case SHELL_REDIRECT_HEREDOC:
	default:
		return 0;
	}
}

const char *shell_redirect_name(const struct shell_redirect *r)
{
	static const char *const names[] = {
		[SHELL_REDIRECT_IN] = "<",
		[SHELL_REDIRECT_OUT] = ">",
		[SHELL_REDIRECT_APPEND] = ">>",
		[SHELL_REDIRECT_CLOBBER] = ">|",
		[SHELL_REDIRECT_IN_OUT] = "<>",
		[SHELL_REDIRECT_DUP_IN] = "<&",
		[SHELL_REDIRECT_DUP_OUT] = ">&",
		[SHELL_REDIRECT_BOTH] = "&>",
		[SHELL_REDIRECT_BOTH_APPEND] = "&>>",
		[SHELL_REDIRECT_STRING] = "<<<",
		[SHELL_REDIRECT_HEREDOC] = "<<",
	};

	return r->strip_tabs ? "<<-" : names[r->op];
}
