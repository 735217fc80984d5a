#pragma once
/*
 * Audit: what was asked for, decided, started and how it ended, one JSON line each, in one log per
 * state directory.
 *
 *	<state>/audit/log.000001 ...   the lines; a full or old file is followed by the next number
 *	<state>/audit/head             where the log stands; its lock is the writers'
 *	<state>/audit/recent           the end of the log once more (recent.h)
 *	<state>/audit/key, key.pub     Ed25519, made on first use
 *
 * Every line carries the hash of the line before it and its own, so that none can be changed, taken
 * out, put in or moved without a trace (chain.h), and every so often a signed checkpoint. Any
 * number of processes append to the same log; each may die at any moment.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct audit; /* one writer's hold on the log: not to be shared by threads or across fork() */
struct audit_event;
struct error;

#define AUDIT_DIRECTORY "audit"

struct audit_settings {
	uint64_t max_bytes;      /* of one file */
	int64_t max_age_ms;      /* of the first record of a file; 0: any */
	uint64_t keep;           /* files that stay behind the current one; 0: all */
	const char *const *mask; /* patterns beside the built-in ones; may be NULL */
};
extern const struct audit_settings audit_settings_default;

/* Makes what is missing in the state directory, which must be private to this user. The caller owns
 * *ret_audit. The settings are copied, the patterns compiled. */
int audit_open(const char *state, const struct audit_settings *settings, struct audit **ret_audit,
               struct error *err);
struct audit *audit_free(struct audit *a); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct audit *, audit_free);

/* Appends these events, one behind the other with nothing between them. They are seen by every
 * reader at once; on the disk they are after audit_sync() with *ret_seq, which is the number of the
 * last one. On failure none of them is in the log. */
int audit_append(struct audit *a, const struct audit_event *events, size_t count, uint64_t *ret_seq,
                 struct error *err);

/* Returns when everything up to this record is on the disk. Callers who wait at the same time, in
 * whatever process, share one sync. */
int audit_sync(struct audit *a, uint64_t seq, struct error *err);

/* Whether it is there already: another's sync may have taken it along. Never waits. */
bool audit_is_synced(const struct audit *a, uint64_t seq);

/* Appends a signed checkpoint, synced, and gives the record's number and hash, for a person who
 * keeps them elsewhere. */
int audit_checkpoint(struct audit *a, uint64_t *ret_seq, char ret_hash[65], struct error *err);

/* Once, in a process whose children will write: what each of them needs is there then. */
void audit_prepare(void);

/* One event through a log that is opened for it: for who writes seldom. STATE as for audit_open();
 * synced if DURABLE. */
int audit_event(const char *state, const struct audit_settings *settings,
                const struct audit_event *event, bool durable, struct error *err);
