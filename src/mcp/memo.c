#include "mcp/memo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/id.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/run-inside.h"
#include "mcp/task-put.h"
#include "mcp/tasks.h"

#define MEMOS_MAX 64

static void memo_free(struct mcp_memo *m)
{
	buffer_done(&m->result);
	free(m);
}

static void remove_memo(struct mcp_memo **at)
{
	struct mcp_memo *m = *at;

	*at = m->next;
	memo_free(m);
}

void mcp_memos_free(struct mcp_peer *p)
{
	struct mcp_memo *next;

	for (struct mcp_memo *m = p->memos; m; m = next) {
		next = m->next;
		memo_free(m);
	}
	p->memos = NULL;
}

struct mcp_memo *mcp_memo_find(const struct mcp_peer *p, const char *id)
{
	for (struct mcp_memo *m = p->memos; m; m = m->next)
		if (strcmp(m->id, id) == 0)
			return m;
	return NULL;
}

static const char *status_of(const struct mcp_memo *m)
{
	if (m->cancelled)
		return "cancelled";
	if (m->run)
		return m->answered ? "working" : "input_required";
	return m->is_error ? "failed" : "completed";
}

void mcp_memo_put(struct json_writer *w, const struct mcp_memo *m)
{
	task_put_times(w, m->id, status_of(m), m->made_ms, m->changed_ms, false);
}

/* The oldest goes, of those that nobody waits for. */
static void make_room(struct mcp_peer *p)
{
	struct mcp_memo **oldest = NULL;
	size_t ended = 0;

	for (struct mcp_memo **at = &p->memos; *at; at = &(*at)->next)
		if (!(*at)->run) {
			oldest = at;
			ended++;
		}
	if (ended >= MEMOS_MAX)
		remove_memo(oldest);
}

static void add(struct mcp_peer *p, struct mcp_memo *m)
{
	make_room(p);
	m->made_ms = m->changed_ms = clock_wall_ms();
	m->next = p->memos;
	p->memos = m;
}

static void keep(struct mcp_memo *m, const struct content *content, enum mcp_revision revision)
{
	scoped(buffer_donep) struct buffer meta = {0};
	struct json_writer w = {.out = &m->result}, meta_writer = {.out = &meta};

	m->is_error = content->is_error;
	content_put(content, revision, &w, &meta_writer);
}

/* Every task begins as working; who asks again hears what it is now. */
static void put_created(struct mcp_answer *a, const struct mcp_memo *m)
{
	json_member_object(&a->w, "task");
	task_put_times(&a->w, m->id, "working", m->made_ms, m->made_ms, false);
	json_object_end(&a->w);
}

bool mcp_memo_created(struct mcp_call *c, const struct content *content)
{
	struct mcp_memo *m = calloc(1, sizeof(*m));
	struct mcp_answer a;

	if (!m || id_new("mcp-", m->id, sizeof(m->id)) < 0) {
		free(m);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		return false;
	}
	keep(m, content, c->revision);
	add(c->peer, m);
	answer_begin(&a, c, "task");
	put_created(&a, m);
	return answer_send(&a);
}

int mcp_memo_wait(struct mcp_run *run, const char *id)
{
	struct mcp_memo *m = calloc(1, sizeof(*m));
	struct mcp_answer a;

	if (!m)
		return -ENOMEM;
	snprintf(m->id, sizeof(m->id), "%s", id);
	m->run = run;
	run->memo = m;
	add(run->call->peer, m);
	answer_begin(&a, run->call, "task");
	put_created(&a, m);
	answer_early(&a);
	return 0;
}

void mcp_memo_settle(struct mcp_run *run, const struct content *content)
{
	struct mcp_memo *m = take_ptr(&run->memo), **at;
	struct mcp_peer *p = run->call->peer;
	struct mcp_wait *waits = take_ptr(&m->waits);

	m->run = NULL;
	m->changed_ms = clock_wall_ms();
	if (content) {
		keep(m, content, run->call->revision);
	} else {
		for (at = &p->memos; *at != m; at = &(*at)->next)
			;
		remove_memo(at);
	}
	mcp_tasks_go_on(waits);
}
