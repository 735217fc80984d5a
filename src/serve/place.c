/*
 * Commands of all doors share the places there are: a principal who has used up its own over REST
 * has none over MCP either. Each door has its own queue; a place that becomes free is offered to
 * the other door first, so that neither waits for ever.
 */
#include "base/cleanup.h"
#include "mcp/server.h"
#include "serve/inside.h"
#include "serve/mcp-http.h"
#include "task/find.h"

bool place_take(struct serve *s, struct client *c)
{
	if (s->running >= s->options.running_max || c->running >= s->options.running_each)
		return false;
	s->running++;
	c->running++;
	return true;
}

void place_give(struct serve *s, struct client *c)
{
	s->running--;
	c->running--;
}

bool place_may_wait(const struct serve *s)
{
	return place_waiting(s) < s->options.queued_max;
}

size_t place_waiting(const struct serve *s)
{
	return s->queued + mcp_http_queued(s->mcp);
}

/* To count means to look at every task, so it is done once in a while: what has ended meanwhile is
 * noticed then. */
bool place_for_task(struct serve *s, struct client *c)
{
	scoped(find_list_donep) struct find_list list = {0};
	struct find_query q = {.principal = c->name, .only_running = true};
	struct store *store;

	if (!c->name[0])
		return true;
	if (c->background_room == 0) {
		if (bench_store(s, &store, NULL) < 0 || find_tasks(store, &q, &list, NULL) < 0)
			return false;
		if (list.count < s->options.background_each)
			c->background_room = s->options.background_each - list.count;
	}
	if (c->background_room == 0)
		return false;
	c->background_room--;
	return true;
}
