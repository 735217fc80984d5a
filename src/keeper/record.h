#pragma once
/*
 * Record: what a keeper writes to the audit log. That a command starts is on the disk before it
 * does; what cannot be recorded is not run, unless the profile says otherwise.
 */
#include <stddef.h>

struct error;
struct keeper;
struct profile;

/* Opens the log of this state directory ahead of time, for a keeper that stands by. */
void keeper_record_prepare(struct keeper *k, const char *state, const struct profile *profile);

/* Before the command is made ready in this box: the record is written. Before it may run: the
 * record is on the disk. 0: it may. */
int keeper_record_start(struct keeper *k, struct error *err);
int keeper_record_sync(struct keeper *k, struct error *err);

/* What is typed on the command's terminal, before the command can read it. 0: it is on the disk, or
 * need not be; else it must not be typed, and the report says so. */
int keeper_record_input(struct keeper *k, const char *bytes, size_t n);

/* After the end of all, or in place of a start. */
void keeper_record_end(struct keeper *k);
