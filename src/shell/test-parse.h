#pragma once
/*
 * For the tests of the parser: a text, and what becomes of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "base/arena.h"
#include "shell/parse.h"

static inline struct shell_tree *parse(struct arena *a, const char *text)
{
	struct shell_tree *tree = NULL;

	assert_int_equal(shell_parse(a, text, strlen(text), NULL, &tree), 0);
	return tree;
}

static inline void expect_status(const char *text, enum shell_status status)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, text);

	if (tree->status != status)
		print_error("%s: status %d, %s\n", text, tree->status,
		            tree->message ? tree->message : "");
	assert_int_equal(tree->status, status);
	assert_true((tree->list != NULL) == (status == SHELL_OK));
}
