#pragma once
/*
 * Request: what somebody wants to be run. Plain data; strings belong to whoever made it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_mode {
	OUTPUT_SEPARATE, /* both streams, each for itself */
	OUTPUT_MERGED,   /* both in one, in the order in which they were written */
	OUTPUT_STDOUT,   /* both are captured, this one is shown */
	OUTPUT_STDERR,
	OUTPUT_MODE_MAX,
};

struct permit_share;

struct request {
	const char *const *argv; /* executed directly; or NULL and */
	const char *command;     /* one string: a line for bash, or words, as the profile says */
	const char *const *args; /* of a line for bash: what it calls itself, then $1 and so on; may
	                            be NULL */
	const char *workspace;   /* below a root of the profile, or in the engine's; NULL: that */
	const char *cwd; /* inside the workspace; relative to it, or absolute; NULL: its root */
	const char *const *env; /* NAME=VALUE, over the base environment; may be NULL */
	const char *input;      /* bytes for standard input; NULL: input_fd */
	size_t input_len;
	int input_fd;        /* -1: standard input is empty */
	uint16_t rows, cols; /* of a terminal to run on; 0: none */
	bool interactive;    /* a person sits before it: no time limit unless one is asked for, and
	                        it ends when they go */
	bool passing;        /* it has its session's room and approvals, but neither directory nor
	                        variables: the caller has its own */
	bool all_variables;  /* the base environment has all of nacre's own but secrets, if the
	                        profile trusts the box with what is run */
	const char *away; /* a directory outside of the workspace in which the line begins; NULL */
	bool tells_cwd;   /* the result has the directory in which a line has ended */
	const int *relay; /* two descriptors, to which its output goes as it comes, too; the second
	                     is -1 where both are one. With the caller it ends. NULL: nowhere */
	const char *principal; /* who asks, as the door knows them; NULL: who runs nacre */
	const char *door;      /* by which they came: "cli", "mcp", ...; NULL: not said */
	const char *description;
	int64_t timeout_ms;      /* 0: the default */
	int64_t idle_timeout_ms; /* may be without output for this long; 0: the profile's */
	const char *session;     /* its id; NULL: none */
	const char *job; /* without a session: whose directory it has (workspace.per_job); NULL */
	enum output_mode output_mode;
	bool output_mode_given; /* else it is the profile's */
	bool one_text;          /* the answer is one text: "auto" then means merged */
	/* What the caller can take of an answer; 0: no bound of its own. */
	size_t answer_bytes, answer_lines;
	bool answer_given; /* whoever runs nacre says so: instead of the profile's limit */
	bool end_leftover; /* whatever the profile says: no more tasks are wanted */
	bool background;   /* become a task at once; merged unless output_mode_given */
	bool force;        /* override a nudge, never a deny */
	bool comes_back;   /* a question can be the answer: the caller retries with its own */
	bool can_ask;      /* a person can be asked, and the caller waits for the answer */
	int64_t approval_timeout_ms; /* waits no longer than this for a person; 0: the profile's */
	bool follow;                 /* TASK_OUTPUT events are wanted */
	bool dry_run;                /* it works in a view of the workspace, which stays as it is */
	bool findable;              /* its task is known by its id before its end, and looked for */
	struct permit_share *share; /* of whoever asks, by which a job may run (engine/permits.h);
	                               NULL: it is started at once */
};

const char *output_mode_name(enum output_mode mode);
int output_mode_parse(const char *name, enum output_mode *ret_mode);
