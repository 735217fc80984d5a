#pragma once
/*
 * Session: what persists between the calls of one id: the working directory and the exported
 * variables that a line of bash has changed.
 *
 *	<state>/sessions/<id>.json   principal, workspace, cwd (relative to it), away, set, unset
 *	<state>/sessions/.use        locks of those who use one (session-sweep.c)
 *
 * bash writes its directory and its exported variables to a descriptor of its own when it ends, by
 * a trap around the line; the keeper reads them there. All of it comes from inside the box and is
 * believed in nothing: it is bounded, names are checked, names that change what a shell or a loader
 * runs are left out, and the directory is looked for inside the workspace at every start.
 *
 * A call changes in the file what it has changed itself. So calls at the same time each start from
 * the last state that was written, keep what others have changed meanwhile, and of two that change
 * the same the later to end wins.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "process/child.h"

struct arena;
struct buffer;
struct error;

#define SESSION_ID_MAX        64
#define SESSION_FD            CHILD_NOTES_FD
#define SESSION_RECORD_MAX    ((size_t)1 << 20) /* read from one command at most */
#define SESSION_VARIABLES_MAX 256
#define SESSION_BYTES_MAX     ((size_t)128 << 10) /* of all names and values together */
#define SESSION_NOTICE_MAX    240
#define SESSION_EACH_MAX      512                             /* sessions of one principal */
#define SESSION_AGE_MS        ((int64_t)7 * 24 * 3600 * 1000) /* after the last use */

/* Letters, digits, '.', '_' and '-', not '.' first: an id is a file name and nothing else. */
bool session_id_is_valid(const char *id);

/* Whether a variable may be kept: its name is one, and not one that is refused or that every start
 * sets anew. */
bool session_keeps(const char *name, size_t n);

struct session {
	const char *workspace;  /* that cwd is relative to; NULL: none yet */
	const char *cwd;        /* NULL: none yet */
	const char *away;       /* where it is outside of the workspace (away.h); NULL: it is not */
	const char *const *set; /* NAME=VALUE */
	const char *const *unset; /* names */
};

/* STATE is nacre's state directory. A session that was never used is an empty one. */
int session_load(const char *state, const char *id, struct arena *arena,
                 struct session *ret_session, struct error *err);

/* The line with the trap in front, on the same line, so that numbers of lines stay right. */
void session_wrap(const char *line, struct buffer *into);

/* The line alone, of one that was wrapped; else the text itself. */
const char *session_unwrap(const char *text);

/* What bash has told at its end; nothing of it is checked but that names are names. */
struct session_record {
	const char *const *set; /* NAME=VALUE */
	size_t count;
	const char *cwd; /* "": it is gone */
};

/* Finds the last whole record. -ENODATA: there is none; -EBADMSG: it is not as bash writes it. */
int session_read_record(const char *bytes, size_t n, struct arena *arena,
                        struct session_record *ret_record);

/* How a command of a session began. */
struct session_start {
	const char *state, *id;
	const char *principal;   /* whose it is; NULL: who runs nacre */
	const char *workspace;   /* absolute */
	const char *cwd;         /* absolute */
	const char *const *envp; /* all of it */
	bool roams;              /* it may stay outside of the workspace */
};

/* The status of each stage of the pipeline that the line ended with, "1 0"; empty: it did not end
 * with one of several stages, or that is not known. */
#define SESSION_STAGES_MAX 64
void session_read_stages(const char *bytes, size_t n, char into[SESSION_STAGES_MAX]);

/* Brings into the file what the record in BYTES says to have changed since the start. 0: done, or
 * there was nothing to do. NOTICE is what the caller should know; empty: nothing. */
int session_commit(const struct session_start *start, const char *bytes, size_t n,
                   char notice[SESSION_NOTICE_MAX]);

/* The session is in use while the descriptor that is returned is open: no sweep takes it. */
int session_hold(const char *state, const char *id);

/* Deletes one, whoever uses it: its next call begins anew. -ENOENT: it had nothing. */
int session_forget(const char *state, const char *id);

/* Deletes sessions that nobody uses, or has used for MAX_AGE_MS (0: none), and with them what
 * persons have approved for these. Returns how many. Of too many sessions of one principal the
 * oldest go when one more is written. */
int session_sweep(const char *state, int64_t max_age_ms);
