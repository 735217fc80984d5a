#pragma once
/*
 * Record: what the engine writes to the audit log about one request, in the process that got it.
 */
#include <stdbool.h>

struct run;

#define ENGINE_RECORD_NOTICE_MAX 300

/* That it was requested, and what was decided or, where it did not get as far, why. 0: it may go
 * on, and the run's audit_notice is what a result has to say about the log, or empty; else its
 * refusal says why not. */
int engine_record(struct run *run);

/* ASKED: that a person is asked; else that it is refused, since nobody has approved it. */
void engine_record_ask(struct run *run, bool asked);
