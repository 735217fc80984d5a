#pragma once
/*
 * Record: what the engine writes to the audit log about one request, in the process that got it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ask;
struct engine;
struct error;
struct keeper_order;
struct policy_finding;
struct request;

struct engine_record {
	const struct request *request;
	const struct keeper_order *order;     /* as far as it is known */
	const struct policy_finding *finding; /* NULL: it did not get as far as a decision, and */
	const char *refusal;                  /* this is why */
	const char *task;
};

#define ENGINE_RECORD_NOTICE_MAX 300

/* That it was requested, and what was decided. 0: it may go on, and NOTICE is what a result has to
 * say about the log, or empty. */
int engine_record(struct engine *e, const struct engine_record *r,
                  char notice[ENGINE_RECORD_NOTICE_MAX], struct error *err);

/* ASKED: that a person is asked; else that it is refused, since nobody has approved it. */
void engine_record_ask(struct engine *e, const struct keeper_order *order, const char *task,
                       const struct ask *a, bool asked);
