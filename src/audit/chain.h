#pragma once
/*
 * Chain: how one record follows another.
 *
 *	{"seq":7,"prev":"<hash of record 6>","time":"...","event":"started",...,"hash":"<own hash>"}
 *
 * The hash is BLAKE2b with 256 bits over the bytes of the line in front of ,"hash" (so prev is
 * hashed, too), as `b2sum -l 256` has it. Nothing here opens a file: a verifier feeds it lines.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/event.h"

struct buffer;

#define AUDIT_HASH_BYTES 32
#define AUDIT_KEY_BYTES  32
#define AUDIT_SIGN_BYTES 64
#define AUDIT_EVERY      1000 /* a checkpoint after so many records */

/* Where the chain stands: behind this record. All zeros: nothing has been written. */
struct audit_link {
	uint64_t seq;
	unsigned char hash[AUDIT_HASH_BYTES];
};

/* Appends the record that follows, with its newline, and moves the link behind it. BODY is what
 * audit_event_write() made. Errors stay in the buffer. */
void audit_link_write(struct audit_link *link, uint64_t seq, const char *body, size_t n,
                      struct buffer *into);

/* A line taken apart; the strings point into it. */
struct audit_line {
	uint64_t seq;
	unsigned char prev[AUDIT_HASH_BYTES], hash[AUDIT_HASH_BYTES];
	int64_t wall_ms;
	enum audit_kind kind;
};

/* The line without its newline. NULL, or what is wrong with it by itself. */
const char *audit_line_read(const char *line, size_t n, struct audit_line *ret_line);

/* What a checkpoint signs: that the record SEQ stands behind a record with this hash. */
#define AUDIT_STATEMENT_MAX 128
size_t audit_statement(uint64_t seq, const unsigned char prev[AUDIT_HASH_BYTES],
                       char into[AUDIT_STATEMENT_MAX]);

enum audit_cause {
	AUDIT_INTERRUPTED, /* a writer was killed in the middle of a record that nobody waited for
	                    */
	AUDIT_CRASHED,     /* the machine went down; what was not synced is lost */
	AUDIT_DAMAGED,     /* the files are not as nacre left them */
	AUDIT_CAUSE_MAX,
};
const char *audit_cause_name(enum audit_cause cause);

/* A verifier's walk along the chain. */
struct audit_chain {
	struct audit_link link;
	bool begun;                         /* link holds; else the next line may be any */
	bool key_given;                     /* only this key may sign */
	unsigned char key[AUDIT_KEY_BYTES]; /* of the last checkpoint, or the given one */
	bool key_known;
	uint64_t first_seq, records, checkpoints, breaks, lost, last_signed;
	uint64_t file;          /* of the last OPENED: which it begins */
	uint64_t oldest;        /* and the first one that must be there */
	struct audit_line line; /* the last one */
	char problem[240];
};

/* 0, or -EBADMSG with problem set: this line does not belong here. */
int audit_chain_feed(struct audit_chain *c, const char *line, size_t n);
