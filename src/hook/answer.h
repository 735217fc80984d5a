#pragma once
/*
 * Answer: what a hook prints, in the shape of its client.
 */
#include <stddef.h>
#include <jansson.h>

struct buffer;
struct hook_client;

enum hook_verdict {
	HOOK_DENY, /* first: what nobody has set is a refusal */
	HOOK_ASK,
	HOOK_ALLOW,
};

struct hook_answer {
	enum hook_verdict verdict;
	const char *reason;  /* may be NULL if it is allowed */
	json_t *input;       /* the arguments of the tool as they came; borrowed; and */
	const char *command; /* what to run instead; NULL: as it came */
};

/* One line of JSON. Clients that cannot ask get a refusal with the same reason. */
int hook_answer_write(const struct hook_client *client, const struct hook_answer *a,
                      struct buffer *into);

/* A command line that runs LINE by the shell at SHELL, with these variables (NAME=VALUE, up to
 * NULL). */
void hook_rewrite(const char *shell, const char *const *variables, const char *line,
                  struct buffer *into);

struct arena;
struct error;

/* What an answer says, as the client reads it: for a proof. The strings live in the arena. */
int hook_answer_read(const struct hook_client *client, const char *bytes, size_t n,
                     struct arena *arena, struct hook_answer *ret, struct error *err);
