#pragma once
/*
 * Engine: from a request to a result, by way of a profile, a verdict and a task.
 */
#include <limits.h>
#include "base/cleanup.h"
#include "approval/approval.h"
#include "engine/request.h"
#include "output/view.h"
#include "profile/profile.h"
#include "task/store.h"
#include "launch/task.h"

struct error;
struct audit;
struct launcher;
struct result;

/* What the person who runs nacre wants otherwise than the profile has it. */
struct engine_wishes {
	const char *profile, *agent, *policy_file; /* NULL: the default */
	const char *fallback;    /* the profile if neither these nor the policy file name one */
	const char *workspace;   /* NULL: the current directory */
	const char *root;        /* a directory around it whose protections hold; NULL: none */
	int64_t grace_ms;        /* -1: the profile's */
	uint64_t spool_cap;      /* bytes per stream on disk; UINT64_MAX: the profile's */
	uint64_t state_cap;      /* bytes of all tasks together */
	int64_t state_age_ms;    /* how long finished tasks are kept; 0: for ever */
	uint64_t max_processes;  /* only ever lowers the profile's; 0: that */
	struct view_limits view; /* used if view_given */
	bool view_given, keep_escapes;
	const char *output_prefix; /* not NULL: a result has no paths and no system words of this
	                              host, and what is kept is named by this and the task's id */
	bool confined; /* a workspace that is asked for lies in this one, whatever the profile's
	                  roots are */
};

extern const struct engine_wishes engine_wishes_default;

struct engine {
	struct engine_wishes wishes;
	struct store store;
	struct launcher *launcher; /* NULL: keepers are children of this process */
	bool ahead; /* without a launcher: a box is made while its command is decided about */
	const char *const *environment; /* nacre's own, from which a command's is built */
	char *policy_path;              /* wishes.policy_file, made absolute */
	struct profile *profile;        /* of the last request; reused while nothing changed */
	uint64_t profile_number;        /* counts how often it was loaded */
	struct audit *audit;            /* the log of the profile; NULL: not opened yet */
	dev_t profile_device;           /* the workspace that it was loaded for */
	ino_t profile_inode;
	char profile_root[PATH_MAX]; /* and its root */
};

struct engine_run; /* one request under way */

void engine_init(struct engine *e, const char *const *environment);
void engine_done(struct engine *e);

/* Starts the request. A request that cannot or may not be run (no such directory, a bad variable,
 * the verdict) is no error: *ret_run is then already at its end, with a result that says why. */
int engine_start(struct engine *e, const struct request *rq, struct engine_run **ret_run,
                 struct error *err);

/*
 * A run that a person has to approve waits, if the request says that it can. First wait until
 * engine_run_ask_fd() is readable, and no longer than ENGINE_ASK_LOOK_MS and
 * engine_run_ask_until(); then look with engine_run_asked(), until that says that it is over.
 */
#define ENGINE_ASK_LOOK_MS 1000
const struct approval *engine_run_asks(const struct engine_run *run); /* NULL: it does not wait */
int engine_run_ask_fd(const struct engine_run *run);                  /* -1: look now and then */
int64_t engine_run_ask_until(const struct engine_run *run);           /* as clock_now_ms() */
/* Whether it is over: there is a task now, or the run is at its end. */
bool engine_run_asked(struct engine *e, struct engine_run *run);
/* A person has answered at this door; engine_run_asked() then goes on. BY names them. -EALREADY:
 * somebody else was first, and their answer holds. */
int engine_run_answer(struct engine_run *run, enum approval_answer answer, const char *by,
                      const char *why, struct error *err);
/* Nobody will answer at this door: the run is refused, the question stays open for others. */
void engine_run_give_up(struct engine_run *run);
/* It is over, and nobody watches engine_run_ask_fd() any more: it is closed. */
void engine_run_ask_done(struct engine_run *run);

struct task *engine_run_task(struct engine_run *run);    /* NULL: it never started */
const char *engine_run_id(const struct engine_run *run); /* of its task, if there will be one */

/* Longer than this a keeper needs for nothing; one that has not reported then never will. */
int64_t engine_run_patience_ms(const struct engine_run *run);
enum output_mode engine_run_output_mode(const struct engine_run *run);

/* The command goes on as a task of which nobody waits for the end; the result says so. TIMED_OUT:
 * since its time is over. */
void engine_run_let_go(struct engine_run *run, bool timed_out);

/* After engine_run_let_go(), TASK_ENDED or TASK_LOST, or without a task. */
void engine_result(struct engine *e, struct engine_run *run, struct result *ret_result);

/* Frees the run. The task's directory goes with it unless KEEP: say so when it holds more than the
 * result does (output_kept), or when the result could not be delivered. */
void engine_run_done(struct engine *e, struct engine_run *run, bool keep);
