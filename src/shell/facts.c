/*
 * The collector of one analysis: the lists of commands and effects, and the depth of what is
 * inside of what. All of them have limits. Reaching one, or running out of memory, marks the pass
 * as full, and facts that are full are never a proof: the caller refuses.
 *
 * The other files pass-*.c walk the tree and call these functions.
 */
#include "shell/facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "shell/knowledge.h"
#include "shell/pass.h"

void *pass_alloc(struct shell_pass *p, size_t size, size_t n)
{
	void *memory = arena_alloc_array(p->arena, size, n ? n : 1);

	if (!memory)
		p->error = -ENOMEM;
	return memory;
}

void *pass_grow(struct shell_pass *p, void *items, size_t size, size_t count, size_t *capacity,
                size_t max)
{
	size_t wanted;
	void *moved;

	if (count < *capacity)
		return items;
	if (count >= max) {
		p->full = true;
		return NULL;
	}
	wanted = *capacity ? *capacity * 2 : 8;
	moved = pass_alloc(p, size, wanted);
	if (!moved)
		return NULL;
	if (count)
		memcpy(moved, items, size * count);
	*capacity = wanted;
	return moved;
}

struct shell_text pass_text(struct shell_pass *p, const char *bytes, size_t n)
{
	char *copy = arena_strndup(p->arena, bytes, n);

	if (!copy) {
		p->error = -ENOMEM;
		return (struct shell_text){"", 0};
	}
	return (struct shell_text){copy, n};
}

static void add_effect(struct shell_pass *p, struct shell_range range, const char *why, bool opaque,
                       const char *format, va_list args) __attribute__((format(printf, 5, 0)));

/* The same effect is told once, with the first place it was seen at. */
static void add_effect(struct shell_pass *p, struct shell_range range, const char *why, bool opaque,
                       const char *format, va_list args)
{
	struct shell_facts *f = p->facts;
	struct shell_fact_effect *grown;
	struct shell_text name;
	char text[512];
	size_t number;

	vsnprintf(text, sizeof(text), format, args);
	number = pass_names_find(&p->effect_names, (struct shell_text){text, strlen(text)});
	if (number != PASS_NAME_NONE) {
		f->effects[number].opaque |= opaque;
		return;
	}
	grown = pass_grow(p, f->effects, sizeof(*grown), f->effect_count, &p->effect_capacity,
	                  SHELL_COMMAND_MAX);
	if (!grown)
		return;
	f->effects = grown;
	name = pass_text(p, text, strlen(text));
	if (!pass_names_add(p, &p->effect_names, name))
		return;
	f->effects[f->effect_count++] =
		(struct shell_fact_effect){name.bytes, why, opaque, pass_range(p, range)};
}

void pass_opaque(struct shell_pass *p, struct shell_range range, const char *why,
                 const char *format, ...)
{
	va_list args;

	p->opaque = true;
	va_start(args, format);
	add_effect(p, range, why, true, format, args);
	va_end(args);
}

void pass_effect(struct shell_pass *p, struct shell_range range, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_effect(p, range, NULL, false, format, args);
	va_end(args);
}

bool pass_enter(struct shell_pass *p, const char *step)
{
	if (!pass_ok(p))
		return false;
	if (p->depth >= PASS_DEPTH_MAX) {
		p->full = true;
		return false;
	}
	p->depth++;
	if (step && *step) {
		size_t n = strlen(step);
		struct pass_step *via = pass_alloc(p, 1, sizeof(*via) + n + 1);

		if (!via)
			return false;
		memcpy(via->name, step, n + 1);
		via->up = p->via;
		via->length = n + (p->via ? p->via->length + 1 : 0);
		via->path = p->via ? NULL : via->name;
		p->via = via;
	}
	return true;
}

/* The names of the steps down to here, with slashes between them. */
static const char *path_here(struct shell_pass *p)
{
	char *path, *at;

	if (!p->via || p->via->path)
		return p->via ? p->via->path : "";
	path = pass_alloc(p, 1, p->via->length + 1);
	if (!path)
		return "";
	at = path + p->via->length;
	for (const struct pass_step *s = p->via; s; s = s->up) {
		size_t n = strlen(s->name);

		at -= n;
		memcpy(at, s->name, n);
		if (s->up)
			*--at = '/';
	}
	p->via->path = path;
	return path;
}

bool pass_spend_words(struct shell_pass *p, size_t n)
{
	if (n > p->words_left) {
		p->full = true;
		return false;
	}
	p->words_left -= n;
	return true;
}

static void note_word(struct shell_pass *p, const struct shell_fact_word *w)
{
	if (w->kind != SHELL_VALUE_KNOWN)
		p->dynamic = true;
}

/* Whether an unknown word may come out as an option. */
static bool is_open(const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (pass_word_known(w) && pass_text_is(w->text, "--"))
			return false;
		if (!pass_word_known(w) &&
		    (!w->text.len || w->text.bytes[0] == '-' || w->kind == SHELL_VALUE_MANY))
			return true;
	}
	return false;
}

static void note_unknown(struct shell_pass *p, const struct shell_fact_command *c)
{
	for (size_t i = 0; i < c->word_count; i++)
		note_word(p, &c->words[i]);
	for (size_t i = 0; i < c->assign_count; i++)
		note_word(p, &c->assigns[i].value);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_fact_redirect *r = &c->redirects[i];

		/* What is read from a pipe of the shell's own is data, as a here-document is. */
		if (!r->heredoc && !(r->target.pipe && r->op[0] == '<'))
			note_word(p, &r->target);
	}
}

struct shell_fact_command *pass_list_command(struct shell_pass *p, const struct pass_call *call,
                                             enum shell_kind kind)
{
	struct shell_facts *f = p->facts;
	struct shell_fact_command *c;

	if (!pass_ok(p))
		return NULL;
	if (!pass_spend_words(p, call->word_count))
		return NULL;
	c = pass_grow(p, f->commands, sizeof(*c), f->command_count, &p->command_capacity,
	              SHELL_COMMAND_MAX);
	if (!c)
		return NULL;
	f->commands = c;
	c = &f->commands[f->command_count++];
	*c = (struct shell_fact_command){
		.words = call->words,
		.word_count = call->word_count,
		.via = path_here(p),
		.kind = kind,
		.redirects = call->listed,
		.redirect_count = call->listed_count,
		.assigns = call->assigns,
		.assign_count = call->assign_count,
		.open = is_open(call),
		.range = pass_range(p, call->range),
	};
	note_unknown(p, c);
	if (kind != SHELL_KIND_FUNCTION && knowledge_apply(p->arena, c) < 0)
		p->error = -ENOMEM;
	return c;
}

/* Whether eight bytes are all of printable ASCII; a rare no may be wrong, a yes never is. */
static bool is_printable(const char *bytes)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t x;

	memcpy(&x, bytes, sizeof(x));
	/* The high bit of a byte is set where it is below 0x20, 0x7f, or beyond. */
	return !(((x - 0x20 * ones) | (x + ones) | x) & 0x80 * ones);
}

/* Control characters are word characters to bash and invisible to people. */
static void note_characters(struct shell_pass *p, const struct shell_tree *tree)
{
	struct shell_range nowhere = {0, 0};

	for (size_t i = 0; i < tree->text.len; i++) {
		unsigned char c;

		while (tree->text.len - i >= 8 && is_printable(tree->text.bytes + i))
			i += 8;
		if (i == tree->text.len)
			break;
		c = (unsigned char)tree->text.bytes[i];
		if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
			pass_effect(p, (struct shell_range){(uint32_t)i, (uint32_t)i + 1},
			            "control:U+%04X", c);
		else if (c == 0xc2 && i + 1 < tree->text.len &&
		         (unsigned char)tree->text.bytes[i + 1] < 0xa0)
			pass_effect(p, nowhere, "control:U+%04X",
			            (unsigned char)tree->text.bytes[i + 1]);
	}
	if (tree->hidden)
		pass_effect(p, tree->hidden_at, "hidden-character");
}

static bool has_high_byte(struct shell_text code)
{
	for (size_t i = 0; i < code.len; i++) {
		while (code.len - i >= 8 && is_printable(code.bytes + i))
			i += 8;
		if (i < code.len && (unsigned char)code.bytes[i] >= 0x80)
			return true;
	}
	return false;
}

void pass_note_code(struct shell_pass *p, const struct shell_tree *tree)
{
	p->high_bytes = p->high_bytes || has_high_byte(tree->text);
	p->patterns = p->patterns || strpbrk(tree->text.bytes, "*?[");
	p->negations = p->negations || tree->negated_parenthesis;
}

static void combine(struct shell_pass *p)
{
	struct shell_range all = {0, (uint32_t)p->tree->text.len};

	if ((p->alias && p->alias_on) || (p->extglob && p->negations) ||
	    (p->charset && p->high_bytes) || (p->posix_mode && p->timed))
		p->facts->changes_reading = true;
	if (p->charset && p->high_bytes)
		pass_opaque(p, all, "later text may be read in another charset", "set:charset");
	if (p->extglob && p->negations)
		pass_opaque(p, all, "it changes how later words are read", "set:extglob");
	if (p->nocaseglob && p->patterns)
		pass_opaque(p, all, "it changes what patterns match", "set:nocaseglob");
	if (p->alias && p->alias_on)
		pass_opaque(p, all, "aliases are made and expanded", "alias-expansion");
	if (p->prompt && p->trace)
		pass_opaque(p, all, "PS4 holds an expansion, and commands are traced",
		            "prompt-expansion");
	if (p->startup && p->bash_starts)
		pass_opaque(p, all, "a variable tells the shell that starts to run other code",
		            "startup-code");
	if (p->shell_named && p->shell_used)
		pass_opaque(p, all, "SHELL names the program that reads the code",
		            "shell-variable");
	if (p->function_stands_in && (p->function_unset || p->posix_mode))
		pass_opaque(p, all, "a function may be gone when its name is used",
		            "function-unset");
	if (p->posix_mode && p->timed)
		pass_opaque(p, all, "time may be a program in posix mode", "set:posix");
	if (p->full)
		pass_opaque(p, all, "the text is larger than what is analysed", "limit");
}

static enum shell_facts_status status_of(const struct shell_pass *p)
{
	if (p->opaque)
		return SHELL_FACTS_OPAQUE;
	return p->dynamic ? SHELL_FACTS_DYNAMIC : SHELL_FACTS_STATIC;
}

static void read_tree(struct shell_pass *p)
{
	struct shell_facts *f = p->facts;

	note_characters(p, f->tree);
	pass_note_code(p, f->tree);
	switch (f->tree->status) {
	case SHELL_OK:
		pass_list(p, f->tree->list);
		pass_settle(p);
		combine(p);
		f->status = status_of(p);
		f->variables = p->variable_names.names;
		f->variable_count = p->variable_names.count;
		break;
	case SHELL_ERROR:
		f->status = SHELL_FACTS_ERROR;
		break;
	case SHELL_UNSUPPORTED:
		f->status = SHELL_FACTS_UNSUPPORTED;
		break;
	case SHELL_LIMIT:
		pass_opaque(p, f->tree->at, f->tree->message, "limit");
		f->status = SHELL_FACTS_OPAQUE;
		break;
	}
}

/* One walk. *ret_again: it was wrong about IFS, and must be done again. */
static int read_once(struct arena *arena, const struct shell_tree *tree,
                     const struct shell_parse_options *options, bool names_ifs,
                     struct shell_facts **ret_facts, bool *ret_again)
{
	struct shell_pass *p = arena_new_object(arena, struct shell_pass);
	struct shell_facts *f = arena_new_object(arena, struct shell_facts);

	if (!p || !f)
		return -ENOMEM;
	p->arena = arena;
	p->facts = f;
	p->options = options;
	p->tree = tree;
	p->names_ifs = names_ifs;
	p->words_left = PASS_WORD_BUDGET(tree->word_count);
	p->code_left = PASS_CODE_BUDGET(tree->text.len);
	f->tree = tree;
	read_tree(p);
	if (p->error)
		return p->error;
	*ret_facts = f;
	*ret_again = p->sets_ifs && !names_ifs;
	return 0;
}

int shell_facts_read(struct arena *arena, const char *text, size_t n,
                     const struct shell_parse_options *options, struct shell_facts **ret_facts)
{
	struct shell_tree *tree;
	bool again;
	int r;

	r = shell_parse(arena, text, n, options, &tree);
	if (r < 0)
		return r;
	r = read_once(arena, tree, options, pass_names_ifs(tree->text), ret_facts, &again);
	if (r == 0 && again) /* its name is only seen in the value of a word */
		r = read_once(arena, tree, options, true, ret_facts, &again);
	return r;
}

const char *shell_facts_status_name(enum shell_facts_status status)
{
	static const char *const names[] = {
		[SHELL_FACTS_STATIC] = "static",           [SHELL_FACTS_DYNAMIC] = "dynamic",
		[SHELL_FACTS_OPAQUE] = "opaque",           [SHELL_FACTS_ERROR] = "error",
		[SHELL_FACTS_UNSUPPORTED] = "unsupported",
	};

	return names[status];
}

const char *shell_kind_name(enum shell_kind kind)
{
	static const char *const names[] = {
		[SHELL_KIND_EXTERNAL] = "external", [SHELL_KIND_BUILTIN] = "builtin",
		[SHELL_KIND_FUNCTION] = "function", [SHELL_KIND_DYNAMIC] = "dynamic",
		[SHELL_KIND_NONE] = "none",
	};

	return names[kind];
}
