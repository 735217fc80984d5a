#pragma once
/*
 * Events: `nacre run --events`: what comes of a command, one JSON object per line, as it comes:
 * output, asked, result. The members are those of the event streams of `nacre serve`.
 */
#include <stdbool.h>
#include "base/buffer.h"

struct approval;
struct result;
struct store;
struct tasks_reader;

struct events {
	struct tasks_reader *reader; /* NULL: there was no output yet */
	struct buffer text;          /* of one stream, not printed yet */
	int stream;
	int failed; /* a negative errno: nobody reads them any more */
};

void events_done(struct events *e);

/* The task has more output. Whether there is yet more than was printed now. */
bool events_output(struct events *e, struct store *store, const char *task_id);
void events_output_end(struct events *e, struct store *store, const char *task_id);
void events_asked(struct events *e, const struct approval *a);
/* The last; 0 or a negative errno, also of an earlier one. */
int events_result(struct events *e, const struct result *r);
