#include "mcp/memo.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/id.h"
#include "mcp/content.h"
#include "mcp/inside.h"
#include "mcp/task-put.h"

#define MEMOS_MAX 64

static void memo_free(struct mcp_memo *m)
{
	buffer_done(&m->result);
	free(m);
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

const struct mcp_memo *mcp_memo_find(const struct mcp_peer *p, const char *id)
{
	for (const struct mcp_memo *m = p->memos; m; m = m->next)
		if (strcmp(m->id, id) == 0)
			return m;
	return NULL;
}

void mcp_memo_put(struct json_writer *w, const struct mcp_memo *m)
{
	task_put_times(w, m->id, m->is_error ? "failed" : "completed", m->made_ms, m->made_ms,
	               false);
}

bool mcp_memo_created(struct mcp_call *c, const struct content *content)
{
	struct mcp_memo *m = calloc(1, sizeof(*m)), **last = &c->peer->memos;
	scoped(buffer_donep) struct buffer meta = {0};
	struct json_writer w, meta_writer = {.out = &meta};
	struct mcp_answer a;

	if (!m || id_new("mcp-", m->id, sizeof(m->id)) < 0) {
		free(m);
		mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
		return false;
	}
	m->made_ms = clock_wall_ms();
	m->is_error = content->is_error;
	w = (struct json_writer){.out = &m->result};
	content_put(content, c->revision, &w, &meta_writer);
	if (c->peer->memo_count == MEMOS_MAX) { /* the oldest goes */
		while ((*last)->next)
			last = &(*last)->next;
		memo_free(take_ptr(last));
		c->peer->memo_count--;
	}
	m->next = c->peer->memos;
	c->peer->memos = m;
	c->peer->memo_count++;
	answer_begin(&a, c, "task");
	json_put_key(&a.w, "task");
	json_object_begin(&a.w);
	/* Every task begins so; who asks again hears that it has ended. */
	task_put_times(&a.w, m->id, "working", m->made_ms, m->made_ms, false);
	json_object_end(&a.w);
	return answer_send(&a);
}
