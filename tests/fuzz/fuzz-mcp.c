/*
 * MCP: whatever a client sends, a line each, every request has exactly one answer and every answer
 * is JSON. Nothing is run: there is no place for a command, so calls wait in the queue or are
 * refused.
 */
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "base/loop.h"
#include "mcp/server.h"
#include "json/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OFFERS_MAX 8

struct world {
	struct loop *loop;
	struct mcp_server *server;
	struct engine engine;
	struct mcp_offer offers[OFFERS_MAX];
	size_t offer_count;
};

static size_t answers;
static char dir[] = "/tmp/nacre-fuzz-XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void clean_up(void)
{
	(void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static bool on_send(void *owner, const struct mcp_output *o)
{
	scoped(rpc_message_donep) struct rpc_message m = {0};

	if (o->kind == MCP_OUTPUT_NOTHING)
		return true;
	rpc_message_read(o->json, o->len, &m);
	if (!m.root || memchr(o->json, '\n', o->len))
		abort();
	answers += o->kind == MCP_OUTPUT_ANSWER;
	if (o->kind == MCP_OUTPUT_ANSWER && o->status != 200 && o->status != 400 &&
	    o->status != 404)
		abort();
	return true;
}

static struct world *make_world(void)
{
	static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
	static struct world w;
	struct mcp_options o = mcp_options_default;

	if (w.server)
		return &w;
	if (!mkdtemp(dir) || setenv("NACRE_STATE_DIR", dir, 1) < 0 || loop_new(&w.loop, NULL) < 0)
		abort();
	(void)atexit(clean_up);
	engine_init(&w.engine, environment);
	o.loop = w.loop;
	o.running_max = 0;
	o.queued_max = 4;
	if (mcp_server_new(&o, &w.server, NULL) < 0)
		abort();
	while (w.offer_count < OFFERS_MAX && dialect_at(w.offer_count)) {
		w.offers[w.offer_count] = (struct mcp_offer){.dialect = dialect_at(w.offer_count),
		                                             .engine = &w.engine};
		w.offer_count++;
	}
	return &w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = make_world();
	struct mcp_peer_options o = {.offers = w->offers,
	                             .offer_count = w->offer_count,
	                             .shared = size > 0 && data[0] == 's',
	                             .send = on_send};
	struct mcp_peer *p;
	const char *at = (const char *)data, *end = at + size, *next;
	int stream;

	if (mcp_peer_new(w->server, &o, &p, NULL) < 0)
		return 0;
	for (; at < end; at = next + 1) {
		scoped(rpc_message_donep) struct rpc_message m = {0};
		size_t before = answers;

		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			next = end;
		rpc_message_read(at, (size_t)(next - at), &m);
		if (mcp_peer_receive(p, &m, NULL, &stream) == MCP_TAKEN && answers != before)
			abort();
		if (answers > before + 1)
			abort();
		if ((next - at) % 7 == 3)
			mcp_peer_hang_up(p, &stream, (next - at) % 2);
	}
	mcp_peer_say_goodbye(p);
	mcp_peer_free(p);
	if (mcp_server_running(w->server) || mcp_server_queued(w->server))
		abort();
	return 0;
}
