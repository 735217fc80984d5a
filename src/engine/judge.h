#pragma once
/*
 * Judge: decide about a command that another program will run, record it, and ask.
 *
 * The decision is the one that a run makes: the same profile, place, session, grants and approvals.
 * What comes after it differs: nothing is started here, and an approval is not used up. The shell
 * that the client then starts decides once more, and uses it.
 */
#include "decide/check.h"

struct arena;
struct engine;
struct error;
struct request;

struct judgement {
	enum policy_verdict verdict; /* ALLOW also if a person has approved it */
	const char *reason;          /* a sentence, or several; "": none */
	const char *const *use;      /* what to run instead; may be NULL */
	const char *rule, *rule_file;
	unsigned rule_line;
	bool open; /* ASK: a question is on the desk, and its id in the reason */
};

/* Everything of it lives in the arena. A refusal is no error. An error means that there is no
 * decision, or that it could not be recorded: nothing may run. ASK: a question is put on the desk;
 * else whoever runs the command asks. */
int engine_judge(struct engine *e, const struct request *rq, bool ask, struct arena *arena,
                 struct judgement *ret, struct error *err);
