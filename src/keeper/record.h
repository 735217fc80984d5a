#pragma once
/*
 * Record: what a keeper writes to the audit log. That a command starts is on the disk before it
 * does; what cannot be recorded is not run, unless the profile says otherwise.
 */
#include <stddef.h>
#include <stdint.h>

struct error;
struct keeper;
struct profile;

/* Opens the log of this state directory ahead of time, for a keeper that stands by. */
void keeper_record_prepare(struct keeper *k, const char *state, const struct profile *profile);

/* Before the command is made ready in this box: the record is written. Before it may run: the
 * record is on the disk. 0: it may. */
int keeper_record_start(struct keeper *k, struct error *err);
int keeper_record_sync(struct keeper *k, struct error *err);

/* What is typed on the command's terminal: the record is written, and on the disk after the second
 * call with *RET_SEQ, which is as it was where there is none. 0: it may be typed; else it must not
 * be, and the report says so. */
int keeper_record_input(struct keeper *k, const char *bytes, size_t n, uint64_t *ret_seq);
int keeper_record_input_sync(struct keeper *k, uint64_t seq);

/* After the end of all, or in place of a start. */
void keeper_record_end(struct keeper *k);

/* The command has ended, and what it left running goes on. */
void keeper_record_left(struct keeper *k);

/* What was applied, or not: the report says so. */
struct change_list;
void keeper_record_changes(struct keeper *k, const struct change_list *l);

/* The gate has died, and with it what it knew. */
void keeper_record_network_lost(struct keeper *k);
