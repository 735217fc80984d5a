#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "shell/knowledge.h"

static struct shell_fact_word word(const char *text)
{
	return (struct shell_fact_word){.kind = SHELL_VALUE_KNOWN, .text = {text, strlen(text)}};
}

struct line {
	struct shell_fact_word words[8];
	struct shell_fact_assign assign;
	struct shell_fact_command command;
};

static void start(struct line *l, const char *name)
{
	memset(l, 0, sizeof(*l));
	l->command.words = l->words;
	l->command.via = "";
	l->words[l->command.word_count++] = word(name);
}

static void add(struct line *l, const char *text)
{
	l->words[l->command.word_count++] = word(text);
}

/* A use of the command that has what the item describes; false: words alone cannot show it. */
static bool build(struct line *l, struct arena *arena, const struct knowledge_item *item)
{
	const char *value = item->filter ? item->filter : "V";

	switch ((enum knowledge_kind)item->kind) {
	case KNOWLEDGE_ALWAYS:
	case KNOWLEDGE_NO_OPERAND:
	case KNOWLEDGE_NO_OPTION:
		return true;
	case KNOWLEDGE_OPTION:
		if (item->sub)
			add(l, item->sub);
		add(l, item->name);
		if (item->value == SHELL_OPTION_VALUE)
			add(l, value);
		return true;
	case KNOWLEDGE_OPTION_EQUALS:
		add(l, "-Comment=x");
		return true;
	case KNOWLEDGE_OPERAND:
		add(l, "x");
		return true;
	case KNOWLEDGE_OPERAND_NUMBER:
		for (char c = '0'; c < item->name[0]; c++)
			add(l, "x");
		return true;
	case KNOWLEDGE_OPERAND_PREFIX:
		add(l, arena_printf(arena, "%sx", item->name));
		return true;
	case KNOWLEDGE_OPERAND_CONTAINS:
		add(l, arena_printf(arena, "a%sb", item->name));
		return true;
	case KNOWLEDGE_OPERAND_DIGITS:
		add(l, "01010101");
		return true;
	case KNOWLEDGE_SUB:
		add(l, item->name);
		return true;
	case KNOWLEDGE_SUB_OPERAND:
	case KNOWLEDGE_SUB_OPERAND_PREFIX:
		add(l, item->sub);
		add(l, item->name);
		return true;
	case KNOWLEDGE_ENV:
		l->assign.name = word(item->name).text;
		l->command.assigns = &l->assign;
		l->command.assign_count = 1;
		return true;
	case KNOWLEDGE_CONFIG:
		add(l, "-c");
		add(l, arena_printf(arena, "%s=x", item->name));
		return true;
	case KNOWLEDGE_SCRIPT:
	case KNOWLEDGE_TERMINAL:
	case KNOWLEDGE_TAIL:
		return false;
	}
	return false;
}

static bool says(const struct shell_fact_command *c, const struct knowledge_row *row)
{
	for (size_t i = 0; i < c->does_count; i++)
		if (strcmp(c->does[i].note, row->note) == 0 &&
		    strcmp(c->does[i].effect, knowledge_class_name(row->effect)) == 0)
			return true;
	return false;
}

static void every_row_is_found_in_a_line_that_has_it(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)64 << 20);
	size_t seen = 0;

	assert_non_null(arena);
	for (size_t i = 0; i < knowledge_command_count; i++) {
		const struct knowledge_command *known = &knowledge_commands[i];

		for (size_t k = 0; k < known->count; k++) {
			const struct knowledge_row *row = &known->rows[k];

			for (size_t m = 0; m < row->count; m++) {
				struct line l;

				start(&l, known->name);
				if (!build(&l, arena, &row->items[m]))
					continue;
				seen++;
				assert_int_equal(knowledge_apply(arena, &l.command), 0);
				if (!says(&l.command, row))
					print_error("%s %s: %s\n", known->name, row->items[m].name,
					            row->note);
				assert_true(says(&l.command, row));
			}
		}
	}
	assert_true(seen > 1000);
}

static void commands_are_sorted_and_found_by_name_and_path(void **state)
{
	for (size_t i = 0; i < knowledge_command_count; i++) {
		const char *name = knowledge_commands[i].name;

		assert_ptr_equal(knowledge_find(name), &knowledge_commands[i]);
		if (i)
			assert_true(strcmp(knowledge_commands[i - 1].name, name) < 0);
	}
	assert_ptr_equal(knowledge_find("/usr/bin/sed"), knowledge_find("sed"));
	assert_null(knowledge_find("no-such-command"));
	assert_null(knowledge_find("/"));
	assert_null(knowledge_find(""));
}

static bool is_in(const struct knowledge_index *list, size_t count, uint16_t key, size_t row,
                  size_t item)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].key == key && list[i].row == row && list[i].item == item)
			return true;
	return false;
}

static void assert_sorted(const struct knowledge_index *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		assert_true(list[i - 1].key <= list[i].key);
}

static void the_index_of_a_command_leads_to_each_option_and_sub_command(void **state)
{
	for (size_t i = 0; i < knowledge_command_count; i++) {
		const struct knowledge_command *c = &knowledge_commands[i];
		const struct knowledge_index *subs = c->index + c->option_count;
		size_t number = 0, options = 0;

		assert_in_range(c->count, 1, KNOWLEDGE_ROW_MAX);
		assert_sorted(c->index, c->option_count);
		assert_sorted(subs, c->sub_count);
		assert_sorted(subs + c->sub_count, c->need_count);
		for (size_t k = 0; k < c->count; k++) {
			for (size_t m = 0; m < c->rows[k].count; m++, number++) {
				const struct knowledge_item *item = &c->rows[k].items[m];

				if (item->kind == KNOWLEDGE_OPTION) {
					options++;
					assert_true(is_in(c->index, c->option_count,
					                  knowledge_option_key(item->name,
					                                       strlen(item->name)),
					                  k, number));
				} else if (item->kind == KNOWLEDGE_SUB) {
					assert_true(is_in(
						subs, c->sub_count,
						knowledge_sub_key(item->name, strlen(item->name)),
						k, number));
				}
			}
		}
		assert_int_equal(options, c->option_count);
	}
}

static void an_unknown_sub_command_may_be_any(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)1 << 20);
	size_t maybe = 0;
	struct line l;

	start(&l, "git");
	add(&l, "");
	l.words[1].kind = SHELL_VALUE_ONE;
	assert_int_equal(knowledge_apply(arena, &l.command), 0);
	for (size_t i = 0; i < l.command.does_count; i++)
		maybe += l.command.does[i].maybe;
	assert_true(maybe > 10);
	assert_int_equal(maybe, l.command.does_count);
}

static void a_long_option_cut_short_may_be_the_one_that_is_listed(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)1 << 20);
	struct line l;

	start(&l, "sort");
	add(&l, "--outp=f");
	assert_int_equal(knowledge_apply(arena, &l.command), 0);
	assert_int_equal(l.command.does_count, 1);
	assert_true(l.command.does[0].maybe);
	start(&l, "sort");
	add(&l, "--outpux=f");
	assert_int_equal(knowledge_apply(arena, &l.command), 0);
	assert_int_equal(l.command.does_count, 0);
}

static void a_command_without_its_dangers_has_none(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)1 << 20);
	static const char *const lines[][4] = {
		{"ls", "-la", "x"},         {"grep", "-n", "a", "b"},
		{"head", "-n", "3", "f"},   {"wc", "-l", "f"},
		{"sed", "-n", "1,3p", "f"}, {"awk", "{print $1}", "f"},
		{"sort", "-u", "f"},        {"stat", "f"},
	};

	for (size_t i = 0; i < array_size(lines); i++) {
		struct line l;

		start(&l, lines[i][0]);
		for (size_t k = 1; k < array_size(lines[i]) && lines[i][k]; k++)
			add(&l, lines[i][k]);
		assert_int_equal(knowledge_apply(arena, &l.command), 0);
		assert_int_equal(l.command.does_count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_in_a_line_that_has_it),
		cmocka_unit_test(commands_are_sorted_and_found_by_name_and_path),
		cmocka_unit_test(the_index_of_a_command_leads_to_each_option_and_sub_command),
		cmocka_unit_test(an_unknown_sub_command_may_be_any),
		cmocka_unit_test(a_long_option_cut_short_may_be_the_one_that_is_listed),
		cmocka_unit_test(a_command_without_its_dangers_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
