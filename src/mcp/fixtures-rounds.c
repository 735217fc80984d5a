/*
 * Fixtures that are answered with questions, in one round or in several; each round has a state
 * that is signed as those of the real tools are.
 */
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "mcp/fixtures-data.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"
#include "mcp/state.h"

#define ROUNDS_MAX    2
#define QUESTIONS_MAX 3

enum want { WANT_FORM, WANT_SAMPLING, WANT_ROOTS };

struct question {
	const char *key;
	enum want want;
	const char *json;
};

#define NAME_QUESTION                                                                              \
	{                                                                                          \
		"user_name", WANT_FORM,                                                            \
			FIXTURE_ASK("What is your name?", "\"name\":{\"type\":\"string\"}",        \
		                    "\"name\"")                                                    \
	}
#define CONFIRM_QUESTION                                                                           \
	{                                                                                          \
		"confirm", WANT_FORM,                                                              \
			FIXTURE_ASK("Please confirm.", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")  \
	}

static const struct rounds {
	const char *name;
	bool prompt, state; /* state: the retry must carry it */
	bool any;           /* only what the client declares is asked for */
	struct question rounds[ROUNDS_MAX][QUESTIONS_MAX];
	const char *end;
} table[] = {
	{"test_input_required_result_elicitation", false, false, false, {{NAME_QUESTION}}, "hello"},
	{"test_input_required_result_sampling",
         false,
         false,
         false,
         {{{"capital_question", WANT_SAMPLING, FIXTURE_SAMPLE("Name the capital of France.")}}},
         "answered"},
	{"test_input_required_result_list_roots",
         false,
         false,
         false,
         {{{"client_roots", WANT_ROOTS, FIXTURE_ROOTS}}},
         "roots were listed"},
	{"test_input_required_result_request_state",
         false,
         true,
         false,
         {{CONFIRM_QUESTION}},
         "state-ok"},
	{"test_input_required_result_tampered_state",
         false,
         true,
         false,
         {{CONFIRM_QUESTION}},
         "state-ok"},
	{"test_input_required_result_multiple_inputs",
         false,
         true,
         false,
         {{NAME_QUESTION,
           {"greeting", WANT_SAMPLING, FIXTURE_SAMPLE("Write a greeting.")},
           {"client_roots", WANT_ROOTS, FIXTURE_ROOTS}}},
         "all were answered"},
	{"test_input_required_result_multi_round",
         false,
         true,
         false,
         {{{"step1", WANT_FORM,
            FIXTURE_ASK("Step 1: your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")}},
          {{"step2", WANT_FORM,
            FIXTURE_ASK("Step 2: your colour?", "\"color\":{\"type\":\"string\"}", "\"color\"")}}},
         "both steps are done"},
	{"test_input_required_result_capabilities",
         false,
         false,
         true,
         {{NAME_QUESTION,
           {"greeting", WANT_SAMPLING, FIXTURE_SAMPLE("Write a greeting.")},
           {"client_roots", WANT_ROOTS, FIXTURE_ROOTS}}},
         "answered"},
	{"test_input_required_result_prompt",
         true,
         false,
         false,
         {{{"user_context", WANT_FORM,
            FIXTURE_ASK("Which context?", "\"context\":{\"type\":\"string\"}", "\"context\"")}}},
         "a prompt with context"},
};

const char *fixture_round_name(unsigned i)
{
	return i < array_size(table) && !table[i].prompt ? table[i].name : NULL;
}

static bool can(const struct mcp_call *c, enum want want)
{
	return want == WANT_FORM       ? c->capabilities.form
	       : want == WANT_SAMPLING ? c->capabilities.sampling
	                               : c->capabilities.roots;
}

static void ask(struct mcp_call *c, const struct rounds *t, int round, struct digest *digest)
{
	struct state state = {.expires_ms = clock_wall_ms() + 600000, .call = *digest};
	char token[STATE_TEXT_MAX];
	struct mcp_answer a;

	snprintf(state.approval, sizeof(state.approval), "%d", round);
	if (state_write(&state, c->peer->server->options.key, token) < 0)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "no random bytes", NULL);
	answer_begin(&a, c, "input_required");
	json_member_object(&a.w, "inputRequests");
	for (size_t i = 0; i < QUESTIONS_MAX && t->rounds[round][i].key; i++) {
		if (t->any && !can(c, t->rounds[round][i].want))
			continue;
		json_member_raw(&a.w, t->rounds[round][i].key, t->rounds[round][i].json);
	}
	json_object_end(&a.w);
	if (t->state)
		json_member_string(&a.w, "requestState", token);
	(void)answer_send(&a);
}

/* 1: all that was asked for is there; 0: it is not; -1: something has the wrong type. */
static int is_answered(const struct mcp_call *c, const struct rounds *t, int round, json_t *replies)
{
	int all = 1;

	for (size_t i = 0; i < QUESTIONS_MAX && t->rounds[round][i].key; i++) {
		json_t *reply = json_object_get(replies, t->rounds[round][i].key);

		if (t->any && !can(c, t->rounds[round][i].want))
			continue;
		if (reply && !json_is_object(reply))
			return -1;
		all &= reply != NULL;
	}
	return all;
}

static void finish(struct mcp_call *c, const struct rounds *t)
{
	struct mcp_answer a;

	answer_begin(&a, c, "complete");
	json_member_array(&a.w, t->prompt ? "messages" : "content");
	json_object_begin(&a.w);
	if (t->prompt) {
		json_member_string(&a.w, "role", "user");
		json_member_object(&a.w, "content");
	}
	json_member_string(&a.w, "type", "text");
	json_member_string(&a.w, "text", t->end);
	if (t->prompt)
		json_object_end(&a.w);
	json_object_end(&a.w);
	json_array_end(&a.w);
	(void)answer_send(&a);
}

static void step(struct mcp_call *c, const struct rpc_message *m, const struct rounds *t)
{
	json_t *replies = rpc_param(m, "inputResponses"), *token = rpc_param(m, "requestState");
	struct digest digest;
	struct state state;
	int round = 0, r;

	digest_make(t->name, strlen(t->name), &digest);
	if ((replies && !json_is_object(replies)) || (token && !json_is_string(token)))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'inputResponses' must be an object",
		                      NULL);
	if (token && state_read(json_string_value(token), c->peer->server->options.key, &digest,
	                        clock_wall_ms(), &state) == STATE_BAD)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'requestState' was changed", NULL);
	if (token)
		round = state.approval[0] == '1';
	r = replies ? is_answered(c, t, round, replies) : 0;
	if (r < 0)
		return mcp_call_error(c, RPC_INVALID_PARAMS, "an answer must be an object", NULL);
	if (r == 1 && !(t->state && !token))
		round++;
	if (round == ROUNDS_MAX || !t->rounds[round][0].key)
		finish(c, t);
	else
		ask(c, t, round, &digest);
}

int fixture_rounds(struct mcp_call *c, const struct rpc_message *m, const char *name, int prompt)
{
	for (size_t i = 0; i < array_size(table); i++)
		if (strcmp(table[i].name, name) == 0 && table[i].prompt == (prompt != 0)) {
			if (c->modern)
				step(c, m, &table[i]);
			else
				mcp_call_error(c, RPC_INVALID_PARAMS,
				               "this needs a revision without a handshake", NULL);
			return 1;
		}
	return 0;
}
