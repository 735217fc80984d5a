/*
 * Command and process substitution.
 *
 * $( is read with the whole grammar, as bash 5.2 does: only that finds the right closing
 * parenthesis.
 */
#include "shell/reader.h"

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
	const struct remembered *m = shell_recall(r, r->pos);
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
	if (r->measuring && !shell_remember(r, start, r->pos, list))
		return NULL;
	return list;
}

bool shell_has_process(const char *s, uint32_t p, uint32_t end)
{
	for (; p + 1 < end; p++)
		if ((s[p] == '<' || s[p] == '>') && s[p + 1] == '(')
			return true;
	return false;
}

bool shell_has_comment(const char *s, uint32_t p, uint32_t end, bool heredocs)
{
	for (; p < end; p++)
		if ((s[p] == '#' && (shell_is(s[p - 1], CLASS_META) || s[p - 1] == '`')) ||
		    (heredocs && s[p] == '<' && s[p - 1] == '<'))
			return true;
	return false;
}

struct shell_list *shell_read_counted(struct shell_reader *r, uint32_t close)
{
	uint32_t end = r->end, start = r->pos;
	struct shell_list *list;
	struct outside outside;

	/* Where bash looks for the end once more, it steps over comments. */
	if (shell_has_comment(r->s, start + 1, close, true)) {
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
	if (r->measuring && !shell_remember(r, start, r->pos, list))
		return NULL;
	return list;
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
	    (shell_recall(r, start) && shell_recall(r, start)->list))
		return shell_read_substitution(r);
	r->pos++;
	if (!shell_measure(r, '(', ')', &close))
		return NULL;
	r->pos = start;
	return shell_read_counted(r, close);
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

bool shell_add_command(struct shell_reader *r, struct part_list *list, uint32_t start,
                       struct shell_list *commands)
{
	struct shell_part *part =
		commands ? shell_part_add(r, list, SHELL_PART_COMMAND, start) : NULL;

	if (part)
		part->list = commands;
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

bool shell_read_backtick(struct shell_reader *r, struct part_list *list, bool in_double)
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
