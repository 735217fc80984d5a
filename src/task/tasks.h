#pragma once
/*
 * Tasks: what can be asked about commands that run in the background or ran before, for every
 * door: read the output, stop. Lists come from task/find.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "output/pick.h"
#include "task/find.h"
#include "task/follow.h"

struct buffer;
struct error;
struct json_writer;
struct tasks_reader;

struct tasks_query {
	const char *id; /* or its beginning */
	enum follow_stream stream;
	uint64_t since;           /* bytes of that to pass over */
	struct pick_options pick; /* ignored if raw */
	bool raw;                 /* bytes as they came, in no particular pieces; else whole lines
	                             of clean text */
	bool keep_escapes;
};

struct tasks_text {
	int stream;
	const char *text;
	size_t len;
	uint64_t missing; /* bytes that are no longer in a file; then there is no text */
	bool skipped;     /* lines before this one were left out by the choice */
};

/* What it returns other than 0 ends the reading and is returned. */
typedef int (*tasks_sink)(void *owner, const struct tasks_text *text);

/* The query and its strings are used only during the call. */
int tasks_reader_new(struct store *store, const struct tasks_query *q, tasks_sink sink, void *owner,
                     struct tasks_reader **ret_reader, struct error *err);
struct tasks_reader *tasks_reader_free(struct tasks_reader *r);
DEFINE_CLEANUP(struct tasks_reader *, tasks_reader_free);

enum tasks_step {
	TASKS_MORE, /* call again */
	TASKS_WAIT, /* that is all for now: wait for tasks_reader_follow(), or call
	               tasks_reader_end() */
	TASKS_DONE, /* the task has ended, or no later line is wanted: call tasks_reader_end() */
};

/* A bounded amount of work; or a negative errno. -ETIME: the regular expression takes too long. */
int tasks_reader_step(struct tasks_reader *r);
/* What was kept back for the last lines goes to the sink. */
int tasks_reader_end(struct tasks_reader *r);

struct follow *tasks_reader_follow(struct tasks_reader *r); /* to wait with */
int tasks_reader_dir(const struct tasks_reader *r);         /* the task's directory; borrowed */
void tasks_reader_look(struct tasks_reader *r, struct find_entry *ret_entry);
/* The offset to ask from the next time. */
uint64_t tasks_reader_next(const struct tasks_reader *r);

/* Ends a task and waits for that. *ret_entry is how it then stands. -ESRCH: it was not running. */
int tasks_stop(struct store *store, const char *id, bool now, struct find_entry *ret_entry,
               struct error *err);

/* Members of an object about a task; the caller has begun it. */
void tasks_put_entry(struct json_writer *w, const struct store *store, const struct find_entry *e);
