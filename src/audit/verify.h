#pragma once
/*
 * Verify: walks along the whole log and tells what is wrong with it first.
 *
 * Found are: a record that was changed, taken out, put in or moved; a file that is missing; an end
 * that was cut off (the head says where it was); a signature of another key. Not found is what
 * somebody did who has this user's rights, made all hashes anew and signed them with the key that
 * lies beside the log: for that a copy of the public key, or of a checkpoint, is kept elsewhere.
 */
#include <stdbool.h>
#include <stdint.h>
#include "audit/chain.h"

struct error;

struct audit_verify_options {
	const char *public_key; /* path of a copy that was kept elsewhere; NULL: the log's own */
	const char *contains;   /* hash of a record that must be there, as hex; NULL: none */
	/* So many files of so many are done; may be NULL. */
	void (*progress)(void *context, uint64_t files, uint64_t of);
	void *context;
};

struct audit_verdict {
	bool good;
	uint64_t files, records, checkpoints, breaks, lost;
	uint64_t first_seq, last_seq, last_signed;
	char last_hash[2 * AUDIT_HASH_BYTES + 1];
	/* The first that is bad: */
	char file[32];
	uint64_t line, seq; /* line 0: of no line; seq 0: it could not be read */
	char problem[240];
	char note[160]; /* what is not wrong, but should be known; empty: nothing */
};

/* DIRECTORY is that of the log. A bad log is no error: *ret_verdict says so. Others may append
 * meanwhile. */
int audit_verify(const char *directory, const struct audit_verify_options *options,
                 struct audit_verdict *ret_verdict, struct error *err);
