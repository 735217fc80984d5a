/*
 * The facts about a line, for a person: the line with marks below the commands and the unknown
 * parts, a tree of what runs what, and the effects.
 *
 * The line is hostile. Every character that is invisible or would move the cursor is shown by its
 * number, and marks are placed by columns, not bytes, so what is marked is what the reader sees.
 */
#include "cli/analyse-text.h"

#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "shell/facts.h"

/* One character for a terminal: what is invisible or would move the cursor is shown by its number.
 * Returns the bytes taken; *ret_columns is how wide it is. */
static size_t show_char(struct buffer *out, const char *bytes, size_t n, size_t *ret_columns)
{
	size_t before = out->len, len;
	uint32_t code = 0;

	len = utf8_char(bytes, n, &code);
	if (len && !utf8_is_hidden(code)) {
		buffer_append(out, bytes, len);
		*ret_columns = 1;
		return len;
	}
	if (!len || code < 0x80)
		buffer_printf(out, "\\x%02x", (unsigned char)bytes[0]);
	else
		buffer_printf(out, "\\u%04x", code);
	*ret_columns = out->len - before;
	return len ? len : 1;
}

static void show_text(struct buffer *out, struct shell_text t)
{
	size_t columns;

	for (size_t i = 0; i < t.len;)
		i += show_char(out, t.bytes + i, t.len - i, &columns);
}

/* The source, underlined */

static void mark(char *marks, size_t n, struct shell_range range, char with)
{
	for (size_t i = range.start; i < range.end && i < n; i++)
		marks[i] = with;
}

/* Names of commands are underlined with -, unknown words with ~, reasons for doubt with ^. */
static void mark_all(const struct shell_facts *f, char *marks, size_t n)
{
	for (size_t i = 0; i < f->command_count; i++)
		if (f->commands[i].word_count && f->commands[i].words[0].node)
			mark(marks, n, f->commands[i].words[0].range, '-');
	for (size_t i = 0; i < f->command_count; i++) {
		const struct shell_fact_command *c = &f->commands[i];

		for (size_t k = 0; k < c->word_count; k++)
			if (c->words[k].kind != SHELL_VALUE_KNOWN && c->words[k].node)
				mark(marks, n, c->words[k].range, '~');
	}
	for (size_t i = 0; i < f->effect_count; i++)
		if (f->effects[i].opaque && f->effects[i].range.end - f->effects[i].range.start < n)
			mark(marks, n, f->effects[i].range, '^');
	if (!f->tree->list) {
		mark(marks, n, f->tree->at, '^');
		if (f->tree->at.start == f->tree->at.end && f->tree->at.start <= n)
			marks[f->tree->at.start] = '^';
	}
}

static void show_line(struct buffer *out, struct shell_text line, const char *marks, bool at_end)
{
	scoped(buffer_donep) struct buffer under = {0};
	size_t columns, last = 0;

	buffer_puts(out, "  ");
	for (size_t i = 0; i < line.len;) {
		char m = ' ';

		if (marks[i])
			m = marks[i];
		i += show_char(out, line.bytes + i, line.len - i, &columns);
		for (size_t k = 0; k < columns; k++)
			buffer_putc(&under, m);
		if (m != ' ')
			last = under.len;
	}
	if (at_end && marks[line.len]) {
		buffer_putc(&under, marks[line.len]);
		last = under.len;
	}
	buffer_putc(out, '\n');
	if (last) {
		buffer_puts(out, "  ");
		buffer_append(out, buffer_str(&under), last);
		buffer_putc(out, '\n');
	}
}

static void show_source(const struct shell_facts *f, struct buffer *out)
{
	struct shell_text text = f->tree->text;
	scoped(freep) char *marks = calloc(1, text.len + 2);
	size_t start = 0;

	if (!marks)
		return;
	mark_all(f, marks, text.len);
	for (size_t i = 0; i <= text.len; i++) {
		if (i < text.len && text.bytes[i] != '\n')
			continue;
		if (i > start || i < text.len || marks[i])
			show_line(out, (struct shell_text){text.bytes + start, i - start},
			          marks + start, i == text.len);
		start = i + 1;
	}
}

/* The tree */

struct node {
	const char *label; /* a step of via; NULL: a command */
	size_t label_len;
	const struct shell_fact_command *command;
	size_t first, last, next; /* indices; 0: none */
};

struct forest {
	struct node *nodes; /* 0 is the root */
	size_t count, capacity;
};

static size_t add_node(struct forest *t, size_t parent, struct node n)
{
	if (t->count == t->capacity) {
		size_t capacity = t->capacity * 2 + 64;
		struct node *grown = reallocarray(t->nodes, capacity, sizeof(*grown));

		if (!grown)
			return 0;
		t->nodes = grown;
		t->capacity = capacity;
	}
	t->nodes[t->count] = n;
	if (t->count) {
		if (t->nodes[parent].last)
			t->nodes[t->nodes[parent].last].next = t->count;
		else
			t->nodes[parent].first = t->count;
		t->nodes[parent].last = t->count;
	}
	return t->count++;
}

static void add_command(struct forest *t, const struct shell_fact_command *c)
{
	const char *step = c->via;
	size_t at = 0;

	while (*step) {
		size_t n = strcspn(step, "/"), last = t->nodes[at].last;

		/* A function or program name may hold slashes of its own. */
		if (strncmp(step, "func:", 5) == 0 && step[n])
			n += strcspn(step + n + 1, "/") + 1;
		if (last && t->nodes[last].label && t->nodes[last].label_len == n &&
		    memcmp(t->nodes[last].label, step, n) == 0)
			at = last;
		else
			at = add_node(t, at, (struct node){.label = step, .label_len = n});
		step += n + (step[n] == '/');
	}
	add_node(t, at, (struct node){.command = c});
}

static bool needs_quotes(struct shell_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		            "_./:,+%@=-",
		            t.bytes[i]))
			return (unsigned char)t.bytes[i] < 0x80;
	return !t.len;
}

static void show_word(struct buffer *out, const struct shell_fact_word *w)
{
	if (w->kind == SHELL_VALUE_KNOWN) {
		bool quoted = needs_quotes(w->text);

		buffer_puts(out, quoted ? "'" : "");
		show_text(out, w->text);
		buffer_puts(out, quoted ? "'" : "");
		return;
	}
	buffer_puts(out, "<");
	show_text(out, w->kind == SHELL_VALUE_GLOB ? w->pattern : w->text);
	if (w->kind == SHELL_VALUE_ONE)
		buffer_puts(out, w->text.len ? "...>" : "unknown>");
	else if (w->kind == SHELL_VALUE_MANY)
		buffer_puts(out, w->text.len ? "... any words>" : "any words>");
	else
		buffer_puts(out, ">");
}

static void show_redirect(struct buffer *out, const struct shell_fact_redirect *r)
{
	buffer_putc(out, ' ');
	if (r->variable.bytes)
		buffer_printf(out, "{%s}", r->variable.bytes);
	else if (r->fd >= 0 && !(r->fd == 0 && r->op[0] == '<') && !(r->fd == 1 && r->op[0] == '>'))
		buffer_printf(out, "%d", r->fd);
	buffer_puts(out, r->op);
	if (r->heredoc)
		show_text(out, r->delimiter);
	else
		show_word(out, &r->target);
}

static void show_command(struct buffer *out, const struct shell_fact_command *c)
{
	const char *space = "";

	for (size_t i = 0; i < c->assign_count; i++, space = " ") {
		buffer_puts(out, space);
		show_text(out, c->assigns[i].name);
		buffer_puts(out, c->assigns[i].append ? "+=" : "=");
		show_word(out, &c->assigns[i].value);
	}
	for (size_t i = 0; i < c->word_count; i++, space = " ") {
		buffer_puts(out, space);
		show_word(out, &c->words[i]);
	}
	for (size_t i = 0; i < c->redirect_count; i++)
		show_redirect(out, &c->redirects[i]);
	if (c->kind != SHELL_KIND_EXTERNAL && c->kind != SHELL_KIND_NONE)
		buffer_printf(out, "  (%s)", shell_kind_name(c->kind));
}

static void show_node(struct buffer *out, const struct forest *t, size_t at, struct buffer *indent)
{
	const struct node *n = &t->nodes[at];
	size_t before = indent->len;

	if (at) {
		buffer_printf(out, "  %s%s ", buffer_str(indent), n->next ? "├─" : "└─");
		if (n->label)
			show_text(out, (struct shell_text){n->label, n->label_len});
		else
			show_command(out, n->command);
		buffer_putc(out, '\n');
		buffer_puts(indent, n->next ? "│  " : "   ");
		for (size_t i = 0; n->command && i < n->command->does_count; i++) {
			const struct shell_fact_does *d = &n->command->does[i];

			buffer_printf(out, "  %s  %s%s, by %s: %s\n", buffer_str(indent),
			              d->maybe ? "maybe " : "", d->effect, d->by, d->note);
		}
	}
	for (size_t child = n->first; child; child = t->nodes[child].next)
		show_node(out, t, child, indent);
	indent->len = before;
	if (indent->data)
		indent->data[before] = '\0';
}

static void show_tree(const struct shell_facts *f, struct buffer *out)
{
	scoped(buffer_donep) struct buffer indent = {0};
	struct forest t = {0};

	add_node(&t, 0, (struct node){.label = ""});
	for (size_t i = 0; t.nodes && i < f->command_count; i++)
		add_command(&t, &f->commands[i]);
	if (t.nodes)
		show_node(out, &t, 0, &indent);
	free(t.nodes);
}

static void show_effects(const struct shell_facts *f, struct buffer *out)
{
	if (!f->effect_count)
		return;
	buffer_puts(out, "\neffects\n");
	for (size_t i = 0; i < f->effect_count; i++) {
		const struct shell_fact_effect *e = &f->effects[i];

		buffer_puts(out, e->opaque ? "  ! " : "    ");
		show_text(out, (struct shell_text){e->text, strlen(e->text)});
		if (e->why)
			buffer_printf(out, ": %s", e->why);
		buffer_putc(out, '\n');
	}
}

void analyse_print(const struct shell_facts *f, struct buffer *out)
{
	static const char *const meanings[] = {
		[SHELL_FACTS_STATIC] = "every word is known",
		[SHELL_FACTS_DYNAMIC] = "every command is known, some arguments are not",
		[SHELL_FACTS_OPAQUE] = "some commands cannot be known before the line runs",
		[SHELL_FACTS_UNSUPPORTED] = "nacre cannot analyse this",
		[SHELL_FACTS_ERROR] = "bash refuses it",
	};

	buffer_printf(out, "%s: %s\n\n", shell_facts_status_name(f->status), meanings[f->status]);
	show_source(f, out);
	if (!f->tree->list) {
		buffer_printf(out, "\n%s", f->tree->message);
		if (f->tree->token.len) {
			buffer_puts(out, ": ");
			show_text(out, f->tree->token);
		}
		buffer_putc(out, '\n');
	}
	if (f->command_count) {
		buffer_puts(out, "\ncommands\n");
		show_tree(f, out);
	}
	show_effects(f, out);
}
