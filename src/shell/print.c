/*
 * Printing a tree.
 *
 * Known words are printed in single quotes. Where a word has expansions or globs, its unquoted
 * characters stay unquoted as far as they can take part in a pattern, because quoting would change
 * what matches. Names of builtins that bash looks up before quote removal (export, test ...) stay
 * as they were written. Bodies of here-documents wait in printer->later until the next newline;
 * they are printed first, so that the delimiter can be one that is not in them.
 */
#include "shell/print.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "shell/reader.h"

struct printer {
	struct buffer *out;
	struct buffer later; /* bodies and delimiters behind the next newline */
	size_t quote_end;    /* where the last '...' has ended: what follows at once goes inside */
	bool quote_control;  /* it was $'...' */
	unsigned level;      /* of lists: lines matter only in the outermost */
};

/* Where literal text stands. */
enum place {
	PLACE_WORD,    /* a word of its own */
	PLACE_OPERAND, /* unquoted, in ${ } */
	PLACE_REGEX,   /* behind =~ */
	PLACE_DOUBLE,  /* in double quotes */
	PLACE_HEREDOC, /* in a body that is expanded */
	PLACE_ARITH,   /* as it was written */
};

static void print_list(struct printer *p, const struct shell_list *list);
static void print_word(struct printer *p, const struct shell_word *word, enum place place);
static void print_command(struct printer *p, const struct shell_command *c);

static void put(struct printer *p, const char *text)
{
	buffer_puts(p->out, text);
}

static void put_text(struct printer *p, const struct shell_text *text)
{
	buffer_append(p->out, text->bytes, text->len);
}

/* The pending bodies, behind a newline. */
static void flush_later(struct printer *p)
{
	buffer_putc(p->out, '\n');
	buffer_append(p->out, buffer_str(&p->later), p->later.len);
	buffer_clear(&p->later);
}

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

/* Opens '...' or $'...', or goes on in the quotes that have just been closed. */
static void open_quote(struct printer *p, bool control)
{
	if (p->quote_end && p->quote_end == p->out->len && p->quote_control == control)
		p->out->len--;
	else
		put(p, control ? "$'" : "'");
}

static void close_quote(struct printer *p, bool control)
{
	put(p, "'");
	p->quote_end = p->out->len;
	p->quote_control = control;
}

static void put_quoted(struct printer *p, const char *s, size_t n)
{
	size_t i = 0;

	if (!n && p->quote_end != p->out->len) {
		open_quote(p, false);
		close_quote(p, false);
	}
	while (i < n) {
		bool control = is_control(s[i]);

		open_quote(p, control);
		for (; i < n && is_control(s[i]) == control; i++) {
			if (control)
				buffer_printf(p->out, "\\%03o", (unsigned char)s[i]);
			else if (s[i] == '\'')
				put(p, "'\\''");
			else
				buffer_putc(p->out, s[i]);
		}
		close_quote(p, control);
	}
}

/*
 * Whether the unquoted $ at I can stand bare, because nothing follows that it could begin. bash
 * does not split a word in which a bare $ follows an expansion, so quoting it would change the
 * result.
 */
static bool is_lone_dollar(const struct shell_text *text, size_t i, bool last)
{
	if (text->bytes[i] != '$')
		return false;
	return i + 1 < text->len ? strchr("%+=:,./^]", text->bytes[i + 1]) != NULL : last;
}

/* Unquoted text in the middle of a word: bare as far as it may be. */
static void put_mixed(struct printer *p, const struct shell_text *text, bool raw, bool last)
{
	size_t i = 0, from;

	while (i < text->len) {
		for (from = i; i < text->len; i++) {
			char c = text->bytes[i];

			if ((raw ? c == '$' : !shell_is(c, CLASS_BARE)) &&
			    !is_lone_dollar(text, i, last))
				break;
		}
		buffer_append(p->out, text->bytes + from, i - from);
		for (from = i; i < text->len; i++) {
			char c = text->bytes[i];

			if ((raw ? c != '$' : shell_is(c, CLASS_BARE)) ||
			    is_lone_dollar(text, i, last))
				break;
		}
		if (i > from)
			put_quoted(p, text->bytes + from, i - from);
	}
}

static void put_escaped(struct printer *p, const struct shell_text *text, const char *special)
{
	for (size_t i = 0; i < text->len; i++) {
		if (strchr(special, text->bytes[i]))
			buffer_putc(p->out, '\\');
		buffer_putc(p->out, text->bytes[i]);
	}
}

static void print_literal(struct printer *p, const struct shell_part *part, enum place place)
{
	const struct shell_text *text = &part->text;

	switch (place) {
	case PLACE_DOUBLE:
		put_escaped(p, text, "\\$`\"");
		return;
	case PLACE_HEREDOC:
		put_escaped(p, text, "\\$`");
		return;
	case PLACE_ARITH:
		put_text(p, text);
		return;
	case PLACE_REGEX:
		if (part->quote == SHELL_QUOTE_NONE) {
			put_text(p, text);
			return;
		}
		if (part->quote == SHELL_QUOTE_BACKSLASH) {
			for (size_t i = 0; i < text->len; i++)
				buffer_printf(p->out, "\\%c", text->bytes[i]);
			return;
		}
		put_quoted(p, text->bytes, text->len);
		return;
	case PLACE_WORD:
	case PLACE_OPERAND:
	default:
		if (part->quote == SHELL_QUOTE_NONE)
			put_mixed(p, text, place == PLACE_OPERAND,
			          !part->next && place == PLACE_WORD);
		else
			put_quoted(p, text->bytes, text->len);
	}
}

/* $( ... ) and its kin, behind the opening characters. */
static void print_substitution(struct printer *p, const struct shell_list *list)
{
	struct buffer outside = p->later;
	size_t from = p->out->len;

	p->later = (struct buffer){0};
	print_list(p, list);
	/* $(( would be arithmetic. */
	if (p->out->len > from && p->out->data[from] == '(') {
		buffer_putc(p->out, ' ');
		if (!buffer_error(p->out)) {
			memmove(p->out->data + from + 1, p->out->data + from,
			        p->out->len - from - 1);
			p->out->data[from] = ' ';
		}
	}
	if (p->later.len)
		flush_later(p);
	put(p, ")");
	if (buffer_error(&p->later) && !p->out->failed)
		p->out->failed = buffer_error(&p->later);
	buffer_done(&p->later);
	p->later = outside;
}

/* An operand of ${ }; quoted: the expansion stands in double quotes. */
static void print_operand(struct printer *p, const struct shell_word *word, bool quoted)
{
	if (!word || !word->parts)
		return;
	if (quoted)
		put(p, "\"");
	print_word(p, word, quoted ? PLACE_DOUBLE : PLACE_OPERAND);
	if (quoted)
		put(p, "\"");
}

static void print_param(struct printer *p, const struct shell_param *param, bool quoted)
{
	static const char letters[] = {
		[SHELL_PARAM_DEFAULT] = '-',       [SHELL_PARAM_ASSIGN] = '=',
		[SHELL_PARAM_ERROR] = '?',         [SHELL_PARAM_ALTERNATE] = '+',
		[SHELL_PARAM_REMOVE_PREFIX] = '#', [SHELL_PARAM_REMOVE_SUFFIX] = '%',
		[SHELL_PARAM_REPLACE] = '/',       [SHELL_PARAM_SUBSTRING] = ':',
		[SHELL_PARAM_UPPER] = '^',         [SHELL_PARAM_LOWER] = ',',
		[SHELL_PARAM_TOGGLE] = '~',        [SHELL_PARAM_TRANSFORM] = '@',
		[SHELL_PARAM_NAMES] = 0,
	};
	char letter = letters[param->op];
	bool is_default = param->op >= SHELL_PARAM_DEFAULT && param->op <= SHELL_PARAM_ALTERNATE;

	put(p, "${");
	if (param->op == SHELL_PARAM_LENGTH)
		put(p, "#");
	if (param->indirect || param->op == SHELL_PARAM_NAMES)
		put(p, "!");
	put_text(p, &param->name);
	if (param->subscript != SHELL_SUBSCRIPT_NONE) {
		put(p, "[");
		if (param->subscript == SHELL_SUBSCRIPT_WORD)
			print_word(p, param->index, PLACE_ARITH);
		else
			put(p, param->subscript == SHELL_SUBSCRIPT_AT ? "@" : "*");
		put(p, "]");
	}
	if (param->colon)
		put(p, ":");
	if (letter)
		buffer_putc(p->out, letter);
	if (param->twice)
		buffer_putc(p->out, letter);
	if (param->letter)
		buffer_putc(p->out, param->letter);
	if (param->op == SHELL_PARAM_SUBSTRING) {
		print_word(p, param->word, PLACE_ARITH);
		if (param->word2) {
			put(p, ":");
			print_word(p, param->word2, PLACE_ARITH);
		}
	} else {
		print_operand(p, param->word, quoted && is_default);
		if (param->word2) {
			put(p, "/");
			print_operand(p, param->word2, false);
		}
	}
	put(p, "}");
}

static void print_array(struct printer *p, const struct shell_array_item *item)
{
	put(p, "(");
	for (; item; item = item->next) {
		if (item->index) {
			put(p, "[");
			print_word(p, item->index, PLACE_ARITH);
			put(p, item->append ? "]+=" : "]=");
		}
		print_word(p, item->value, PLACE_WORD);
		if (item->next)
			put(p, " ");
	}
	put(p, ")");
}

static void print_extglob(struct printer *p, const struct shell_extglob *glob)
{
	buffer_putc(p->out, glob->letter);
	put(p, "(");
	for (const struct shell_word *w = glob->alternatives; w; w = w->next) {
		if (w->parts)
			print_word(p, w, PLACE_WORD);
		if (w->next)
			put(p, "|");
	}
	put(p, ")");
}

static void print_part(struct printer *p, const struct shell_part *part, enum place place)
{
	bool quoted = place == PLACE_DOUBLE || place == PLACE_HEREDOC || place == PLACE_ARITH;

	switch (part->kind) {
	case SHELL_PART_LITERAL:
		print_literal(p, part, place);
		break;
	case SHELL_PART_GLOB:
	case SHELL_PART_TILDE:
		put_text(p, &part->text);
		break;
	case SHELL_PART_EXTGLOB:
		print_extglob(p, part->extglob);
		break;
	case SHELL_PART_DOUBLE:
		put(p, "\"");
		for (const struct shell_part *q = part->parts; q; q = q->next)
			print_part(p, q, PLACE_DOUBLE);
		put(p, "\"");
		break;
	case SHELL_PART_PARAM:
		print_param(p, part->param, quoted);
		break;
	case SHELL_PART_COMMAND:
		put(p, "$(");
		print_substitution(p, part->list);
		break;
	case SHELL_PART_PROCESS_IN:
	case SHELL_PART_PROCESS_OUT:
		put(p, part->kind == SHELL_PART_PROCESS_IN ? "<(" : ">(");
		print_substitution(p, part->list);
		break;
	case SHELL_PART_ARITH:
		put(p, "$((");
		print_word(p, part->word, PLACE_ARITH);
		put(p, "))");
		break;
	case SHELL_PART_ARRAY:
	default:
		print_array(p, part->items);
		break;
	}
}

static bool is_literal(const struct shell_word *word)
{
	for (const struct shell_part *part = word->parts; part; part = part->next)
		if (part->kind != SHELL_PART_LITERAL)
			return false;
	return true;
}

static void print_word(struct printer *p, const struct shell_word *word, enum place place)
{
	const struct shell_part *part = word->parts;
	scoped(buffer_donep) struct buffer text = {0};

	if (place == PLACE_WORD && part && is_literal(word)) {
		for (; part; part = part->next)
			buffer_append(&text, part->text.bytes, part->text.len);
		put_quoted(p, buffer_str(&text), text.len);
		if (buffer_error(&text) && !p->out->failed)
			p->out->failed = buffer_error(&text);
		return;
	}
	/* What came out of braces is no assignment, even if it looks like one. */
	if (place == PLACE_WORD && word->from_braces && part && part->kind == SHELL_PART_LITERAL &&
	    memchr(part->text.bytes, '=', part->text.len)) {
		put_quoted(p, part->text.bytes, part->text.len);
		part = part->next;
	}
	for (; part; part = part->next)
		print_part(p, part, place);
}

static void print_assign(struct printer *p, const struct shell_assign *a)
{
	put_text(p, &a->name);
	if (a->index) {
		put(p, "[");
		print_word(p, a->index, PLACE_ARITH);
		put(p, "]");
	}
	put(p, a->append ? "+=" : "=");
	print_word(p, a->value, PLACE_WORD);
}

/* Redirections */

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	while (*text) {
		const char *nl = strchr(text, '\n');
		size_t len = nl ? (size_t)(nl - text) : strlen(text);

		/* Inside $( ) a line that only begins with the delimiter could end the body. */
		if (len >= n && !memcmp(text, line, n))
			return true;
		text += nl ? len + 1 : len;
	}
	return false;
}

static void print_heredoc(struct printer *p, const struct shell_redirect *d)
{
	scoped(buffer_donep) struct buffer body = {0};
	struct printer inner = {.out = &body, .level = 1};
	char delimiter[24] = "EOF";

	if (d->body && d->expand)
		print_word(&inner, d->body, PLACE_HEREDOC);
	else if (d->body && d->body->parts)
		buffer_append(&body, d->body->parts->text.bytes, d->body->parts->text.len);
	for (unsigned i = 1; has_line(buffer_str(&body), delimiter); i++)
		snprintf(delimiter, sizeof(delimiter), "EOF_%u", i);
	buffer_printf(p->out, d->expand ? "<<%s" : "<<'%s'", delimiter);
	buffer_append(&p->later, buffer_str(&body), body.len);
	buffer_printf(&p->later, "%s\n", delimiter);
	if (buffer_error(&body) && !p->out->failed)
		p->out->failed = buffer_error(&body);
}

static bool is_descriptor(const struct shell_word *word)
{
	const struct shell_part *part = word->parts;

	return part && !part->next && part->kind == SHELL_PART_LITERAL && part->text.len &&
	       strspn(part->text.bytes, "0123456789-") == part->text.len;
}

static void print_redirect(struct printer *p, const struct shell_redirect *d)
{
	put(p, " ");
	if (d->fd_variable.bytes)
		buffer_printf(p->out, "{%s}", d->fd_variable.bytes);
	else if (d->fd >= 0)
		buffer_printf(p->out, "%d", d->fd);
	if (d->op == SHELL_REDIRECT_HEREDOC) {
		print_heredoc(p, d);
		return;
	}
	put(p, shell_redirect_name(d));
	if ((d->op == SHELL_REDIRECT_DUP_IN || d->op == SHELL_REDIRECT_DUP_OUT) &&
	    is_descriptor(d->target)) {
		put_text(p, &d->target->parts->text);
		return;
	}
	put(p, " ");
	print_word(p, d->target, PLACE_WORD);
}

static void print_redirects(struct printer *p, const struct shell_redirect *d)
{
	for (; d; d = d->next)
		print_redirect(p, d);
}

/* Commands */

bool shell_is_looked_up(const struct shell_word *word)
{
	static const char *const names[] = {"[",    "eval", "let",   "printf",
	                                    "read", "test", "unset", "wait"};

	if (shell_is_declaration(word))
		return true;
	for (size_t i = 0; word->plain && i < array_size(names); i++)
		if (!strcmp(word->parts->text.bytes, names[i]))
			return true;
	return false;
}

/* An option that a declaration command is searched for before quote removal (declare -A). */
bool shell_is_raw_option(const struct shell_word *word)
{
	const char *s = word->plain ? word->parts->text.bytes : "";

	if (s[0] != '-' && s[0] != '+')
		return false;
	while (*s && shell_is(*s, CLASS_BARE))
		s++;
	return !*s;
}

static void print_simple(struct printer *p, const struct shell_simple *s,
                         const struct shell_redirect *redirects)
{
	bool declares = shell_is_declaration(s->words);
	const char *space = "";

	for (const struct shell_assign *a = s->assigns; a; a = a->next) {
		put(p, space);
		print_assign(p, a);
		space = " ";
	}
	for (const struct shell_word *w = s->words; w; w = w->next) {
		put(p, space);
		space = " ";
		if (w->assign)
			print_assign(p, w->assign);
		else if ((w == s->words && shell_is_looked_up(w)) ||
		         (declares && shell_is_raw_option(w)))
			put_text(p, &w->parts->text);
		else
			print_word(p, w, PLACE_WORD);
	}
	print_redirects(p, redirects);
}

/* A list inside a compound command, with what separates it from the next reserved word. */
static void print_body(struct printer *p, const struct shell_list *list)
{
	const struct shell_statement *s = list->statements;

	print_list(p, list);
	while (s && s->next)
		s = s->next;
	put(p, s && s->background ? " " : "; ");
}

static void print_clauses(struct printer *p, const struct shell_command *c)
{
	const char *word = c->kind == SHELL_IF      ? "if "
	                   : c->kind == SHELL_WHILE ? "while "
	                                            : "until ";

	for (const struct shell_clause *clause = c->clauses; clause; clause = clause->next) {
		if (clause->condition) {
			put(p, word);
			print_body(p, clause->condition);
			put(p, c->kind == SHELL_IF ? "then " : "do ");
		} else {
			put(p, "else ");
		}
		print_body(p, clause->body);
		word = "elif ";
	}
	put(p, c->kind == SHELL_IF ? "fi" : "done");
}

static void print_loop(struct printer *p, const struct shell_command *c)
{
	put(p, c->kind == SHELL_FOR ? "for " : "select ");
	put_text(p, &c->loop.name);
	if (c->loop.has_in)
		put(p, " in");
	for (const struct shell_word *w = c->loop.words; w; w = w->next) {
		put(p, " ");
		print_word(p, w, PLACE_WORD);
	}
	put(p, "; do ");
	print_body(p, c->loop.body);
	put(p, "done");
}

static void print_arith_loop(struct printer *p, const struct shell_for_arith *loop)
{
	put(p, "for ((");
	if (loop->init)
		print_word(p, loop->init, PLACE_ARITH);
	put(p, ";");
	if (loop->condition)
		print_word(p, loop->condition, PLACE_ARITH);
	put(p, ";");
	if (loop->step)
		print_word(p, loop->step, PLACE_ARITH);
	put(p, ")); do ");
	print_body(p, loop->body);
	put(p, "done");
}

static void print_case(struct printer *p, const struct shell_case *c)
{
	static const char *const ends[] = {[SHELL_CASE_BREAK] = ";; ",
	                                   [SHELL_CASE_FALL] = ";& ",
	                                   [SHELL_CASE_CONTINUE] = ";;& "};

	put(p, "case ");
	print_word(p, c->word, PLACE_WORD);
	put(p, " in ");
	for (const struct shell_case_item *item = c->items; item; item = item->next) {
		put(p, "(");
		for (const struct shell_word *w = item->patterns; w; w = w->next) {
			print_word(p, w, PLACE_WORD);
			put(p, w->next ? "|" : ") ");
		}
		if (item->body->statements) {
			print_list(p, item->body);
			put(p, " ");
		}
		put(p, ends[item->end]);
	}
	put(p, "esac");
}

static void print_test(struct printer *p, const struct shell_test *t)
{
	switch (t->kind) {
	case SHELL_TEST_WORD:
		print_word(p, t->left, PLACE_WORD);
		break;
	case SHELL_TEST_UNARY:
		put_text(p, &t->op);
		put(p, " ");
		print_word(p, t->left, PLACE_WORD);
		break;
	case SHELL_TEST_BINARY:
		print_word(p, t->left, PLACE_WORD);
		put(p, " ");
		put_text(p, &t->op);
		put(p, " ");
		print_word(p, t->right, !strcmp(t->op.bytes, "=~") ? PLACE_REGEX : PLACE_WORD);
		break;
	case SHELL_TEST_NOT:
		put(p, "! ");
		print_test(p, t->a);
		break;
	case SHELL_TEST_GROUP:
		put(p, "( ");
		print_test(p, t->a);
		put(p, " )");
		break;
	case SHELL_TEST_AND:
	case SHELL_TEST_OR:
	default:
		print_test(p, t->a);
		put(p, t->kind == SHELL_TEST_AND ? " && " : " || ");
		print_test(p, t->b);
		break;
	}
}

static void print_named(struct printer *p, const struct shell_command *c)
{
	put(p, c->kind == SHELL_FUNCTION ? "function " : "coproc ");
	if (c->name.bytes) {
		put_text(p, &c->name);
		put(p, c->kind == SHELL_FUNCTION ? " () " : " ");
	}
	print_command(p, c->body);
}

static void print_command(struct printer *p, const struct shell_command *c)
{
	switch (c->kind) {
	case SHELL_SIMPLE:
		print_simple(p, &c->simple, c->redirects);
		return;
	case SHELL_GROUP:
		put(p, "{ ");
		print_body(p, c->list);
		put(p, "}");
		break;
	case SHELL_SUBSHELL:
		put(p, "( ");
		print_list(p, c->list);
		put(p, " )");
		break;
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		print_clauses(p, c);
		break;
	case SHELL_FOR:
	case SHELL_SELECT:
		print_loop(p, c);
		break;
	case SHELL_FOR_ARITH:
		print_arith_loop(p, &c->arith_loop);
		break;
	case SHELL_CASE:
		print_case(p, &c->cases);
		break;
	case SHELL_ARITH:
		put(p, "((");
		print_word(p, c->arith, PLACE_ARITH);
		put(p, "))");
		break;
	case SHELL_TEST:
		put(p, "[[ ");
		print_test(p, c->test);
		put(p, " ]]");
		break;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
	default:
		print_named(p, c);
		break;
	}
	print_redirects(p, c->redirects);
}

static void print_pipeline(struct printer *p, const struct shell_pipeline *pipeline)
{
	static const char *const joins[] = {
		[SHELL_JOIN_FIRST] = "", [SHELL_JOIN_AND] = " && ", [SHELL_JOIN_OR] = " || "};

	put(p, joins[pipeline->join]);
	if (pipeline->timed)
		put(p, pipeline->time_posix ? "time -p " : "time ");
	if (pipeline->negated)
		put(p, "! ");
	if (!pipeline->commands && !pipeline->timed && !pipeline->negated)
		put(p, "! ! ");
	for (const struct shell_command *c = pipeline->commands; c; c = c->next) {
		print_command(p, c);
		if (c->next)
			put(p, c->pipe_stderr ? " |& " : " | ");
	}
}

static void print_list(struct printer *p, const struct shell_list *list)
{
	p->level++;
	for (const struct shell_statement *s = list->statements; s; s = s->next) {
		for (const struct shell_pipeline *q = s->pipelines; q; q = q->next)
			print_pipeline(p, q);
		if (s->background)
			put(p, " &");
		if (s->next && s->newline && p->level == 1)
			flush_later(p);
		else if (s->next)
			put(p, s->background ? " " : "; ");
	}
	p->level--;
}

void shell_print(const struct shell_list *list, struct buffer *out)
{
	struct printer p = {.out = out};

	print_list(&p, list);
	if (p.later.len)
		flush_later(&p);
	if (buffer_error(&p.later) && !out->failed)
		out->failed = buffer_error(&p.later);
	buffer_done(&p.later);
}
