#pragma once
/*
 * The answer of a policy, for programs and for people.
 */
#include <stdbool.h>

struct buffer;
struct check;
struct json_writer;

/* The members of one JSON object: verdict, reason, rule, recommended, left_to_sandbox, status,
 * canonical, commands. The caller begins and ends the object. */
void explain_put_json(const struct check *c, struct json_writer *w);

/* The parse drawn, each command with its verdict, the rule, and what to do instead. */
void explain_put_text(const struct check *c, struct buffer *out);
