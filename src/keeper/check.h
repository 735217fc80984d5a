#pragma once
/*
 * Check: the decision about one raw request, and what is to be executed if it is allowed.
 *
 * It is made twice from the same raw words: where the request arrives, and again in the keeper just
 * before it runs. One bug, or one corrupted process, is then not enough.
 *
 * What is analysed is what runs: bash gets the canonical text that was printed from the tree, and a
 * single command whose words are all known is executed without bash.
 */
#include <stdbool.h>
#include "policy/policy.h"

struct arena;
struct error;
struct profile;

struct check_request {
	const struct profile *profile;
	const char *command;     /* one string; or NULL and */
	const char *const *argv; /* words */
	bool force;
	bool session; /* bash tells at its end what a session keeps */
	int workspace_fd;
	const char *workspace;              /* its path */
	const char *cwd;                    /* relative to it; "." is its root */
	const char *const *env;             /* what the request adds; may be NULL */
	const char *const *envp;            /* all that the command will have */
	const struct policy_grants *grants; /* NULL: none */
};

struct check {
	const struct shell_facts *facts;
	struct policy_answer answer;
	const char *const *argv; /* what is to be executed; NULL unless allowed */
};

/* All memory is in the arena. A refusal is no error; an error means that nothing may run. */
int check_request(struct arena *arena, const struct check_request *rq, struct check *ret_check,
                  struct error *err);

struct keeper_request;

/* The profile that a request names, as it is now. The caller owns it. */
int check_load_profile(const struct keeper_request *rq, struct profile **ret_profile,
                       struct error *err);

/* The second check: decides from the raw words, and wants the answer to be ARGV, or nothing runs.
 * ENVP is the environment that the command will have. */
int check_again(struct arena *arena, const struct profile *profile, const struct keeper_request *rq,
                const char *const *argv, const char *const *envp, struct error *err);
