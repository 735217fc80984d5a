/*
 * The server over a transport that is a list: what goes in and comes out, with streams as HTTP has
 * them.
 */
#include "engine/test-engine.h"

#include <string.h>
#include <sys/stat.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "engine/dialect.h"
#include "json/read.h"
#include "base/loop.h"
#include "mcp/server.h"
#include "json/rpc.h"

#define MODERN                                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SENT_MAX 64

struct sent {
	enum mcp_output_kind kind;
	void *stream;
	char *json;
	int code, status;
};

struct world {
	char dir[64], workspace[80];
	struct engine engine;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_offer offer;
	struct sent sent[SENT_MAX];
	size_t count;
	size_t wanted; /* messages, then the loop stops */
	bool deaf;     /* nothing can be delivered */
	struct loop_timer patience;
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct mcp_options o = mcp_options_default;

	test_engine_make(&w->engine, w->dir, w->workspace, environment);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	o.loop = w->loop;
	o.running_max = 2;
	o.queued_max = 2;
	assert_int_equal(mcp_server_new(&o, &w->server, NULL), 0);
	w->offer = (struct mcp_offer){.dialect = dialect_find("Bash"), .engine = &w->engine};
	*state = w;
	return 0;
}

static void forget(struct world *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->sent[i].json);
	w->count = 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	forget(w);
	mcp_server_free(w->server);
	loop_timer_clear(&w->patience);
	loop_free(w->loop);
	test_engine_remove(&w->engine, w->dir);
	free(w);
	return 0;
}

static bool on_send(void *owner, const struct mcp_output *o)
{
	struct world *w = owner;

	assert_true(w->count < SENT_MAX);
	w->sent[w->count++] = (struct sent){
		.kind = o->kind,
		.stream = o->stream,
		.json = o->json ? strndup(o->json, o->len) : NULL,
		.code = o->code,
		.status = o->status,
	};
	if (w->count >= w->wanted)
		loop_stop(w->loop);
	return !w->deaf;
}

static bool on_sees(const void *owner, const struct find_origin *origin)
{
	return true;
}

static struct mcp_peer *make_peer(struct world *w, const char *principal, bool shared)
{
	struct mcp_peer_options o = {.principal = principal,
	                             .offers = &w->offer,
	                             .offer_count = 1,
	                             .shared = shared,
	                             .send = on_send,
	                             .sees = on_sees,
	                             .owner = w};
	struct mcp_peer *p;

	assert_int_equal(mcp_peer_new(w->server, &o, &p, NULL), 0);
	return p;
}

static enum mcp_taken give(struct mcp_peer *p, void *stream, const char *text)
{
	scoped(rpc_message_donep) struct rpc_message m = {0};

	rpc_message_read(text, strlen(text), &m);
	return mcp_peer_receive(p, &m, NULL, stream);
}

static int on_patience(struct loop_timer *t)
{
	fail_msg("nothing was sent");
	return 0;
}

/* Until so much was sent since the last forget(). */
static void wait_for(struct world *w, size_t count)
{
	w->wanted = count;
	if (w->count >= count)
		return;
	assert_int_equal(loop_timer_set(w->loop, &w->patience, loop_now(w->loop) + TEST_PATIENCE_MS,
	                                on_patience),
	                 0);
	assert_int_equal(loop_run(w->loop), 0);
	loop_timer_clear(&w->patience);
}

static int on_tick(struct loop_timer *t)
{
	loop_stop(t->loop);
	return 0;
}

/* Turns until the peer has nothing under way. */
static void wait_idle(struct world *w, struct mcp_peer *p)
{
	struct loop_timer tick = {0};

	w->wanted = SIZE_MAX;
	for (int i = 0; i < TEST_PATIENCE_MS / 5 && mcp_peer_is_busy(p); i++) {
		assert_int_equal(loop_timer_set(w->loop, &tick, loop_now(w->loop) + 5, on_tick), 0);
		assert_int_equal(loop_run(w->loop), 0);
	}
	loop_timer_clear(&tick);
	assert_false(mcp_peer_is_busy(p));
}

static void initialize(struct world *w, struct mcp_peer *p, const char *revision)
{
	char text[256];

	snprintf(text, sizeof(text),
	         "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	         "\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
	         revision);
	assert_int_equal(give(p, NULL, text), MCP_ANSWERS);
	assert_int_equal(w->sent[0].code, 0);
	assert_string_equal(mcp_peer_revision(p), revision);
	assert_int_equal(give(p, NULL,
	                      "{\"jsonrpc\":\"2.0\",\"method\":"
	                      "\"notifications/initialized\"}"),
	                 MCP_TAKEN);
	forget(w);
}

#define CALL(id, command, more)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":"       \
	"\"Bash\",\"arguments\":{\"command\":\"" command "\"" more "}}"

static void answers_go_to_the_stream_of_their_request(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, false);
	int a, b;

	initialize(w, p, "2025-11-25");
	give(p, &a, CALL("1", "sleep 0.2; echo slow", "},\"_meta\":{\"progressToken\":1}"));
	give(p, &b, CALL("2", "echo quick", "}"));
	wait_for(w, 2);
	assert_ptr_equal(w->sent[0].stream, &b);
	assert_non_null(strstr(w->sent[0].json, "quick"));
	assert_int_equal(w->sent[0].status, 200);
	for (size_t i = 1; i < w->count; i++) {
		assert_ptr_equal(w->sent[i].stream, &a);
		assert_int_equal(w->sent[i].kind,
		                 i + 1 < w->count ? MCP_OUTPUT_MESSAGE : w->sent[i].kind);
	}
	wait_idle(w, p);
	mcp_peer_free(p);
}

static void who_hangs_up_is_not_answered(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, true);
	char made[128];
	struct stat st;
	int a, b;

	snprintf(made, sizeof(made), "%s/made", w->workspace);
	give(p, &a, CALL("1", "sleep 0.2; touch made", "}," MODERN));
	give(p, &b, CALL("1", "sleep 60; touch never", "}," MODERN));
	assert_int_equal(mcp_server_running(w->server), 2);
	mcp_peer_hang_up(p, &a, false); /* goes on to its end */
	mcp_peer_hang_up(p, &b, true);  /* is stopped */
	wait_idle(w, p);
	assert_int_equal(w->count, 0);
	assert_int_equal(stat(made, &st), 0);
	assert_int_equal(mcp_server_running(w->server), 0);
	mcp_peer_free(p);
}

static void clients_that_share_do_not_cancel_each_other(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, "alice", true);
	int a, b;

	give(p, &a, CALL("1", "sleep 0.2; echo a", "}," MODERN));
	assert_int_equal(give(p, &b,
	                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	                      "\"params\":{\"requestId\":1}}"),
	                 MCP_TAKEN);
	assert_int_equal(give(p, &b,
	                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
	                      "\"params\":{\"protocolVersion\":\"2025-11-25\"}}"),
	                 MCP_ANSWERS);
	assert_int_equal(w->sent[0].code, RPC_INVALID_REQUEST);
	assert_int_equal(w->sent[0].status, 400);
	wait_for(w, 2);
	assert_ptr_equal(w->sent[1].stream, &a);
	assert_int_equal(w->sent[1].kind, MCP_OUTPUT_ANSWER);
	mcp_peer_free(p);
}

static void a_bad_envelope_is_a_bad_request(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, true);
	static const struct {
		const char *text;
		int code, status;
	} cases[] = {
		{"\"server/discover\"", RPC_INVALID_PARAMS, 400},
		{"\"server/discover\",\"params\":{" MODERN "}", 0, 200},
		{"\"nonsense\",\"params\":{" MODERN "}", RPC_METHOD_NOT_FOUND, 404},
		{"\"tools/call\",\"params\":{" MODERN "}", RPC_INVALID_PARAMS, 200},
	};
	char text[512];

	for (size_t i = 0; i < array_size(cases); i++) {
		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":%s}",
		         cases[i].text);
		assert_int_equal(give(p, NULL, text), MCP_ANSWERS);
		assert_int_equal(w->sent[0].code, cases[i].code);
		assert_int_equal(w->sent[0].status, cases[i].status);
		forget(w);
	}
	mcp_peer_free(p);
}

static void a_cancelled_stream_ends_without_an_answer(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, false);
	int a;

	initialize(w, p, "2025-06-18");
	give(p, &a, CALL("1", "sleep 60", "}"));
	give(p, NULL,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	     "\"requestId\":1}}");
	assert_int_equal(w->count, 1);
	assert_int_equal(w->sent[0].kind, MCP_OUTPUT_NOTHING);
	assert_ptr_equal(w->sent[0].stream, &a);
	wait_idle(w, p);
	assert_int_equal(w->count, 1);
	mcp_peer_free(p);
}

static void too_many_wait_and_more_are_refused(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, false);

	initialize(w, p, "2025-06-18");
	for (int i = 0; i < 4; i++)
		give(p, NULL, CALL("7", "sleep 60", "}"));
	assert_int_equal(mcp_server_running(w->server), 2);
	assert_int_equal(mcp_server_queued(w->server), 2);
	assert_int_equal(w->count, 0);
	give(p, NULL, CALL("8", "sleep 60", "}"));
	assert_int_equal(w->count, 1);
	assert_non_null(strstr(w->sent[0].json, "try again later"));
	mcp_peer_cancel_all(p);
	wait_idle(w, p);
	assert_int_equal(mcp_server_queued(w->server), 0);
	mcp_peer_free(p);
}

static void a_peer_may_go_with_all_its_calls(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, false), *q = make_peer(w, NULL, false);
	int fds;

	initialize(w, q, "2025-06-18");
	give(q, NULL, CALL("1", "echo here", "}"));
	wait_for(w, 1);
	wait_idle(w, q);
	fds = test_open_fds(); /* with what is opened once */
	forget(w);
	initialize(w, p, "2025-06-18");
	for (int i = 0; i < 4; i++)
		give(p, NULL, CALL("7", "sleep 60", "}"));
	give(p, NULL,
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"subscriptions/listen\",\"params\":{"
	     "\"notifications\":{}," MODERN "}}");
	mcp_peer_free(p);
	assert_int_equal(mcp_server_running(w->server), 0);
	forget(w);
	give(q, NULL, CALL("1", "echo still here", "}"));
	wait_for(w, 1);
	assert_non_null(strstr(w->sent[0].json, "still here"));
	wait_idle(w, q);
	assert_int_equal(test_open_fds(), fds);
	mcp_peer_free(q);
}

/* The task that the last message tells of. */
static void read_task(struct world *w, char id[40])
{
	const char *at = strstr(w->sent[w->count - 1].json, "bash-");

	assert_non_null(at);
	snprintf(id, 40, "%.21s", at);
}

#define QUESTIONS 3

/* Ways to ask about a task. */
static void ask_about(struct mcp_peer *p, int way, const char *id)
{
	static const char *const before[QUESTIONS] = {
		"\"resources/read\",\"params\":{\"uri\":\"nacre://output/",
		"\"tools/call\",\"params\":{\"name\":\"TaskOutput\",\"arguments\":{\"task_id\":\"",
		"\"tools/call\",\"params\":{\"name\":\"TaskStop\",\"arguments\":{\"task_id\":\"",
	};
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":%s%s\"%s," MODERN "}}", before[way], id,
	         way > 0 ? "}" : "");
	give(p, NULL, text);
}

static void what_one_principal_runs_no_other_sees(void **state)
{
	struct world *w = *state;
	struct mcp_peer *alice = make_peer(w, "alice", true), *bob = make_peer(w, "bob", true);
	struct mcp_peer *nobody = make_peer(w, NULL, true), *others[] = {bob, nobody};
	char id[40];

	give(alice, NULL,
	     CALL("1", "echo secret; sleep 60", ",\"run_in_background\":true}," MODERN));
	wait_for(w, 1);
	read_task(w, id);
	for (size_t k = 0; k < array_size(others); k++) {
		for (int i = 0; i < QUESTIONS; i++) {
			forget(w);
			ask_about(others[k], i, id);
			assert_int_equal(w->count, 1);
			assert_null(strstr(w->sent[0].json, "secret"));
			assert_non_null(strstr(w->sent[0].json, "no such"));
		}
		forget(w);
		give(others[k], NULL,
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		     "\"params\":{\"name\":\"TaskList\"," MODERN "}}");
		assert_non_null(strstr(w->sent[0].json, "no tasks"));
	}
	forget(w);
	ask_about(alice, 2, id);
	wait_for(w, 1);
	assert_non_null(strstr(w->sent[0].json, "stopped"));
	mcp_peer_free(alice);
	mcp_peer_free(bob);
	mcp_peer_free(nobody);
}

static void what_cannot_be_delivered_is_kept(void **state)
{
	struct world *w = *state;
	struct mcp_peer *p = make_peer(w, NULL, false);
	char path[128];

	initialize(w, p, "2025-06-18");
	snprintf(path, sizeof(path), "%s/state/tasks", w->dir);
	give(p, NULL, CALL("1", "echo x", "}"));
	wait_for(w, 1);
	wait_idle(w, p);
	assert_int_equal(test_count_entries(path), 0);
	w->deaf = true;
	give(p, NULL, CALL("2", "echo x", "}"));
	wait_for(w, 2);
	wait_idle(w, p);
	assert_int_equal(test_count_entries(path), 1);
	mcp_peer_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_go_to_the_stream_of_their_request),
		TEST(who_hangs_up_is_not_answered),
		TEST(clients_that_share_do_not_cancel_each_other),
		TEST(a_bad_envelope_is_a_bad_request),
		TEST(a_cancelled_stream_ends_without_an_answer),
		TEST(too_many_wait_and_more_are_refused),
		TEST(a_peer_may_go_with_all_its_calls),
		TEST(what_one_principal_runs_no_other_sees),
		TEST(what_cannot_be_delivered_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
