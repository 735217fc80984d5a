/*
 * The audit log over HTTP: the records of the caller, or of all with the right to that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/query.h"
#include "base/error.h"
#include "base/number.h"
#include "http/text.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/inside.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000
#define BYTES_MAX     ((uint64_t)32 << 20) /* of the log, in which nobody else is served */

struct showing {
	struct call *call;
	struct json_writer *w;
	size_t count;
};

/* How this host is arranged is not part of what somebody did. */
char *audit_record_text(const struct call *c, json_t *record)
{
	const char *file, *slash;
	json_t *rule;

	if (!c->who.audit) {
		rule = json_object_get(record, "rule");
		file = json_string_value(json_object_get(rule, "file"));
		slash = file ? strrchr(file, '/') : NULL;
		if (slash)
			json_object_set_new(rule, "file", json_string(slash + 1));
		json_object_del(record, "uid");
	}
	return json_dumps(record, JSON_COMPACT);
}

static int put_record(void *context, const char *line, size_t n, json_t *record)
{
	struct showing *s = context;
	scoped(freep) char *text = audit_record_text(s->call, record);

	if (!text)
		return -ENOMEM;
	s->count++;
	json_put_raw(s->w, text);
	return buffer_error(s->w->out);
}
/* 0: it is not there. -1: it is wrong, and that is answered. */
static int get_text(struct call *c, const char *name, char *into, size_t size, const char **ret)
{
	int r = http_query_get(http_query(c->x), name, into, size);

	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		answer_error(c, 400, "input", "a parameter of the query is wrong");
		return -1;
	}
	*ret = into;
	return 0;
}

static int get_number(struct call *c, const char *name, int64_t *ret)
{
	char text[24];
	const char *found = NULL;
	uint64_t ms;

	if (get_text(c, name, text, sizeof(text), &found) < 0)
		return -1;
	if (!found)
		return 0;
	if (number_parse_u64(found, &ms) < 0 || ms > INT64_MAX) {
		answer_error(c, 400, "input",
		             "times (milliseconds since 1970), 'limit' and 'before' are numbers");
		return -1;
	}
	*ret = (int64_t)ms;
	return 0;
}

void audit_show(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct showing s = {.call = c, .w = &w};
	struct audit_query q = {.limit = LIMIT_DEFAULT};
	char texts[4][64], directory[PATH_MAX];
	int64_t limit = LIMIT_DEFAULT, before = 0;
	uint64_t rest = 0;
	struct error err = {0};

	if (get_text(c, "task_id", texts[0], sizeof(texts[0]), &q.task) < 0 ||
	    get_text(c, "event", texts[1], sizeof(texts[1]), &q.event) < 0 ||
	    get_text(c, "verdict", texts[2], sizeof(texts[2]), &q.verdict) < 0 ||
	    get_text(c, "profile", texts[3], sizeof(texts[3]), &q.profile) < 0 ||
	    get_number(c, "since", &q.since_ms) < 0 || get_number(c, "until", &q.until_ms) < 0 ||
	    get_number(c, "limit", &limit) < 0 || get_number(c, "before", &before) < 0)
		return;
	if (limit < 1 || limit > LIMIT_MAX) {
		answer_error(c, 400, "input", "'limit' must be a number from 1 to 1000");
		return;
	}
	q.limit = (size_t)limit;
	q.before.file = (uint64_t)before;
	q.bytes_max = BYTES_MAX;
	q.ret_rest = &rest;
	q.principal = c->who.audit ? NULL : c->client->name;
	snprintf(directory, sizeof(directory), "%s/audit", c->serve->options.state);
	json_object_begin(&w);
	json_member_array(&w, "records");
	if (audit_query(directory, &q, put_record, &s, &err) < 0) {
		err.kind = ERROR_SYSTEM; /* the query was read above: it is our file */
		answer_failure(c, &err);
		return;
	}
	json_array_end(&w);
	if (rest > 0 && s.count < q.limit)
		json_member_uint(&w, "before", rest);
	json_object_end(&w);
	answer_json(c, 200, &json);
}
