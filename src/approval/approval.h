#pragma once
/*
 * Approval: one question to a person, and the answer: whether exactly this may run.
 *
 * What is asked about is an object: the words that are executed, the whole environment, the input,
 * the directories and the files behind it, each as a digest. The rest is for the person, and is
 * made harmless for a terminal before it is written. An approval is never changed: its answer is a
 * file of its own beside it (see desk.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "approval/object.h"

struct approval_look;
struct arena;
struct buffer;
struct error;
struct json_writer;

#define APPROVAL_ID_CHARS   10 /* of 32 letters each: 50 bits, and short enough to be typed */
#define APPROVAL_ID_MAX     (3 + APPROVAL_ID_CHARS + 1)
#define APPROVAL_BYTES_MAX  ((size_t)1 << 20)
#define APPROVAL_SHOWN_MAX  ((size_t)256 << 10) /* of a command; what is longer nobody reads */
#define APPROVAL_INPUT_MAX  ((size_t)4 << 10)   /* of an input, that is shown */
#define APPROVAL_GRANTS_MAX 64

enum approval_answer {
	APPROVAL_DENY,
	APPROVAL_ONCE,
	APPROVAL_SESSION, /* these words, until the session ends */
	APPROVAL_SUB,     /* the program and its sub-command, until the session ends */
	APPROVAL_ANSWER_MAX,
};

enum approval_state {
	APPROVAL_OPEN,
	APPROVAL_GIVEN, /* a person has said yes, and nothing has run by it yet */
	APPROVAL_USED,
	APPROVAL_REFUSED,
	APPROVAL_EXPIRED, /* nobody has answered, or used the answer, in time */
	APPROVAL_STATE_MAX,
};

/* What an answer for the session gives to the policy. */
struct approval_grants {
	const struct digest *digests;
	size_t count; /* 0: this cannot be approved for a session */
};

struct approval {
	char id[APPROVAL_ID_MAX];
	const char *principal;          /* who asked; "": who runs nacre */
	const char *door;               /* "cli", "mcp" ...; may be NULL */
	const char *session;            /* NULL: none */
	const char *profile;            /* by which it was decided */
	int64_t created_ms, expires_ms; /* wall clock */
	const char *command;            /* canonical; may have several lines */
	const char *description;        /* of the asker; may be NULL */
	const char *workspace, *cwd;    /* absolute */
	const char *sandbox;            /* as the profile asks: "strict" ...; or NULL */
	const char *network;            /* "none", "host" */
	const char *reaches;            /* NAME:PORT, ...: a yes is for these, too; or NULL */
	const char *engine;     /* whether a container engine can be reached: "off", "open" */
	const char *const *env; /* NAME=VALUE that the request adds; never NULL */
	const char *input;      /* its beginning; NULL: none, or not known */
	bool terminal;          /* it runs on one: more is typed later */
	const char *rule_id, *rule_file; /* may be NULL */
	uint32_t rule_line;
	const char *reason;
	struct approval_object object;
	struct approval_grants exact, sub;
	struct digest terms;     /* of the profile and its box, to which a grant is bound */
	bool audited;            /* the answer belongs into the audit log */
	const char *const *mask; /* patterns of the profile for what is written there; or NULL */

	const struct approval_look *look; /* how it is shown; NULL: not known, or no command */

	/* Of a file that waits instead of a command (held.h). */
	const char *held, *held_in;      /* its path, in this workspace; NULL: none */
	const char *held_now, *held_was; /* content, as hex digits; was NULL: nothing was there */
	bool held_runs;

	/* The answer, as far as there is one. */
	enum approval_state state;
	enum approval_answer answer; /* if state is GIVEN, USED or REFUSED */
	const char *by;              /* who has answered; "" while nobody has */
	const char *why;             /* what they have said; may be NULL */
	int64_t answered_ms;
	bool told; /* of a no: whoever asked knows it */
};

/* Whether it is about connections of a command that is allowed to run (connection.h). */
bool approval_is_connection(const struct approval *a);

/* "ap-" and letters; case does not matter and the prefix may be missing. -EINVAL: it is none. */
int approval_id_read(const char *text, char ret_id[APPROVAL_ID_MAX]);

const char *approval_answer_name(enum approval_answer answer); /* "once", "session" ... */
int approval_answer_read(const char *name, enum approval_answer *ret_answer);
const char *approval_state_name(enum approval_state state); /* "open", "given" ... */

/* The file of an approval: all but its id and its answer. */
int approval_write(const struct approval *a, struct buffer *into);
/* Strings live in the arena. */
int approval_read(const char *bytes, size_t n, struct arena *arena, struct approval *ret_approval,
                  struct error *err);

/* Members for whoever shows it to a person; the caller has begun the object. */
void approval_put_json(struct json_writer *w, const struct approval *a);
