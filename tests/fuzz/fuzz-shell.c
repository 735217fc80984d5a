/*
 * Shell text: what is read and printed must read back as an equal tree, and print the same again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "shell/parse.h"
#include "shell/print.h"
#include "shell/word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The value of a word is never longer than its text allows, and is a string. */
static void check_values(struct arena *arena, const struct shell_list *list)
{
	for (const struct shell_statement *s = list->statements; s; s = s->next)
		for (const struct shell_pipeline *p = s->pipelines; p; p = p->next)
			for (const struct shell_command *c = p->commands; c; c = c->next) {
				if (c->kind != SHELL_SIMPLE)
					continue;
				for (const struct shell_word *w = c->simple.words; w; w = w->next) {
					struct shell_value v;

					if (shell_word_value(arena, w, &v) == 0 &&
					    strlen(v.text.bytes) != v.text.len)
						abort();
				}
			}
}

static void print_tree(const struct shell_tree *tree, int lines, struct buffer *out)
{
	if (lines)
		shell_print_lines(tree, out);
	else
		shell_print(tree->list, out);
}

/* What is printed reads back as an equal tree, and prints the same again. */
static void check_print(struct arena *arena, const struct shell_tree *tree,
                        const struct shell_parse_options *options, int lines)
{
	scoped(buffer_donep) struct buffer out = {0};
	scoped(buffer_donep) struct buffer again = {0};
	struct shell_tree *back;

	print_tree(tree, lines, &out);
	if (buffer_error(&out))
		return;
	if (shell_parse(arena, buffer_str(&out), out.len, options, &back) < 0)
		return;
	if (back->status == SHELL_LIMIT) /* quotes make the text longer */
		return;
	if (back->status != SHELL_OK || !shell_list_equal(tree->list, back->list))
		abort();
	print_tree(back, lines, &again);
	if (!buffer_error(&again) && strcmp(buffer_str(&out), buffer_str(&again)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shell_parse_options options = {.allow_control = size % 2};
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree;

	if (!arena || shell_parse(arena, (const char *)data, size, &options, &tree) < 0)
		return 0;
	if ((tree->list != NULL) != (tree->status == SHELL_OK))
		abort();
	if (!tree->list)
		return 0;
	check_values(arena, tree->list);
	for (int lines = 0; lines < 2; lines++)
		check_print(arena, tree, &options, lines);
	return 0;
}
