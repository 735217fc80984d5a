/*
 * A POST carries one message. Its answer begins when there is something to send. If that is the
 * response, the answer is plain JSON, unless the client accepts only a stream. If something comes
 * before the response, the answer is a stream of events that ends with it. mcp knows nothing of
 * this: each of its outputs names the post that it belongs to.
 *
 * In a session, a stream continues without its connection. Its events are kept, and a GET that
 * names the last event it has seen takes the stream over. Nobody knows whether a client has
 * received the end, so the end is kept for a while as well.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "http/text.h"
#include "serve/mcp-http.h"
#include "serve/mcp-inside.h"

#define KEEP_MS      60000              /* after its end, for a client to come back */
#define STREAMS_EACH 64                 /* of one session that have ended */
#define KEPT_MAX     ((size_t)64 << 20) /* of all sessions; beyond it only news are sent */

struct post *post_new(struct call *c)
{
	struct post *p = calloc(1, sizeof(*p));

	if (!p) {
		answer_error(c, 503, "system", "out of memory");
		return NULL;
	}
	p->call = c;
	c->mcp = p;
	return p;
}

static void forget_events(struct post *p)
{
	p->side->http->kept -= p->replay.bytes;
	replay_clear(&p->replay);
}

void post_let_go(struct post *p)
{
	if (!p->back)
		return;
	forget_events(p);
	*p->back = p->next;
	if (p->next)
		p->next->back = p->back;
	p->back = NULL;
}

void post_free(struct post *p)
{
	post_let_go(p);
	free(p);
}

void post_forget(struct side *s, int64_t now, bool all)
{
	size_t ended = 0;

	for (struct post *p = s->streams, *next; p; p = next) {
		next = p->next;
		ended += p->ended;
		if (all ||
		    (p->ended && !p->call && (ended > STREAMS_EACH || now - p->ended_ms > KEEP_MS)))
			post_free(p);
	}
}

/* From now on the stream has a number, by which it can be found again. */
static void keep(struct post *p)
{
	struct side *s = p->side;

	if (p->back || p->modern || p->listens || p->begins || !s || !s->id[0])
		return;
	post_forget(s, loop_now(s->http->serve->loop), false);
	p->replay.stream = ++s->stream_count;
	p->next = s->streams;
	p->back = &s->streams;
	if (p->next)
		p->next->back = &p->next;
	s->streams = p;
}

void post_begin_stream(struct post *p)
{
	struct http_answer a = {
		.status = 200,
		.type = "text/event-stream",
		.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
	int n = 2;

	if (p->revision) {
		a.headers[n][0] = "MCP-Protocol-Version";
		a.headers[n++][1] = p->revision;
	}
	if (p->begins) {
		a.headers[n][0] = "Mcp-Session-Id";
		a.headers[n++][1] = p->side->id;
	}
	p->streaming = true;
	keep(p);
	metrics_count_answer(&p->call->serve->metrics, 200);
	http_stream(p->call->x, &a);
}

void post_answer(struct post *p, int status, struct buffer *json)
{
	struct http_answer a = {
		.status = status, .type = json ? "application/json" : NULL, .body = json};
	int n = 0;

	p->ended = true;
	if (p->revision) {
		a.headers[n][0] = "MCP-Protocol-Version";
		a.headers[n++][1] = p->revision;
	}
	if (p->begins && p->side && !p->side->refused) {
		a.headers[n][0] = "Mcp-Session-Id";
		a.headers[n++][1] = p->side->id;
	}
	metrics_count_answer(&p->call->serve->metrics, status);
	http_answer(p->call->x, &a);
}

/* False: the client does not get it now, and perhaps never. */
static bool send_event(struct post *p, const char *json, size_t n)
{
	const struct replay_event *e = NULL;
	struct mcp_http *m = p->side ? p->side->http : NULL;
	char id[REPLAY_ID_MAX];

	if (p->back && m) {
		m->kept -= p->replay.bytes;
		e = replay_add(&p->replay, json, n);
		m->kept += p->replay.bytes;
		if (e)
			replay_id(&p->replay, e, id);
		if (m->kept > KEPT_MAX)
			forget_events(p);
	}
	return p->call && http_stream_event(p->call->x, e ? id : NULL, "message", json, n);
}

static bool end_stream(struct post *p, const struct mcp_output *o)
{
	bool sent = true;

	p->ended = true;
	p->ended_ms = loop_now(p->side->http->serve->loop);
	if (o->kind == MCP_OUTPUT_ANSWER)
		sent = send_event(p, o->json, o->len);
	if (p->call)
		http_stream_end(p->call->x);
	return sent;
}

static bool end_post(struct post *p, const struct mcp_output *o)
{
	scoped(buffer_donep) struct buffer json = {.max = (size_t)64 << 20};

	if (!p->streaming && o->kind == MCP_OUTPUT_ANSWER &&
	    !(p->wants_events && o->status == 200)) {
		buffer_append(&json, o->json, o->len);
		post_answer(p, buffer_error(&json) < 0 ? 500 : o->status, &json);
		return true;
	}
	if (!p->streaming)
		post_begin_stream(p);
	return end_stream(p, o);
}

bool post_send(void *owner, const struct mcp_output *o)
{
	struct side *s = owner;
	struct post *p = o->stream;

	if (!p) {
		p = s->listener ? s->listener->mcp : NULL;
		return p && p->call->x &&
		       http_stream_event(p->call->x, NULL, "message", o->json, o->len);
	}
	if (p->begins && o->kind == MCP_OUTPUT_ANSWER && o->code != 0)
		s->refused = true;
	/* Without a connection only a stream can go on, for who comes back to it. */
	if (p->ended || (p->call ? !p->call->x : !p->back || !p->streaming))
		return false;
	if (o->kind != MCP_OUTPUT_MESSAGE)
		return end_post(p, o);
	if (p->wants_json && !p->streaming && !o->needed)
		return false;
	if (!p->streaming)
		post_begin_stream(p);
	return send_event(p, o->json, o->len);
}

/* A connection that has not been found dead yet is left for the new one. */
static void take_over(struct post *p, struct call *c)
{
	struct call *old = p->call;

	if (old) {
		old->mcp = NULL;
		p->side->posts--;
		http_stream_end(old->x);
	}
	p->side->posts++;
	p->call = c;
	c->mcp = p;
}

void post_resume(struct call *c, struct side *s, const char *last)
{
	struct post *p = s->streams;
	const struct replay_event *e;
	uint64_t stream, number;
	char id[REPLAY_ID_MAX];

	if (replay_id_read(last, &stream, &number) < 0)
		p = NULL;
	while (p && p->replay.stream != stream)
		p = p->next;
	if (!p) {
		answer_error(c, 400, "input",
		             "there is no such event to go on from, or not any more");
		return;
	}
	take_over(p, c);
	post_begin_stream(p);
	for (e = replay_after(&p->replay, number); e; e = replay_after(&p->replay, e->number)) {
		replay_id(&p->replay, e, id);
		if (!http_stream_event(c->x, id, "message", e->json, e->len))
			break;
	}
	if (p->ended)
		http_stream_end(c->x);
}

void mcp_http_gone(struct call *c)
{
	struct post *p = c->mcp;
	struct side *s = p ? p->side : NULL;

	c->mcp = NULL;
	if (!p)
		return;
	if (s && p->listens) {
		s->listener = NULL;
	} else if (s) {
		s->posts--;
		s->used_ms = loop_now(c->serve->loop);
	}
	p->call = NULL;
	if (p->back) /* it may come back */
		return;
	if (s && !p->listens && !p->ended)
		mcp_peer_hang_up(s->peer, p, p->modern);
	post_free(p);
}
