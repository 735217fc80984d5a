/*
 * Printing commands.
 *
 * Names of builtins that bash looks up before quote removal (export, test ...) stay as they were
 * written. Bodies of here-documents wait in printer->later until the next newline; they are printed
 * first, so that the delimiter can be one that is not in them.
 */
#include "shell/print.h"

#include <stdio.h>
#include <string.h>

#include "shell/printer.h"
#include "shell/reader.h"

static void print_command(struct printer *p, const struct shell_command *c);

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
	struct printer inner = {.out = &body, .level = 1, .in_heredoc = true, .in_body = true};
	char delimiter[24] = "EOF";

	if (d->body && d->expand)
		printer_word(&inner, d->body, PLACE_HEREDOC);
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
	size_t n;

	if (!part || part->next || part->kind != SHELL_PART_LITERAL || !part->text.len)
		return false;
	n = strspn(part->text.bytes, "0123456789");
	n += part->text.bytes[n] == '-';
	return n == part->text.len;
}

static void print_redirect(struct printer *p, const struct shell_redirect *d)
{
	printer_put(p, " ");
	if (d->op != SHELL_REDIRECT_HEREDOC)
		printer_reach(p, d->range.start, false);
	if (d->fd_variable.bytes)
		buffer_printf(p->out, "{%s}", d->fd_variable.bytes);
	else if (d->fd >= 0)
		buffer_printf(p->out, "%d", d->fd);
	if (d->op == SHELL_REDIRECT_HEREDOC) {
		print_heredoc(p, d);
		return;
	}
	printer_put(p, d->written_dup ? ">&" : shell_redirect_name(d));
	if ((d->op == SHELL_REDIRECT_DUP_IN || d->op == SHELL_REDIRECT_DUP_OUT) &&
	    is_descriptor(d->target)) {
		printer_text(p, &d->target->parts->text);
		return;
	}
	printer_put(p, " ");
	printer_word(p, d->target, PLACE_WORD);
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

/* A name that must not stand without quotes in front: redirections that stood there are gone. */
static bool is_reserved(const struct shell_word *word)
{
	static const char *const names[] = {
		"!",  "[[",  "]]", "case", "coproc", "do",       "done", "elif", "else",  "esac",
		"fi", "for", "if", "in",   "select", "function", "then", "time", "until", "while"};

	if (!word->plain)
		return false;
	for (size_t i = 0; i < array_size(names); i++)
		if (!strcmp(word->parts->text.bytes, names[i]))
			return true;
	return strchr(word->parts->text.bytes, '=') != NULL;
}

/*
 * The first word. bash forks for %1 & unless the % is written without quotes: then it is a job that
 * goes on in the background.
 */
static void print_name(struct printer *p, const struct shell_word *word)
{
	struct shell_part first;
	struct shell_word rest = *word;
	bool bare = p->bare;

	if (shell_is_looked_up(word)) {
		printer_text(p, &word->parts->text);
		return;
	}
	p->bare = bare && !is_reserved(word);
	if (!word->from_braces && word->parts && word->parts->kind == SHELL_PART_LITERAL &&
	    word->parts->quote == SHELL_QUOTE_NONE && word->parts->text.bytes[0] == '%') {
		printer_put(p, "%");
		first = *word->parts;
		first.text.bytes++;
		first.text.len--;
		rest.parts = first.text.len ? &first : first.next;
		p->bare = false;
	}
	printer_word(p, &rest, PLACE_WORD);
	p->bare = bare;
}

static void print_simple(struct printer *p, const struct shell_simple *s,
                         const struct shell_redirect *redirects)
{
	bool declares = shell_is_declaration(s->words);
	const char *space = "";

	if (!s->assigns && !s->words && !redirects) /* all words were braces that gave nothing */
		printer_put(p, "{,}");
	for (const struct shell_assign *a = s->assigns; a; a = a->next) {
		printer_put(p, space);
		printer_reach(p, a->range.start, false);
		printer_assign(p, a);
		space = " ";
	}
	for (const struct shell_word *w = s->words; w; w = w->next) {
		printer_put(p, space);
		printer_reach(p, w->range.start, false);
		space = " ";
		if (w->assign)
			printer_assign(p, w->assign);
		else if (w == s->words)
			print_name(p, w);
		else if (declares && shell_is_raw_option(w))
			printer_text(p, &w->parts->text);
		else
			printer_word(p, w, PLACE_WORD);
	}
	print_redirects(p, redirects);
}

/* A list inside a compound command, with what separates it from the next reserved word, which
 * stands in front of AT. */
static void print_body(struct printer *p, const struct shell_list *list, uint32_t at)
{
	const struct shell_statement *s = list->statements;

	printer_list(p, list);
	while (s && s->next)
		s = s->next;
	if (p->lines || (p->source && p->later.len && printer_is_behind(p, at)))
		printer_flush(p);
	else
		printer_put(p, s && s->background ? " " : "; ");
}

static void print_clauses(struct printer *p, const struct shell_command *c)
{
	const char *word = c->kind == SHELL_IF      ? "if "
	                   : c->kind == SHELL_WHILE ? "while "
	                                            : "until ";

	for (const struct shell_clause *clause = c->clauses; clause; clause = clause->next) {
		if (clause->condition) {
			printer_put(p, word);
			print_body(p, clause->condition, clause->body->range.start);
			printer_put(p, c->kind == SHELL_IF ? "then " : "do ");
		} else {
			printer_put(p, "else ");
		}
		print_body(p, clause->body,
		           clause->next ? clause->next->range.start : c->range.end);
		word = "elif ";
	}
	printer_put(p, c->kind == SHELL_IF ? "fi" : "done");
}

static void print_loop(struct printer *p, const struct shell_command *c)
{
	printer_put(p, c->kind == SHELL_FOR ? "for " : "select ");
	printer_text(p, &c->loop.name);
	if (c->loop.has_in)
		printer_put(p, " in");
	for (const struct shell_word *w = c->loop.words; w; w = w->next) {
		printer_put(p, " ");
		printer_word(p, w, PLACE_WORD);
	}
	printer_put(p, "; do ");
	print_body(p, c->loop.body, c->range.end);
	printer_put(p, "done");
}

static void print_arith_loop(struct printer *p, const struct shell_for_arith *loop, uint32_t end)
{
	printer_put(p, "for ((");
	if (loop->init)
		printer_word(p, loop->init, PLACE_ARITH);
	printer_put(p, ";");
	if (loop->condition)
		printer_word(p, loop->condition, PLACE_ARITH);
	printer_put(p, ";");
	if (loop->step)
		printer_word(p, loop->step, PLACE_ARITH);
	printer_put(p, ")); do ");
	print_body(p, loop->body, end);
	printer_put(p, "done");
}

static void print_case(struct printer *p, const struct shell_case *c)
{
	static const char *const ends[] = {[SHELL_CASE_BREAK] = ";; ",
	                                   [SHELL_CASE_FALL] = ";& ",
	                                   [SHELL_CASE_CONTINUE] = ";;& "};
	bool bare = p->bare;

	printer_put(p, "case ");
	printer_word(p, c->word, PLACE_WORD);
	printer_put(p, " in ");
	for (const struct shell_case_item *item = c->items; item; item = item->next) {
		printer_put(p, "(");
		p->bare = false; /* esac */
		for (const struct shell_word *w = item->patterns; w; w = w->next) {
			printer_word(p, w, PLACE_WORD);
			printer_put(p, w->next ? "|" : ") ");
		}
		p->bare = bare;
		if (item->body->statements) {
			printer_closed_list(p, item->body);
			printer_close(p, item->range.end);
			printer_put(p, " ");
		}
		printer_put(p, ends[item->end]);
	}
	printer_put(p, "esac");
}

static void print_test(struct printer *p, const struct shell_test *t)
{
	switch (t->kind) {
	case SHELL_TEST_WORD:
		printer_word(p, t->left, PLACE_WORD);
		break;
	case SHELL_TEST_UNARY:
		printer_text(p, &t->op);
		printer_put(p, " ");
		if (!strcmp(t->op.bytes, "-v"))
			printer_reference(p, t->left);
		else
			printer_word(p, t->left, PLACE_WORD);
		break;
	case SHELL_TEST_BINARY:
		printer_word(p, t->left, PLACE_WORD);
		printer_put(p, " ");
		printer_text(p, &t->op);
		printer_put(p, " ");
		printer_word(p, t->right, !strcmp(t->op.bytes, "=~") ? PLACE_REGEX : PLACE_WORD);
		break;
	case SHELL_TEST_NOT:
		printer_put(p, "! ");
		print_test(p, t->a);
		break;
	case SHELL_TEST_GROUP:
		printer_put(p, "( ");
		print_test(p, t->a);
		printer_put(p, " )");
		break;
	case SHELL_TEST_AND:
	case SHELL_TEST_OR:
	default:
		print_test(p, t->a);
		printer_put(p, t->kind == SHELL_TEST_AND ? " && " : " || ");
		print_test(p, t->b);
		break;
	}
}

static void print_named(struct printer *p, const struct shell_command *c)
{
	bool bare = p->bare;

	printer_put(p, c->kind == SHELL_FUNCTION ? "function " : "coproc ");
	if (c->name.bytes) {
		printer_text(p, &c->name);
		printer_put(p, c->kind == SHELL_FUNCTION ? " () " : " ");
	}
	/* coproc NAME WORD: with some words the first would be the name of the coprocess. */
	p->bare = bare && c->kind != SHELL_COPROC;
	print_command(p, c->body);
	p->bare = bare;
}

static void print_command(struct printer *p, const struct shell_command *c)
{
	bool bare = p->bare;

	switch (c->kind) {
	case SHELL_SIMPLE:
		print_simple(p, &c->simple, c->redirects);
		return;
	case SHELL_GROUP:
		printer_put(p, "{ ");
		print_body(p, c->list, c->range.end);
		printer_put(p, "}");
		break;
	case SHELL_SUBSHELL:
		printer_put(p, "( ");
		printer_closed_list(p, c->list);
		printer_close(p, c->range.end);
		printer_put(p, " )");
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
		print_arith_loop(p, &c->arith_loop, c->range.end);
		break;
	case SHELL_CASE:
		print_case(p, &c->cases);
		break;
	case SHELL_ARITH:
		printer_put(p, "((");
		printer_word(p, c->arith, PLACE_ARITH);
		printer_put(p, "))");
		break;
	case SHELL_TEST:
		printer_put(p, "[[ ");
		p->bare = false; /* its operators are words */
		print_test(p, c->test);
		p->bare = bare;
		printer_put(p, " ]]");
		break;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
	default:
		print_named(p, c);
		break;
	}
	print_redirects(p, c->redirects);
}

/* NEWLINE: one may stand in front of it. */
static void print_pipeline(struct printer *p, const struct shell_pipeline *pipeline, bool newline)
{
	static const char *const joins[] = {
		[SHELL_JOIN_FIRST] = "", [SHELL_JOIN_AND] = " && ", [SHELL_JOIN_OR] = " || "};

	printer_put(p, joins[pipeline->join]);
	printer_reach(p, pipeline->range.start, newline);
	if (pipeline->negated && pipeline->negated_first)
		printer_put(p, "! ");
	if (pipeline->timed)
		printer_put(p, pipeline->time_posix ? "time -p " : "time ");
	if (pipeline->negated && !pipeline->negated_first)
		printer_put(p, "! ");
	if (!pipeline->commands && !pipeline->timed && !pipeline->negated)
		printer_put(p, "! ! ");
	for (const struct shell_command *c = pipeline->commands; c; c = c->next) {
		print_command(p, c);
		if (!c->next)
			break;
		printer_put(p, c->pipe_stderr ? " |& " : " | ");
		printer_reach(p, c->next->range.start, true);
	}
}

/*
 * Whether the last line of the list is nothing but < FILE. As the last line of a substitution bash
 * takes it for $(< FILE), whatever lines stand before it; behind a ; it does not.
 */
static bool is_last_input(const struct shell_statement *s)
{
	const struct shell_command *c = s->pipelines->commands;

	return !s->next && !s->pipelines->next && c && !c->next && c->kind == SHELL_SIMPLE &&
	       !c->simple.words && !c->simple.assigns && c->redirects &&
	       c->redirects->op == SHELL_REDIRECT_IN;
}

void printer_list(struct printer *p, const struct shell_list *list)
{
	bool newline = true;

	p->level++;
	for (const struct shell_statement *s = list->statements; s; s = s->next) {
		for (const struct shell_pipeline *q = s->pipelines; q; q = q->next)
			print_pipeline(p, q, newline || q != s->pipelines);
		newline = p->lines || s->newline;
		if (s->background)
			printer_put(p, " &");
		if (s->next && (p->lines || (s->newline && (p->source || p->level == 1 ||
		                                            is_last_input(s->next)))))
			printer_flush(p);
		else if (s->next)
			printer_put(p, s->background ? " " : "; ");
	}
	p->level--;
}

/* A list in front of a closing parenthesis or ;;, where a lone ! or time needs an end of its own.
 */
void printer_closed_list(struct printer *p, const struct shell_list *list)
{
	const struct shell_statement *s = list->statements;
	const struct shell_pipeline *q;

	printer_list(p, list);
	while (s && s->next)
		s = s->next;
	for (q = s && !s->background ? s->pipelines : NULL; q && q->next;)
		q = q->next;
	if (p->lines && p->later.len)
		printer_flush(p);
	else if (q && !q->commands)
		printer_put(p, ";");
}

void shell_print(const struct shell_list *list, struct buffer *out)
{
	struct printer p = {.out = out};

	printer_list(&p, list);
	if (p.later.len)
		printer_flush(&p);
	if (buffer_error(&p.later) && !out->failed)
		out->failed = buffer_error(&p.later);
	buffer_done(&p.later);
}
