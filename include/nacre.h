/*
 * libnacre: run commands for an AI agent, decided, confined, supervised, with bounded output.
 *
 *	struct nacre_context *nacre;
 *	struct nacre_result *result;
 *	struct nacre_request request = NACRE_REQUEST_INIT;
 *
 *	request.command = "ls -la | head";
 *	if (nacre_context_new(NULL, &nacre, NULL) == 0 &&
 *	    nacre_run(nacre, &request, &result, NULL) == 0)
 *		fwrite(result->out, 1, result->out_bytes, stdout);
 *
 * Calls return 0 or a negative errno; outputs are set only on success. A command that may not run,
 * cannot run, fails or is ended is no error: there is a result that says so.
 *
 * Ownership. What a call gives out through a pointer is the caller's, who releases it with the
 * function of its type; all of its strings go with it. What is passed in is used during the call
 * only. Releasing NULL is fine.
 *
 * Threads. A context may be used by any number of threads at a time; a job by one at a time. Let a
 * thread that calls have 256 KiB of stack. After fork() without exec the child makes a context of
 * its own.
 *
 * The process. libnacre prints nothing, never exits, changes no signal handler, no signal mask and
 * no working directory, and the process gets no child and no SIGCHLD by it: commands are started by
 * a process beside it, the program `nacre`, which has to be installed in the same version. All
 * descriptors are close-on-exec. Where the context is gone, so is that process.
 *
 * Growth. Structs that are passed in begin with their size: initialise them with their _INIT, and a
 * program that was compiled with an older header goes on working. Structs that are given out grow
 * at their end; NACRE_HAS() tells whether a member is there.
 */
#ifndef NACRE_H
#define NACRE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define NACRE_INIT_(type)                                                                          \
	{                                                                                          \
		sizeof(type)                                                                       \
	}
#else
#define NACRE_INIT_(type)                                                                          \
	{                                                                                          \
		.size = sizeof(type)                                                               \
	}
#endif

#if defined(__GNUC__)
#define NACRE_API __attribute__((visibility("default")))
#else
#define NACRE_API
#endif

/* Whether the library that is in use knows this member of a struct that it gave out. */
#define NACRE_HAS(object, member)                                                                  \
	((object)->size >= (size_t)((const char *)&(object)->member - (const char *)(object)) +    \
	                           sizeof((object)->member))

struct nacre_context;
struct nacre_job;

/* Why a call failed; never grows. Every call accepts NULL: the code alone is then the answer. */
enum nacre_error_kind {
	NACRE_ERROR_SYSTEM,      /* the machine; the text may name its details */
	NACRE_ERROR_INPUT,       /* what was passed in is wrong */
	NACRE_ERROR_LIMIT,       /* a limit was reached */
	NACRE_ERROR_UNSUPPORTED, /* that is not done here */
};

struct nacre_error {
	int32_t kind;
	int32_t code; /* the negative errno that the call returns */
	char text[248];
};

/* "1.2.3" */
NACRE_API const char *nacre_version(void);

/* ---- Context: a profile, a workspace, and the process that starts the commands. ---- */

struct nacre_options {
	size_t size;
	const char *program;            /* to execute; NULL: $NACRE_PROGRAM, else the installed */
	const char *profile;            /* NULL: "bash" */
	const char *agent;              /* NULL: none */
	const char *policy_file;        /* a layer of rules above all others; NULL: none */
	const char *workspace;          /* NULL: the current directory of this moment */
	const char *const *environment; /* from which that of commands is built; NULL: our own */
	const char *principal;          /* for whom: tasks of others are not seen; NULL: the user */
};
#define NACRE_OPTIONS_INIT NACRE_INIT_(struct nacre_options)

/* OPTIONS may be NULL. The profile is read with the first request, and again when it changed. */
NACRE_API int nacre_context_new(const struct nacre_options *options,
                                struct nacre_context **ret_context, struct nacre_error *err);
/* No job of it may be left. Background tasks go on. */
NACRE_API void nacre_context_free(struct nacre_context *context);

/* ---- Requests and results. ---- */

enum nacre_output_mode {
	NACRE_OUTPUT_PROFILE,  /* as the profile has it */
	NACRE_OUTPUT_SEPARATE, /* both streams, each for itself */
	NACRE_OUTPUT_MERGED,   /* both in one, in the order in which they were written */
	NACRE_OUTPUT_STDOUT,   /* this one is shown */
	NACRE_OUTPUT_STDERR,
};

enum nacre_request_flag {
	NACRE_BACKGROUND = 1 << 0, /* become a task at once; the result has its id */
	NACRE_FORCE = 1 << 1,      /* override a nudge, never a deny */
	NACRE_ASK = 1 << 2,        /* where a rule says so, wait for the answer of a person */
};

struct nacre_request {
	size_t size;
	const char *command;     /* a line for bash, or words, as the profile says; or */
	const char *const *argv; /* words that are executed as they are, NULL at the end */
	const char *workspace;   /* below a root of the profile, or in the context's; NULL: that */
	const char *cwd;         /* inside the workspace; NULL: the session's, else its root */
	const char *const *env;  /* NAME=VALUE, over the scrubbed base; may be NULL */
	const void *input;       /* bytes for standard input; NULL: it is empty */
	size_t input_bytes;
	const char *description;     /* what it is for; a profile may require it */
	const char *session;         /* keeps directory and variables between calls; NULL: none */
	int64_t timeout_ms;          /* 0: the profile's */
	int64_t idle_timeout_ms;     /* may be without output for this long; 0: the profile's */
	uint32_t output_mode;        /* enum nacre_output_mode */
	uint32_t flags;              /* enum nacre_request_flag */
	uint16_t rows, cols;         /* of a terminal to run on; 0: none */
	uint32_t reserved;           /* 0 */
	int64_t approval_timeout_ms; /* wait no longer than this for a person; 0: the profile's */
};
#define NACRE_REQUEST_INIT NACRE_INIT_(struct nacre_request)

enum nacre_verdict {
	NACRE_VERDICT_NONE, /* there was no decision: the request itself is wrong */
	NACRE_VERDICT_ALLOW,
	NACRE_VERDICT_ASK,   /* a person has to approve; the reason tells how, or who has not */
	NACRE_VERDICT_NUDGE, /* there is a better way; NACRE_FORCE overrides */
	NACRE_VERDICT_DENY,
};

enum nacre_result_flag {
	NACRE_SUCCESS = 1 << 0,         /* it ran and ended with 0 */
	NACRE_RAN = 1 << 1,             /* it ran at all */
	NACRE_TIMED_OUT = 1 << 2,       /* its time was over */
	NACRE_STOPPED = 1 << 3,         /* somebody ended it */
	NACRE_IN_BACKGROUND = 1 << 4,   /* it goes on as a task: nothing is known of its end */
	NACRE_TRUNCATED = 1 << 5,       /* not all of the output is in the text */
	NACRE_LEFT_TO_SANDBOX = 1 << 6, /* not proven harmless: the box is what holds it */
	NACRE_LEFT_RUNNING = 1 << 7,    /* it has ended; what it left running goes on as a task */
};

/* Strings are never NULL, but empty where there is nothing to say. */
struct nacre_result {
	size_t size;
	uint32_t flags;     /* enum nacre_result_flag */
	uint32_t verdict;   /* enum nacre_verdict */
	int32_t exit_code;  /* its own; 124 timed out, 125 nacre failed, 126 refused, 127 not found,
	                       128+n killed by signal n */
	int32_t signal;     /* that ended it; 0: none */
	const char *reason; /* why it did not run, or has no status of its own */
	const char *rule;   /* the id of the rule that decided */
	const char *task_id;
	const char *note; /* of a background task: how to find it */
	const char
		*out; /* stdout, or all when merged: UTF-8, cleaned, within the profile's limit */
	size_t out_bytes;
	const char *err; /* stderr */
	size_t err_bytes;
	uint64_t written[2]; /* bytes that the command wrote to stdout (or both) and stderr */
	int64_t duration_ms, cpu_ms, max_rss_kb;
	const char *const *recommended; /* what to use instead; NULL at the end */
	const char *const *notices;     /* what else is to be known; NULL at the end */
	const char *json;               /* all of it, as `nacre run --json` prints it */
};
NACRE_API void nacre_result_free(struct nacre_result *result);

/* Runs the request to its end. */
NACRE_API int nacre_run(struct nacre_context *context, const struct nacre_request *request,
                        struct nacre_result **ret_result, struct nacre_error *err);

/* ---- Jobs: requests under way. ---- */

NACRE_API int nacre_start(struct nacre_context *context, const struct nacre_request *request,
                          struct nacre_job **ret_job, struct nacre_error *err);

/* Waits for the end, but not longer than this (-1: for ever, 0: not at all). -EAGAIN: it is still
 * running. -EINPROGRESS: a person is asked from now on, see nacre_job_question(); it comes only
 * with NACRE_ASK, at most once before the command starts, and again for each name that a connection
 * of the running command waits for (docs/network.md). The result is given out once; after that
 * -ESRCH. */
NACRE_API int nacre_poll(struct nacre_job *job, int64_t timeout_ms,
                         struct nacre_result **ret_result, struct nacre_error *err);

/* For a loop of the caller's own: becomes readable when nacre_poll() has something to do; it also
 * wants to be called once a minute. Belongs to the job. */
NACRE_API int nacre_job_fd(const struct nacre_job *job);

/* "" as long as it has not started. For the calls below; lives as long as the job. */
NACRE_API const char *nacre_job_task_id(const struct nacre_job *job);

/* A command that still runs is ended, at once and with all that it started; see
 * nacre_job_let_go(). */
NACRE_API void nacre_job_free(struct nacre_job *job);

/* The command goes on as a background task; nacre_poll() tells so by the result. */
NACRE_API int nacre_job_let_go(struct nacre_job *job, struct nacre_error *err);

/* ---- Questions: a rule wants a person to decide. They may do so by `nacre approve` as well. ----
 */

enum nacre_answer {
	NACRE_ANSWER_DENY,
	NACRE_ANSWER_ONCE,
	NACRE_ANSWER_SESSION, /* and for the same words until the session ends */
};

/* Made harmless for a terminal. Strings are never NULL. */
struct nacre_question {
	size_t size;
	const char *id;      /* for `nacre approve`; it grants nothing by itself */
	const char *command; /* what exactly would run; may have several lines */
	const char *cwd;
	const char *description; /* the asker's own words: not to be relied on */
	const char *rule;
	const char *reason; /* why a person is asked */
	const char *json;   /* all of it, as `nacre approvals --json` shows it */
};

/* What was asked about last; NULL: nothing. Belongs to the job. */
NACRE_API const struct nacre_question *nacre_job_question(const struct nacre_job *job);

/* Answers it; BY names the person, for the record. -EALREADY: somebody else was first, and their
 * answer holds; or there is another question, which nacre_poll() tells of. -EPERM: this cannot be
 * approved for a session. Never let a model call this. */
NACRE_API int nacre_job_answer(struct nacre_job *job, int answer, const char *by,
                               struct nacre_error *err);

/* ---- Tasks: commands that run or ran, by id, whoever started them. ---- */

enum nacre_stream {
	NACRE_STREAM_BOTH, /* in the order in which they were written */
	NACRE_STREAM_STDOUT,
	NACRE_STREAM_STDERR,
};

struct nacre_output_query {
	size_t size;
	uint64_t since;    /* pass over so many bytes */
	size_t max_bytes;  /* 0: 1 MiB */
	int64_t wait_ms;   /* if there is nothing yet: wait for so long; -1: for ever */
	uint32_t stream;   /* enum nacre_stream */
	uint32_t reserved; /* 0 */
};
#define NACRE_OUTPUT_QUERY_INIT NACRE_INIT_(struct nacre_output_query)

enum nacre_task_state {
	NACRE_TASK_RUNNING,
	NACRE_TASK_ENDED, /* and all that it wrote has been read, if there are no bytes */
	NACRE_TASK_LOST,  /* with the machine, or by SIGKILL to its keeper */
};

struct nacre_output {
	size_t size;
	const char *bytes; /* as they were written; a NUL that does not count follows */
	size_t byte_count;
	uint64_t next;     /* the since of the next call */
	uint64_t missing;  /* bytes before these that are in no file any more */
	uint32_t state;    /* enum nacre_task_state */
	int32_t exit_code; /* of a task that has ended; else -1 */
	int32_t signal;
	uint32_t reserved;
};

/* TASK_ID may be the beginning of an id. A foreground command whose output is all in its result
 * leaves no task behind. */
NACRE_API int nacre_output(struct nacre_context *context, const char *task_id,
                           const struct nacre_output_query *query, struct nacre_output **ret_output,
                           struct nacre_error *err);
NACRE_API void nacre_output_free(struct nacre_output *output);

/* Ends the task with all that it started and waits for that: SIGTERM, after the grace of its
 * profile SIGKILL; NOW: without grace. -ESRCH: it was not running. */
NACRE_API int nacre_stop(struct nacre_context *context, const char *task_id, int now,
                         struct nacre_error *err);

/* Size first, then text, then keys, then the end. */
struct nacre_input {
	size_t size;
	const void *text; /* typed as it is, without Enter; may be NULL */
	size_t text_bytes;
	const char *const
		*keys;       /* Enter, Tab, Up, F1, C-c, M-x ...; NULL at the end; may be NULL */
	uint16_t rows, cols; /* give the terminal another size; 0: do not */
	uint32_t end;        /* not 0: the end of the input, as Ctrl-D at the start of a line */
};
#define NACRE_INPUT_INIT NACRE_INIT_(struct nacre_input)

/* Types on the terminal of a task that was started with rows and cols. */
NACRE_API int nacre_input(struct nacre_context *context, const char *task_id,
                          const struct nacre_input *input, struct nacre_error *err);

/* ---- Explain: what would be decided; runs nothing. ---- */

struct nacre_explanation {
	size_t size;
	uint32_t verdict; /* enum nacre_verdict */
	uint32_t flags;   /* NACRE_LEFT_TO_SANDBOX */
	const char *reason, *rule;
	const char *const *recommended; /* NULL at the end */
	const char *json;               /* all of it, as `nacre explain --json` prints it */
};

NACRE_API int nacre_explain(struct nacre_context *context, const struct nacre_request *request,
                            struct nacre_explanation **ret_explanation, struct nacre_error *err);
NACRE_API void nacre_explanation_free(struct nacre_explanation *explanation);

#undef NACRE_API
#ifdef __cplusplus
}
#endif
#endif
