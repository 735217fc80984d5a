#pragma once
/*
 * Question: what a decision is about. It has what was asked for as the order has it, and no words
 * of its own: at the door the order is made together with the question, in the keeper it has come.
 */
#include <stdbool.h>
#include "base/cleanup.h"

struct arena;
struct error;
struct keeper_order;
struct place;
struct policy_grants;
struct profile;
struct request;
struct session_use;
struct shell_facts;

struct question {
	const struct profile *profile;
	const struct keeper_order *order; /* its request, environment and working directory */
	int workspace_fd;
	int input_fd;                       /* the command's standard input; -1: not known */
	const struct policy_grants *grants; /* NULL: none */
	const struct shell_facts *facts; /* what the words mean; NULL: nobody has read them yet */
	bool to_run; /* it is about to run: nobody is asked about a program that is not there */
};

/* What a request is decided by. */
struct question_source {
	const struct request *request;
	const struct place *place; /* with its working directory; longer there than the question */
	const struct session_use *session; /* NULL: none */
	const struct profile *profile;
	const char *const *environment; /* nacre's own, from which the command's is built */
};

/* The question that a request is, and those members of the order that it is about. All memory is in
 * the arena, or the source's. */
int question_of(struct arena *arena, const struct question_source *from, struct keeper_order *order,
                struct question *ret_question, struct error *err);

/* The question that an order is; the workspace is opened as it is now. question_done() closes it.
 */
int question_of_order(const struct keeper_order *order, const struct profile *profile, int input_fd,
                      struct question *ret_question, struct error *err);
void question_done(struct question *q);
