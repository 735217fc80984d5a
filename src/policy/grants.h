#pragma once
/*
 * Grants: what a person has approved for a session.
 *
 * A grant covers exactly one command with all its words, or one sub-command of one program
 * ("docker ps"), in one directory and one environment; never more. It does not hold in a line that
 * changes these (cd, export), nor after a pipe or in a wrapper. There is none for shells,
 * interpreters, editors and wrappers by any of their names, for words that run code, for
 * binaries that an agent can write, for what cannot be known before it runs, and none against a
 * rule that refuses.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/digest.h"

struct error;
struct policy_answer;
struct policy_grants;
struct policy_question;
struct shell_fact_command;

#define POLICY_GRANT_MAX 1024

enum policy_grant_scope {
	POLICY_GRANT_EXACT, /* these words */
	POLICY_GRANT_SUB,   /* the program and its sub-command */
};

struct policy_grants *policy_grants_new(void); /* NULL: no memory */
struct policy_grants *policy_grants_free(struct policy_grants *g);
DEFINE_CLEANUP(struct policy_grants *, policy_grants_free);

/* Approves every command of the question that was to be asked about, until the session ends.
 * -EPERM: it must not be granted. */
int policy_grants_add(struct policy_grants *g, const struct policy_question *q,
                      const struct policy_answer *answer, enum policy_grant_scope scope,
                      struct error *err);

/* Whether the command may run under a grant. */
bool policy_grants_cover(const struct policy_grants *g, const struct policy_question *q,
                         const struct shell_fact_command *command);

size_t policy_grants_count(const struct policy_grants *g);

/* One grant as data, to be kept elsewhere; and such a one, put in again. */
void policy_grants_at(const struct policy_grants *g, size_t i, struct digest *ret);
int policy_grants_put(struct policy_grants *g, const struct digest *digest,
                      enum policy_grant_scope scope);
