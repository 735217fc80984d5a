/*
 * What a server says about itself. The document of the interface is written from the same table by
 * which requests are served, so the two cannot differ.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/version.h"
#include "json/write.h"
#include "serve/inside.h"
#include "serve/shape.h"

void about_health(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};

	buffer_printf(&json, "{\"status\":\"%s\",\"version\":\"%s\"}",
	              c->serve->stopping ? "stopping" : "ok", version_text);
	answer_json(c, 200, &json);
}

/* They are confined, and tell nobody: /proc has their name and user. */
static size_t count_gateways(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	while (proc && (e = readdir(proc))) {
		char path[300], text[8192] = "", want[32];
		const char *uid;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0 ||
		    strcmp(text, "nacre-gateway\n") != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
		snprintf(want, sizeof(want), "\nUid:\t%u\t", geteuid());
		uid = fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0 ? NULL
		                                                           : strstr(text, want);
		n += uid != NULL;
	}
	if (proc)
		closedir(proc);
	return n;
}

void about_point(struct serve *s, struct history_point *ret_point)
{
	struct metrics_now now = {
		.running = s->permits.running,
		.queued = s->permits.queued,
		.connections = http_server_connections(s->http),
		.streams = http_server_exchanges(s->http),
	};

	history_take(&s->metrics, &now, ret_point);
}

void about_history(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	history_put(&w, &c->serve->history);
	answer_json(c, 200, &json);
}

void about_metrics(struct call *c)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct serve *s = c->serve;
	struct metrics_now now = {
		.running = s->permits.running,
		.queued = s->permits.queued,
		.connections = http_server_connections(s->http),
		.streams = http_server_exchanges(s->http),
		.gateways = count_gateways(),
		.up_ms = loop_now(s->loop) - s->started_ms,
	};

	metrics_write(&s->metrics, &now, &text);
	metrics_count_answer(&s->metrics, 200);
	http_answer(c->x, &(struct http_answer){.status = 200,
	                                        .type = "text/plain; version=0.0.4",
	                                        .body = &text,
	                                        .headers = {{"Cache-Control", "no-store"}}});
}

static void begin(struct json_writer *w, const char *key)
{
	json_member_object(w, key);
}

static void put_parameter(struct json_writer *w, const char *name, const char *in)
{
	json_object_begin(w);
	json_member_string(w, "name", name);
	json_member_string(w, "in", in);
	json_member_bool(w, "required", strcmp(in, "path") == 0);
	begin(w, "schema");
	json_member_string(w, "type", "string");
	json_object_end(w);
	json_object_end(w);
}

static void put_content(struct json_writer *w, const char *media, const char *shape)
{
	begin(w, media);
	json_put_key(w, "schema");
	shape_put_type(w, shape);
	json_object_end(w);
}

/* No schema tells what the events of a stream are: that stands beside it. */
static void put_stream(struct json_writer *w, const char *events)
{
	begin(w, "text/event-stream");
	json_put_key(w, "schema");
	shape_put_type(w, "string");
	begin(w, "x-events");
	shape_put_members(w, events);
	json_object_end(w);
	json_object_end(w);
}

/* CODE is a status or "default". */
static void put_response(struct json_writer *w, const char *code, const char *words,
                         const struct route *r)
{
	bool good = strcmp(code, "200") == 0;

	begin(w, code);
	json_member_string(w, "description", words);
	if (strcmp(code, "202") != 0) {
		begin(w, "content");
		if (!good)
			put_content(w, "application/json",
			            r->raw     ? "(Message|Error)"
			            : r->fails ? r->fails
			                       : "Error");
		else if (r->gives)
			put_content(w,
			            strcmp(r->gives, "bytes") == 0 ? "application/octet-stream"
			                                           : "application/json",
			            strcmp(r->gives, "bytes") == 0 ? "string" : r->gives);
		else if (!r->events)
			put_content(w, "text/plain", "string");
		if (good && r->events)
			put_stream(w, r->events);
		json_object_end(w);
	}
	json_object_end(w);
}

static void put_status(struct json_writer *w, int status, const struct route *r)
{
	char code[8];

	snprintf(code, sizeof(code), "%d", status);
	put_response(w, code, http_reason(status), r);
}

static void put_responses(struct json_writer *w, const struct route *r)
{
	static const int of_bodies[] = {411, 413, 415};
	const char *p = r->answers ? r->answers : "";
	char *end;

	begin(w, "responses");
	put_status(w, 200, r);
	for (; *p; p = end)
		put_status(w, (int)strtol(p, &end, 10), r);
	if (!r->open)
		put_status(w, 401, r);
	if (!r->free)
		put_status(w, 429, r);
	for (size_t i = 0; r->takes_body && i < array_size(of_bodies); i++)
		put_status(w, of_bodies[i], r);
	put_response(w, "default", "Refused before it was looked at, or failed", r);
	json_object_end(w);
}

static void put_body(struct json_writer *w, const struct route *r)
{
	begin(w, "requestBody");
	json_member_bool(w, "required", !r->bare);
	begin(w, "content");
	begin(w, "application/json");
	json_put_key(w, "schema");
	if (r->body_schema) {
		r->body_schema(w);
	} else {
		json_object_begin(w);
		json_member_string(w, "type", "object");
		json_object_end(w);
	}
	json_object_end(w);
	json_object_end(w);
	json_object_end(w);
}

static void put_method(struct json_writer *w, const struct route *r)
{
	char method[8];
	size_t i = 0;

	for (; r->method[i]; i++)
		method[i] = (char)(r->method[i] - 'A' + 'a');
	method[i] = '\0';
	begin(w, method);
	json_member_string(w, "summary", r->summary);
	json_member_array(w, "parameters");
	if (strchr(r->path, '*'))
		put_parameter(w, "id", "path");
	for (i = 0; r->query[i]; i++)
		put_parameter(w, r->query[i], "query");
	json_array_end(w);
	if (r->open) {
		json_member_array(w, "security");
		json_array_end(w);
	}
	if (r->takes_body)
		put_body(w, r);
	put_responses(w, r);
	json_object_end(w);
}

/* "*" is "{id}". */
static void path_of(const struct route *r, char into[64])
{
	const char *star = strchr(r->path, '*');

	if (star)
		snprintf(into, 64, "%.*s{id}%s", (int)(star - r->path), r->path, star + 1);
	else
		snprintf(into, 64, "%s", r->path);
}

/* Routes of one path stand together in the table. */
static void put_paths(struct json_writer *w)
{
	const struct route *r, *last = NULL;
	char path[64];

	begin(w, "paths");
	for (size_t i = 0; (r = route_at(i)); i++) {
		if (!last || strcmp(last->path, r->path) != 0) {
			if (last)
				json_object_end(w);
			path_of(r, path);
			begin(w, path);
		}
		put_method(w, r);
		last = r;
	}
	if (last)
		json_object_end(w);
	json_object_end(w);
}

void about_openapi(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	json_member_string(&w, "openapi", "3.1.0");
	begin(&w, "info");
	json_member_string(&w, "title", "nacre");
	json_member_string(&w, "version", version_text);
	json_object_end(&w);
	put_paths(&w);
	begin(&w, "components");
	begin(&w, "schemas");
	shape_put_all(&w);
	json_object_end(&w);
	begin(&w, "securitySchemes");
	begin(&w, "token");
	json_member_string(&w, "type", "http");
	json_member_string(&w, "scheme", "bearer");
	json_object_end(&w);
	json_object_end(&w);
	json_object_end(&w);
	json_member_array(&w, "security");
	json_object_begin(&w);
	json_member_array(&w, "token");
	json_array_end(&w);
	json_object_end(&w);
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}
