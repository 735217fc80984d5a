#pragma once
/*
 * Query: records of the log that somebody wants to see. Reads only; what it reads need not be
 * intact (verify.h tells that): a line that is no record is passed over.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

struct error;

/* A place in the log. */
struct audit_follow {
	uint64_t file, offset; /* 0: its beginning */
};

/* NULL and 0: any. */
struct audit_query {
	int64_t since_ms, until_ms; /* wall clock; until is not part of it */
	uint64_t after_seq;         /* only records with larger numbers */
	const char *task, *verdict, *profile, *event, *principal, *session, *door;
	bool network;     /* events `network` and `network-ended` */
	const char *text; /* stands somewhere in the record's texts; case does not matter */
	size_t limit;     /* the newest so many; 0: all */
	struct audit_follow before; /* only what stands in front of this place; file 0: all */
	/* With a limit: of older files no more are opened than fit in so many bytes; 0: all. */
	uint64_t bytes_max;
	uint64_t *ret_rest; /* the before.file to go on with; left alone where there is no more */
};

/* LINE is the record without its newline. Other than 0 ends the query. */
typedef int audit_visit(void *context, const char *line, size_t n, json_t *record);

/* Oldest first. Of a log that is not there nothing is visited. */
int audit_query(const char *directory, const struct audit_query *query, audit_visit *visit,
                void *context, struct error *err);

/* From PLACE on, which is then where it ended: in the last file that there is. */
int audit_follow(const char *directory, const struct audit_query *query, struct audit_follow *place,
                 audit_visit *visit, void *context, struct error *err);
