/*
 * Lists, pipelines, simple commands, and the entry point.
 *
 * A hand-written descent: every function reads one thing at r->pos and leaves r->pos behind it.
 * Reserved words are looked for only where bash does: where a command may begin, and behind a
 * compound command that no redirection follows (r->after_compound).
 */
#include "shell/reader.h"

#include <errno.h>

#include "base/utf8.h"

bool shell_command_new(struct shell_reader *r, enum shell_command_kind kind, uint32_t start,
                       struct shell_command **ret)
{
	if (++r->tree->command_count > SHELL_COMMAND_MAX)
		return shell_fail(r, SHELL_LIMIT, start, r->pos, "too many commands");
	*ret = shell_alloc(r, sizeof(**ret));
	if (!*ret)
		return false;
	(*ret)->kind = kind;
	(*ret)->range.start = start;
	return true;
}

/* Simple commands */

struct simple {
	struct shell_command *command;
	struct shell_assign **assigns;
	struct shell_word **words;
	struct shell_redirect **redirects;
	bool declaration; /* the command is export, declare ... */
	bool braces;      /* in an array, where bash expands them only if no command follows */
};

static void add_words(struct simple *s, struct shell_word *first, struct shell_word *last)
{
	if (!first)
		return;
	for (struct shell_word *w = first; w; w = w->next)
		s->command->simple.word_count++;
	*s->words = first;
	s->words = &last->next;
}

static bool is_array(const struct shell_assign *assign)
{
	return assign->value->parts && assign->value->parts->kind == SHELL_PART_ARRAY;
}

/*
 * declare -A name=( [x ... ) whose first element has no subscript is a list of keys and values, and
 * bash keeps each of them as it is written, with its quotes.
 */
static bool is_unexpanded(const struct shell_simple *simple, const struct shell_assign *assign)
{
	const struct shell_array_item *item = assign->value->parts->items;
	const struct shell_part *first = item && !item->index ? item->value->parts : NULL;
	bool associative = false;

	if (!first || (first->kind != SHELL_PART_GLOB && first->kind != SHELL_PART_LITERAL) ||
	    first->quote != SHELL_QUOTE_NONE || first->text.bytes[0] != '[')
		return false;
	for (const struct shell_word *w = simple->words->next; w; w = w->next)
		associative = associative ||
		              (shell_is_raw_option(w) && strchr(w->parts->text.bytes, 'A'));
	return associative;
}

/* Whether there are braces that may expand; those of ${ } do not count, as the canonical text has
 * them where none were written. */
static bool has_brace(const struct shell_assign *assign)
{
	return shell_word_has_brace(assign->value) ||
	       (assign->index && shell_word_has_brace(assign->index));
}

/* An argument of a declaration command: an assignment, unless its braces expand. */
static bool read_declared(struct shell_reader *r, struct simple *s, bool *ret_done)
{
	struct shell_word *word, *first, *last;
	struct shell_assign *assign;
	uint32_t start = r->pos, after;

	*ret_done = false;
	r->measuring++; /* the word may be read twice */
	assign = shell_read_assign(r, true);
	r->measuring--;
	if (!assign)
		return shell_ok(r);
	after = r->pos;
	if (is_array(assign)) {
		if (s->command->redirects)
			return shell_fail(r, SHELL_UNSUPPORTED, start, after,
			                  "array behind a redirection");
		if (is_unexpanded(&s->command->simple, assign))
			return shell_fail(r, SHELL_UNSUPPORTED, start, after,
			                  "bracket in a list of keys and values");
	} else if (has_brace(assign)) {
		r->pos = start;
		word = shell_read_word(r, WORD_ARGUMENT);
		if (!word || !shell_expand_braces(r, word, WORD_ARGUMENT, &first, &last))
			return false;
		if (!first || first->from_braces) {
			add_words(s, first, last);
			*ret_done = true;
			return true;
		}
		r->pos = after;
	}
	word = shell_word_of_assign(r, assign);
	if (!word)
		return false;
	add_words(s, word, word);
	*ret_done = true;
	return true;
}

static bool read_argument(struct shell_reader *r, struct simple *s)
{
	struct shell_word *word, *first, *last;
	bool done = false;

	if (s->declaration && shell_is_name_start(shell_peek(r))) {
		if (!read_declared(r, s, &done))
			return false;
		if (done)
			return true;
	}
	word = shell_read_word(r, WORD_ARGUMENT);
	if (!word || !shell_expand_braces(r, word, WORD_ARGUMENT, &first, &last))
		return false;
	if (!s->command->simple.words)
		s->declaration = shell_is_declaration(first);
	add_words(s, first, last);
	return true;
}

/* name ( ): what was read so far is the name of a function. */
static bool read_function(struct shell_reader *r, struct shell_command *c)
{
	struct shell_simple *simple = &c->simple;
	struct shell_word *word = simple->words;

	/* bash takes eval name=( ). */
	if (simple->word_count > 1 && word->plain && !strcmp(word->parts->text.bytes, "eval"))
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos, "parenthesis behind eval");
	if (simple->assigns || c->redirects || simple->word_count != 1)
		return shell_unexpected(r);
	shell_take(r, "(");
	shell_skip_blanks(r);
	if (!shell_take(r, ")"))
		return shell_unexpected(r);
	if (!word->plain) {
		for (const struct shell_part *p = word->parts; p; p = p->next)
			if (p->kind == SHELL_PART_PROCESS_IN || p->kind == SHELL_PART_PROCESS_OUT)
				return shell_unexpected(r);
		return shell_fail(r, SHELL_UNSUPPORTED, word->range.start, word->range.end,
		                  "function name with quotes or expansions");
	}
	c->kind = SHELL_FUNCTION;
	c->name = word->parts->text;
	return shell_read_function_body(r, c);
}

static bool has_brace_results(const struct shell_assign *assign)
{
	if (!is_array(assign))
		return false;
	for (const struct shell_array_item *i = assign->value->parts->items; i; i = i->next)
		if (i->value->from_braces)
			return true;
	return false;
}

/* Where no word was read yet: an assignment, or the command's name, which is not taken. */
static bool read_leading(struct shell_reader *r, struct simple *s, bool *ret_taken)
{
	const struct shell_command *c = s->command;
	uint32_t start = r->pos, end;
	struct shell_assign *assign = shell_read_assign(r, c->redirects);

	*ret_taken = assign != NULL;
	if (!shell_ok(r))
		return false;
	if (assign && c->simple.assigns && c->redirects && is_array(assign))
		return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		                  "array behind a redirection");
	if (assign) {
		s->braces = s->braces || has_brace_results(assign);
		*s->assigns = assign;
		s->assigns = &assign->next;
		return true;
	}
	if (s->braces)
		return shell_fail(r, SHELL_UNSUPPORTED, c->range.start, r->pos,
		                  "braces in an array before a command");
	/* In front of its redirections it would be read differently, and bash prints it there. */
	if (r->reprinted && c->redirects && !c->simple.assigns &&
	    shell_reserved(r, &end) != RESERVED_NONE)
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos, end,
		                  "reserved word in a substitution");
	if (c->redirects && shell_at_subscript(r))
		return shell_fail(r, SHELL_UNSUPPORTED, r->pos, r->pos,
		                  "bracket in a command name");
	return true;
}

static bool has_heredoc(const struct shell_command *c)
{
	for (const struct shell_redirect *d = c->redirects; d; d = d->next)
		if (d->op == SHELL_REDIRECT_HEREDOC)
			return true;
	return false;
}

bool shell_read_simple(struct shell_reader *r, struct shell_command **ret)
{
	struct simple s = {0};
	uint32_t start = r->pos;
	bool any = false;

	if (!shell_command_new(r, SHELL_SIMPLE, start, &s.command) || !s.command)
		return false;
	*ret = s.command;
	s.assigns = &s.command->simple.assigns;
	s.words = &s.command->simple.words;
	s.redirects = &s.command->redirects;
	r->after_compound = false;
	for (;;) {
		struct shell_redirect *redirect;
		char c;

		s.command->range = shell_span(r, start, r->pos);
		shell_skip_blanks(r);
		c = shell_peek(r);
		if (!c)
			break;
		if (c == '<' || c == '>' || c == '&' || c == '{' || shell_is(c, CLASS_DIGIT)) {
			if (!shell_read_redirect(r, &redirect))
				return false;
			if (redirect) {
				*s.redirects = redirect;
				s.redirects = &redirect->next;
				any = true;
				continue;
			}
		}
		if (c == '(')
			return any ? read_function(r, s.command) : shell_unexpected(r);
		if (shell_is(c, CLASS_META) && !((c == '<' || c == '>') && shell_peek2(r) == '('))
			break;
		if (!s.command->simple.words) {
			bool taken;

			if (!read_leading(r, &s, &taken))
				return false;
			any = any || taken;
			if (taken)
				continue;
		}
		if (!read_argument(r, &s))
			return false;
		any = true;
	}
	/* bash does not read its own print of that again. */
	if (r->reprinted && !s.command->simple.words && has_heredoc(s.command) &&
	    (shell_peek(r) == '|' || shell_peek(r) == '&'))
		return shell_heredoc_misplaced(r);
	return any ? shell_ok(r) : shell_unexpected(r);
}

/* Pipelines and lists */

static bool read_command(struct shell_reader *r, struct shell_command **ret)
{
	shell_skip_blanks(r);
	if (!shell_enter(r) || !shell_read_compound(r, ret))
		return false;
	if (!*ret && !shell_read_simple(r, ret))
		return false;
	shell_leave(r);
	return true;
}

/* Whether time or ! may stand alone here. */
static bool at_terminator(struct shell_reader *r, bool timed)
{
	char c;

	shell_skip_blanks(r);
	c = shell_peek(r);
	if (c == ';')
		return shell_peek2(r) != ';' && shell_peek2(r) != '&';
	return c == '\n' || !c || (c == ')' && r->in_substitution && timed);
}

/* ! and time, in any number. */
static bool read_prefixes(struct shell_reader *r, struct shell_pipeline *p, bool *ret_alone)
{
	uint32_t end;

	*ret_alone = false;
	for (;;) {
		shell_skip_blanks(r);
		if (shell_take_reserved(r, RESERVED_BANG)) {
			shell_negated(r);
			p->negated = !p->negated;
			p->negated_first = p->negated_first || !p->timed;
		} else if (shell_take_reserved(r, RESERVED_TIME)) {
			p->timed = true;
			shell_skip_blanks(r);
			if (shell_at_word(r, "-p", &end)) {
				p->time_posix = true;
				r->pos = end;
				shell_skip_blanks(r);
			}
			if (shell_at_word(r, "--", &end)) {
				p->time_posix = true; /* bash prints as for -p */
				r->pos = end;
			}
		} else {
			return shell_ok(r);
		}
		*ret_alone = at_terminator(r, p->timed);
		if (*ret_alone)
			return true;
	}
}

/* Where bash does not take time for a reserved word before it runs the substitution, what follows
 * must be words for it. */
static bool check_time(struct shell_reader *r, uint32_t start, const struct shell_pipeline *p)
{
	const struct shell_command *c = p->commands;

	if (c && c->kind == SHELL_SIMPLE && !c->simple.assigns && c->simple.words && !p->negated &&
	    !shell_is_declaration(c->simple.words))
		return true;
	return shell_fail(r, SHELL_UNSUPPORTED, start, r->pos, "time in a substitution");
}

static struct shell_pipeline *read_pipeline(struct shell_reader *r)
{
	struct shell_pipeline *p = shell_alloc(r, sizeof(*p));
	struct shell_command **tail;
	bool alone, first = r->reprinted_first;
	uint32_t start;

	if (!p)
		return NULL;
	shell_skip_blanks(r);
	shell_peek(r);
	start = r->pos;
	r->reprinted_first = false;
	if (!read_prefixes(r, p, &alone))
		return NULL;
	if (alone && r->reprinted) {
		shell_fail(r, SHELL_UNSUPPORTED, start, r->pos,
		           "! or time alone in a substitution");
		return NULL;
	}
	if (alone) {
		p->range = shell_span(r, start, r->pos);
		r->after_compound = false;
		return p;
	}
	tail = &p->commands;
	for (;;) {
		struct shell_command *command = NULL;
		uint32_t heredocs = r->heredoc_count;

		if (!read_command(r, &command)) {
			if (first && p->timed && r->tree->status == SHELL_ERROR)
				r->tree->status = SHELL_UNSUPPORTED;
			return NULL;
		}
		if (first && p->timed && !p->commands) {
			p->commands = command;
			if (!check_time(r, start, p))
				return NULL;
		}
		*tail = command;
		tail = &command->next;
		p->command_count++;
		r->last_heredocs = heredocs;
		p->range = shell_span(r, start, r->pos);
		shell_skip_blanks(r);
		if (shell_peek(r) != '|' || shell_peek2(r) == '|')
			return p;
		command->pipe_stderr = shell_take(r, "|&");
		if (!command->pipe_stderr)
			shell_take(r, "|");
		r->in_pipe = true;
		if (!shell_skip_newlines(r))
			return NULL;
	}
}

static struct shell_statement *read_statement(struct shell_reader *r)
{
	struct shell_statement *s = shell_alloc(r, sizeof(*s));
	struct shell_pipeline **tail, *p;
	enum shell_join join = SHELL_JOIN_FIRST;
	struct heredoc **outer = r->statement_heredocs;

	if (!s)
		return NULL;
	r->statement_heredocs = r->heredocs_tail;
	tail = &s->pipelines;
	for (;;) {
		uint32_t heredocs = r->heredoc_count;

		r->in_pipe = false;
		p = read_pipeline(r);
		if (!p)
			return NULL;
		p->join = join;
		*tail = p;
		tail = &p->next;
		shell_skip_blanks(r);
		if (shell_peek(r) == '&' && shell_peek2(r) == '&') {
			shell_take(r, "&&");
			join = SHELL_JOIN_AND;
		} else if (shell_peek(r) == '|' && shell_peek2(r) == '|') {
			shell_take(r, "||");
			join = SHELL_JOIN_OR;
		} else {
			s->range = s->pipelines->range;
			s->range.end = p->range.end;
			r->statement_heredocs = outer;
			return s;
		}
		/* Only the first and the last of more than two can have one, and of the first not
		 * the command behind its last |. */
		if (r->reprinted && r->heredoc_count > heredocs &&
		    (p != s->pipelines ||
		     (p->command_count > 1 && r->heredoc_count > r->last_heredocs))) {
			shell_heredoc_misplaced(r);
			return NULL;
		}
		if (!p->commands) { /* time && x */
			shell_unexpected(r);
			return NULL;
		}
		if (!shell_skip_newlines(r))
			return NULL;
	}
}

/* A word or operator that ends the list instead of beginning a command. */
static bool at_list_end(struct shell_reader *r)
{
	uint32_t end;

	switch (shell_peek(r)) {
	case 0:
	case ')':
		return true;
	case ';':
		return shell_peek2(r) == ';' || shell_peek2(r) == '&';
	case 't':
	case 'e':
	case 'f':
	case 'd':
	case '}':
		break;
	default:
		return false;
	}
	switch ((int)shell_reserved(r, &end)) {
	case RESERVED_THEN:
	case RESERVED_ELIF:
	case RESERVED_ELSE:
	case RESERVED_FI:
	case RESERVED_DO:
	case RESERVED_DONE:
	case RESERVED_ESAC:
	case RESERVED_CLOSE:
		return true;
	default:
		return false;
	}
}

/* Behind a statement: whether another one may follow. */
static bool read_separator(struct shell_reader *r, struct shell_statement *s, bool *ret_more)
{
	char c;

	shell_skip_blanks(r);
	c = shell_peek(r);
	*ret_more = true;
	if (r->heredocs && ((r->in_substitution && c != '\n') || (r->reprinted && c == '&')))
		return shell_heredoc_misplaced(r);
	if (c == '&') {
		s->background = true;
		r->pos++;
	} else if (c == ';' && shell_peek2(r) != ';' && shell_peek2(r) != '&') {
		r->pos++;
	} else if (c == '\n') {
		return true;
	} else {
		*ret_more = false;
		if (!c || c == ')' || c == ';' || (r->after_compound && at_list_end(r)))
			return true;
		return shell_unexpected(r);
	}
	return true;
}

static bool is_known(const struct shell_word *word, const char *text)
{
	return word && word->parts && !word->parts->next &&
	       word->parts->kind == SHELL_PART_LITERAL && !strcmp(word->parts->text.bytes, text);
}

/*
 * Behind a line of the text itself: bash has run it when it reads the next one. If it was
 * shopt -s extglob, extended patterns are on, up to where they are mentioned again.
 */
static void line_ended(struct shell_reader *r, const struct shell_statement *s)
{
	const struct shell_command *c = s->pipelines->commands;
	const struct shell_word *w;
	const char *again;

	if (r->depth || r->derived || s->background || s->pipelines->next || !c || c->next ||
	    c->kind != SHELL_SIMPLE || c->redirects || c->simple.assigns)
		return;
	w = c->simple.words;
	if (!is_known(w, "shopt") || !is_known(w->next, "-s"))
		return;
	for (w = w->next->next; w && !is_known(w, "extglob");)
		w = w->next;
	if (!w)
		return;
	again = memmem(r->s + r->pos, r->end - r->pos, "extglob", 7);
	r->extglob_until = again ? (uint32_t)(again - r->s) : r->end + 1;
}

struct shell_list *shell_read_list(struct shell_reader *r)
{
	struct shell_list *list = shell_alloc(r, sizeof(*list));
	struct shell_statement **tail;
	bool more = true, newline = false;
	uint32_t copied = r->tree->copied_inside;

	if (!list || !shell_skip_newlines(r))
		return NULL;
	tail = &list->statements;
	list->range = shell_span(r, r->pos, r->pos);
	while (more && !at_list_end(r)) {
		struct shell_statement *s;

		/* bash loses a semicolon behind a here-document when it prints. */
		if (r->in_substitution && r->heredoc_count && list->statements && !newline) {
			shell_heredoc_misplaced(r);
			return NULL;
		}
		s = read_statement(r);
		if (!s || !read_separator(r, s, &more))
			return NULL;
		list->range.end = s->range.end;
		*tail = s;
		tail = &s->next;
		if (!more)
			break;
		shell_skip_blanks(r);
		s->newline = newline = shell_peek(r) == '\n';
		if (newline)
			line_ended(r, s);
		if (!shell_skip_newlines(r))
			return NULL;
	}
	if (!shell_peek(r) && r->heredocs && !r->in_substitution && !shell_heredoc_read(r))
		return NULL;
	list->copied = r->tree->copied_inside - copied;
	return list;
}

/* Entry */

/* Characters that a person does not see, or that change the order of what they see. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x80, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},   {0x115f, 0x1160},
		{0x180e, 0x180e}, {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f},
		{0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
		{0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < array_size(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

static bool check_characters(struct shell_reader *r)
{
	uint32_t p = 0;

	while (p < r->end) {
		unsigned char c = (unsigned char)r->s[p];
		uint32_t code;
		size_t n;

		if (c >= 0x20 && c < 0x7f) {
			p++;
			continue;
		}
		if (c < 0x80) {
			if (c != '\t' && c != '\n' && (!c || !r->control_ok))
				return shell_fail(r, SHELL_UNSUPPORTED, p, p + 1,
				                  "control character");
			p++;
			continue;
		}
		n = utf8_char(r->s + p, r->end - p, &code);
		if (n && !r->tree->hidden && is_hidden(code)) {
			r->tree->hidden = true;
			r->tree->hidden_at = (struct shell_range){p, p + (uint32_t)n};
		}
		p += n ? (uint32_t)n : 1;
	}
	return true;
}

int shell_parse(struct arena *arena, const char *text, size_t n,
                const struct shell_parse_options *options, struct shell_tree **ret_tree)
{
	struct shell_tree *tree = arena_new_object(arena, struct shell_tree);
	struct shell_reader r = {.arena = arena, .tree = tree};
	struct shell_list *list = NULL;

	if (!tree)
		return -ENOMEM;
	*ret_tree = tree;
	tree->token.bytes = "";
	tree->text.bytes = "";
	if (n > SHELL_TEXT_MAX) {
		tree->status = SHELL_LIMIT;
		tree->message = "text too long";
		return 0;
	}
	tree->text = shell_copy(&r, text, n);
	r.s = tree->text.bytes;
	r.end = r.size = (uint32_t)n;
	r.control_ok = options && options->allow_control;
	r.heredocs_tail = &r.heredocs;
	r.scratch = shell_alloc(&r, n + 1);
	if (shell_ok(&r) && check_characters(&r))
		list = shell_read_list(&r);
	if (list && r.pos != r.end)
		shell_unexpected(&r);
	if (!arena_alloc(arena, 1)) /* a failed arena stays failed */
		return -ENOMEM;
	if (tree->status == SHELL_OK)
		tree->list = list;
	return 0;
}
