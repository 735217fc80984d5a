/*
 * The text is the one that bash gets: each command on its line of the source, plain words without
 * quotes. It is read once more, by the same reader, for the places of its words. Larger ranges are
 * painted first, so that a word in a substitution is seen inside of the word that has it.
 */
#include "engine/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/number.h"
#include "base/utf8.h"
#include "decide/check.h"
#include "profile/profile.h"
#include "sandbox/layers.h"
#include "shell/facts.h"
#include "shell/print.h"

#define PAINTS_MAX 8192
#define TEXT_MAX   ((size_t)128 << 10)

struct paint {
	uint32_t start, end;
	size_t order;
	enum look_kind kind;
	int finding; /* -1: leave it */
};

struct maker {
	struct arena *arena;
	const struct look_subject *subject;
	struct approval_look *look;
	const char *text; /* that is shown */
	size_t len;
	struct paint *paints;
	size_t paint_count;
	uint8_t *kinds; /* of each byte */
	int8_t *marks;  /* finding of each byte; -1: none */
};

/* The box */

static void add_limit(struct look_box *b, const char *text)
{
	if (text && b->limit_count < LOOK_LIMITS_MAX)
		b->limits[b->limit_count++] = text;
}

void look_at_box(const struct profile *p, struct arena *arena, struct look_box *ret)
{
	const struct sandbox_limits *l = &p->sandbox.limits;
	bool none = p->mode == PROFILE_MODE_NONE;
	char text[32];

	*ret = (struct look_box){
		.tier = sandbox_tier_name(p->sandbox.tier),
		.network = none || p->sandbox.network == SANDBOX_NETWORK_HOST ? "host"
	                   : p->sandbox.network == SANDBOX_NETWORK_NAMES      ? "names"
	                                                                      : "none",
		/* In a container there is no such socket (keeper_ready_clients()). */
		.engine = none || (p->docker.allow && p->mode != PROFILE_MODE_CONTAINER) ? "open"
	                                                                                 : "off"};
	if (l->processes)
		add_limit(ret,
		          arena_printf(arena, "%llu processes", (unsigned long long)l->processes));
	if (l->memory_bytes) {
		number_format_bytes(l->memory_bytes, text);
		add_limit(ret, arena_printf(arena, "%s memory", text));
	}
	if (l->cpu_seconds) {
		number_format_duration((int64_t)l->cpu_seconds * 1000, text);
		add_limit(ret, arena_printf(arena, "%s of processor time", text));
	}
	if (l->file_bytes) {
		number_format_bytes(l->file_bytes, text);
		add_limit(ret, arena_printf(arena, "files of %s", text));
	}
	if (p->timeout.default_ms > 0) {
		number_format_duration(p->timeout.default_ms, text);
		add_limit(ret, arena_printf(arena, "time %s", text));
	}
}

/* Findings */

static const char *clean(struct maker *m, const char *text)
{
	return text ? approval_escaped(m->arena, text, false) : NULL;
}

static int find(struct maker *m, enum look_level level, const char *what, const char *text)
{
	return text ? look_find(m->look, level, what, text) : -1;
}

static bool has_word(const struct shell_fact_command *c, size_t from, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = from; i < c->word_count; i++)
		if (c->words[i].kind == SHELL_VALUE_KNOWN && c->words[i].text.len == n &&
		    memcmp(c->words[i].text.bytes, word, n) == 0)
			return true;
	return false;
}

/* An option with this letter, alone or among others. */
static bool has_letter(const struct shell_fact_command *c, char letter)
{
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_text *t = &c->words[i].text;

		if (c->words[i].kind == SHELL_VALUE_KNOWN && t->len > 1 && t->bytes[0] == '-' &&
		    t->bytes[1] != '-' && memchr(t->bytes, letter, t->len))
			return true;
	}
	return false;
}

static bool is_program(const struct shell_fact_command *c, const char *name)
{
	const struct shell_text *t = c->word_count ? &c->words[0].text : NULL;
	const char *base;
	size_t n = strlen(name);

	if (!t || c->words[0].kind != SHELL_VALUE_KNOWN || t->len < n)
		return false;
	base = t->bytes + t->len - n;
	return memcmp(base, name, n) == 0 && (base == t->bytes || base[-1] == '/');
}

/* What people regret most: it cannot be taken back. */
static int find_loss(struct maker *m, const struct shell_fact_command *c)
{
	bool push = is_program(c, "git") && has_word(c, 1, "push");

	if (push && (has_word(c, 1, "--force") || has_letter(c, 'f') || has_word(c, 1, "--mirror")))
		return find(m, LOOK_HIGH, "rewrites",
		            "git push --force replaces what others have pushed");
	if (push && (has_word(c, 1, "--delete") || has_word(c, 1, "-d")))
		return find(m, LOOK_HIGH, "deletes", "git push --delete removes it for everybody");
	if (is_program(c, "git") && has_word(c, 1, "reset") && has_word(c, 1, "--hard"))
		return find(m, LOOK_HIGH, "discards",
		            "git reset --hard drops changes that are not committed");
	if (is_program(c, "git") && has_word(c, 1, "clean") && has_letter(c, 'f'))
		return find(m, LOOK_HIGH, "deletes",
		            "git clean removes files that are in no commit");
	if (is_program(c, "rm") &&
	    (has_letter(c, 'r') || has_letter(c, 'R') || has_word(c, 1, "--recursive")))
		return find(m, LOOK_HIGH, "deletes", "rm -r removes whole directories for good");
	if (is_program(c, "dd") || is_program(c, "shred") || is_program(c, "mkfs"))
		return find(m, LOOK_HIGH, "overwrites", "it overwrites what was there");
	return -1;
}

static enum look_level level_of(const struct maker *m, const char *effect)
{
	const struct profile *p = m->subject->profile;
	bool boxed = p->mode != PROFILE_MODE_NONE;

	if (strcmp(effect, "priv") == 0)
		return LOOK_HIGH;
	if (strcmp(effect, "network") == 0)
		return boxed && p->sandbox.network == SANDBOX_NETWORK_NONE ? LOOK_LOW : LOOK_MEDIUM;
	if (strcmp(effect, "exec") == 0)
		return boxed ? LOOK_LOW : LOOK_MEDIUM;
	if (strcmp(effect, "write") == 0 || strcmp(effect, "read-outside") == 0)
		return boxed ? LOOK_LOW : LOOK_MEDIUM;
	return LOOK_LOW;
}

static const char *word_of(const char *effect)
{
	static const char *const words[][2] = {{"priv", "system"},        {"network", "network"},
	                                       {"exec", "runs code"},     {"write", "writes"},
	                                       {"read-outside", "reads"}, {"hang", "waits"}};

	for (size_t i = 0; i < array_size(words); i++)
		if (strcmp(effect, words[i][0]) == 0)
			return words[i][1];
	return effect;
}

/* What one command does beyond what its name says. */
static int find_effects(struct maker *m, const struct shell_fact_command *c)
{
	int worst = -1;

	for (size_t i = 0; i < c->does_count; i++) {
		const struct shell_fact_does *d = &c->does[i];
		const char *name = c->word_count ? clean(m, c->words[0].text.bytes) : "it";
		int found;

		if (strcmp(d->effect, "safe") == 0 || !d->note)
			continue;
		found = find(m, level_of(m, d->effect), word_of(d->effect),
		             arena_printf(m->arena, "%s%s: %s", name ? name : "it",
		                          d->maybe ? ", perhaps" : "", d->note));
		if (found >= 0 &&
		    (worst < 0 || m->look->findings[found].level > m->look->findings[worst].level))
			worst = found;
	}
	return worst;
}

static void find_of_line(struct maker *m)
{
	const struct check *c = m->subject->check;
	const struct profile *p = m->subject->profile;

	if (p->mode == PROFILE_MODE_NONE)
		find(m, LOOK_HIGH, "no sandbox", "it runs with all the rights of this user");
	if (c->is_client && c->reaches_engine)
		find(m, LOOK_HIGH, "containers",
		     "the container engine can change everything on this machine");
	if (c->facts->tree->hidden)
		find(m, LOOK_HIGH, "hidden", "it has characters that cannot be seen");
	if (c->facts->status == SHELL_FACTS_OPAQUE || c->facts->status == SHELL_FACTS_UNSUPPORTED)
		find(m, p->mode == PROFILE_MODE_NONE ? LOOK_HIGH : LOOK_MEDIUM, "not known",
		     "not all of what it runs can be known before it runs");
	for (size_t i = 0; i < c->facts->effect_count; i++)
		if (c->facts->effects[i].opaque && c->facts->effects[i].why)
			find(m, LOOK_MEDIUM, "not known", clean(m, c->facts->effects[i].why));
	if (m->subject->terminal)
		find(m, LOOK_MEDIUM, "terminal", APPROVAL_TERMINAL_TEXT);
	if (m->subject->unseen_input)
		find(m, LOOK_MEDIUM, "input", "it reads an input that nobody has looked at");
}

/* Paint */

static void paint(struct maker *m, uint32_t start, uint32_t end, enum look_kind kind, int finding)
{
	if (start >= end || end > m->len || m->paint_count == PAINTS_MAX)
		return;
	m->paints[m->paint_count] = (struct paint){start, end, m->paint_count, kind, finding};
	m->paint_count++;
}

/* Whether the word stands there as it is, with or without quotes; what a wrapper makes of a string
 * has the place of the string. */
static bool is_written(const struct maker *m, const struct shell_fact_word *w)
{
	size_t n = w->range.end - w->range.start;
	const char *at = m->text + w->range.start;

	if (w->range.end > m->len || w->range.start >= w->range.end)
		return false;
	if (w->kind != SHELL_VALUE_KNOWN)
		return w->node != NULL;
	if (n == w->text.len && memcmp(at, w->text.bytes, n) == 0)
		return true;
	return n == w->text.len + 2 && (*at == '\'' || *at == '"') &&
	       memcmp(at + 1, w->text.bytes, w->text.len) == 0;
}

static enum look_kind kind_of_word(const struct maker *m, const struct shell_fact_word *w)
{
	char first = m->text[w->range.start];

	if (w->kind != SHELL_VALUE_KNOWN)
		return LOOK_VARIABLE;
	if (first == '\'' || first == '"')
		return LOOK_STRING;
	if (first == '-')
		return LOOK_OPTION;
	return memchr(w->text.bytes, '/', w->text.len) ? LOOK_PATH : LOOK_WORD;
}

static void paint_command(struct maker *m, const struct shell_fact_command *c, int finding)
{
	for (size_t i = 0; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];

		if (w->range.end > m->len || w->range.start >= w->range.end)
			continue;
		if (is_written(m, w))
			paint(m, w->range.start, w->range.end,
			      i == 0 ? LOOK_PROGRAM : kind_of_word(m, w), i == 0 ? finding : -1);
		else if (w->node && !c->via[0])
			paint(m, w->range.start, w->range.end, i == 0 ? LOOK_PROGRAM : LOOK_STRING,
			      i == 0 ? finding : -1);
		/* The options that make it what it is. */
		if (i > 0 && finding >= 0 && m->look->findings[finding].level == LOOK_HIGH &&
		    is_written(m, w) && m->text[w->range.start] == '-')
			paint(m, w->range.start, w->range.end, LOOK_OPTION, finding);
	}
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_fact_word *w = &c->redirects[i].target;

		if (!c->redirects[i].heredoc && w->range.end <= m->len &&
		    w->range.start < w->range.end)
			paint(m, w->range.start, w->range.end, LOOK_REDIRECT, -1);
	}
	for (size_t i = 0; i < c->assign_count; i++) {
		const struct shell_fact_assign *a = &c->assigns[i];
		uint32_t n = (uint32_t)a->name.len + 1 + a->append;

		if (a->value.range.start >= n && a->value.range.end <= m->len)
			paint(m, a->value.range.start - n, a->value.range.end, LOOK_VARIABLE, -1);
	}
}

static int by_size(const void *a, const void *b)
{
	const struct paint *x = a, *y = b;
	uint32_t n = x->end - x->start, k = y->end - y->start;

	return n != k ? (n < k) - (n > k) : (x->order > y->order) - (x->order < y->order);
}

/* What no word has: operators, blanks, and words of the grammar. */
static void paint_rest(struct maker *m)
{
	for (size_t i = 0; i < m->len; i++) {
		char c = m->text[i];

		m->kinds[i] = c == ' ' || c == '\t' || c == '\n' ? LOOK_SPACE
		              : c == '<' || c == '>'             ? LOOK_REDIRECT
		              : strchr("|&;(){}!", c)            ? LOOK_OPERATOR
		                                                 : LOOK_KEYWORD;
		m->marks[i] = -1;
	}
	qsort(m->paints, m->paint_count, sizeof(*m->paints), by_size);
	for (size_t i = 0; i < m->paint_count; i++)
		for (uint32_t at = m->paints[i].start; at < m->paints[i].end; at++) {
			m->kinds[at] = (uint8_t)m->paints[i].kind;
			if (m->paints[i].finding >= 0)
				m->marks[at] = (int8_t)m->paints[i].finding;
		}
}

/* Pieces: runs of bytes that look alike. A character that cannot be seen is one of its own. */
static int cut(struct maker *m)
{
	struct look_piece *pieces = arena_new_array(m->arena, struct look_piece, LOOK_PIECES_MAX);
	size_t count = 0, n;
	uint32_t code;

	if (!pieces)
		return -1;
	for (size_t at = 0, end; at < m->len; at = end) {
		struct look_piece *p = &pieces[count];
		bool hidden;

		if (count++ == LOOK_PIECES_MAX)
			return -1;
		n = utf8_char(m->text + at, m->len - at, &code);
		hidden = !n || (utf8_is_hidden(code) && code != '\n');
		end = at + (n ? n : 1);
		while (!hidden && end < m->len && m->kinds[end] == m->kinds[at] &&
		       m->marks[end] == m->marks[at]) {
			n = utf8_char(m->text + end, m->len - end, &code);
			if (!n || (utf8_is_hidden(code) && code != '\n'))
				break;
			end += n;
		}
		*p = (struct look_piece){.kind = hidden ? LOOK_HIDDEN
		                                        : (enum look_kind)m->kinds[at],
		                         .finding = m->marks[at]};
		{
			scoped(buffer_donep) struct buffer shown = {0};

			approval_escape(m->text + at, end - at, true, &shown);
			p->text = arena_strndup(m->arena, buffer_str(&shown), shown.len);
		}
		if (!p->text)
			return -1;
	}
	m->look->pieces = pieces;
	m->look->piece_count = count;
	return 0;
}

/* The text that bash gets, and what is in it; false: only as it was asked for. */
static bool print_text(struct maker *m, struct shell_facts **ret_facts)
{
	const struct shell_parse_options options = {.allow_control = true};
	const struct shell_facts *was = m->subject->check->facts;
	scoped(buffer_donep) struct buffer text = {.max = TEXT_MAX};

	if (!was->tree->list || was->changes_reading)
		return false;
	shell_print_lines(was->tree, &text);
	if (buffer_error(&text) < 0 ||
	    shell_facts_read(m->arena, buffer_str(&text), text.len, &options, ret_facts) < 0 ||
	    !(*ret_facts)->tree->list)
		return false;
	m->text = arena_strndup(m->arena, buffer_str(&text), text.len);
	m->len = text.len;
	return m->text != NULL;
}

static void make_pieces(struct maker *m)
{
	const struct check *c = m->subject->check;
	struct shell_facts *facts = NULL;
	bool known = print_text(m, &facts);

	if (!known) {
		m->text = c->facts->tree->text.bytes;
		m->len = c->facts->tree->text.len;
	}
	if (!m->text || m->len > TEXT_MAX)
		return;
	m->paints = arena_new_array(m->arena, struct paint, PAINTS_MAX);
	m->kinds = arena_alloc(m->arena, m->len + 1);
	m->marks = arena_alloc(m->arena, m->len + 1);
	if (!m->paints || !m->kinds || !m->marks)
		return;
	for (size_t i = 0; known && i < facts->command_count; i++) {
		int effects = find_effects(m, &facts->commands[i]);
		int loss = find_loss(m, &facts->commands[i]);

		paint_command(m, &facts->commands[i],
		              loss >= 0 ? loss
		              : effects >= 0 && m->look->findings[effects].level > LOOK_LOW
		                      ? effects
		                      : -1);
	}
	paint_rest(m);
	if (!known)
		memset(m->kinds, LOOK_TEXT, m->len);
	(void)cut(m);
}

/* Those that stand in the line themselves. */
static size_t count_commands(const struct shell_facts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->command_count; i++)
		n += !f->commands[i].via[0] && f->commands[i].kind != SHELL_KIND_NONE;
	return n;
}

struct approval_look *look_make(struct arena *arena, const struct look_subject *s)
{
	struct approval_look *l = arena_new_object(arena, struct approval_look);
	struct maker m = {.arena = arena, .subject = s, .look = l};
	struct look_box box;

	if (!l)
		return NULL;
	l->command_count = count_commands(s->check->facts);
	find_of_line(&m);
	make_pieces(&m);
	look_at_box(s->profile, arena, &box);
	memcpy(l->limits, box.limits, sizeof(l->limits));
	l->limit_count = box.limit_count;
	return l;
}
