#pragma once
/*
 * Pack: a tree that was read, as bytes without pointers.
 *
 * What nacre ships is read when it is built, and is constant data in the program then: without
 * pointers it needs no work before main(), and the tree is there again without a parser. The form
 * is that of one build and no format of files: whoever writes it is the program that reads it.
 */
#include <stddef.h>

struct arena;
struct buffer;
struct yaml_node;

void yaml_pack(const struct yaml_node *root, struct buffer *into);
/* The tree has its texts in BYTES, which must live as long. -EBADMSG: these are no packed bytes. */
int yaml_unpack(struct arena *arena, const char *bytes, size_t n,
                const struct yaml_node **ret_root);
