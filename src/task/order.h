#pragma once
/*
 * Order: everything a keeper must know to run one command, as plain data.
 *
 * It travels as JSON: to the keeper through the launcher, and to disk as the task's spec.json. So a
 * keeper is started in one way only, by any parent.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "output/capture.h"
#include "process/pty.h"

struct arena;
struct buffer;
struct error;

#define ORDER_BYTES_MAX ((size_t)32 << 20) /* far above what execve takes, escapes included */

struct profile;
struct sandbox_spec;

/* What was asked for, as it was asked for: the keeper decides about it once more. */
struct keeper_request {
	const char *profile, *agent, *policy_file; /* each may be NULL */
	const char *command;                       /* one string; or NULL and */
	const char *const *argv;                   /* words */
	const char *const *args; /* of a line: its own name, then $1 and so on; may be NULL */
	const char *const *env;  /* what the request adds; may be NULL */
	const char *workspace;   /* absolute */
	const char *root;        /* the directory that the caller chose it in; may be the same */
	const char *cwd;         /* relative to the workspace */
	const char *state;       /* nacre's state directory, hidden from the box; may be NULL */
	const char *session;     /* its id; may be NULL */
	const char *approval;    /* id of the approval that a person must have given; may be NULL */
	bool force;
	bool passing;   /* the session keeps neither directory nor variables */
	bool tells_cwd; /* but the report tells the directory */
};

struct keeper_order {
	struct keeper_request request;
	struct profile *profile;            /* never travels: only a child has it; may be NULL */
	const struct sandbox_spec *sandbox; /* never travels: it comes from the second check */
	const char *task_id;
	const char *principal, *door; /* the owner, and the door it came by; each may be NULL */
	const char *base;             /* the directory that the door serves; NULL: the root */
	const char *command;          /* as it was asked for; shown to people, never run */
	const char *description;      /* may be NULL */
	const char *const *argv;      /* what is executed */
	const char *const *envp;
	const char *cwd;
	struct pty_size terminal; /* rows 0: none */
	bool relay;               /* its output goes to the starter as it comes; CONTROL_RELAY */
	const int *relay_fds;     /* never travels: one for each stream; NULL: no relay */
	bool interactive;         /* the starter is where a person sits: with it goes the command */
	bool merged;
	bool background;      /* no caller waits: its files exist from the start */
	bool timeout_lets_go; /* at the time limit it goes on as a task */
	bool keep_leftover;   /* what it leaves running goes on as a task, if the profile agrees */
	bool timeout_asked;   /* the caller's wish: it holds for what is left running, too */
	bool follow;          /* the starter wants to hear of output while it comes */
	bool findable;        /* the starter has made the directory already */
	bool dry_run;         /* it works in a view, and what it changes is kept */
	bool undoable;        /* it works in a view, and what it changes is applied at its end */
	int64_t timeout_ms;
	int64_t ask_ms;          /* how long its connections may wait for a person; 0: not at all */
	int64_t idle_timeout_ms; /* 0: it may be quiet for as long as it likes */
	int64_t grace_ms;
	uint64_t spool_cap;     /* bytes per stream on disk */
	uint64_t max_processes; /* 0: not limited */
	size_t patience;        /* so many bytes of plain text the starter takes from memory */
	struct capture_limits kept;
};

int keeper_order_write(const struct keeper_order *o, struct buffer *into);

/* Strings and arrays of *ret_order live in the arena. */
int keeper_order_read(const char *bytes, size_t n, struct arena *arena,
                      struct keeper_order *ret_order, struct error *err);
