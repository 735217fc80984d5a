/*
 * Compound commands, functions and coprocesses.
 */
#include "shell/reader.h"

/* A list that must not be empty. */
static struct shell_list *read_body(struct shell_reader *r)
{
	struct shell_list *list = shell_read_list(r);

	if (list && !list->statements) {
		shell_unexpected(r);
		return NULL;
	}
	return list;
}

static bool expect(struct shell_reader *r, enum reserved word)
{
	return shell_take_reserved(r, word) || shell_unexpected(r);
}

/* do list done, or the { list } that bash takes as well. */
static struct shell_list *read_do(struct shell_reader *r, bool brace_ok)
{
	struct shell_list *body;
	bool brace;

	if (!shell_skip_newlines(r))
		return NULL;
	brace = brace_ok && shell_take_reserved(r, RESERVED_OPEN);
	if (!brace && !expect(r, RESERVED_DO))
		return NULL;
	body = read_body(r);
	if (!body || !expect(r, brace ? RESERVED_CLOSE : RESERVED_DONE))
		return NULL;
	return body;
}

static struct shell_clause *add_clause(struct shell_reader *r, struct shell_clause ***tail,
                                       uint32_t start)
{
	struct shell_clause *clause = shell_alloc(r, sizeof(*clause));

	if (!clause)
		return NULL;
	clause->range.start = start;
	**tail = clause;
	*tail = &clause->next;
	return clause;
}

static bool read_if(struct shell_reader *r, struct shell_command *c)
{
	struct shell_clause **tail = &c->clauses, *clause;
	uint32_t start = r->pos, heredocs;

	do {
		heredocs = r->heredoc_count;
		clause = add_clause(r, &tail, start);
		if (!clause || !(clause->condition = read_body(r)))
			return false;
		if (r->reprinted && r->heredoc_count > heredocs)
			return shell_heredoc_misplaced(r);
		if (!expect(r, RESERVED_THEN) || !(clause->body = read_body(r)))
			return false;
		clause->range = shell_span(r, start, r->pos);
		start = r->pos;
	} while (shell_take_reserved(r, RESERVED_ELIF));
	if (shell_take_reserved(r, RESERVED_ELSE)) {
		clause = add_clause(r, &tail, start);
		if (!clause || !(clause->body = read_body(r)))
			return false;
		clause->range = shell_span(r, start, r->pos);
	}
	return expect(r, RESERVED_FI);
}

static bool read_while(struct shell_reader *r, struct shell_command *c)
{
	struct shell_clause **tail = &c->clauses, *clause;
	uint32_t start = r->pos;

	clause = add_clause(r, &tail, start);
	if (!clause || !(clause->condition = read_body(r)) || !(clause->body = read_do(r, false)))
		return false;
	clause->range = shell_span(r, start, r->pos);
	return true;
}

/* for (( init; condition; step )): at the first parenthesis. */
static bool read_for_arith(struct shell_reader *r, struct shell_command *c)
{
	struct shell_word **parts[3] = {&c->arith_loop.init, &c->arith_loop.condition,
	                                &c->arith_loop.step};
	uint32_t start = r->pos, close, ends[3], n = 0;

	c->kind = SHELL_FOR_ARITH;
	shell_take(r, "((");
	if (!shell_measure(r, '(', ')', &close))
		return false;
	if (shell_at(r, close + 1) != ')')
		return shell_unexpected(r);
	for (uint32_t p = r->pos; p < close;) {
		if (r->s[p] == ';' && n == 2)
			return shell_fail(r, SHELL_ERROR, p, p + 1, "unexpected token");
		if (r->s[p] == ';')
			ends[n++] = p;
		if (!shell_measure_one(r, &p))
			return false;
	}
	if (n < 2)
		return shell_fail(r, SHELL_ERROR, start, close, "arithmetic expression required");
	ends[2] = close;
	for (n = 0; n < 3; n++) {
		while (r->pos < ends[n] && (r->s[r->pos] == ' ' || r->s[r->pos] == '\t'))
			r->pos++;
		if (r->pos < ends[n]) {
			*parts[n] = shell_read_arith(r, ends[n]);
			if (!shell_arith_check(r, *parts[n]))
				return false;
		}
		r->pos = ends[n] + 1;
	}
	r->pos = close + 2;
	shell_skip_blanks(r);
	if (shell_peek(r) == ';' && shell_peek2(r) != ';')
		r->pos++;
	c->arith_loop.body = read_do(r, true);
	return c->arith_loop.body != NULL;
}

static bool read_for_words(struct shell_reader *r, struct shell_command *c)
{
	struct shell_word **tail = &c->loop.words;
	char ch;

	for (;;) {
		struct shell_word *word, *first, *last;
		uint32_t start;

		shell_skip_blanks(r);
		ch = shell_peek(r);
		if (ch == ';' || ch == '\n')
			break;
		start = r->pos;
		word = shell_read_word(r, WORD_ARGUMENT);
		if (!word)
			return false;
		if (r->pos == start)
			return shell_unexpected(r);
		if (!shell_expand_braces(r, word, WORD_ARGUMENT, &first, &last))
			return false;
		if (first) {
			*tail = first;
			tail = &last->next;
		}
	}
	if (ch == ';') {
		if (shell_peek2(r) == ';' || shell_peek2(r) == '&')
			return shell_unexpected(r);
		r->pos++;
	}
	return true;
}

static bool read_for(struct shell_reader *r, struct shell_command *c)
{
	struct shell_word *name;
	bool brace_ok = true;
	uint32_t end;

	shell_skip_blanks(r);
	if (c->kind == SHELL_FOR && shell_peek(r) == '(' && shell_peek2(r) == '(')
		return read_for_arith(r, c);
	end = r->pos;
	name = shell_read_word(r, WORD_SUBJECT);
	if (!name)
		return false;
	if (r->pos == end)
		return shell_unexpected(r);
	if (!name->plain || !shell_is_name_start(name->parts->text.bytes[0]))
		return shell_fail(r, SHELL_UNSUPPORTED, end, r->pos, "no name");
	for (const char *p = name->parts->text.bytes; *p; p++)
		if (!shell_is(*p, CLASS_NAME))
			return shell_fail(r, SHELL_UNSUPPORTED, end, r->pos, "no name");
	c->loop.name = name->parts->text;
	shell_skip_blanks(r);
	if (shell_peek(r) == ';') {
		r->pos++;
	} else {
		end = r->pos;
		if (!shell_skip_newlines(r))
			return false;
		brace_ok = r->pos > end;
		if (shell_take_reserved(r, RESERVED_IN)) {
			if (brace_ok && r->case_seen)
				return shell_fail(r, SHELL_UNSUPPORTED, end, r->pos,
				                  "newline in for, with a case before");
			c->loop.has_in = true;
			if (!read_for_words(r, c))
				return false;
			brace_ok = true;
		}
	}
	c->loop.body = read_do(r, brace_ok);
	return c->loop.body != NULL;
}

static bool read_case_end(struct shell_reader *r, struct shell_case_item *item, bool *ret_more)
{
	*ret_more = true;
	if (shell_take(r, ";;&"))
		item->end = SHELL_CASE_CONTINUE;
	else if (shell_take(r, ";;"))
		item->end = SHELL_CASE_BREAK;
	else if (shell_take(r, ";&"))
		item->end = SHELL_CASE_FALL;
	else
		*ret_more = false;
	return !*ret_more || shell_skip_newlines(r);
}

static bool read_case_item(struct shell_reader *r, struct shell_case_item *item, bool *ret_more)
{
	struct shell_word **tail = &item->patterns;
	uint32_t start = r->pos;

	shell_take(r, "(");
	do {
		uint32_t before;
		struct shell_word *pattern;

		shell_skip_blanks(r);
		before = r->pos;
		pattern = shell_read_word(r, WORD_PATTERN);
		if (!pattern)
			return false;
		if (r->pos == before)
			return shell_unexpected(r);
		if (r->reprinted && pattern->plain && !strcmp(pattern->parts->text.bytes, "esac"))
			return shell_fail(r, SHELL_UNSUPPORTED, before, r->pos,
			                  "esac as a pattern in a substitution");
		*tail = pattern;
		tail = &pattern->next;
		shell_skip_blanks(r);
	} while (shell_peek2(r) != '|' && shell_take(r, "|"));
	if (!shell_take(r, ")"))
		return shell_unexpected(r);
	item->body = shell_read_list(r);
	if (!item->body || !read_case_end(r, item, ret_more))
		return false;
	item->range = shell_span(r, start, r->pos);
	return true;
}

static bool read_case(struct shell_reader *r, struct shell_command *c)
{
	struct shell_case_item **tail = &c->cases.items;
	uint32_t start;
	bool more = true;

	r->case_seen = true;
	shell_skip_blanks(r);
	start = r->pos;
	c->cases.word = shell_read_word(r, WORD_SUBJECT);
	if (!c->cases.word)
		return false;
	if (r->pos == start)
		return shell_unexpected(r);
	if (!shell_skip_newlines(r) || !expect(r, RESERVED_IN) || !shell_skip_newlines(r))
		return false;
	while (more) {
		struct shell_case_item *item;

		if (shell_take_reserved(r, RESERVED_ESAC))
			return true;
		item = shell_alloc(r, sizeof(*item));
		if (!item || !read_case_item(r, item, &more))
			return false;
		*tail = item;
		tail = &item->next;
	}
	return expect(r, RESERVED_ESAC);
}

/* At a parenthesis: (( )) if bash counts it so, else a subshell. */
static bool read_paren(struct shell_reader *r, struct shell_command *c)
{
	uint32_t start = r->pos, close;

	if (shell_peek2(r) == '(') {
		shell_take(r, "((");
		if (!shell_measure(r, '(', ')', &close))
			return false;
		if (shell_at(r, close + 1) == ')') {
			c->kind = SHELL_ARITH;
			c->arith = shell_read_arith(r, close);
			r->pos = close + 2;
			return shell_arith_check(r, c->arith);
		}
		if (shell_at(r, shell_after(r, close)) == ')')
			return shell_fail(r, SHELL_UNSUPPORTED, start, close, "continuation in ))");
		if (shell_at(r, close + 1) == '\n')
			return shell_fail(r, SHELL_UNSUPPORTED, start, close,
			                  "newline behind ((..)");
		if (memmem(r->s + start, close - start, "<<", 2))
			return shell_fail(r, SHELL_UNSUPPORTED, start, close, "<< behind ((");
		r->pos = start;
	}
	c->kind = SHELL_SUBSHELL;
	shell_take(r, "(");
	c->list = read_body(r);
	if (!c->list)
		return false;
	return shell_take(r, ")") || shell_unexpected(r);
}

static bool read_test_command(struct shell_reader *r, struct shell_command *c)
{
	c->test = shell_read_test(r);
	return c->test && expect(r, RESERVED_TEST_END);
}

static bool read_group(struct shell_reader *r, struct shell_command *c)
{
	c->list = read_body(r);
	return c->list && expect(r, RESERVED_CLOSE);
}

static bool is_function_name(const char *name)
{
	for (; *name; name++)
		if (!shell_is(*name, CLASS_BARE) || *name == '=')
			return false;
	return true;
}

bool shell_read_function_body(struct shell_reader *r, struct shell_command *function)
{
	struct shell_command *body = NULL;
	uint32_t start, heredocs = r->heredoc_count;

	if (!shell_skip_newlines(r))
		return false;
	start = r->pos;
	if (!shell_enter(r) || !shell_read_compound(r, &body))
		return false;
	if (r->reprinted && r->heredoc_count > heredocs)
		return shell_heredoc_misplaced(r);
	if (!body || body->kind == SHELL_FUNCTION || body->kind == SHELL_COPROC) {
		r->pos = start;
		return shell_unexpected(r);
	}
	if (!is_function_name(function->name.bytes))
		return shell_fail(r, SHELL_UNSUPPORTED, function->range.start, start,
		                  "name of a function");
	shell_leave(r);
	function->body = body;
	function->range = shell_span(r, function->range.start, r->pos);
	return true;
}

static bool read_function(struct shell_reader *r, struct shell_command *c)
{
	struct shell_word *name;
	uint32_t before, end;

	shell_skip_blanks(r);
	before = r->pos;
	name = shell_read_word(r, WORD_SUBJECT);
	if (!name)
		return false;
	if (r->pos == before)
		return shell_unexpected(r);
	if (!name->plain)
		return shell_fail(r, SHELL_UNSUPPORTED, before, r->pos, "name of a function");
	c->name = name->parts->text;
	shell_skip_blanks(r);
	end = r->pos;
	if (shell_take(r, "(")) {
		shell_skip_blanks(r);
		if (!shell_take(r, ")"))
			r->pos = end; /* a subshell as the body */
	}
	return shell_read_function_body(r, c);
}

/* A reserved word that does not begin a compound command. */
static bool is_other_reserved(enum reserved word)
{
	switch ((int)word) {
	case RESERVED_THEN:
	case RESERVED_ELIF:
	case RESERVED_ELSE:
	case RESERVED_FI:
	case RESERVED_DO:
	case RESERVED_DONE:
	case RESERVED_ESAC:
	case RESERVED_IN:
	case RESERVED_TIME:
	case RESERVED_BANG:
	case RESERVED_CLOSE:
	case RESERVED_TEST_END:
		return true;
	default:
		return false;
	}
}

/*
 * Behind the first word of a simple coprocess, where a compound command might have followed, bash
 * takes name=value for an assignment, which is not split though it is an argument.
 */
static bool has_unsplit_argument(const struct shell_simple *simple)
{
	const struct shell_word *w = simple->words && !simple->assigns ? simple->words->next : NULL;

	for (; w && w->parts; w = w->next) {
		const char *s = w->parts->kind == SHELL_PART_LITERAL ? w->parts->text.bytes : "";
		size_t n = 0;

		while (shell_is_name_start(s[0]) && shell_is(s[n], CLASS_NAME))
			n++;
		n += n && s[n] == '+';
		if (!n || s[n] != '=')
			return false;
		for (const struct shell_part *p = w->parts; p; p = p->next)
			if (p->kind != SHELL_PART_LITERAL && p->kind != SHELL_PART_TILDE)
				return true;
	}
	return false;
}

/* coproc [name] compound, or coproc simple. */
static bool read_coproc(struct shell_reader *r, struct shell_command *c)
{
	struct shell_command *body = NULL;
	uint32_t start, end;

	shell_skip_blanks(r);
	start = r->pos;
	if (r->reprinted)
		return shell_fail(r, SHELL_UNSUPPORTED, start, start, "coproc in a substitution");
	switch ((int)shell_reserved(r, &end)) {
	case RESERVED_BANG:
	case RESERVED_COPROC:
	case RESERVED_FUNCTION:
		return shell_unexpected(r);
	case RESERVED_TIME:
		return shell_fail(r, SHELL_UNSUPPORTED, start, end, "time in a coprocess");
	default:
		break;
	}
	if (!shell_read_compound(r, &body))
		return false;
	if (!body) {
		/* A word is the name only if a compound command follows it. */
		struct shell_word *name = shell_read_word(r, WORD_SUBJECT);
		uint32_t behind;

		if (!name)
			return false;
		behind = r->pos;
		shell_skip_blanks(r);
		/* Behind an assignment bash takes each of them for a word. */
		if (is_other_reserved(shell_reserved(r, &end)) ||
		    (shell_reserved(r, &end) != RESERVED_NONE &&
		     memchr(r->s + start, '=', behind - start)))
			return shell_fail(r, SHELL_UNSUPPORTED, start, end,
			                  "reserved word in a coprocess");
		if (r->pos > start && shell_peek(r) != '(' && !shell_read_compound(r, &body))
			return false;
		if (r->pos > start && !body && shell_peek(r) == '(') {
			end = shell_after(r, r->pos);
			while (shell_at(r, end) == ' ')
				end++;
			if (shell_at(r, end) == ')' && r->s[r->pos - 1] == '=')
				return shell_fail(r, SHELL_UNSUPPORTED, start, end,
				                  "array in a coprocess");
			if (shell_at(r, end) == ')') {
				r->pos = end;
				return shell_unexpected(r);
			}
			if (!shell_read_compound(r, &body))
				return false;
		}
		if (body && !name->plain)
			return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
			                  "name of a coprocess");
		if (body) {
			if (!is_function_name(name->parts->text.bytes))
				return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
				                  "name of a coprocess");
			if (body->kind == SHELL_FUNCTION || body->kind == SHELL_COPROC)
				return shell_unexpected(r);
			c->name = name->parts->text;
		} else {
			r->pos = start;
			if (!shell_read_simple(r, &body)) {
				/* bash takes more here, as name=( ) behind a word. */
				if (r->tree->status == SHELL_ERROR && behind > start)
					r->tree->status = SHELL_UNSUPPORTED;
				return false;
			}
			/* Behind its first word bash still looks for name[subscript]=; and braces
			 * make more words of the first. */
			if (body->kind == SHELL_SIMPLE && body->simple.words &&
			    body->simple.words->from_braces)
				behind = start;
			if (memchr(r->s + behind, '[', r->pos - behind))
				return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
				                  "bracket in a coprocess");
			if (body->kind == SHELL_FUNCTION)
				return shell_unexpected(r);
			if (has_unsplit_argument(&body->simple))
				return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
				                  "assignment in a coprocess");
		}
	}
	c->body = body;
	return true;
}

static const struct {
	enum reserved word;
	enum shell_command_kind kind;
	bool (*read)(struct shell_reader *r, struct shell_command *c);
} compounds[] = {
	{RESERVED_OPEN, SHELL_GROUP, read_group},
	{RESERVED_IF, SHELL_IF, read_if},
	{RESERVED_WHILE, SHELL_WHILE, read_while},
	{RESERVED_UNTIL, SHELL_UNTIL, read_while},
	{RESERVED_FOR, SHELL_FOR, read_for},
	{RESERVED_SELECT, SHELL_SELECT, read_for},
	{RESERVED_CASE, SHELL_CASE, read_case},
	{RESERVED_TEST, SHELL_TEST, read_test_command},
	{RESERVED_FUNCTION, SHELL_FUNCTION, read_function},
	{RESERVED_COPROC, SHELL_COPROC, read_coproc},
};

bool shell_read_compound(struct shell_reader *r, struct shell_command **ret)
{
	uint32_t start, end;
	struct shell_redirect **tail;
	enum reserved word;
	bool ok = false;
	char c = shell_peek(r);
	bool piped = r->in_pipe;

	*ret = NULL;
	start = r->pos;
	word = c == '(' ? RESERVED_NONE : shell_reserved(r, &end);
	if (c != '(' && (word == RESERVED_NONE || (word == RESERVED_TIME && piped)))
		return true;
	if (r->reprinted && r->heredocs && r->heredocs_tail != r->statement_heredocs)
		return shell_heredoc_misplaced(r);
	if (c == '(') {
		if (!shell_command_new(r, SHELL_SUBSHELL, start, ret))
			return false;
		ok = read_paren(r, *ret);
	} else {
		size_t i;

		for (i = 0; i < array_size(compounds) && compounds[i].word != word; i++)
			;
		if (i == array_size(compounds))
			return shell_unexpected(r);
		if (!shell_command_new(r, compounds[i].kind, start, ret))
			return false;
		r->pos = end;
		ok = compounds[i].read(r, *ret);
	}
	if (!ok)
		return false;
	/* A function or coprocess has its redirections in its body. */
	if ((*ret)->kind != SHELL_FUNCTION && (*ret)->kind != SHELL_COPROC) {
		r->after_compound = true;
		tail = &(*ret)->redirects;
		if (!shell_read_redirects(r, &tail))
			return false;
	}
	(*ret)->range = shell_span(r, start, r->pos);
	return shell_ok(r);
}
