#pragma once
/*
 * The canonical text of a tree: the same meaning, every known word quoted, one spelling for each
 * construct. Reading it again gives an equal tree, and bash does with it what it would have done
 * with the text the tree was read from.
 */
#include "shell/ast.h"

struct buffer;
struct shell_tree;

/* Appends to the buffer, whose buffer_error() tells about failure. */
void shell_print(const struct shell_list *list, struct buffer *out);

/*
 * The same for bash to run: each command stands on the line on which it stood in the source, and
 * words that need no quotes have none, so that messages and $BASH_COMMAND are about the source.
 */
void shell_print_lines(const struct shell_tree *tree, struct buffer *out);

/* Whether two trees mean the same: source ranges and spelling aside. */
bool shell_list_equal(const struct shell_list *a, const struct shell_list *b);
