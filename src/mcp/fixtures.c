/*
 * Fixtures: the tools that conformance suites call by name.
 */
#include "mcp/fixtures.h"

#include <stdlib.h>
#include <string.h>
#include "mcp/content.h"
#include "mcp/fixtures-data.h"

#define STEP_MS      50
#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define ONE_ARGUMENT(name)                                                                         \
	"{\"type\":\"object\",\"properties\":{\"" name                                             \
	"\":{\"type\":\"string\",\"description\":\"text\"}},\"required\":[\"" name                 \
	"\"],\"additionalProperties\":false}"

static void say_missing(struct mcp_call *c, const struct rpc_message *m);
static void trigger_tools(struct mcp_call *c, const struct rpc_message *m);
static void trigger_prompts(struct mcp_call *c, const struct rpc_message *m);
static void begin_logging(struct mcp_call *c, const struct rpc_message *m);
static void begin_progress(struct mcp_call *c, const struct rpc_message *m);
static void log_once(struct mcp_call *c, const struct rpc_message *m);
static void ask_sampling(struct mcp_call *c, const struct rpc_message *m);
static void ask_person(struct mcp_call *c, const struct rpc_message *m);
static void ask_defaults(struct mcp_call *c, const struct rpc_message *m);
static void ask_enums(struct mcp_call *c, const struct rpc_message *m);

static const struct {
	const char *name;
	const char *schema;  /* NULL: no arguments */
	const char *content; /* a fixed answer, or NULL and */
	mcp_method *method;
} tools[] = {
	{"test_simple_text", NULL,
         "[" FIXTURE_TEXT("This is a simple text response for testing.") "]", NULL},
	{"test_image_content", NULL, "[" FIXTURE_IMAGE "]", NULL},
	{"test_audio_content", NULL,
         "[{\"type\":\"audio\",\"data\":\"" FIXTURE_WAV "\",\"mimeType\":\"audio/wav\"}]", NULL},
	{"test_embedded_resource", NULL,
         "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":"
         "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]",
         NULL},
	{"test_multiple_content_types", NULL,
         "[" FIXTURE_TEXT(
		 "Multiple content types test:") "," FIXTURE_IMAGE
                                                 ",{\"type\":\"resource\",\"resource\":{\"uri\":"
                                                 "\"test://mixed-content-resource\","
                                                 "\"mimeType\":\"application/"
                                                 "json\",\"text\":\"{\\\"test\\\":\\\"data\\\"}\"}}"
                                                 "]",
         NULL},
	{"test_error_handling", NULL, NULL, NULL},
	{"test_streaming_elicitation", NULL, "[" FIXTURE_TEXT("answered on a stream") "]", NULL},
	{"test_logging_tool", NULL, NULL, log_once},
	{"test_tool_with_logging", NULL, NULL, begin_logging},
	{"test_tool_with_progress", NULL, NULL, begin_progress},
	{"test_missing_capability", NULL, NULL, say_missing},
	{"test_trigger_tool_change", NULL, NULL, trigger_tools},
	{"test_trigger_prompt_change", NULL, NULL, trigger_prompts},
	{"test_sampling", ONE_ARGUMENT("prompt"), NULL, ask_sampling},
	{"test_elicitation", ONE_ARGUMENT("message"), NULL, ask_person},
	{"test_elicitation_sep1034_defaults", NULL, NULL, ask_defaults},
	{"test_elicitation_sep1330_enums", NULL, NULL, ask_enums},
	{"greet", ONE_ARGUMENT("name"), NULL, fixture_greet},
	{"slow_compute",
         "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"integer\"},\"label\":{"
         "\"type\":\"string\"}},\"additionalProperties\":false}",
         NULL, fixture_slow_compute},
	{"failing_job", NULL, NULL, fixture_failing_job},
	{"json_schema_2020_12_tool",
         "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
         "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
         "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"
         "\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
         "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{"
         "\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{"
         "\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{"
         "\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{"
         "\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
         "\"additionalProperties\":false}",
         "[" FIXTURE_TEXT("taken") "]", NULL},
};

void fixture_answer(struct mcp_call *c, const char *content, int is_error)
{
	struct mcp_answer a;

	answer_begin(&a, c, "complete");
	json_member_raw(&a.w, "content", content);
	json_member_bool(&a.w, "isError", is_error);
	(void)answer_send(&a);
}

static void put_tool(struct json_writer *w, const char *name, const char *schema)
{
	json_object_begin(w);
	json_member_string(w, "name", name);
	json_member_string(w, "description", "for conformance tests");
	json_member_raw(w, "inputSchema", schema ? schema : NO_ARGUMENTS);
	json_object_end(w);
}

void mcp_fixture_put_tools(struct json_writer *w, const struct mcp_call *c)
{
	for (size_t i = 0; i < array_size(tools); i++)
		put_tool(w, tools[i].name, tools[i].schema);
	for (unsigned i = 0; fixture_round_name(i); i++)
		put_tool(w, fixture_round_name(i), NULL);
}

bool mcp_fixture_call(struct mcp_call *c, const struct rpc_message *m, const char *tool)
{
	for (size_t i = 0; i < array_size(tools); i++) {
		if (strcmp(tools[i].name, tool) != 0)
			continue;
		if (tools[i].method)
			tools[i].method(c, m);
		else if (tools[i].content)
			fixture_answer(c, tools[i].content, false);
		else
			mcp_call_refuse(c, "This tool intentionally returns an error for testing");
		return true;
	}
	return fixture_rounds(c, m, tool, 0);
}

static void say_missing(struct mcp_call *c, const struct rpc_message *m)
{
	if (c->capabilities.sampling)
		fixture_answer(c, "[" FIXTURE_TEXT("sampling is declared") "]", false);
	else
		mcp_call_error(c, MCP_MISSING_CAPABILITY, "sampling is needed",
		               "{\"requiredCapabilities\":{\"sampling\":{}}}");
}

static void trigger_tools(struct mcp_call *c, const struct rpc_message *m)
{
	mcp_tell_changed(c->peer->server, "notifications/tools/list_changed", true);
	fixture_answer(c, "[" FIXTURE_TEXT("told") "]", false);
}

static void trigger_prompts(struct mcp_call *c, const struct rpc_message *m)
{
	mcp_tell_changed(c->peer->server, "notifications/prompts/list_changed", false);
	fixture_answer(c, "[" FIXTURE_TEXT("told") "]", false);
}

static void log_once(struct mcp_call *c, const struct rpc_message *m)
{
	mcp_call_log(c, MCP_LOG_INFO, "a message");
	fixture_answer(c, "[" FIXTURE_TEXT("logged") "]", false);
}

/* Three messages with a pause between them */

struct steps {
	struct mcp_call *call;
	struct loop_timer timer;
	int step;
	bool logs;
};

static void on_cancel(struct mcp_call *c)
{
	struct steps *s = c->work;

	loop_timer_clear(&s->timer);
	free(s);
	mcp_call_free(c);
}

static void tell_progress(struct mcp_call *c, int value)
{
	struct mcp_notice n;

	if (!c->token)
		return;
	notice_begin(&n, c->peer, c, "notifications/progress");
	json_member_raw(&n.w, "progressToken", c->token);
	json_member_int(&n.w, "progress", value);
	json_member_int(&n.w, "total", 100);
	notice_send(&n);
}

static int on_step(struct loop_timer *t)
{
	static const char *const words[] = {"Tool execution started", "Tool processing data",
	                                    "Tool execution completed"};
	struct steps *s = container_of(t, struct steps, timer);
	struct mcp_call *c = s->call;

	if (s->logs)
		mcp_call_log(c, MCP_LOG_INFO, words[s->step]);
	else
		tell_progress(c, 50 * s->step);
	if (++s->step < 3)
		return loop_timer_set(t->loop, t, loop_now(t->loop) + STEP_MS, on_step);
	free(s);
	fixture_answer(c, "[" FIXTURE_TEXT("done") "]", false);
	return 0;
}

static void begin_steps(struct mcp_call *c, bool logs)
{
	struct loop *l = c->peer->server->options.loop;
	struct steps *s = calloc(1, sizeof(*s));

	if (!s)
		return mcp_call_error(c, RPC_INTERNAL_ERROR, "out of memory", NULL);
	*s = (struct steps){.call = c, .logs = logs};
	c->work = s;
	c->cancel = on_cancel;
	c->leave = on_cancel;
	(void)loop_timer_set(l, &s->timer, loop_now(l), on_step);
}

static void begin_logging(struct mcp_call *c, const struct rpc_message *m)
{
	begin_steps(c, true);
}

static void begin_progress(struct mcp_call *c, const struct rpc_message *m)
{
	begin_steps(c, false);
}

/* Requests to the client */

static void on_asked_cancel(struct mcp_call *c)
{
	mcp_call_free(c);
}

static void on_answered(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(freep) char *text = m->result ? json_dumps(m->result, JSON_COMPACT) : NULL;
	scoped(buffer_donep) struct buffer content = {0};
	struct json_writer w = {.out = &content};

	json_array_begin(&w);
	json_object_begin(&w);
	json_member_string(&w, "type", "text");
	json_member_string(&w, "text", text ? text : "the client has answered with an error");
	json_object_end(&w);
	json_array_end(&w);
	fixture_answer(c, buffer_str(&content), false);
}

static void ask(struct mcp_call *c, const char *method, const char *params, bool able)
{
	struct mcp_notice n;
	size_t len = strlen(params);

	if (!able || mcp_call_ask_begin(c, method, &n) < 0)
		return mcp_call_refuse(c, "the client cannot be asked that");
	c->answered = on_answered;
	c->cancel = on_asked_cancel;
	c->leave = on_asked_cancel;
	buffer_append(&n.text, params + 1, len - 2); /* its members */
	notice_send(&n);
}

static void ask_with_text(struct mcp_call *c, const struct rpc_message *m, const char *key,
                          const char *before, const char *behind, const char *method, bool able)
{
	const char *text = json_string_value(json_object_get(rpc_param(m, "arguments"), key));
	scoped(buffer_donep) struct buffer params = {0};
	struct json_writer w = {.out = &params};

	if (!text)
		return mcp_call_refuse(c, "the argument is missing");
	buffer_puts(&params, before);
	json_put_string(&w, text);
	buffer_puts(&params, behind);
	ask(c, method, buffer_str(&params), able);
}

static void ask_sampling(struct mcp_call *c, const struct rpc_message *m)
{
	ask_with_text(c, m, "prompt",
	              "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":",
	              "}}],\"maxTokens\":100}", "sampling/createMessage", c->capabilities.sampling);
}

static void ask_person(struct mcp_call *c, const struct rpc_message *m)
{
	ask_with_text(c, m, "message", "{\"message\":",
	              ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"username\":{"
	              "\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"required\":["
	              "\"username\",\"email\"]}}",
	              "elicitation/create", c->capabilities.form);
}

static void ask_defaults(struct mcp_call *c, const struct rpc_message *m)
{
	ask(c, "elicitation/create",
	    FIXTURE_FORM("Please check these.",
	                 "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
	                 "\"age\":{\"type\":\"integer\",\"default\":30},"
	                 "\"score\":{\"type\":\"number\",\"default\":95.5},"
	                 "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
	                 "\"pending\"],\"default\":\"active\"},"
	                 "\"verified\":{\"type\":\"boolean\",\"default\":true}",
	                 ""),
	    c->capabilities.form);
}

static void ask_enums(struct mcp_call *c, const struct rpc_message *m)
{
#define OPTIONS "[\"option1\",\"option2\",\"option3\"]"
#define TITLED                                                                                     \
	"[{\"const\":\"value1\",\"title\":\"First\"},{\"const\":\"value2\",\"title\":\"Second\"}," \
	"{\"const\":\"value3\",\"title\":\"Third\"}]"
	ask(c, "elicitation/create",
	    FIXTURE_FORM(
		    "Please choose.",
		    "\"untitledSingle\":{\"type\":\"string\",\"enum\":" OPTIONS "},"
		    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED "},"
		    "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
		    "\"enumNames\":[\"One\",\"Two\",\"Three\"]},"
		    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
		    "\"enum\":" OPTIONS "}},"
		    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED "}}",
		    ""),
	    c->capabilities.form);
}
