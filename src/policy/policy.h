#pragma once
/*
 * Policy: rules and facts give a verdict, with the rule, the reason and the advice.
 *
 * Allow needs proof: an allow rule matches only if every word that it looks at is known. Deny, ask
 * and nudge need suspicion: they match if they could. The most severe verdict of all simple
 * commands is that of the line.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "policy/rules.h"
#include "shell/facts.h"

struct arena;
struct error;
struct policy; /* compiled, constant, shared */
struct policy_grants;

/* The rules and all their strings must outlive the policy. */
int policy_new(const struct policy_rules *rules, struct policy **ret_policy, struct error *err);
struct policy *policy_free(struct policy *p);
DEFINE_CLEANUP(struct policy *, policy_free);

struct policy_question {
	const char *text; /* as it was asked for: the line, or the command of an argv */
	size_t text_len;
	const char *const *words;        /* after that command; NULL: it is a line */
	const struct shell_facts *facts; /* of the line, or of the quoted argv */
	int workspace_fd;                /* O_PATH, held; -1: every path is outside */
	const char *workspace;           /* its path, for messages and agent-writable checks */
	const char *cwd;                 /* relative to the workspace; "." is its root */
	const char *path;                /* the PATH that the command will have */
	const char *home;                /* its home directory; NULL: not known */
	const char *const *env;          /* NAME=VALUE that the request adds; may be NULL */
	const char *const *writable;     /* places outside of the workspace that it can write */
	bool unboxed;    /* no box: whatever the user may write can be changed by a command */
	bool must_exist; /* nobody is asked about a program that is nowhere on this machine */
	bool own_path;   /* the path is that of nacre itself, and no choice of the caller */
	bool force;
	const struct policy_grants *grants; /* of the session; NULL: none */
};

#define POLICY_NOT_FOUND "not-found" /* the rule_id of a program that does not exist */

struct policy_finding { /* about one simple command, or the line */
	enum policy_verdict verdict;
	const struct policy_rule *rule; /* NULL: syntax, unknown, effects or the default decided */
	const char *rule_id; /* of the rule; else "unknown", "syntax", "default", "effects" ... */
	struct policy_place place;
	const char *reason;     /* a sentence */
	const char *const *use; /* tools or spellings to use instead; may be NULL */
	bool left_to_sandbox;   /* not proven; the box is what stops it */
	const char *resolved;   /* the file that the name stands for, or NULL */
};

struct policy_answer {
	struct policy_finding line;      /* the verdict of the whole */
	struct policy_finding *commands; /* one per command of the facts, in their order */
	size_t command_count;
};

/* Memory of the answer is in the arena. Returns 0 or a negative errno; a failure means: do not run.
 */
int policy_decide(const struct policy *p, struct arena *arena, const struct policy_question *q,
                  struct policy_answer *ret_answer, struct error *err);

/* Whether the line, or any command of it, is left to the sandbox. */
bool policy_answer_is_left(const struct policy_answer *a);

const char *policy_verdict_name(enum policy_verdict verdict);
const char *policy_list_name(enum policy_list list);
