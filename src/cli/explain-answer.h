#pragma once
/*
 * The answer of a policy, for people; for programs: engine/explain.h.
 */
#include <stdbool.h>

struct buffer;
struct check;

/* The parse drawn, each command with its verdict, the rule, and what to do instead. */
void explain_put_text(const struct check *c, struct buffer *out);
