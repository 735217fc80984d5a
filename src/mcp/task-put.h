#pragma once
/*
 * A task as the protocol writes it, in both of its forms.
 */
#include <stdbool.h>
#include <stdint.h>

struct find_entry;
struct json_writer;

/* Members of an object that the caller has begun. */
void task_put(struct json_writer *w, const struct find_entry *e, bool modern);
void task_put_times(struct json_writer *w, const char *id, const char *status, int64_t created_ms,
                    int64_t updated_ms, bool modern);

/* A member of a _meta: the task that a message belongs to. */
void task_put_related(struct json_writer *meta, const char *id);

/* For programs: exit_code, signal, state and sizes. */
void task_put_facts(struct json_writer *w, const struct find_entry *e);
