/*
 * The end of a server is the hard part. It accepts no more and ends what only follows; running
 * calls have their time to end by themselves; then they are let go, and answer with the id of the
 * task as which they go on. No command ends because the server does.
 */
#include "serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "task/errand.h"
#include "engine/job.h"
#include "serve/inside.h"
#include "serve/mcp-http.h"
#include "serve/watch.h"

#define STOP_LOOK_MS 20
#define STOP_LAST_MS 3000 /* for answers to leave, after all was let go */

const struct serve_options serve_options_default = {
	.state_fd = -1,
	.rate = {.per_second = 1000, .burst = 2000},
	.running_max = 64,
	.running_each = 48,
	.background_each = 256,
	.queued_max = 256,
	.stop_ms = 5000,
};

static const struct http_ops ops = {
	.begin = route_begin,
	.request = route_request,
	.drained = route_drained,
	.gone = route_gone,
};

/* The one thing that a server does which nobody has asked for: an hour that can be looked back at.
 */
static int on_history(struct loop_timer *t)
{
	struct serve *s = container_of(t, struct serve, history_timer);
	struct history_point p;

	about_point(s, &p);
	history_add(&s->history, &p);
	(void)loop_timer_set(s->loop, t, loop_now(s->loop) + HISTORY_STEP_MS, on_history);
	return 0;
}

int serve_new(struct loop *l, struct launcher *launcher, const struct serve_options *options,
              struct serve **ret_serve, struct error *err)
{
	scoped(serve_freep) struct serve *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_nomem(err);
	s->loop = l;
	s->launcher = launcher;
	s->options = *options;
	s->permits = (struct permits){.running_max = options->running_max,
	                              .queued_max = options->queued_max};
	s->started_ms = loop_now(l);
	r = principals_refresh(&s->principals, options->state_fd, NULL, err);
	if (r == 0)
		r = http_server_new(l, &options->http, &ops, s, &s->http, err);
	if (r == 0)
		r = watch_new(l, &s->watch, err);
	if (r == 0)
		r = feed_new(s, &s->feed, err);
	if (r == 0)
		r = loop_timer_set(l, &s->history_timer, loop_now(l), on_history);
	if (r == 0)
		r = mcp_http_new(s, &s->mcp, err);
	if (r < 0)
		return r;
	*ret_serve = take_ptr(&s);
	return 0;
}

static void free_benches(struct serve *s)
{
	struct bench *b;

	while ((b = s->benches)) {
		s->benches = b->next;
		bench_free(b);
	}
}

struct serve *serve_free(struct serve *s)
{
	struct client *c;

	if (!s)
		return NULL;
	loop_timer_clear(&s->stop_timer);
	loop_timer_clear(&s->history_timer);
	s->stopping = true;
	s->http = http_server_free(s->http);
	permits_close(&s->permits); /* nothing is started any more, whatever ends below */
	for (struct call *call = s->calls, *next; call; call = next) {
		next = call->next;
		if (call->job)
			job_leave(call->job);
		if (call->errand)
			errand_leave(call->errand);
		call_free(call);
	}
	s->mcp = mcp_http_free(s->mcp);
	s->feed = feed_free(s->feed);
	s->watch = watch_free(s->watch);
	free_benches(s);
	while ((c = s->clients)) {
		s->clients = c->next;
		free(c);
	}
	for (size_t i = 0; i < s->host_count; i++)
		free(s->hosts[i]);
	principals_done(&s->principals);
	logins_done(&s->logins);
	free(s->address);
	free(s);
	return NULL;
}

static int add_host(struct serve *s, const char *name, const char *port)
{
	if (s->host_count == array_size(s->hosts))
		return -E2BIG;
	if (asprintf(&s->hosts[s->host_count], "%s%s", name, port) < 0)
		return -ENOMEM;
	s->host_count++;
	return 0;
}

/* Nobody opens a page of "any address". */
static int note_address(struct serve *s, const char *address, const char *port)
{
	bool any = strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0;

	if (s->address)
		return 0;
	return asprintf(&s->address, "%s%s", any ? "127.0.0.1" : address, any ? port : "") < 0
	               ? -ENOMEM
	               : 0;
}

int serve_listen(struct serve *s, int fd, enum serve_door door, const char *address,
                 struct error *err)
{
	const char *port = strrchr(address, ':');
	int r = 0;

	if (door == SERVE_TCP && port) {
		r = note_address(s, address, port);
		if (r == 0)
			r = add_host(s, address, "");
		if (r == 0)
			r = add_host(s, "localhost", port);
		if (r == 0)
			r = add_host(s, "127.0.0.1", port);
		if (r == 0)
			r = add_host(s, "[::1]", port);
	}
	if (r < 0)
		return error_set(err, ERROR_LIMIT, -r, "too many addresses to listen on");
	return http_server_listen(s->http, fd, door, err);
}

static bool is_empty(const struct serve *s)
{
	return http_server_exchanges(s->http) == 0 && !s->calls;
}

/* Calls that run are answered now, and what they run goes on; those that wait are refused. */
static void let_go(struct serve *s)
{
	struct call *next;

	s->letting_go = true;
	for (struct call *c = s->calls; c; c = next) {
		next = c->next;
		if (c->job && job_waits(c->job)) {
			job_leave(take_ptr(&c->job));
			c->streams = false;
			answer_error(c, 503, "limit", "the server is about to stop");
		} else if (c->job) {
			job_let_go(c->job);
		}
	}
	mcp_http_stop(s->mcp, true);
}

static int on_stop(struct loop_timer *t)
{
	struct serve *s = container_of(t, struct serve, stop_timer);
	int64_t now = loop_now(s->loop);

	if (!s->letting_go && now >= s->stop_at)
		let_go(s);
	if (is_empty(s) || now >= s->stop_at + STOP_LAST_MS ||
	    loop_timer_set(s->loop, t, now + STOP_LOOK_MS, on_stop) < 0)
		loop_stop(s->loop);
	return 0;
}

void serve_stop(struct serve *s)
{
	int64_t now = loop_now(s->loop);

	s->stop_at = s->stopping ? now : now + s->options.stop_ms;
	if (!s->stopping) {
		s->stopping = true;
		http_server_quiesce(s->http);
		/* Who follows a task can go on at the next server, from the last event. */
		for (struct call *c = s->calls; c; c = c->next)
			if (c->x && c->stream)
				events_bye(c, "stopping");
			else if (c->x && c->tail && !c->job && !c->route->takes_body)
				http_stream_end(c->x);
		mcp_http_stop(s->mcp, false);
	}
	if (loop_timer_set(s->loop, &s->stop_timer, now, on_stop) < 0)
		loop_stop(s->loop);
}
