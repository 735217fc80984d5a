#pragma once
/*
 * Tail: the output of a task on its way into a stream of events. It is pulled by the client: the
 * next piece is read from the task's files when the last one has been taken, so one who reads
 * slowly costs a buffer of one piece and delays nobody.
 *
 *	id: 1234                     the offset to go on from (Last-Event-ID, or since=)
 *	event: output
 *	data: {"stream":"stdout","text":"..."}
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"

struct error;
struct find_entry;
struct http_exchange;
struct store;
struct tail;
struct tasks_query;
struct watch;

/* X streams. WAKE is told when there may be more: call tail_pump(). */
int tail_new(struct store *store, struct watch *watch, const struct tasks_query *q,
             struct http_exchange *x, void (*wake)(void *owner), void *owner,
             struct tail **ret_tail, struct error *err);
struct tail *tail_free(struct tail *t);
DEFINE_CLEANUP(struct tail *, tail_free);

enum tail_state {
	TAIL_WAITS, /* for the task, or for the client */
	TAIL_MORE,  /* there is work left: call again in the next turn */
	TAIL_DONE,  /* that was all, the task has ended */
};

/* Events have the task's id and the next offset as members, and escapes stay: for a stream of many.
 */
void tail_name(struct tail *t, const char *task_id);
int tail_dir(const struct tail *t); /* the task's directory; borrowed */
uint64_t tail_next(const struct tail *t);

/* Sends what there is and the client can take; a bounded amount of work. */
enum tail_state tail_pump(struct tail *t);
bool tail_is_past(const struct tail *t, uint64_t offset); /* so much was read */
void tail_end(struct tail *t); /* and a line that has no end yet is sent */
void tail_look(struct tail *t, struct find_entry *ret_entry);
