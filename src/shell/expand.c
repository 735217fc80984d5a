/*
 * Command, process and arithmetic substitution.
 *
 * $( is read with the whole grammar, as bash 5.2 does: only that finds the right closing
 * parenthesis.
 * $(( is first measured by counting parentheses; if what is inside is balanced and ends with )) it
 * is arithmetic, else it is a command substitution that begins with a subshell. Measuring meets
 * command substitutions that are read again later; their trees are remembered, so that nesting does
 * not multiply the cost.
 */
#include "shell/reader.h"

/* LIST is NULL for $((, of which only the end is known. */
static bool remember(struct shell_reader *r, uint32_t start, uint32_t end, struct shell_list *list)
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

/* What is remembered of the ( at START; NULL: nothing, or it ends behind the end that holds now. */
static const struct remembered *recall(const struct shell_reader *r, uint32_t start)
{
	const struct remembered *m = r->remembered ? r->remembered[start] : NULL;

	return m && m->end <= r->end ? m : NULL;
}

/* What a substitution must not see of its surroundings, and must not leave behind. */
struct outside {
	bool in_substitution, after_compound, in_pipe, in_heredoc;
	bool reprinted, in_array, case_seen, in_message, in_default, in_pattern, in_arith;
	uint32_t heredoc_count, in_param;
	struct heredoc *heredocs, **heredocs_tail;
};

static void go_inside(struct shell_reader *r, struct outside *o)
{
	*o = (struct outside){
		.in_substitution = r->in_substitution,
		.after_compound = r->after_compound,
		.in_pipe = r->in_pipe,
		.in_heredoc = r->in_heredoc,
		.reprinted = r->reprinted,
		.in_array = r->in_array,
		.case_seen = r->case_seen,
		.in_message = r->in_message,
		.in_default = r->in_default,
		.in_pattern = r->in_pattern,
		.in_arith = r->in_arith,
		.heredoc_count = r->heredoc_count,
		.in_param = r->in_param,
		.heredocs = r->heredocs,
		.heredocs_tail = r->heredocs_tail,
	};
	r->in_substitution = r->reprinted = r->reprinted_first = true;
	r->after_compound = r->in_pipe = r->in_heredoc = r->in_array = r->in_message = false;
	r->in_default = r->in_pattern = r->in_arith = false;
	r->heredoc_count = r->in_param = 0;
	r->heredocs = NULL;
	r->heredocs_tail = &r->heredocs;
}

static bool go_outside(struct shell_reader *r, const struct outside *o, uint32_t start)
{
	if (r->heredocs)
		shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		           "here-document whose body is outside its substitution");
	r->in_substitution = o->in_substitution;
	r->after_compound = o->after_compound;
	r->in_pipe = o->in_pipe;
	r->in_heredoc = o->in_heredoc;
	r->reprinted = o->reprinted;
	r->reprinted_first = false;
	r->in_array = o->in_array;
	r->case_seen = o->case_seen;
	r->in_message = o->in_message;
	r->in_default = o->in_default;
	r->in_pattern = o->in_pattern;
	r->in_arith = o->in_arith;
	r->heredoc_count = o->heredoc_count;
	r->in_param = o->in_param;
	r->heredocs = o->heredocs;
	r->heredocs_tail = r->heredocs ? o->heredocs_tail : &r->heredocs;
	return shell_ok(r);
}

struct shell_list *shell_read_substitution(struct shell_reader *r)
{
	const struct remembered *m = recall(r, r->pos);
	uint32_t start = r->pos;
	struct shell_list *list;
	struct outside outside;

	if (m && m->list) {
		r->pos = m->end;
		return shell_count_copies(r, m->list->copied, false) ? m->list : NULL;
	}
	if (!shell_enter(r))
		return NULL;
	go_inside(r, &outside);
	r->pos++;
	list = shell_read_list(r);
	if (list && !shell_take(r, ")"))
		shell_unexpected(r);
	if (!go_outside(r, &outside, start))
		return NULL;
	shell_leave(r);
	if (r->measuring && !remember(r, start, r->pos, list))
		return NULL;
	return list;
}

/* Whether a comment, or also a here-document, may begin in the text, or in the canonical one, where
 * a backtick is a parenthesis. */
static bool has_comment(const char *s, uint32_t p, uint32_t end, bool heredocs)
{
	for (; p < end; p++)
		if ((s[p] == '#' && (shell_is(s[p - 1], CLASS_META) || s[p - 1] == '`')) ||
		    (heredocs && s[p] == '<' && s[p - 1] == '<'))
			return true;
	return false;
}

/* $( ( ...: a substitution whose end was found by counting; bash reads it only when it runs. */
static struct shell_list *read_counted(struct shell_reader *r, uint32_t close)
{
	uint32_t end = r->end, start = r->pos;
	struct shell_list *list;
	struct outside outside;

	/* Where bash looks for the end once more, it steps over comments. */
	if (has_comment(r->s, start + 1, close, true)) {
		shell_fail(r, SHELL_UNSUPPORTED, start, close, "comment or here-document in ((");
		return NULL;
	}
	if (!shell_enter(r))
		return NULL;
	go_inside(r, &outside);
	r->in_param = 1; /* bash reads it with the same function as ${ } */
	r->pos++;
	r->end = close;
	list = shell_read_list(r);
	if (list && r->pos != close)
		shell_unexpected(r);
	r->end = end;
	if (r->tree->status == SHELL_ERROR)
		r->tree->status = SHELL_UNSUPPORTED;
	if (!go_outside(r, &outside, start))
		return NULL;
	shell_leave(r);
	r->pos = close + 1;
	if (r->measuring && !remember(r, start, r->pos, list))
		return NULL;
	return list;
}

static bool measure(struct shell_reader *r, uint32_t *p, char open, char close, bool in_double);

/* At an expansion or a quote at *p: moves behind it; a single character otherwise. Between
 * parentheses bash counts also those in ${ } and $[ ]. */
static bool measure_one(struct shell_reader *r, uint32_t *p, bool in_double, bool in_parens)
{
	char c = r->s[*p], next;
	uint32_t q, pos = r->pos;

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
	if (c == '`') {
		for ((*p)++; shell_at(r, *p) && r->s[*p] != '`';)
			*p += r->s[*p] == '\\' && *p + 1 < r->end ? 2 : 1;
		if (*p >= r->end)
			return shell_fail(r, SHELL_ERROR, *p, r->end, "unmatched `");
		(*p)++;
		return true;
	}
	if (c != '$') {
		(*p)++;
		return true;
	}
	q = shell_after(r, *p);
	next = shell_at(r, q);
	*p = q;
	if (next == '$') { /* $$, which does not begin another expansion */
		(*p)++;
		return true;
	}
	if (next == '\'' && !in_double) {
		for (q++; shell_at(r, q) && r->s[q] != '\'';)
			q += r->s[q] == '\\' && q + 1 < r->end ? 2 : 1;
		if (q >= r->end)
			return shell_fail(r, SHELL_ERROR, *p, r->end, "unmatched '");
		*p = q + 1;
		return true;
	}
	if (next == '(' && shell_at(r, shell_after(r, q)) == '(') {
		const struct remembered *m = recall(r, q);

		(*p)++;
		if (!m)
			return measure(r, p, '(', ')', false) && remember(r, q, *p, NULL);
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

static struct shell_list *read_process(struct shell_reader *r)
{
	uint32_t start = r->pos, close;

	/* As a key of an associative array it is its own text, as it is written. */
	if (r->in_array) {
		shell_fail(r, SHELL_UNSUPPORTED, start, start + 1,
		           "process substitution in an array");
		return NULL;
	}
	if (shell_at(r, shell_after(r, start)) != '(' ||
	    (recall(r, start) && recall(r, start)->list))
		return shell_read_substitution(r);
	r->pos++;
	if (!shell_measure(r, '(', ')', &close))
		return NULL;
	r->pos = start;
	return read_counted(r, close);
}

struct shell_list *shell_read_process(struct shell_reader *r)
{
	uint32_t start = r->pos;
	struct shell_list *list = read_process(r);

	if (list && !list->statements) {
		shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "empty process substitution");
		return NULL; /* bash makes no word of it */
	}
	return list;
}

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

static bool add_command(struct shell_reader *r, struct part_list *list, uint32_t start,
                        struct shell_list *commands)
{
	struct shell_part *part =
		commands ? shell_part_add(r, list, SHELL_PART_COMMAND, start) : NULL;

	if (part)
		part->list = commands;
	return part != NULL;
}

/* At the first ( of $((. */
static bool read_double_paren(struct shell_reader *r, struct part_list *list, uint32_t start)
{
	uint32_t first = r->pos, inner = shell_after(r, first) + 1, close, last;
	const struct remembered *m = recall(r, first);
	struct shell_part *part;

	if (m && m->list)
		return add_command(r, list, start, shell_read_substitution(r));
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

		if (has_comment(r->s, inner, last, false))
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
		return add_command(r, list, start, read_counted(r, close));
	}
	return part != NULL;
}

/* At the [ of $[. */
static bool read_bracket_arith(struct shell_reader *r, struct part_list *list, uint32_t start)
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

/* Whether it is sure how often bash takes the backslash of \" away before it looks at a backtick:
 * once in double quotes, never in a here-document. */
static bool counts_quotes(const struct shell_reader *r)
{
	return !r->in_param && !r->in_message && !r->in_arith && !r->in_inner;
}

/* What bash reads differently in double quotes: \", here-documents, and, in its search for braces,
 * the quotes; and it looks for $( ) before it takes the backslashes of inner backticks away. */
static bool check_quoted_backtick(struct shell_reader *r, uint32_t p, uint32_t close)
{
	uint32_t start = p;
	bool quote = false, brace = false, inner = false, substitution = false, heredoc = false;
	bool comment = false;

	for (; p < close; p++) {
		brace = brace || r->s[p] == '{';
		heredoc = heredoc || (r->s[p] == '<' && r->s[p - 1] == '<');
		comment = comment || (r->s[p] == '#' &&
		                      (shell_is(r->s[p - 1], CLASS_META) || r->s[p - 1] == '`'));
		substitution = substitution || (r->s[p] == '(' && r->s[p - 1] == '$');
		quote = quote || r->s[p] == '"';
		if (r->s[p] != '\\')
			continue;
		p++;
		inner = inner || r->s[p] == '`';
		quote = quote || r->s[p] == '"';
		if (r->s[p] == '"' && !counts_quotes(r))
			return shell_fail(r, SHELL_UNSUPPORTED, p - 1, p + 1,
			                  "\\\" in a quoted backtick");
	}
	if ((brace && (quote || substitution)) || (inner && substitution) || heredoc || comment)
		return shell_fail(r, SHELL_UNSUPPORTED, start, close,
		                  "quotes, <<, # or $( in a quoted backtick");
	return true;
}

/* At a backtick. bash takes one level of backslashes away, then reads what is left. */
static bool read_backtick(struct shell_reader *r, struct part_list *list, bool in_double)
{
	uint32_t start = r->pos, p = start + 1, close = p;
	bool unescapes = in_double && !r->in_heredoc && counts_quotes(r);
	struct shell_reader sub;
	struct shell_part *part;
	struct shell_list *commands;
	char *text;
	size_t n = 0;

	while (shell_at(r, close) && r->s[close] != '`')
		close += r->s[close] == '\\' && close + 1 < r->end ? 2 : 1;
	if (close >= r->end)
		return shell_fail(r, SHELL_ERROR, start, r->end, "unmatched `");
	if ((in_double || r->in_message) && !check_quoted_backtick(r, p, close))
		return false;
	/* It is printed as $( ), which bash cannot read there. */
	if (r->in_heredoc && r->in_param && (r->in_pattern || r->in_arith))
		return shell_fail(r, SHELL_UNSUPPORTED, start, close,
		                  "backtick in an expansion in a here-document");
	if (r->in_inner && memchr(r->s + p, '\\', close - p))
		return shell_fail(r, SHELL_UNSUPPORTED, start, close,
		                  "backslash in quotes in a quoted expansion");
	text = shell_alloc(r, close - p + 1);
	if (!text || !shell_enter(r))
		return false;
	for (; p < close; p++) {
		if (r->s[p] == '\\' && p + 1 < close) {
			char c = r->s[p + 1];

			if (c == '\n') {
				p++;
				continue;
			}
			if (c != '$' && c != '`' && c != '\\' && !(c == '"' && unescapes))
				text[n++] = '\\';
			p++;
		}
		text[n++] = r->s[p];
	}
	r->pos = close + 1;
	if (!shell_sub_reader(r, &sub, (struct shell_text){text, n}, start, r->pos))
		return false;
	sub.reprinted = sub.reprinted_first = true;
	sub.case_seen = true; /* bash reads it when it runs, and one behind it counts, too */
	commands = shell_read_list(&sub);
	if (commands && sub.pos != sub.end)
		shell_unexpected(&sub);
	if (r->tree->status == SHELL_ERROR) /* bash finds out only when it runs */
		r->tree->status = SHELL_UNSUPPORTED;
	if (!shell_ok(r))
		return false;
	shell_leave(r);
	part = shell_part_add(r, list, SHELL_PART_COMMAND, start);
	if (part) {
		part->list = commands;
		part->backtick = true;
	}
	return part != NULL;
}

/* $x $1 $@: at the first character of the name. */
static bool read_bare_param(struct shell_reader *r, struct part_list *list, uint32_t start)
{
	struct shell_param *param = shell_alloc(r, sizeof(*param));
	struct shell_part *part;
	uint32_t p = r->pos;

	if (!param)
		return false;
	if (shell_is_name_start(r->s[p])) {
		while (shell_is(shell_at(r, p), CLASS_NAME)) {
			p++;
		}
		/* A continuation can stand inside the name. */
		param->name = shell_copy(r, r->s + r->pos, p - r->pos);
		while (shell_past(r, p) != p &&
		       shell_is(shell_at(r, shell_past(r, p)), CLASS_NAME)) {
			uint32_t from = shell_past(r, p);

			for (p = from; shell_is(shell_at(r, p), CLASS_NAME);)
				p++;
			param->name.bytes = arena_printf(r->arena, "%s%.*s", param->name.bytes,
			                                 (int)(p - from), r->s + from);
			if (!param->name.bytes)
				return shell_fail(r, SHELL_LIMIT, start, p, "out of memory");
			param->name.len += p - from;
		}
	} else {
		p++;
		param->name = shell_copy(r, r->s + r->pos, 1);
	}
	param->bare = true;
	r->pos = p;
	part = shell_part_add(r, list, SHELL_PART_PARAM, start);
	if (part)
		part->param = param;
	return part != NULL;
}

bool shell_read_expansion(struct shell_reader *r, struct part_list *list, bool in_double,
                          enum shell_quote quote)
{
	uint32_t start = r->pos, next;
	char c;

	if (r->s[start] == '`') {
		shell_literal_flush(r, list);
		return read_backtick(r, list, in_double);
	}
	next = shell_after(r, start);
	c = shell_at(r, next);
	if (!in_double && (c == '\'' || c == '"')) {
		/* Between double quotes bash puts the value in its place without any quotes. */
		if (r->in_message)
			return shell_fail(r, SHELL_UNSUPPORTED, start, next + 1,
			                  "$' in a quoted expansion");
		r->pos = next;
		return c == '"' ? shell_read_double(r, list) : shell_read_ansi(r, list);
	}
	/* Where bash looks for braces, or the end of quotes or an operand, it sees $( or ${. */
	if (c == '$') {
		uint32_t behind = shell_after(r, next);

		if (shell_at(r, behind) == '(' || shell_at(r, behind) == '{')
			return shell_fail(r, SHELL_UNSUPPORTED, start, behind + 1,
			                  "$$ before a parenthesis or brace");
	}
	if (c && (shell_is(c, CLASS_NAME) || strchr("@*#?-$!({[", c))) {
		shell_literal_flush(r, list);
		r->pos = next;
		if (c == '(' && shell_at(r, shell_after(r, next)) == '(')
			return read_double_paren(r, list, start);
		if (c == '(')
			return add_command(r, list, start, shell_read_substitution(r));
		if (c == '{')
			return shell_read_param(r, list, in_double, start);
		if (c == '[')
			return read_bracket_arith(r, list, start);
		return read_bare_param(r, list, start);
	}
	/* Backticks are printed as $( ), which would turn this into $$. */
	if (c == '`' && quote == SHELL_QUOTE_NONE)
		return shell_fail(r, SHELL_UNSUPPORTED, start, next + 1, "$ before a backtick");
	r->pos++;
	shell_literal_put(r, list, quote, start, "$", 1);
	return true;
}
