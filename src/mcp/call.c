/*
 * Calls: one request of a client, from its message to its answer.
 *
 * Every call gets exactly one end: an answer, an error, or silence if the client has cancelled it.
 * That end is sent once, to the stream that the request came by, or to its batch. A call is in the
 * list of its peer until it is freed, so a client that leaves takes all its calls with it. Progress
 * and log messages are sent only before the end, and only if the client asked for them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/utf8.h"
#include "base/version.h"
#include "mcp/inside.h"

#define PROGRESS_BYTES 200

static void read_meta(struct mcp_call *c, const struct rpc_message *m)
{
	json_t *meta = rpc_param(m, "_meta");
	const char *level = json_string_value(json_object_get(meta, MCP_META "logLevel"));

	c->token = rpc_token(json_object_get(meta, "progressToken"));
	if (!c->modern) {
		c->capabilities = c->peer->capabilities;
		c->appetite = c->peer->appetite;
		c->log_level = c->peer->log_level;
		return;
	}
	mcp_capabilities_read(json_object_get(meta, MCP_META "clientCapabilities"),
	                      &c->capabilities);
	c->appetite = mcp_appetite_of(json_object_get(meta, MCP_META "clientInfo"));
	c->log_level = level ? mcp_log_level_find(level) : MCP_LOG_MAX;
}

struct mcp_call *mcp_call_new(struct mcp_peer *p, const struct rpc_message *m,
                              const struct mcp_envelope *e, void *stream, struct mcp_batch *batch)
{
	struct mcp_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct mcp_call){
		.peer = p,
		.stream = stream,
		.batch = batch,
		.modern = e->modern,
		.revision = e->modern ? MCP_2026_07_28 : p->revision,
		.last_progress = -1,
		.started_at = loop_now(p->server->options.loop),
		.id = strdup(m->id),
		.key = rpc_token(json_object_get(m->root, "id")),
		.next = p->calls,
	};
	if (!c->id || !c->key) {
		free(c->id);
		free(c->key);
		free(c);
		return NULL;
	}
	read_meta(c, m);
	if (p->calls)
		p->calls->previous = c;
	p->calls = c;
	p->call_count++;
	return c;
}

void mcp_call_free(struct mcp_call *c)
{
	struct mcp_peer *p = c->peer;

	if (c->previous)
		c->previous->next = c->next;
	else
		p->calls = c->next;
	if (c->next)
		c->next->previous = c->previous;
	p->call_count--;
	free(c->id);
	free(c->key);
	free(c->token);
	free(c->asked_id);
	free(c);
}

static bool send(struct mcp_peer *p, const struct mcp_output *o)
{
	return !p->closed && p->send(p->owner, o);
}

/* One answer of a batch is there, or will never be. */
bool mcp_batch_take(struct mcp_peer *p, struct mcp_batch *b, const char *json)
{
	struct mcp_output o = {.kind = MCP_OUTPUT_NOTHING, .stream = b->stream, .status = 200};
	bool sent = true;

	if (json) {
		buffer_putc(&b->text, b->count++ ? ',' : '[');
		buffer_puts(&b->text, json);
	}
	if (--b->waiting > 0)
		return true;
	if (b->count > 0) {
		buffer_putc(&b->text, ']');
		o.kind = MCP_OUTPUT_ANSWER;
		o.json = buffer_str(&b->text);
		o.len = b->text.len;
	}
	sent = buffer_error(&b->text) == 0 && send(p, &o);
	buffer_done(&b->text);
	free(b);
	return sent;
}

/* JSON is NULL: there is no answer. */
static bool end_stream(struct mcp_call *c, const struct buffer *json, int code)
{
	struct mcp_output o = {.kind = json ? MCP_OUTPUT_ANSWER : MCP_OUTPUT_NOTHING,
	                       .stream = c->stream,
	                       .json = json ? buffer_str(json) : NULL,
	                       .len = json ? json->len : 0,
	                       .code = code,
	                       .status = c->bad_envelope ? 400 : mcp_http_status(c->modern, code)};

	if (c->silent)
		return false;
	c->silent = true;
	if (c->batch)
		return mcp_batch_take(c->peer, take_ptr(&c->batch), o.json);
	return send(c->peer, &o);
}

void mcp_call_silence(struct mcp_call *c)
{
	(void)end_stream(c, NULL, 0);
}

void mcp_call_error(struct mcp_call *c, int code, const char *text, const char *data)
{
	scoped(buffer_donep) struct buffer json = {0};

	rpc_write_error(&json, c->id, code, text, data);
	(void)end_stream(c, &json, code);
	mcp_call_free(c);
}

void mcp_call_fail(struct mcp_call *c, const struct error *err)
{
	if (err->kind == ERROR_SYSTEM)
		mcp_call_error(c, RPC_INTERNAL_ERROR, "the server could not do this", NULL);
	else
		mcp_call_error(c, RPC_INVALID_PARAMS, err->text, NULL);
}

void answer_begin(struct mcp_answer *a, struct mcp_call *c, const char *type)
{
	*a = (struct mcp_answer){.call = c};
	a->w.out = &a->text;
	a->meta.out = &a->meta_text;
	rpc_begin_result(&a->w, c->id);
	json_object_begin(&a->w);
	if (!c->modern)
		return;
	json_member_string(&a->w, "resultType", type);
	json_member_object(&a->meta, MCP_META "serverInfo");
	json_member_string(&a->meta, "name", MCP_SERVER_NAME);
	json_member_string(&a->meta, "version", version_text);
	json_object_end(&a->meta);
}

void answer_cacheable(struct mcp_answer *a, int64_t ttl_ms, bool is_public)
{
	if (!a->call->modern)
		return;
	json_member_int(&a->w, "ttlMs", ttl_ms);
	json_member_string(&a->w, "cacheScope", is_public ? "public" : "private");
}

static void answer_end(struct mcp_answer *a)
{
	if (a->meta_text.len > 0) {
		json_member_object(&a->w, "_meta");
		json_put_raw(&a->w, buffer_str(&a->meta_text));
		json_object_end(&a->w);
	}
	json_object_end(&a->w);
	rpc_end(&a->w);
}

bool answer_send(struct mcp_answer *a)
{
	struct mcp_call *c = a->call;
	bool sent;

	answer_end(a);
	if (buffer_error(&a->text) < 0 || buffer_error(&a->meta_text) < 0) {
		mcp_call_error(c, RPC_INTERNAL_ERROR, "the answer is too large", NULL);
		sent = false;
	} else {
		sent = end_stream(c, &a->text, 0);
		mcp_call_free(c);
	}
	buffer_done(&a->text);
	buffer_done(&a->meta_text);
	return sent;
}

void answer_early(struct mcp_answer *a)
{
	answer_end(a);
	(void)end_stream(a->call, &a->text, 0);
	a->call->stream = NULL;
	buffer_done(&a->text);
	buffer_done(&a->meta_text);
}

void mcp_call_empty(struct mcp_call *c)
{
	struct mcp_answer a;

	answer_begin(&a, c, "complete");
	(void)answer_send(&a);
}

void notice_begin(struct mcp_notice *n, struct mcp_peer *p, struct mcp_call *c, const char *method)
{
	*n = (struct mcp_notice){.peer = p,
	                         .stream = c ? c->stream : NULL,
	                         .muted = c ? c->silent : p->shared || !p->initialized};
	n->w.out = &n->text;
	rpc_begin_notification(&n->w, method);
	json_object_begin(&n->w);
}

void notice_send(struct mcp_notice *n)
{
	struct mcp_output o = {
		.kind = MCP_OUTPUT_MESSAGE, .stream = n->stream, .needed = n->needed};

	json_object_end(&n->w);
	rpc_end(&n->w);
	o.json = buffer_str(&n->text);
	o.len = n->text.len;
	if (!n->muted && buffer_error(&n->text) == 0)
		(void)send(n->peer, &o);
	buffer_done(&n->text);
}

/* Grows with every message, as the protocol wants: a client may take equal values for an error. */
void mcp_call_progress(struct mcp_call *c, const char *message)
{
	struct loop *l = c->peer->server->options.loop;
	int64_t value = loop_now(l) - c->started_at;
	struct mcp_notice n;

	if (!c->token || c->silent || (!c->modern && !c->peer->initialized))
		return;
	value = value > c->last_progress ? value : c->last_progress + 1;
	notice_begin(&n, c->peer, c, "notifications/progress");
	json_member_raw(&n.w, "progressToken", c->token);
	json_member_int(&n.w, "progress", value);
	if (message && *message && c->revision >= MCP_2025_03_26)
		json_member_bytes(&n.w, "message", message,
		                  utf8_valid_prefix(message, strnlen(message, PROGRESS_BYTES)));
	notice_send(&n);
	c->last_progress = value;
}

void mcp_call_log(struct mcp_call *c, enum mcp_log_level level, const char *text)
{
	struct mcp_notice n;

	if (c->silent || c->log_level == MCP_LOG_MAX || (int)level < c->log_level)
		return;
	notice_begin(&n, c->peer, c, "notifications/message");
	json_member_string(&n.w, "level", mcp_log_level_name(level));
	json_member_string(&n.w, "logger", MCP_SERVER_NAME);
	json_member_string(&n.w, "data", text);
	notice_send(&n);
}

int mcp_call_ask_begin(struct mcp_call *c, const char *method, struct mcp_notice *ret)
{
	struct mcp_peer *p = c->peer;
	char id[48];

	if (c->silent || c->modern || !p->initialized)
		return -ENOTSUP;
	free(c->asked_id);
	snprintf(id, sizeof(id), "\"nacre-%llu\"", (unsigned long long)++p->request_count);
	c->asked_id = strdup(id);
	if (!c->asked_id)
		return -ENOMEM;
	*ret = (struct mcp_notice){.peer = p, .stream = c->stream, .needed = true};
	ret->w.out = &ret->text;
	rpc_begin_request(&ret->w, id, method);
	json_object_begin(&ret->w);
	return 0;
}

void mcp_call_unask(struct mcp_call *c)
{
	struct mcp_notice n;

	if (!c->asked_id)
		return;
	notice_begin(&n, c->peer, c, "notifications/cancelled");
	n.needed = true;
	json_member_raw(&n.w, "requestId", c->asked_id);
	json_member_string(&n.w, "reason", "the answer is not needed any more");
	notice_send(&n);
	free(take_ptr(&c->asked_id));
}

const char *mcp_call_need_string(struct mcp_call *c, const struct rpc_message *m, const char *key)
{
	const char *text = json_string_value(rpc_param(m, key));
	char problem[96];

	if (text && !m->has_nul)
		return text;
	snprintf(problem, sizeof(problem), "'%s' must be a string%s", key,
	         text ? " without U+0000" : "");
	mcp_call_error(c, RPC_INVALID_PARAMS, problem, NULL);
	return NULL;
}
