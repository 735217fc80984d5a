#pragma once
/*
 * Numbers: where the process numbers of a command in a room begin. See numbers.c.
 */
#include <stdbool.h>

struct sandbox_plan;

/* Opens the kernel's file while it is in sight. */
void box_numbers_open(struct sandbox_plan *p);

/* Begins at a number by chance, in the pid namespace of the caller, and closes the file. */
void box_numbers_begin(struct sandbox_plan *p);

/* What a held box needs for its inits; -1: nothing. */
int sandbox_numbers_fd(const struct sandbox_plan *p);

/* Whether the numbers do not begin with 2. */
bool sandbox_is_numbered(const struct sandbox_plan *p);
