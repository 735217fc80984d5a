/*
 * What is looked through for a person: the whole audit log, and this machine. Both take long, so
 * nacre itself does it in a process of its own; what comes back is what its commands print.
 */
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/helper.h"
#include "serve/inside.h"

#define LINE_MAX_BYTES ((size_t)8 << 20)
#define HELPERS_MAX    4

/* Many at once would be a way to use the machine up. */
static bool may_help(struct call *c)
{
	size_t n = 0;

	for (const struct call *other = c->serve->calls; other; other = other->next)
		n += other->helper != NULL;
	if (n >= HELPERS_MAX)
		answer_error(c, 503, "limit", "too many checks are under way");
	return n < HELPERS_MAX;
}

static void drop(struct call *c)
{
	c->helper = helper_free(c->helper);
}

/* Doctor */

static void on_doctor_line(void *owner, const char *line, size_t n)
{
	struct call *c = owner;

	buffer_clear(&c->result);
	buffer_append(&c->result, line, n);
}

static void on_doctor_end(void *owner, bool good)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct call *c = owner;

	if (c->x && good && c->result.len &&
	    json_read(c->result.data, c->result.len, LINE_MAX_BYTES, "doctor", &root, NULL) == 0)
		answer_json(c, 200, &c->result);
	else if (c->x)
		answer_error(c, 500, "system", "nacre doctor has failed");
	drop(c);
}

void checks_doctor(struct call *c)
{
	static const struct helper_ops ops = {.line = on_doctor_line, .ended = on_doctor_end};
	static const char *const argv[] = {"doctor", "--json", NULL};
	struct error err = {0};

	if (!may_help(c))
		return;
	if (helper_new(c->serve->loop, argv, &ops, c, &c->helper, &err) < 0)
		answer_failure(c, &err);
}

/* The audit log */

/* Progress has one form and the verdict another: the last line is the verdict. */
static void on_verify_line(void *owner, const char *line, size_t n)
{
	static const char progress[] = "{\"files\":";
	struct call *c = owner;
	bool result;

	if (!c->x)
		return;
	result = n < sizeof(progress) || memcmp(line, progress, sizeof(progress) - 1) != 0;
	(void)http_stream_event(c->x, NULL, result ? "result" : "progress", line, n);
}

static void on_verify_end(void *owner, bool good)
{
	struct call *c = owner;

	if (c->x && !good)
		serve_log(c->serve, "nacre audit verify has failed");
	if (c->x)
		http_stream_end(c->x);
	drop(c);
}

void checks_verify(struct call *c)
{
	static const struct helper_ops ops = {.line = on_verify_line, .ended = on_verify_end};
	char directory[PATH_MAX + 8];
	const char *const argv[] = {"audit", "verify",  "--json", "--progress",
	                            "--dir", directory, NULL};
	struct error err = {0};

	if (!c->who.audit) {
		answer_error(c, 403, "scope", "this token has no right to read the log of all");
		return;
	}
	if (!may_help(c))
		return;
	if (strcmp(http_method(c->x), "HEAD") == 0) {
		http_answer(c->x,
		            &(struct http_answer){.status = 200, .type = "text/event-stream"});
		return;
	}
	snprintf(directory, sizeof(directory), "%s/audit", c->serve->options.state);
	if (helper_new(c->serve->loop, argv, &ops, c, &c->helper, &err) < 0)
		answer_failure(c, &err);
	else
		answer_stream(c);
}
