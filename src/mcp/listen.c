/*
 * Notifications of changes: to a client of the handshake era that has subscribed to a resource, and
 * to a stateless one on the stream of its subscriptions/listen. Tasks are checked once a second,
 * and no change is reported more often.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/fd.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"
#include "mcp/task-put.h"
#include "mcp/tasks.h"
#include "mcp/uri.h"

#define LOOK_MS     1000
#define LISTENS_MAX 64 /* streams of one client: each looks at its tasks every second */

struct listen {
	struct mcp_call *call;
	struct loop_timer timer;
	struct mcp_subscription resources[MCP_SUBSCRIPTIONS], tasks[MCP_SUBSCRIPTIONS];
	size_t resource_count, task_count;
	bool tools, prompts;
};

/* Whether the task has changed since it was looked at last. */
static bool look(struct mcp_peer *p, struct mcp_subscription *s, struct find_entry *ret_entry)
{
	bool changed;
	int fd;

	if (s->ended)
		return false;
	fd = mcp_task_open(p, s->id, ret_entry);
	if (fd < 0) {
		s->ended = true;
		return false;
	}
	fd_close(fd);
	changed = ret_entry->state != FIND_RUNNING ||
	          ret_entry->bytes[0] + ret_entry->bytes[1] != s->bytes;
	s->ended = ret_entry->state != FIND_RUNNING;
	s->bytes = ret_entry->bytes[0] + ret_entry->bytes[1];
	return changed;
}

static void put_uri(struct json_writer *w, const struct mcp_subscription *s)
{
	char uri[64];

	snprintf(uri, sizeof(uri), "nacre://output/%s", s->id);
	json_member_string(w, "uri", uri);
}

/* The handshake era */

static int on_subscriptions(struct loop_timer *t)
{
	struct mcp_peer *p = container_of(t, struct mcp_peer, subscription_timer);
	struct find_entry e;
	struct mcp_notice n;

	for (size_t i = 0; i < p->subscription_count; i++) {
		if (!look(p, &p->subscriptions[i], &e))
			continue;
		notice_begin(&n, p, NULL, "notifications/resources/updated");
		put_uri(&n.w, &p->subscriptions[i]);
		notice_send(&n);
	}
	if (p->subscription_count == 0)
		return 0;
	return loop_timer_set(t->loop, t, loop_now(t->loop) + LOOK_MS, on_subscriptions);
}

static struct mcp_subscription *find(struct mcp_subscription *list, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].id, id) == 0)
			return &list[i];
	return NULL;
}

/* False: there is no such task, or no room. */
static bool add(struct mcp_peer *p, struct mcp_subscription *list, size_t *count, const char *id)
{
	struct find_entry e;
	int fd = mcp_task_open(p, id, &e);

	if (fd < 0)
		return false;
	fd_close(fd);
	if (find(list, *count, id))
		return true;
	if (*count == MCP_SUBSCRIPTIONS)
		return false;
	list[*count] = (struct mcp_subscription){.bytes = e.bytes[0] + e.bytes[1],
	                                         .ended = e.state != FIND_RUNNING};
	memcpy(list[(*count)++].id, e.id, sizeof(e.id));
	return true;
}

static bool read_uri(struct mcp_call *c, const struct rpc_message *m, struct uri *uri)
{
	const char *text = mcp_call_need_string(c, m, "uri");

	if (!text)
		return false;
	uri_read(text, uri);
	return true;
}

void method_subscribe(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_peer *p = c->peer;
	struct loop *l = p->server->options.loop;
	struct uri uri;

	if (!read_uri(c, m, &uri))
		return;
	/* What never changes may be subscribed to, and nothing is ever told. */
	if (uri.kind == URI_OUTPUT && !add(p, p->subscriptions, &p->subscription_count, uri.id)) {
		if (p->subscription_count < MCP_SUBSCRIPTIONS)
			return mcp_no_resource(c, json_string_value(rpc_param(m, "uri")));
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there are too many subscriptions",
		                      NULL);
	}
	if (uri.kind == URI_NONE && !mcp_fixture_is_resource(rpc_param(m, "uri")))
		return mcp_no_resource(c, json_string_value(rpc_param(m, "uri")));
	if (p->subscription_count > 0)
		(void)loop_timer_set(l, &p->subscription_timer, loop_now(l) + LOOK_MS,
		                     on_subscriptions);
	mcp_call_empty(c);
}

void method_unsubscribe(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_peer *p = c->peer;
	struct mcp_subscription *s;
	struct uri uri;

	if (!read_uri(c, m, &uri))
		return;
	s = uri.kind == URI_OUTPUT ? find(p->subscriptions, p->subscription_count, uri.id) : NULL;
	if (s)
		*s = p->subscriptions[--p->subscription_count];
	mcp_call_empty(c);
}

/* The stateless one */

static void put_id(struct json_writer *w, const struct mcp_call *c)
{
	json_member_object(w, "_meta");
	json_member_raw(w, MCP_META "subscriptionId", c->id);
	json_object_end(w);
}

static int on_listen(struct loop_timer *t)
{
	struct listen *s = container_of(t, struct listen, timer);
	struct mcp_call *c = s->call;
	struct find_entry e;
	struct mcp_notice n;

	for (size_t i = 0; i < s->resource_count; i++) {
		if (!look(c->peer, &s->resources[i], &e))
			continue;
		notice_begin(&n, c->peer, c, "notifications/resources/updated");
		put_uri(&n.w, &s->resources[i]);
		put_id(&n.w, c);
		notice_send(&n);
	}
	for (size_t i = 0; i < s->task_count; i++) {
		if (!look(c->peer, &s->tasks[i], &e) || !s->tasks[i].ended)
			continue; /* what a task prints does not change how it stands */
		notice_begin(&n, c->peer, c, "notifications/tasks");
		task_put(&n.w, &e, true);
		task_put_result(&n.w, c->peer, &e);
		put_id(&n.w, c);
		notice_send(&n);
	}
	return loop_timer_set(t->loop, t, loop_now(t->loop) + LOOK_MS, on_listen);
}

static void on_cancel(struct mcp_call *c)
{
	struct listen *s = c->work;

	loop_timer_clear(&s->timer);
	free(s);
	mcp_call_free(c);
}

static void on_goodbye(struct mcp_call *c)
{
	struct listen *s = c->work;
	struct mcp_answer a;

	loop_timer_clear(&s->timer);
	free(s);
	answer_begin(&a, c, "complete");
	json_member_raw(&a.meta, MCP_META "subscriptionId", c->id);
	(void)answer_send(&a);
}

void mcp_peer_say_goodbye(struct mcp_peer *p)
{
	struct mcp_call *next;

	for (struct mcp_call *c = p->calls; c; c = next) {
		next = c->next;
		if (c->cancel == on_cancel && !c->silent)
			on_goodbye(c);
	}
}

void mcp_tell_changed(struct mcp_server *server, const char *method, bool tools)
{
	struct mcp_notice n;

	for (struct mcp_peer *p = server->peers; p; p = p->next) {
		if (!p->shared && p->revision < MCP_REVISION_MAX) {
			notice_begin(&n, p, NULL, method);
			notice_send(&n);
		}
		for (struct mcp_call *c = p->calls; c; c = c->next) {
			const struct listen *s = c->work;

			if (c->cancel != on_cancel || !(tools ? s->tools : s->prompts))
				continue;
			notice_begin(&n, p, c, method);
			put_id(&n.w, c);
			notice_send(&n);
		}
	}
}

/* The part of a list that is honoured, written as it is read. */
static void take_list(struct listen *s, json_t *list, bool tasks, struct json_writer *w)
{
	struct mcp_peer *p = s->call->peer;
	json_t *item;
	size_t i;

	json_member_array(w, tasks ? "taskIds" : "resourceSubscriptions");
	json_array_foreach (list, i, item) {
		const char *text = json_string_value(item);
		struct uri uri = {0};
		bool taken;

		uri_read(text, &uri);
		if (tasks)
			taken = add(p, s->tasks, &s->task_count, text);
		else
			taken = uri.kind == URI_POLICY || uri.kind == URI_SESSION ||
			        mcp_fixture_is_resource(item) ||
			        (uri.kind == URI_OUTPUT &&
			         add(p, s->resources, &s->resource_count, uri.id));
		if (taken)
			json_put_string(w, text);
	}
	json_array_end(w);
}

/* The acknowledgement comes before anything else of the subscription. */
static void acknowledge(struct listen *s, json_t *wanted)
{
	struct mcp_call *c = s->call;
	json_t *resources = json_object_get(wanted, "resourceSubscriptions");
	json_t *tasks = json_object_get(wanted, "taskIds");
	struct mcp_notice n;

	notice_begin(&n, c->peer, c, "notifications/subscriptions/acknowledged");
	n.needed = true;
	json_member_object(&n.w, "notifications");
	if (s->tools)
		json_member_bool(&n.w, "toolsListChanged", true);
	if (s->prompts)
		json_member_bool(&n.w, "promptsListChanged", true);
	if (resources)
		take_list(s, resources, false, &n.w);
	if (tasks && c->capabilities.tasks)
		take_list(s, tasks, true, &n.w);
	json_object_end(&n.w);
	put_id(&n.w, c);
	notice_send(&n);
}

static bool is_strings(json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (!json_is_string(item))
			return false;
	return !list || json_is_array(list);
}

static bool is_well_typed(json_t *wanted)
{
	static const char *const flags[] = {"toolsListChanged", "promptsListChanged",
	                                    "resourcesListChanged"};
	json_t *flag;

	for (size_t i = 0; i < array_size(flags); i++) {
		flag = json_object_get(wanted, flags[i]);
		if (flag && !json_is_boolean(flag))
			return false;
	}
	return json_is_object(wanted) &&
	       is_strings(json_object_get(wanted, "resourceSubscriptions")) &&
	       is_strings(json_object_get(wanted, "taskIds"));
}

static size_t count_listens(const struct mcp_peer *p)
{
	size_t n = 0;

	for (const struct mcp_call *c = p->calls; c; c = c->next)
		n += c->cancel == on_cancel;
	return n;
}

void method_listen(struct mcp_call *c, const struct rpc_message *m)
{
	struct loop *l = c->peer->server->options.loop;
	json_t *wanted = rpc_param(m, "notifications");
	struct listen *s;

	if (!is_well_typed(wanted) || m->has_nul)
		return mcp_call_error(c, RPC_INVALID_PARAMS,
		                      "'notifications' must be an object of flags and of lists of "
		                      "strings",
		                      NULL);
	if (count_listens(c->peer) >= LISTENS_MAX)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "too many subscriptions at a time",
		                      NULL);
	s = calloc(1, sizeof(*s));
	if (!s || loop_timer_set(l, &s->timer, loop_now(l) + LOOK_MS, on_listen) < 0) {
		free(s);
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
	s->call = c;
	s->tools = mcp_fixture_changes && json_is_true(json_object_get(wanted, "toolsListChanged"));
	s->prompts =
		mcp_fixture_changes && json_is_true(json_object_get(wanted, "promptsListChanged"));
	c->work = s;
	c->cancel = on_cancel;
	c->leave = on_cancel;
	acknowledge(s, wanted);
}
