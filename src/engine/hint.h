#pragma once
/*
 * Hint: what the sandbox had to do with the end of a command, and what to change.
 *
 * A hint states facts of the report and of the profile. The output of the command only chooses
 * which facts are worth saying: output that lies earns a useless hint, never a false one. A hint
 * never tells whether a path exists outside of the sandbox.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper_report;
struct sandbox_spec;

#define HINTS_MAX     2    /* for one result */
#define HINT_TEXT_MAX 520  /* of one hint */
#define HINT_LOOK_MAX 4096 /* the last bytes of a stream that are looked at */

#define HINT_STREAMS 3

struct hint_stream {
	const char *bytes; /* as the command wrote them; may be NULL */
	size_t n;
};

struct hint_facts {
	const struct keeper_report *report;
	const struct sandbox_spec *spec; /* NULL: the profile has changed while the command ran */
	const char *command;             /* as it was asked for */
	const char *workspace, *root;    /* absolute; ROOT as in sandbox_place */
	const char *cwd;                 /* absolute: where the command began */
	const char *home;                /* what "~/" of the spec stands for; may be NULL */
	int exit_code;                   /* 0: it succeeded */
	int64_t timeout_ms, timeout_max_ms;
	bool timeout_asked; /* it is the caller's own wish */
	bool has_session;   /* it keeps the working directory */
	bool scratch_stays; /* /tmp, /dev/shm and home are not of this command alone */
	bool wants_room;    /* by the profile they would be shared by the calls of its session */
	bool other_tasks;   /* others of the caller run; told of hint_wants_tasks() only */
	bool left_running;  /* what the command left running goes on as its task */
	const char *task_id;
	const char *door, *tool; /* by which the caller came; each may be NULL */
	uint64_t max_processes;  /* that the caller asked for; 0: the spec's */
	bool cli;                /* the caller has the options of the command line */
	bool discreet;           /* the caller must not learn what lies where on this host */
	struct hint_stream streams[HINT_STREAMS]; /* stdout, stderr, and words of our own */
};

/* Whether it matters for a hint that other tasks run: the command looks for processes. */
bool hint_wants_tasks(const struct hint_facts *facts);

/* Returns how many there are. Time is linear in what is looked at. */
int hint_find(const struct hint_facts *facts, char into[HINTS_MAX][HINT_TEXT_MAX]);
