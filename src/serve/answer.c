/*
 * Answers, in one form: JSON, and for every failure {"error": {"kind", "message"}}. Nothing of the
 * machine is told: what the system said goes to the log.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/inside.h"
#include "serve/page.h"

void serve_log(struct serve *s, const char *format, ...)
{
	char line[512];
	va_list args;

	if (!s->options.log)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	s->options.log(line);
}

bool answer_read_body(struct call *c, json_t **ret)
{
	struct error err = {0};
	size_t n;
	const char *body = http_body(c->x, &n);

	if (n == 0)
		*ret = json_object();
	else if (json_read(body, n, (size_t)1 << 20, "the body", ret, &err) < 0)
		answer_failure(c, &err);
	if (*ret && !json_is_object(*ret)) {
		answer_error(c, 400, "input", "the body must be an object");
		return false;
	}
	return *ret != NULL;
}

void answer_json(struct call *c, int status, struct buffer *json)
{
	struct http_answer a = {.status = status, .type = "application/json", .body = json};

	if (!c->x)
		return;
	if (buffer_error(json) < 0) {
		a = (struct http_answer){.status = 500};
		serve_log(c->serve, "an answer could not be written: %s",
		          strerrordesc_np(-buffer_error(json)));
	}
	a.headers[0][0] = "Cache-Control";
	a.headers[0][1] = "no-store";
	page_guard(&a, false);
	metrics_count_answer(&c->serve->metrics, a.status);
	http_answer(c->x, &a);
}

void answer_error(struct call *c, int status, const char *kind, const char *message)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct http_answer a = {.status = status, .type = "application/json", .body = &json};
	char retry[16];

	if (!c->x)
		return;
	json_object_begin(&w);
	if (c->route && c->route->fails)
		run_put_shell_failure(&w, message);
	json_member_object(&w, "error");
	json_member_string(&w, "kind", kind);
	json_member_string(&w, "message", message);
	json_object_end(&w);
	json_object_end(&w);
	buffer_putc(&json, '\n');
	metrics_count_answer(&c->serve->metrics, status);
	snprintf(retry, sizeof(retry), "%d", c->retry_s > 0 ? c->retry_s : 1);
	if (status == 429 || status == 503) {
		a.headers[0][0] = "Retry-After";
		a.headers[0][1] = retry;
	} else if (status == 405) {
		a.headers[0][0] = "Allow";
		a.headers[0][1] = c->allow;
	} else if (status == 401) {
		a.headers[0][0] = "WWW-Authenticate";
		a.headers[0][1] = "Bearer";
	} else if (status == 403 && strcmp(kind, "scope") == 0) {
		a.headers[0][0] = "WWW-Authenticate";
		a.headers[0][1] = "Bearer error=\"insufficient_scope\"";
	}
	page_guard(&a, false);
	http_answer(c->x, &a);
}

void answer_failure(struct call *c, const struct error *err)
{
	switch (err->kind) {
	case ERROR_INPUT:
		answer_error(c, 400, "input", err->text);
		return;
	case ERROR_LIMIT:
		answer_error(c, 400, "limit", err->text);
		return;
	case ERROR_UNSUPPORTED:
		answer_error(c, 400, "unsupported", err->text);
		return;
	case ERROR_SYSTEM:
		break;
	}
	serve_log(c->serve, "%s: %s", c->route ? c->route->path : "request", err->text);
	answer_error(c, 500, "system", "nacre could not do this; its log tells why");
}

void answer_stream(struct call *c)
{
	struct http_answer a = {
		.status = 200,
		.type = "text/event-stream",
		.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};

	page_guard(&a, false);
	metrics_count_answer(&c->serve->metrics, 200);
	http_stream(c->x, &a);
}
