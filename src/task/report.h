#pragma once
/*
 * Report: how a command ended, as its keeper saw it. It is the task's state.json and the last
 * packet on the control socket.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "process/message.h"
#include "sandbox/limits.h"
#include "sandbox/plan.h"

struct buffer;
struct error;

enum keeper_end {
	KEEPER_END_EXITED,  /* by itself: status */
	KEEPER_END_TIMEOUT, /* the time limit */
	KEEPER_END_IDLE,    /* it has been quiet for too long */
	KEEPER_END_STOPPED, /* by an order */
	KEEPER_END_CROWDED, /* it had more processes than it may */
	KEEPER_END_FAILED,  /* it never ran: step and sys, or why */
	KEEPER_END_REFUSED, /* the second check did not let it run: why */
	KEEPER_END_LOST,    /* its init was killed, so its own status is unknown */
	KEEPER_END_MAX,
};

/* Facts about one stream beside its bytes. */
struct keeper_stream {
	uint64_t bytes;      /* written by the command */
	uint64_t file_bytes; /* in the file now */
	uint64_t dropped_at; /* the cap: these many bytes are missing in the middle of the file */
	uint64_t dropped_bytes;
	uint64_t lost_bytes; /* could not be written to disk */
	int lost_errno;
};

#define REPORT_PLANTED_MAX 512
#define REPORT_HELD_MAX    512
#define REPORT_WHY_MAX     248
#define REPORT_QUIET_MAX   240
#define REPORT_NAMES_MAX   256
#define REPORT_SESSION_MAX 240
#define REPORT_AUDIT_MAX   248
#define REPORT_ENGINE_MAX  240
#define REPORT_LEFT_MAX    512
#define REPORT_STAGES_MAX  64
#define REPORT_CWD_MAX     2048

#define REPORT_ROOM_ID_SIZE 40

/* What the command shared with others of its session. */
struct keeper_room_report {
	char id[REPORT_ROOM_ID_SIZE]; /* empty: nothing */
	uint64_t generation;
	bool fresh; /* it was the first that had it */
	char notice[REPORT_SESSION_MAX];
};

#define REPORT_NETWORK_MAX 1280

/* What the command wanted of the network by name. */
struct keeper_network_report {
	bool named;           /* there was one */
	uint64_t connections; /* that were dialled */
	uint64_t refused;     /* connections and look-ups */
	uint64_t sent, received;
	uint64_t held;      /* connections that waited for a person */
	uint64_t questions; /* that were put for them */
	/* The first of the refused, one per line: name, port (0: a look-up), count, reason, rule,
	 * what, with tabs between them. */
	char list[REPORT_NETWORK_MAX];
	char notice[REPORT_SESSION_MAX];
};

#define REPORT_STATE_MAX 12

/* What the command has changed in its view of the workspace. */
struct keeper_changes_report {
	/* "kept", "applied", "nothing", "conflict": nothing was applied, "failed": likewise,
	 * "absent": there was to be a view, and there was none; empty: there was to be none. */
	char state[REPORT_STATE_MAX];
	char key[REPORT_ROOM_ID_SIZE]; /* of the shelf that it is on */
	uint64_t added, changed, deleted, bytes;
	uint64_t count, conflicts;    /* lines of the list */
	char why[REPORT_SESSION_MAX]; /* it failed, or is absent */
	int64_t keep_ms;
};

struct keeper_report {
	enum keeper_end end;
	enum child_step step;
	int sys;
	int status; /* as waitpid() gives it */
	int killed, survivors;
	int processes;         /* how many there have been; 0: not known */
	int processes_bounded; /* the limit on their number was in force */
	int64_t started_ms;    /* wall clock */
	int64_t duration_ms, cpu_ms, max_rss_kb;
	struct keeper_stream streams[2];
	struct sandbox_standing sandbox; /* tier "none" without a box */
	enum limit_hit limit_hit;
	struct keeper_room_report room;
	struct keeper_network_report network;
	struct keeper_changes_report changes;
	char planted[REPORT_PLANTED_MAX];  /* protected paths that were made, one per line, and what
	                                      came of them; see protect/protect.h */
	char replaced[REPORT_PLANTED_MAX]; /* others that are not what they were, and stay */
	char held[REPORT_HELD_MAX]; /* protected paths that the command wanted to be otherwise, one
	                               per line; behind a tab the id of the approval, or
	                               PROTECT_STAYS: that was refused */
	char ungranted[REPORT_NAMES_MAX]; /* writable paths that are not there, one per line */
	char ended[REPORT_NAMES_MAX];     /* names of what had to be ended, one per line */
	char slain[REPORT_NAMES_MAX];     /* the same of what had to be killed for that */
	char left[REPORT_LEFT_MAX];       /* what the command left running, which went on as the
	                                     task; see process/living.h */
	char cwd[REPORT_CWD_MAX];         /* where a line ended, if that was to be told; or "" */
	char stages[REPORT_STAGES_MAX];   /* status of each stage of the last pipeline */
	char quiet[REPORT_QUIET_MAX];     /* what a quiet command was doing when it was ended */
	char engine[REPORT_ENGINE_MAX];   /* a notice about the container engine */
	char session[REPORT_SESSION_MAX]; /* a notice about the session */
	char audit[REPORT_AUDIT_MAX];     /* a notice about the audit log */
	char why[REPORT_WHY_MAX];         /* words for a failure that step and sys do not tell */
	int why_public;                   /* why may be told to any client: it says what cannot be
	                                     had here, and nothing of what there is */
};

/* The mode of a task's directory whose report is in it: a list of thousands needs no second look.
 */
#define REPORT_IS_THERE  01700
#define REPORT_BYTES_MAX 16384

const char *keeper_end_name(enum keeper_end end);

int keeper_report_write(const struct keeper_report *r, struct buffer *into);
int keeper_report_read(const char *bytes, size_t n, struct keeper_report *ret_report,
                       struct error *err);
