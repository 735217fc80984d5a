#pragma once
/*
 * The canonical text of a tree: the same meaning, every known word quoted, one spelling for each
 * construct. Reading it again gives an equal tree, and bash does with it what it would have done
 * with the text the tree was read from.
 */
#include "shell/ast.h"

struct buffer;

/* Appends to the buffer, whose buffer_error() tells about failure. */
void shell_print(const struct shell_list *list, struct buffer *out);

/* Whether two trees mean the same: source ranges and spelling aside. */
bool shell_list_equal(const struct shell_list *a, const struct shell_list *b);
