#pragma once
/*
 * Event: one thing that happened to one request, as plain data, and the text that it becomes in the
 * log. What looks like a secret is masked (mask.h) before it is written.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct mask;

enum audit_kind {
	AUDIT_REQUESTED, /* it came in */
	AUDIT_DECIDED,   /* the policy's verdict */
	AUDIT_ASKED,     /* a person is asked */
	AUDIT_APPROVED,  /* a person said yes */
	AUDIT_REFUSED,   /* it will not run: the verdict, a person, the second check */
	AUDIT_STARTED,   /* on the disk before the command runs */
	AUDIT_TYPED,     /* bytes for its terminal, on the disk before the command can read them */
	AUDIT_LEFT,      /* it has ended, and what it left running goes on as its task */
	AUDIT_ENDED,
	AUDIT_ROOM_MADE,     /* files that the calls of a session share; not of one request */
	AUDIT_ROOM_ENDED,    /* and they are gone */
	AUDIT_NETWORK,       /* a connection, before it is dialled or with its refusal */
	AUDIT_NETWORK_ENDED, /* a connection that was dialled */
	AUDIT_APPLIED,       /* what a command changed in its view came into the workspace */
	AUDIT_UNDONE,        /* and was taken back */
	AUDIT_DISCARDED,     /* or thrown away */
	/* Made by the log itself. */
	AUDIT_OPENED,     /* the first of a file, signed */
	AUDIT_CHECKPOINT, /* signed */
	AUDIT_BREAK,      /* a writer or the machine died here, or somebody has been at the file */
	AUDIT_KIND_MAX,
};

#define AUDIT_TEXT_MAX  ((size_t)64 << 10) /* of a command, and of its environment */
#define AUDIT_FIELD_MAX ((size_t)4 << 10)  /* of any other text */
#define AUDIT_LINE_MAX                                                                             \
	((size_t)4 << 20) /* of a record: control characters are six times as long                 \
	                   */

/* A connection of a command. */
struct audit_connection {
	const char *name; /* or an address that the program named */
	uint16_t port;    /* 0: it was only looked up */
	const char *address;
	int64_t waited_ms;    /* for a person; 0: not at all */
	const char *protocol; /* with these, of an end: */
	uint64_t sent, received;
	int64_t ms;
	bool ech;
};

/* What a command has changed in its view: how much, and a digest of the list. */
struct audit_changes {
	uint64_t added, changed, deleted, conflicts;
	char digest[65];
};

/* A text that is NULL, a list that is NULL and a number that is not said are left out. */
struct audit_event {
	enum audit_kind kind;
	const char *task;
	const char *principal, *door; /* who asks, and by which door */
	const char *profile, *agent, *session, *workspace, *cwd, *description;
	const char *room;            /* what it shares files with: id/generation */
	const char *command;         /* raw: one string, or */
	const char *const *argv;     /* words */
	const char *const *env;      /* what the request adds to the environment */
	const char *const *executed; /* the canonical form: the words that are executed */
	const char *input;           /* typed: any bytes; NULL: none */
	size_t input_len;
	const char *verdict, *rule, *rule_file, *reason;
	uint32_t rule_line;
	const char *approval, *answer, *by;  /* its id; "once", "session", "deny"; who answered */
	const char *tier, *layers, *missing; /* of the box, by name, with ", " between */
	const char *left;                    /* names of what is left running, likewise */
	const char *end;                     /* "exited", "timeout", ... */
	bool ended;                          /* these are said: */
	int exit_code;                       /* -1: it has none */
	int signal;                          /* 0: none */
	uint64_t bytes[2];
	int64_t duration_ms;
	const struct audit_changes *changes; /* of AUDIT_APPLIED and the two behind it; else NULL */
	const struct audit_connection *connection; /* of AUDIT_NETWORK and its end; else NULL */
};

const char *audit_kind_name(enum audit_kind kind);

/* Everything of the record but its number and its hashes: "time":..., without braces. */
int audit_event_write(const struct audit_event *e, int64_t wall_ms, const struct mask *mask,
                      struct buffer *into);

/* "2026-11-16T07:24:47.123Z", and back; the reader takes a date alone, too. */
void audit_time_print(int64_t wall_ms, char into[32]);
int audit_time_parse(const char *text, int64_t *ret_wall_ms);
