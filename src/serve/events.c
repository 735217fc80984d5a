/*
 * A stream begins with a snapshot, so a page that comes back replaces what it has. What is only
 * added to (records, output) goes on from a place that the client names: the id of an event for
 * records, an offset for the output of each task.
 *
 * Output is pulled by the client: a piece is read when the last one has been taken. Several outputs
 * take turns.
 */
#include "serve/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/number.h"
#include "http/text.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/write.h"
#include "serve/inside.h"
#include "serve/show.h"

static const char *const topic_names[TOPIC_MAX] = {
	[TOPIC_TASKS] = "tasks",
	[TOPIC_APPROVALS] = "approvals",
	[TOPIC_AUDIT] = "audit",
	[TOPIC_METRICS] = "metrics",
};

/* What a request wants to follow. */
struct wish {
	bool topics[TOPIC_MAX], topics_given, outputs_given, screens_given;
	struct {
		char task[STORE_ID_MAX];
		uint64_t since;
	} outputs[STREAM_OUTPUTS_MAX];
	size_t output_count;
	char screens[STREAM_SCREENS_MAX][STORE_ID_MAX];
	size_t screen_count;
};

bool stream_send(struct stream *s, const char *id, const char *name, struct buffer *json)
{
	if (!s->call->x || buffer_error(json) < 0)
		return false;
	return http_stream_event(s->call->x, id, name, json->data, json->len);
}

bool stream_who(struct stream *s)
{
	struct call *c = s->call;
	const struct principal *p;

	if (!c->x)
		return false;
	if (!c->client->name[0])
		return true;
	p = principals_by_name(&c->serve->principals, c->client->name);
	if (!p || memcmp(&p->digest, &c->who.digest, sizeof(p->digest)) != 0)
		return false;
	c->who = *p;
	return true;
}

void events_bye(struct call *c, const char *reason)
{
	scoped(buffer_donep) struct buffer json = {0};

	if (!c->x)
		return;
	buffer_printf(&json, "{\"reason\":\"%s\"}", reason);
	(void)stream_send(c->stream, NULL, "bye", &json);
	http_stream_end(c->x);
}

/* Outputs */

static int on_more(struct loop_timer *t);

static void end_output(struct stream_output *o, bool gone)
{
	scoped(buffer_donep) struct buffer json = {0};

	buffer_printf(&json, "{\"task_id\":\"%s\",\"next\":%llu,\"gone\":%s}", o->task,
	              (unsigned long long)(o->tail ? tail_next(o->tail) : 0),
	              gone ? "true" : "false");
	(void)stream_send(o->stream, NULL, "output-end", &json);
	o->tail = tail_free(o->tail);
	o->task[0] = '\0';
}

static void pump(struct stream *s)
{
	struct serve *serve = s->call->serve;
	bool more = false;

	if (!s->call->x)
		return;
	for (size_t i = 0; i < STREAM_OUTPUTS_MAX; i++) {
		struct stream_output *o = &s->outputs[(s->turn + i) % STREAM_OUTPUTS_MAX];

		if (!o->tail)
			continue;
		switch (tail_pump(o->tail)) {
		case TAIL_WAITS:
			break;
		case TAIL_MORE:
			more = true;
			break;
		case TAIL_DONE:
			end_output(o, false);
			break;
		}
	}
	s->turn = (s->turn + 1) % STREAM_OUTPUTS_MAX;
	if (more)
		(void)loop_timer_set(serve->loop, &s->more, loop_now(serve->loop), on_more);
}

static int on_more(struct loop_timer *t)
{
	pump(container_of(t, struct stream, more));
	return 0;
}

static void on_wake(void *owner)
{
	pump(owner);
}

/* Whether the caller may see this task, which is there. */
static bool may_follow(struct stream *s, struct store *store, const char *id)
{
	scoped(fd_closep) int fd = find_open(store, id, NULL);
	struct find_origin origin;

	if (fd < 0)
		return false;
	find_origin(fd, &origin);
	return tasks_may_see(s->call, &origin);
}

static void begin_output(struct stream *s, const char *id, uint64_t since)
{
	struct tasks_query q = {
		.id = id, .stream = FOLLOW_BOTH, .since = since, .keep_escapes = true};
	struct stream_output *o = s->outputs;
	struct store *store;

	while (o->task[0])
		o++; /* there are as many as are let in */
	snprintf(o->task, sizeof(o->task), "%s", id);
	o->stream = s;
	if (bench_store(s->call->serve, &store, NULL) < 0 || !may_follow(s, store, id) ||
	    tail_new(store, s->call->serve->watch, &q, s->call->x, on_wake, s, &o->tail, NULL) <
	            0) {
		end_output(o, true);
		return;
	}
	tail_name(o->tail, id);
}

static void follow_outputs(struct stream *s, const struct wish *w)
{
	for (size_t i = 0; i < STREAM_OUTPUTS_MAX; i++) {
		struct stream_output *o = &s->outputs[i];
		bool wanted = false;

		for (size_t k = 0; k < w->output_count; k++)
			wanted |= strcmp(w->outputs[k].task, o->task) == 0;
		if (o->task[0] && !wanted) {
			o->tail = tail_free(o->tail);
			o->task[0] = '\0';
		}
	}
	for (size_t k = 0; k < w->output_count; k++) {
		bool there = false;

		for (size_t i = 0; i < STREAM_OUTPUTS_MAX; i++)
			there |= strcmp(w->outputs[k].task, s->outputs[i].task) == 0;
		if (!there)
			begin_output(s, w->outputs[k].task, w->outputs[k].since);
	}
	pump(s);
}

/* Screens */

static void on_frame(void *owner, struct buffer *json)
{
	struct stream_screen *n = owner;

	(void)stream_send(n->stream, NULL, "screen", json);
}

static void on_screen_end(void *owner, const char *reason)
{
	struct stream_screen *n = owner;
	scoped(buffer_donep) struct buffer json = {0};

	buffer_printf(&json, "{\"task_id\":\"%s\",\"reason\":\"%s\"}", n->task, reason);
	(void)stream_send(n->stream, NULL, "screen-end", &json);
	n->show = show_free(n->show);
	n->task[0] = '\0';
}

/* A client that does not take frames gets no more of them, and later the last one. */
static bool screen_has_room(void *owner)
{
	const struct stream_screen *n = owner;

	return n->stream->call->x && http_stream_waiting(n->stream->call->x) < ((size_t)64 << 10);
}

static const struct show_ops show_ops = {
	.frame = on_frame, .ended = on_screen_end, .has_room = screen_has_room};

static void begin_screen(struct stream *s, const char *id)
{
	struct serve *serve = s->call->serve;
	struct stream_screen *n = s->screens;
	struct store *store;
	int fd, r;

	while (n->task[0])
		n++;
	snprintf(n->task, sizeof(n->task), "%s", id);
	n->stream = s;
	if (bench_store(serve, &store, NULL) < 0 || !may_follow(s, store, id)) {
		on_screen_end(n, "gone");
		return;
	}
	fd = find_open(store, id, NULL);
	r = fd < 0 ? fd : show_new(serve->loop, serve->watch, fd, id, &show_ops, n, &n->show);
	if (r < 0)
		on_screen_end(n, r == -ENOTTY ? "no-terminal" : r == -ENOENT ? "gone" : "failed");
}

static void follow_screens(struct stream *s, const struct wish *w)
{
	for (size_t i = 0; i < STREAM_SCREENS_MAX; i++) {
		struct stream_screen *n = &s->screens[i];
		bool wanted = false;

		for (size_t k = 0; k < w->screen_count; k++)
			wanted |= strcmp(w->screens[k], n->task) == 0;
		if (n->task[0] && !wanted) {
			n->show = show_free(n->show);
			n->task[0] = '\0';
		}
	}
	for (size_t k = 0; k < w->screen_count; k++) {
		bool there = false;

		for (size_t i = 0; i < STREAM_SCREENS_MAX; i++)
			there |= strcmp(w->screens[k], s->screens[i].task) == 0;
		if (!there)
			begin_screen(s, w->screens[k]);
	}
}

/* What is wished */

static bool take_topic(struct wish *w, const char *name, size_t n)
{
	for (int i = 0; i < TOPIC_MAX; i++)
		if (strlen(topic_names[i]) == n && memcmp(topic_names[i], name, n) == 0) {
			w->topics[i] = true;
			return true;
		}
	return false;
}

static bool take_task(char into[STORE_ID_MAX], const char *id, size_t n)
{
	if (n == 0 || n >= STORE_ID_MAX)
		return false;
	memcpy(into, id, n);
	into[n] = '\0';
	return strspn(into, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == n;
}

static bool take_output(struct wish *w, const char *id, size_t n, uint64_t since)
{
	for (size_t i = 0; i < w->output_count; i++)
		if (strlen(w->outputs[i].task) == n && memcmp(w->outputs[i].task, id, n) == 0)
			return true;
	if (w->output_count == STREAM_OUTPUTS_MAX ||
	    !take_task(w->outputs[w->output_count].task, id, n))
		return false;
	w->outputs[w->output_count++].since = since;
	return true;
}

static bool take_screen(struct wish *w, const char *id, size_t n)
{
	for (size_t i = 0; i < w->screen_count; i++)
		if (strlen(w->screens[i]) == n && memcmp(w->screens[i], id, n) == 0)
			return true;
	if (w->screen_count == STREAM_SCREENS_MAX || !take_task(w->screens[w->screen_count], id, n))
		return false;
	w->screen_count++;
	return true;
}

/* "ID" or "ID@OFFSET". */
static bool take_named_output(struct wish *w, const char *text, size_t n)
{
	const char *at = memchr(text, '@', n);
	size_t id_len = at ? (size_t)(at - text) : n;
	uint64_t since = 0;
	char digits[24];

	if (at) {
		if (n - id_len - 1 >= sizeof(digits))
			return false;
		snprintf(digits, sizeof(digits), "%.*s", (int)(n - id_len - 1), at + 1);
		if (number_parse_u64(digits, &since) < 0)
			return false;
	}
	return take_output(w, text, id_len, since);
}

static bool take_list(struct wish *w, const char *list,
                      bool (*take)(struct wish *w, const char *text, size_t n))
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (!take(w, list, n))
			return false;
	}
	return true;
}

static bool read_query(struct call *c, struct wish *w)
{
	static const struct {
		const char *name;
		bool (*take)(struct wish *w, const char *text, size_t n);
	} lists[] = {
		{"topics", take_topic}, {"output", take_named_output}, {"screen", take_screen}};
	char text[1024];

	for (size_t i = 0; i < array_size(lists); i++) {
		int r = http_query_get(http_query(c->x), lists[i].name, text, sizeof(text));

		if (r == -ENOENT || (r == 0 && take_list(w, text, lists[i].take)))
			continue;
		answer_error(
			c, 400, "input",
			"'topics' is a list of tasks, approvals, audit and metrics; 'output' of "
			"up to 8 ID@OFFSET; 'screen' of up to 4 IDs");
		return false;
	}
	return true;
}

static bool read_outputs(struct wish *w, json_t *list)
{
	json_t *one;
	size_t i;

	w->outputs_given = true;
	json_array_foreach (list, i, one) {
		const char *id;
		json_t *number = NULL;
		json_int_t since = 0;

		if (json_unpack(one, "{s:s, s?o !}", "task_id", &id, "since", &number) < 0 ||
		    (number && !json_whole(number, &since)) || since < 0 ||
		    !take_output(w, id, strlen(id), (uint64_t)since))
			return false;
	}
	return json_is_array(list);
}

static bool read_words(struct wish *w, json_t *list,
                       bool (*take)(struct wish *w, const char *text, size_t n))
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!json_is_string(one) ||
		    !take(w, json_string_value(one), json_string_length(one)))
			return false;
	return json_is_array(list);
}

static bool read_change(struct call *c, struct wish *w)
{
	scoped(json_decrefp) json_t *root = NULL;
	json_t *topics = NULL, *outputs = NULL, *screens = NULL;

	if (!answer_read_body(c, &root))
		return false;
	w->topics_given = w->screens_given = false;
	if (json_unpack(root, "{s?o, s?o, s?o !}", "topics", &topics, "outputs", &outputs,
	                "screens", &screens) < 0 ||
	    (topics && !read_words(w, topics, take_topic)) ||
	    (outputs && !read_outputs(w, outputs)) ||
	    (screens && !read_words(w, screens, take_screen))) {
		answer_error(c, 400, "input",
		             "give 'topics' (tasks, approvals, audit, metrics), 'outputs' (up to 8 "
		             "objects with 'task_id' and 'since') or 'screens' (up to 4 ids)");
		return false;
	}
	w->topics_given = topics != NULL;
	w->screens_given = screens != NULL;
	return true;
}

/* The doors */

static void go_on_from(struct call *c, struct audit_follow *place)
{
	const char *last = http_header(c->x, "Last-Event-ID"),
		   *dot = last ? strchr(last, '.') : NULL;
	char file[24];

	if (!dot || (size_t)(dot - last) >= sizeof(file))
		return;
	snprintf(file, sizeof(file), "%.*s", (int)(dot - last), last);
	if (number_parse_u64(file, &place->file) < 0 ||
	    number_parse_u64(dot + 1, &place->offset) < 0)
		*place = (struct audit_follow){0};
}

void events_open(struct call *c)
{
	struct feed *feed = c->serve->feed;
	struct wish w = {0};
	struct stream *s;

	if (!read_query(c, &w))
		return;
	if (strcmp(http_method(c->x), "HEAD") == 0) {
		http_answer(c->x,
		            &(struct http_answer){.status = 200, .type = "text/event-stream"});
		return;
	}
	s = feed_count(feed) < STREAMS_MAX ? calloc(1, sizeof(*s)) : NULL;
	if (!s || id_new("ev-", s->id, sizeof(s->id)) < 0) {
		free(s);
		answer_error(c, 503, "limit", "too many streams of events are open");
		return;
	}
	s->call = c;
	c->stream = s;
	memcpy(s->topics, w.topics, sizeof(s->topics));
	go_on_from(c, &s->audit);
	answer_stream(c);
	feed_add(feed, s);
	feed_snapshot(feed, s, s->topics);
	if (s->topics[TOPIC_AUDIT])
		feed_audit(feed, s, true);
	feed_look(feed);
	follow_outputs(s, &w);
	follow_screens(s, &w);
}

static struct stream *find_stream(struct call *c)
{
	for (struct stream *s = feed_streams(c->serve->feed); s; s = s->next)
		if (strcmp(s->id, c->id) == 0 && s->call->x && s->call->client == c->client)
			return s;
	return NULL;
}

static void answer_state(struct call *c, const struct stream *s)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};

	json_object_begin(&w);
	json_member_string(&w, "stream", s->id);
	json_member_array(&w, "topics");
	for (int i = 0; i < TOPIC_MAX; i++)
		if (s->topics[i])
			json_put_string(&w, topic_names[i]);
	json_array_end(&w);
	json_member_array(&w, "outputs");
	for (size_t i = 0; i < STREAM_OUTPUTS_MAX; i++)
		if (s->outputs[i].task[0])
			json_put_string(&w, s->outputs[i].task);
	json_array_end(&w);
	json_member_array(&w, "screens");
	for (size_t i = 0; i < STREAM_SCREENS_MAX; i++)
		if (s->screens[i].task[0])
			json_put_string(&w, s->screens[i].task);
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

void events_change(struct call *c)
{
	struct stream *s = find_stream(c);
	bool fresh[TOPIC_MAX], any = false;
	struct wish w = {0};

	if (!s || !stream_who(s)) {
		answer_error(c, 404, "input", "there is no such stream; open a new one");
		return;
	}
	if (!read_change(c, &w))
		return;
	if (w.topics_given) {
		for (int i = 0; i < TOPIC_MAX; i++) {
			fresh[i] = w.topics[i] && !s->topics[i];
			any |= fresh[i];
			s->topics[i] = w.topics[i];
		}
		if (any)
			feed_snapshot(c->serve->feed, s, fresh);
		feed_look(c->serve->feed);
	}
	if (w.outputs_given)
		follow_outputs(s, &w);
	if (w.screens_given)
		follow_screens(s, &w);
	answer_state(c, s);
}

void events_drained(struct call *c)
{
	pump(c->stream);
	for (size_t i = 0; i < STREAM_SCREENS_MAX; i++)
		if (c->stream->screens[i].show)
			show_wake(c->stream->screens[i].show);
}

void events_gone(struct call *c)
{
	struct stream *s = take_ptr(&c->stream);

	if (!s)
		return;
	feed_remove(c->serve->feed, s);
	for (size_t i = 0; i < STREAM_OUTPUTS_MAX; i++)
		s->outputs[i].tail = tail_free(s->outputs[i].tail);
	for (size_t i = 0; i < STREAM_SCREENS_MAX; i++)
		s->screens[i].show = show_free(s->screens[i].show);
	loop_timer_clear(&s->more);
	free(s);
}

static void put_list(struct json_writer *w, const char *name, const char *words, bool objects)
{
	json_member_object(w, name);
	json_schema_type(w, "array");
	json_member_text(w, "description", words);
	json_member_object(w, "items");
	json_schema_type(w, objects ? "object" : "string");
	json_object_end(w);
	json_object_end(w);
}

void events_put_schema(struct json_writer *w)
{
	json_schema_begin(w);
	put_list(w, "topics", "tasks, approvals, audit, metrics", false);
	put_list(w, "outputs", "objects with task_id and since: whose output is followed", true);
	put_list(w, "screens", "tasks whose terminal is followed", false);
	json_schema_required(w);
	json_schema_end(w, false);
}
