/*
 * From a message to the function that answers it. Which methods exist depends on the era of the
 * message, and in the handshake era on how far the handshake is; nothing else is decided here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "engine/engine.h"
#include "mcp/begun.h"
#include "mcp/fixtures.h"
#include "mcp/given-up.h"
#include "mcp/inside.h"
#include "mcp/memo.h"
#include "mcp/tools.h"

enum { LEGACY = 1, MODERN = 2, EARLY = 4, TASKS = 8 }; /* EARLY: before the handshake, too */

static const struct {
	const char *name;
	int when;
	mcp_method *method;
} methods[] = {
	{"initialize", LEGACY | EARLY, method_initialize},
	{"ping", LEGACY | EARLY, method_ping},
	{"server/discover", MODERN, method_discover},
	{"logging/setLevel", LEGACY, method_set_level},
	{"tools/list", LEGACY | MODERN, method_tools_list},
	{"tools/call", LEGACY | MODERN, method_tools_call},
	{"resources/list", LEGACY | MODERN, method_resources_list},
	{"resources/templates/list", LEGACY | MODERN, method_resource_templates},
	{"resources/read", LEGACY | MODERN, method_resources_read},
	{"resources/subscribe", LEGACY, method_subscribe},
	{"resources/unsubscribe", LEGACY, method_unsubscribe},
	{"subscriptions/listen", MODERN, method_listen},
	{"tasks/get", LEGACY | MODERN | TASKS, method_tasks_get},
	{"tasks/cancel", LEGACY | MODERN | TASKS, method_tasks_cancel},
	{"tasks/update", MODERN, method_tasks_update},
	{"tasks/result", LEGACY | TASKS, method_tasks_result},
	{"tasks/list", LEGACY | TASKS, method_tasks_list},
};

static const char *const levels[MCP_LOG_MAX] = {"debug", "info",     "notice", "warning",
                                                "error", "critical", "alert",  "emergency"};

int mcp_log_level_find(const char *name)
{
	int i = 0;

	while (i < MCP_LOG_MAX && strcmp(name, levels[i]) != 0)
		i++;
	return i;
}

const char *mcp_log_level_name(int level)
{
	return levels[level];
}

void mcp_capabilities_read(json_t *object, struct mcp_capabilities *ret)
{
	json_t *ask = json_object_get(object, "elicitation");
	json_t *extensions = json_object_get(object, "extensions");

	*ret = (struct mcp_capabilities){
		/* An empty object is the form of before there were others. */
		.form = json_is_object(ask) &&
	                (json_object_size(ask) == 0 || json_object_get(ask, "form")),
		.tasks = json_is_object(json_object_get(extensions, MCP_META "tasks")),
		.sampling = json_is_object(json_object_get(object, "sampling")),
		.roots = json_is_object(json_object_get(object, "roots")),
	};
}

struct store *mcp_peer_store(struct mcp_peer *p)
{
	return &p->offers[0].engine->store;
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

int mcp_peer_new(struct mcp_server *s, const struct mcp_peer_options *o, struct mcp_peer **ret_peer,
                 struct error *err)
{
	struct mcp_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return error_nomem(err);
	*p = (struct mcp_peer){
		.server = s,
		.next = s->peers,
		.principal = copy(o->principal),
		.door = copy(o->door ? o->door : "mcp"),
		.session = copy(o->session),
		.offers = calloc(o->offer_count, sizeof(*o->offers)),
		.offer_count = o->offer_count,
		.has_person = o->has_person,
		.shared = o->shared,
		.send = o->send,
		.share = o->share ? o->share : &s->share,
		.house = o->house,
		.sees = o->sees,
		.owner = o->owner,
		.revision = MCP_REVISION_MAX,
		.log_level = MCP_LOG_MAX,
	};
	if (s->peers)
		s->peers->previous = p;
	s->peers = p;
	if (!p->offers || !p->door || (o->principal && !p->principal) ||
	    (o->session && !p->session)) {
		mcp_peer_free(p);
		return error_nomem(err);
	}
	memcpy(p->offers, o->offers, o->offer_count * sizeof(*o->offers));
	mcp_offers_name(p->offers, p->offer_count);
	*ret_peer = p;
	return 0;
}

/* Its work is told to end, once: a second time would mean without grace. */
static void end_work(struct mcp_call *c)
{
	bool first = !c->cancelled;

	c->cancelled = true;
	if (first && c->cancel)
		c->cancel(c);
}

/* What is told to a client that is still there before it is cancelled. */
static void cancel(struct mcp_call *c)
{
	mcp_call_unask(c);
	mcp_call_silence(c);
	end_work(c);
}

/* One after the other from the start: a call that ends may let another begin, and end. */
void mcp_peer_cancel_all(struct mcp_peer *p)
{
	struct mcp_call *c = p->calls;

	while (c) {
		if (c->cancelled) {
			c = c->next;
			continue;
		}
		cancel(c);
		c = p->calls;
	}
}

bool mcp_peer_is_busy(const struct mcp_peer *p)
{
	return p->calls || p->stopping > 0;
}

struct mcp_peer *mcp_peer_free(struct mcp_peer *p)
{
	struct mcp_call *next;

	if (!p)
		return NULL;
	p->closed = true;
	mcp_peer_cancel_all(p);
	for (struct mcp_call *c = p->calls; c; c = next) {
		next = c->next;
		c->leave(c); /* it is being stopped; nobody waits for that any more */
	}
	loop_timer_clear(&p->subscription_timer);
	mcp_memos_free(p);
	mcp_begun_free(p);
	if (p->previous)
		p->previous->next = p->next;
	else
		p->server->peers = p->next;
	if (p->next)
		p->next->previous = p->previous;
	free(p->principal);
	free(p->door);
	free(p->session);
	free(p->offers);
	free(p);
	return NULL;
}

const char *mcp_peer_revision(const struct mcp_peer *p)
{
	return p->revision < MCP_REVISION_MAX ? mcp_revision_name(p->revision) : NULL;
}

/* The call says nothing any more, and its batch does not wait for it. */
static void leave_stream(struct mcp_call *c)
{
	if (c->batch && --c->batch->waiting == 0) {
		buffer_done(&c->batch->text);
		free(c->batch);
	}
	c->batch = NULL;
	c->stream = NULL;
	c->silent = true;
}

void mcp_peer_hang_up(struct mcp_peer *p, void *stream, bool end)
{
	struct mcp_call *c;

	for (c = p->calls; c; c = c->next)
		if (c->stream == stream) {
			leave_stream(c);
			c->unwanted = end;
		}
	for (c = p->calls; end && c;) {
		if (!c->unwanted || c->cancelled) {
			c = c->next;
			continue;
		}
		end_work(c);
		c = p->calls;
	}
}

static struct mcp_call *find_call(struct mcp_peer *p, const char *id)
{
	for (struct mcp_call *c = p->calls; c; c = c->next)
		if (!c->silent && strcmp(c->key, id) == 0)
			return c;
	return NULL;
}

static void take_notification(struct mcp_peer *p, const struct rpc_message *m)
{
	scoped(freep) char *id = NULL;
	struct mcp_call *c;

	if (strcmp(m->method, "notifications/initialized") == 0) {
		p->initialized = p->revision < MCP_REVISION_MAX;
	} else if (strcmp(m->method, "notifications/cancelled") == 0 && !p->shared) {
		id = rpc_token(rpc_param(m, "requestId"));
		c = id ? find_call(p, id) : NULL;
		if (c)
			mcp_given_up_learn(c, json_string_value(rpc_param(m, "reason")));
		if (c)
			cancel(c);
	}
}

static void take_response(struct mcp_peer *p, const struct rpc_message *m)
{
	for (struct mcp_call *c = p->calls; c; c = c->next)
		if (c->asked_id && m->id && strcmp(c->asked_id, m->id) == 0) {
			free(take_ptr(&c->asked_id));
			c->answered(c, m);
			return;
		}
}

static void refuse_version(struct mcp_call *c, const struct mcp_envelope *e)
{
	scoped(buffer_donep) struct buffer data = {0};
	struct json_writer w = {.out = &data};

	mcp_put_supported(&w, e->requested);
	mcp_call_error(c, e->code, e->problem, buffer_str(&data));
}

static mcp_method *find_method(const struct mcp_call *c, const char *name, int *ret_when)
{
	for (size_t i = 0; i < array_size(methods); i++) {
		*ret_when = methods[i].when;
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].when & (c->modern ? MODERN : LEGACY) ? methods[i].method
			                                                       : NULL;
	}
	*ret_when = 0;
	return mcp_fixture_method(name);
}

static void take_request(struct mcp_call *c, const struct rpc_message *m,
                         const struct mcp_envelope *e)
{
	const struct mcp_peer *p = c->peer;
	const json_t *level = json_object_get(rpc_param(m, "_meta"), MCP_META "logLevel");
	mcp_method *method;
	int when;

	c->bad_envelope = e->code != 0;
	if (e->code == MCP_UNSUPPORTED_VERSION)
		return refuse_version(c, e);
	if (e->code)
		return mcp_call_error(c, e->code, e->problem, NULL);
	method = find_method(c, m->method, &when);
	if (!c->modern && !(when & EARLY) && p->revision == MCP_REVISION_MAX)
		return mcp_call_error(c, RPC_INVALID_REQUEST, "not initialized", NULL);
	if (!method || (when & TASKS && !c->modern && p->revision < MCP_2025_11_25))
		return mcp_call_error(c, RPC_METHOD_NOT_FOUND, "there is no such method", NULL);
	if (m->params && !json_is_object(m->params))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'params' must be an object", NULL);
	if (c->modern && level && c->log_level == MCP_LOG_MAX)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such log level", NULL);
	if (p->call_count > MCP_PEER_CALLS)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "too many requests at a time", NULL);
	method(c, m);
}

/* What has no call to be answered by: a message that could not be read. */
static enum mcp_taken refuse(struct mcp_peer *p, const struct rpc_message *m, bool modern,
                             void *stream, struct mcp_batch *batch)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct mcp_output o = {.kind = MCP_OUTPUT_ANSWER,
	                       .stream = stream,
	                       .code = m->code,
	                       .status = mcp_http_status(modern, m->code)};

	rpc_write_error(&json, m->id, m->code, m->problem, NULL);
	if (batch) {
		buffer_putc(&batch->text, batch->count++ ? ',' : '[');
		buffer_append(&batch->text, buffer_str(&json), json.len);
		return MCP_ANSWERS;
	}
	o.json = buffer_str(&json);
	o.len = json.len;
	if (!p->closed && buffer_error(&json) == 0)
		(void)p->send(p->owner, &o);
	return MCP_ANSWERS;
}

static enum mcp_taken receive_one(struct mcp_peer *p, const struct rpc_message *m,
                                  const char *header, void *stream, struct mcp_batch *batch)
{
	struct rpc_message failed = {.kind = RPC_INVALID, .id = m->id, .code = RPC_INTERNAL_ERROR};
	struct mcp_envelope e;
	struct mcp_call *c;

	switch (m->kind) {
	case RPC_NOTIFICATION:
		take_notification(p, m);
		return MCP_TAKEN;
	case RPC_RESPONSE:
		take_response(p, m);
		return MCP_TAKEN;
	case RPC_REQUEST:
		mcp_envelope_read(m, header, &e);
		c = mcp_call_new(p, m, &e, stream, batch);
		if (!c) {
			memcpy(failed.problem, "out of memory", sizeof("out of memory"));
			return refuse(p, &failed, e.modern, stream, batch);
		}
		if (batch)
			batch->waiting++;
		take_request(c, m, &e);
		return MCP_ANSWERS;
	case RPC_BATCH:
	case RPC_INVALID:
		break;
	}
	return refuse(p, m, false, stream, batch);
}

/* One answer for all of them, when the last has come. While its elements are being taken the batch
 * waits for one more than there are, so that none of them completes it. */
static enum mcp_taken receive_batch(struct mcp_peer *p, const struct rpc_message *m, void *stream)
{
	struct mcp_batch *b = calloc(1, sizeof(*b));
	struct rpc_message bad = {.kind = RPC_INVALID, .code = RPC_INVALID_REQUEST};
	enum mcp_taken taken = MCP_TAKEN;

	memcpy(bad.problem, "batches are not accepted", sizeof("batches are not accepted"));
	if (!b || p->revision != MCP_2025_03_26 || rpc_message_count(m) > MCP_PEER_CALLS) {
		free(b);
		return refuse(p, &bad, false, stream, NULL);
	}
	*b = (struct mcp_batch){.stream = stream, .waiting = 1};
	memcpy(bad.problem, "not in a batch", sizeof("not in a batch"));
	for (size_t i = 0; i < rpc_message_count(m); i++) {
		scoped(rpc_message_donep) struct rpc_message one = {0};

		rpc_message_element(m, i, &one);
		if (one.kind == RPC_REQUEST && strcmp(one.method, "initialize") == 0) {
			bad.id = one.id;
			(void)refuse(p, &bad, false, stream, b);
			taken = MCP_ANSWERS;
		} else if (receive_one(p, &one, NULL, stream, b) == MCP_ANSWERS) {
			taken = MCP_ANSWERS;
		}
	}
	if (taken == MCP_TAKEN)
		free(b); /* there was nothing to answer */
	else
		(void)mcp_batch_take(p, b, NULL);
	return taken;
}

enum mcp_taken mcp_peer_receive(struct mcp_peer *p, const struct rpc_message *m, const char *header,
                                void *stream)
{
	return m->kind == RPC_BATCH ? receive_batch(p, m, stream)
	                            : receive_one(p, m, header, stream, NULL);
}
