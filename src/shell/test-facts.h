#pragma once
/*
 * For the tests of the facts: reading a line and comparing what is known of it with a short text.
 */
#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "shell/facts.h"

static const struct shell_parse_options as_bash = {.allow_control = true};

static struct arena *arena;

static inline struct shell_facts *read_facts(const char *line)
{
	struct shell_facts *facts = NULL;

	arena_reset(arena);
	assert_int_equal(shell_facts_read(arena, line, strlen(line), &as_bash, &facts), 0);
	return facts;
}

static inline void put_word(struct buffer *out, const struct shell_fact_word *w)
{
	static const char *const marks[] = {"", "?", "*", "glob:"};

	buffer_puts(out, marks[w->kind]);
	buffer_puts(out, w->kind == SHELL_VALUE_GLOB ? w->pattern.bytes : w->text.bytes);
}

/* "status: word word; word": ? is one unknown word, * any number, with what they begin with. */
static inline void render(const struct shell_facts *f, struct buffer *out)
{
	buffer_puts(out, shell_facts_status_name(f->status));
	for (size_t i = 0; i < f->command_count; i++) {
		const struct shell_fact_command *c = &f->commands[i];

		buffer_puts(out, i ? ";" : ":");
		for (size_t k = 0; k < c->assign_count; k++) {
			buffer_printf(out, " [%s=", c->assigns[k].name.bytes);
			put_word(out, &c->assigns[k].value);
			buffer_putc(out, ']');
		}
		for (size_t k = 0; k < c->word_count; k++) {
			buffer_putc(out, ' ');
			put_word(out, &c->words[k]);
		}
		for (size_t k = 0; k < c->redirect_count; k++)
			buffer_printf(out, " {%s}", c->redirects[k].op);
	}
}

static inline void expect(const char *line, const char *wanted)
{
	scoped(buffer_donep) struct buffer out = {0};

	render(read_facts(line), &out);
	if (strcmp(buffer_str(&out), wanted) != 0)
		print_error("line: %s\n", line);
	assert_string_equal(buffer_str(&out), wanted);
}

static inline bool has_effect(const struct shell_facts *f, const char *effect)
{
	for (size_t i = 0; i < f->effect_count; i++)
		if (strcmp(f->effects[i].text, effect) == 0)
			return true;
	return false;
}

static inline void expect_opaque(const char *line, const char *effect)
{
	struct shell_facts *f = read_facts(line);

	if (f->status != SHELL_FACTS_OPAQUE || !has_effect(f, effect))
		print_error("line: %s (%s)\n", line, shell_facts_status_name(f->status));
	assert_int_equal(f->status, SHELL_FACTS_OPAQUE);
	assert_true(has_effect(f, effect));
}

static inline void expect_known(const char *line) /* static or dynamic */
{
	struct shell_facts *f = read_facts(line);

	if (f->status != SHELL_FACTS_STATIC && f->status != SHELL_FACTS_DYNAMIC)
		print_error("line: %s (%s)\n", line, shell_facts_status_name(f->status));
	assert_true(f->status == SHELL_FACTS_STATIC || f->status == SHELL_FACTS_DYNAMIC);
}

static inline void expect_all(const char *const *lines, const char *effect)
{
	for (; *lines; lines++)
		if (effect)
			expect_opaque(*lines, effect);
		else
			expect_known(*lines);
}

static inline void expect_via(const char *line, const char *name, const char *via)
{
	struct shell_facts *f = read_facts(line);

	for (size_t i = 0; i < f->command_count; i++) {
		const struct shell_fact_command *c = &f->commands[i];

		if (c->word_count ? strcmp(c->words[0].text.bytes, name) == 0 : !*name) {
			assert_string_equal(c->via, via);
			return;
		}
	}
	fail_msg("%s: %s is not listed", line, name);
}

static inline int make_arena(void **state)
{
	arena = arena_new(SHELL_FACTS_ARENA_MAX);
	return arena ? 0 : -1;
}

static inline int free_arena(void **state)
{
	arena = arena_free(arena);
	return 0;
}
