/*
 * Tasks of the protocol are nacre's tasks. Their state is read from their directories every time,
 * so nothing is lost with this process, and nacre's other tools see the same state.
 */
#include "mcp/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "task/errand.h"
#include "engine/job.h"
#include "mcp/ask.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/memo.h"
#include "mcp/run-inside.h"
#include "mcp/task-put.h"
#include "mcp/task-text.h"
#include "mcp/vigil.h"

#define LISTED_MAX 100
#define EDGE_BYTES ((size_t)15000)

static bool sees(const void *owner, const struct find_origin *origin)
{
	const struct mcp_peer *p = owner;

	return strcmp(origin->principal, p->principal ? p->principal : "") == 0 &&
	       p->sees(p->owner, origin);
}

int mcp_task_open(struct mcp_peer *p, const char *id, struct find_entry *ret_entry)
{
	scoped(fd_closep) int fd = -1;

	if (strlen(id) >= STORE_ID_MAX)
		return -ENOENT;
	fd = find_open(mcp_peer_store(p), id, NULL);
	if (fd < 0)
		return -ENOENT;
	find_look(fd, id, ret_entry);
	if (!sees(p, &ret_entry->origin))
		return -ENOENT;
	return take_fd(&fd);
}

void content_of_task(struct content *content, struct store *store, const struct find_entry *e)
{
	scoped(fd_closep) int fd = find_open(store, e->id, NULL);
	struct json_writer w = {.out = &content->facts};

	if (fd >= 0)
		task_text_edges(fd, e, EDGE_BYTES, &content->text);
	task_text_status(e, &content->text);
	content->is_error = e->state == FIND_LOST ||
	                    (e->state == FIND_ENDED && e->report.end != KEEPER_END_EXITED);
	if (e->bytes[0] + e->bytes[1] > 2 * EDGE_BYTES) {
		memcpy(content->link, e->id, sizeof(content->link));
		content->link_bytes = e->bytes[0] + e->bytes[1];
	}
	json_object_begin(&w);
	task_put_facts(&w, e);
	json_object_end(&w);
}

void task_put_result(struct json_writer *w, struct mcp_peer *p, const struct find_entry *e)
{
	scoped(content_donep) struct content content = {0};
	scoped(buffer_donep) struct buffer meta = {0};
	struct json_writer meta_writer = {.out = &meta};

	if (e->state == FIND_RUNNING ||
	    (e->state == FIND_ENDED && e->report.end == KEEPER_END_STOPPED))
		return; /* it is not completed */
	content_of_task(&content, mcp_peer_store(p), e);
	json_member_object(w, "result");
	json_member_string(w, "resultType", "complete");
	content_put(&content, MCP_2026_07_28, w, &meta_writer);
	json_member_object(w, "_meta");
	json_put_raw(w, buffer_str(&meta));
	json_object_end(w);
	json_object_end(w);
}

bool mcp_task_created(struct mcp_call *c, const char *id)
{
	scoped(fd_closep) int fd = -1;
	struct find_entry e;
	struct mcp_answer a;

	fd = mcp_task_open(c->peer, id, &e);
	if (fd < 0) {
		mcp_call_error(c, RPC_INTERNAL_ERROR, "the task cannot be found", NULL);
		return false;
	}
	answer_begin(&a, c, "task");
	if (!c->modern) {
		json_member_object(&a.w, "task");
	}
	task_put(&a.w, &e, c->modern);
	if (!c->modern)
		json_object_end(&a.w);
	return answer_send(&a);
}

bool mcp_task_may_use(struct mcp_call *c)
{
	if (!c->modern || c->capabilities.tasks)
		return true;
	mcp_call_error(c, MCP_MISSING_CAPABILITY, "the client does not declare the tasks extension",
	               "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_META "tasks\":{}}}}");
	return false;
}

static void no_such_task(struct mcp_call *c)
{
	mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such task, or not any more", NULL);
}

void method_tasks_get(struct mcp_call *c, const struct rpc_message *m)
{
	const struct mcp_memo *memo;
	scoped(fd_closep) int fd = -1;
	struct find_entry e;
	struct mcp_answer a;
	const char *id;

	if (!mcp_task_may_use(c) || !(id = mcp_call_need_string(c, m, "taskId")))
		return;
	memo = mcp_memo_find(c->peer, id);
	if (!memo)
		fd = mcp_task_open(c->peer, id, &e);
	if (!memo && fd < 0)
		return no_such_task(c);
	answer_begin(&a, c, "complete");
	if (memo) {
		mcp_memo_put(&a.w, memo);
	} else {
		task_put(&a.w, &e, c->modern);
		if (c->modern)
			task_put_result(&a.w, c->peer, &e);
	}
	(void)answer_send(&a);
}

/* We never ask in the middle of a task: there is nothing to be updated. */
void method_tasks_update(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(fd_closep) int fd = -1;
	struct find_entry e;
	const char *id;

	if (!mcp_task_may_use(c) || !(id = mcp_call_need_string(c, m, "taskId")))
		return;
	fd = mcp_task_open(c->peer, id, &e);
	if (fd < 0)
		return no_such_task(c);
	if (!json_is_object(rpc_param(m, "inputResponses")))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'inputResponses' must be an object",
		                      NULL);
	mcp_call_empty(c);
}

bool mcp_tasks_find(struct mcp_call *c, json_t *cursor, size_t limit, struct find_list *ret_list)
{
	struct find_query q = {.wants = sees,
	                       .owner = c->peer,
	                       .after = json_string_value(cursor),
	                       .limit = limit};
	struct error err = {0};
	int r = cursor && !q.after ? -EINVAL
	                           : find_tasks(mcp_peer_store(c->peer), &q, ret_list, &err);

	if (r == -EINVAL)
		mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such cursor", NULL);
	else if (r < 0)
		mcp_call_fail(c, &err);
	return r == 0;
}

void method_tasks_list(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(find_list_donep) struct find_list list = {0};
	struct mcp_peer *p = c->peer;
	struct mcp_answer a;

	if (!mcp_tasks_find(c, rpc_param(m, "cursor"), LISTED_MAX, &list))
		return;
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "tasks");
	for (size_t i = 0; i < list.count; i++) {
		if (mcp_memo_find(p, list.entries[i].id))
			continue;
		json_object_begin(&a.w);
		task_put(&a.w, &list.entries[i], false);
		json_object_end(&a.w);
	}
	for (const struct mcp_memo *memo = list.more ? NULL : p->memos; memo; memo = memo->next) {
		json_object_begin(&a.w);
		mcp_memo_put(&a.w, memo);
		json_object_end(&a.w);
	}
	json_array_end(&a.w);
	if (list.more && list.count > 0)
		json_member_string(&a.w, "nextCursor", list.entries[list.count - 1].cursor);
	(void)answer_send(&a);
}

/* Waiting for the end */

struct mcp_wait {
	struct mcp_wait *next; /* of the memo */
	struct mcp_memo *memo; /* that is waited for; NULL: it is the task itself */
	struct mcp_call *call;
	char id[STORE_ID_MAX];
	int dir_fd;
	struct vigil vigil;
	struct errand *errand; /* of a task that is being stopped */
};

static struct mcp_wait *wait_free(struct mcp_wait *w)
{
	if (!w)
		return NULL;
	for (struct mcp_wait **at = w->memo ? &w->memo->waits : NULL; at && *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	vigil_stop(&w->vigil);
	if (w->errand)
		errand_leave(w->errand);
	fd_close(w->dir_fd);
	free(w);
	return NULL;
}

static void on_wait_cancelled(struct mcp_call *c)
{
	wait_free(c->work);
	mcp_call_free(c);
}

static struct mcp_wait *wait_new(struct mcp_call *c, const char *id, int dir_fd)
{
	struct mcp_wait *w = calloc(1, sizeof(*w));

	if (!w) {
		fd_close(dir_fd);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		return NULL;
	}
	*w = (struct mcp_wait){.call = c, .dir_fd = dir_fd, .vigil.deadline = INT64_MAX};
	w->vigil.source.fd = -1;
	snprintf(w->id, sizeof(w->id), "%s", id);
	c->work = w;
	c->cancel = on_wait_cancelled;
	c->leave = on_wait_cancelled;
	return w;
}

static void answer_task_result(struct mcp_call *c, const struct find_entry *e)
{
	scoped(content_donep) struct content content = {0};
	struct mcp_answer a;

	content_of_task(&content, mcp_peer_store(c->peer), e);
	answer_begin(&a, c, "complete");
	content_put(&content, c->revision, &a.w, &a.meta);
	task_put_related(&a.meta, e->id);
	(void)answer_send(&a);
}

static void on_result_look(void *owner)
{
	struct mcp_wait *w = owner;
	struct mcp_call *c = w->call;
	struct find_entry e;

	if (find_state(w->dir_fd) == FIND_RUNNING)
		return;
	find_look(w->dir_fd, w->id, &e);
	wait_free(w);
	answer_task_result(c, &e);
}

static void on_memo_answered(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_memo *memo = ((struct mcp_wait *)c->work)->memo;

	memo->answered = true;
	mcp_ask_take(memo->run, m);
}

/* One of those who wait for the result asks the person; the others only wait. */
static void wait_for_memo(struct mcp_call *c, struct mcp_memo *memo)
{
	struct mcp_wait *w = wait_new(c, memo->id, -1);
	bool asks = false;

	if (!w)
		return;
	for (const struct mcp_wait *other = memo->waits; other; other = other->next)
		asks |= other->call->asked_id && !other->call->silent;
	w->memo = memo;
	w->next = memo->waits;
	memo->waits = w;
	c->answered = on_memo_answered;
	if (!asks && !memo->answered && !memo->cancelled && !mcp_ask_by(memo->run, c))
		job_give_up(memo->run->job);
}

static void give_result(struct mcp_call *c, const char *id)
{
	struct mcp_memo *memo = mcp_memo_find(c->peer, id);
	struct find_entry e;
	struct mcp_answer a;
	struct mcp_wait *w;
	int fd;

	if (memo && memo->run)
		return wait_for_memo(c, memo);
	if (memo) {
		answer_begin(&a, c, "complete");
		json_put_raw(&a.w, buffer_str(&memo->result));
		task_put_related(&a.meta, memo->id);
		(void)answer_send(&a);
		return;
	}
	fd = mcp_task_open(c->peer, id, &e);
	if (fd < 0)
		return no_such_task(c);
	if (e.state != FIND_RUNNING) {
		fd_close(fd);
		return answer_task_result(c, &e);
	}
	w = wait_new(c, id, fd);
	if (!w)
		return;
	w->vigil.look = on_result_look;
	w->vigil.owner = w;
	if (vigil_start(&w->vigil, c->peer->server->options.loop, fd) < 0) {
		wait_free(w);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
}

void method_tasks_result(struct mcp_call *c, const struct rpc_message *m)
{
	const char *id = mcp_call_need_string(c, m, "taskId");

	if (id)
		give_result(c, id);
}

void mcp_tasks_go_on(struct mcp_wait *waits)
{
	struct mcp_wait *next;
	char id[STORE_ID_MAX];

	for (struct mcp_wait *w = waits; w; w = next) {
		struct mcp_call *c = w->call;

		next = w->next;
		memcpy(id, w->id, sizeof(id));
		w->memo = NULL;
		wait_free(w);
		mcp_call_unask(c); /* somebody else has answered, or nobody in time */
		give_result(c, id);
	}
}

static void on_stopped(void *owner, int code)
{
	struct mcp_wait *w = owner;
	struct mcp_call *c = w->call;
	struct find_entry e;
	struct mcp_answer a;

	w->errand = NULL;
	find_look(w->dir_fd, w->id, &e);
	wait_free(w);
	if (code < 0 && code != -ESRCH)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "the task does not end", NULL);
	answer_begin(&a, c, "complete");
	if (!c->modern)
		task_put(&a.w, &e, false);
	(void)answer_send(&a);
}

/* What waits for a person ends at once. */
static void cancel_memo(struct mcp_call *c, struct mcp_memo *memo)
{
	struct mcp_answer a;

	if (!memo->run || memo->cancelled)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "the task has ended", NULL);
	memo->cancelled = true;
	memo->changed_ms = clock_wall_ms();
	answer_begin(&a, c, "complete");
	mcp_memo_put(&a.w, memo);
	job_stop(memo->run->job, false);
	(void)answer_send(&a);
}

void method_tasks_cancel(struct mcp_call *c, const struct rpc_message *m)
{
	struct errand_order order = {.stop = true};
	struct error err = {0};
	struct mcp_memo *memo;
	struct find_entry e;
	struct mcp_wait *w;
	const char *id;
	int fd;

	if (!mcp_task_may_use(c) || !(id = mcp_call_need_string(c, m, "taskId")))
		return;
	memo = mcp_memo_find(c->peer, id);
	if (memo)
		return cancel_memo(c, memo);
	fd = mcp_task_open(c->peer, id, &e);
	if (fd < 0)
		return no_such_task(c);
	if (e.state != FIND_RUNNING) {
		fd_close(fd);
		if (c->modern)
			return mcp_call_empty(c);
		return mcp_call_error(c, RPC_INVALID_PARAMS, "the task has ended", NULL);
	}
	w = wait_new(c, id, fd);
	if (!w)
		return;
	c->cancel = NULL; /* an order that was given stays given */
	if (errand_start(c->peer->server->options.loop, fd, &order, on_stopped, w, &w->errand,
	                 &err) < 0) {
		wait_free(w);
		mcp_call_fail(c, &err);
	}
}
