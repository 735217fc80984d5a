#pragma once
/*
 * Check: the decision about one raw request, and the words to execute if it is allowed.
 *
 * It is made twice from the same raw words: where the request arrives, and again in the keeper just
 * before it runs. One bug, or one corrupted process, is then not enough.
 *
 * What is analysed is what runs: bash gets the canonical text that was printed from the tree, and a
 * single command whose words are all known is executed without bash.
 */
#include <stdbool.h>
#include "container/endpoint.h"
#include "decide/question.h"
#include "policy/policy.h"

struct check {
	const struct shell_facts *facts;
	struct policy_answer answer;
	const char *const *argv; /* the words to execute; NULL unless allowed, or asked */
	const char *canonical;   /* the same as a line, if a person is asked */
	bool is_client;          /* some command of it talks to a container engine, */
	bool reaches_engine;     /* and the profile lets commands reach that, outside of the box */
	/* Only for who explains: */
	const struct profile *profile;
	const struct host_seen *hosts; /* that stand in the line */
	size_t host_count;
	bool hidden; /* the places of files are not told */
};

/* All memory is in the arena. A refusal is not an error; after an error nothing may run. */
int check_request(struct arena *arena, struct question *q, struct check *ret_check,
                  struct error *err);

/* What the policy is asked about it; its facts are known. */
void check_question(const struct question *q, struct policy_question *ret_question);

struct keeper_request;

/* Whether bash tells at the end of the line where it is, and its variables. */
bool check_tells(const struct keeper_request *rq);

/* Whether some command of the line is a client of a container engine: of this one. */
bool check_names_client(const struct shell_facts *f, enum docker_client client);
/* Whether this one of its commands is docker or podman. */
struct shell_fact_command;
bool check_is_client(const struct shell_fact_command *c);

/* The profile that a request names, as it is now. The caller owns it. */
int check_load_profile(const struct keeper_request *rq, struct profile **ret_profile,
                       struct error *err);

struct check_order {
	const struct keeper_order *order;
	const struct profile *profile;
	int input_fd; /* the command's standard input */
};

/* The second check: decides from the raw words of the order, and wants the answer to be the words
 * that it says to execute, or nothing runs. What a person must approve runs if the order names an
 * approval for exactly this. *FACTS is what was read in the words; NULL: it did not come to that.
 */
int check_again(struct arena *arena, const struct check_order *o, const struct shell_facts **facts,
                struct error *err);
/* The same for an order that names an approval, when all is ready: it is used up by this. The words
 * are those that FACTS were read in; what they lead to is looked at anew. */
int check_spend(struct arena *arena, const struct check_order *o, const struct shell_facts *facts,
                struct error *err);
