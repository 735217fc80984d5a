/*
 * Fixtures: prompts, completion, and resources with fixed contents.
 */
#include <string.h>
#include "mcp/fixtures-data.h"
#include "mcp/fixtures.h"
#include "mcp/inside.h"

#define TEMPLATE "test://template/"

static void method_prompts_list(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_answer a;

	if (rpc_param(m, "cursor"))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "there is no such cursor", NULL);
	answer_begin(&a, c, "complete");
	json_put_key(&a.w, "prompts");
	json_put_raw(
		&a.w,
		"[{\"name\":\"test_simple_prompt\",\"description\":\"a fixed text\"},"
		"{\"name\":\"test_prompt_with_arguments\",\"description\":\"shows both\","
		"\"arguments\":[{\"name\":\"arg1\",\"description\":\"first\",\"required\":true},"
		"{\"name\":\"arg2\",\"description\":\"second\",\"required\":true}]},"
		"{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"a resource\","
		"\"arguments\":[{\"name\":\"resourceUri\",\"description\":\"which\",\"required\":"
		"true}]},"
		"{\"name\":\"test_prompt_with_image\",\"description\":\"an image\"},"
		"{\"name\":\"test_input_required_result_prompt\",\"description\":\"asks\"}]");
	answer_cacheable(&a, 0, true);
	(void)answer_send(&a);
}

static void send_messages(struct mcp_call *c, const struct buffer *messages)
{
	struct mcp_answer a;

	answer_begin(&a, c, "complete");
	json_member_raw(&a.w, "messages", buffer_str(messages));
	(void)answer_send(&a);
}

static void begin_user(struct json_writer *w)
{
	json_object_begin(w);
	json_member_string(w, "role", "user");
	json_put_key(w, "content");
}

static void put_user_text(struct json_writer *w, const char *text)
{
	begin_user(w);
	json_object_begin(w);
	json_member_string(w, "type", "text");
	json_member_string(w, "text", text);
	json_object_end(w);
	json_object_end(w);
}

static void put_user_resource(struct json_writer *w, const char *uri)
{
	begin_user(w);
	json_object_begin(w);
	json_member_string(w, "type", "resource");
	json_member_object(w, "resource");
	json_member_string(w, "uri", uri);
	json_member_string(w, "mimeType", "text/plain");
	json_member_string(w, "text", "the content of a resource");
	json_object_end(w);
	json_object_end(w);
	json_object_end(w);
}

static void method_prompts_get(struct mcp_call *c, const struct rpc_message *m)
{
	scoped(buffer_donep) struct buffer messages = {0}, text = {0};
	struct json_writer w = {.out = &messages};
	json_t *arguments = rpc_param(m, "arguments");
	const char *arg1 = json_string_value(json_object_get(arguments, "arg1"));
	const char *arg2 = json_string_value(json_object_get(arguments, "arg2"));
	const char *uri = json_string_value(json_object_get(arguments, "resourceUri"));
	const char *name = mcp_call_need_string(c, m, "name");

	if (!name || fixture_rounds(c, m, name, 1))
		return;
	json_array_begin(&w);
	if (strcmp(name, "test_simple_prompt") == 0) {
		put_user_text(&w, "This is a simple prompt for testing.");
	} else if (strcmp(name, "test_prompt_with_arguments") == 0 && arg1 && arg2) {
		buffer_printf(&text, "Prompt with arguments: arg1='%s', arg2='%s'", arg1, arg2);
		put_user_text(&w, buffer_str(&text));
	} else if (strcmp(name, "test_prompt_with_embedded_resource") == 0 && uri) {
		put_user_resource(&w, uri);
		put_user_text(&w, "Please use the resource above.");
	} else if (strcmp(name, "test_prompt_with_image") == 0) {
		begin_user(&w);
		json_put_raw(&w, FIXTURE_IMAGE);
		json_object_end(&w);
		put_user_text(&w, "Please look at the image above.");
	} else {
		return mcp_call_error(c, RPC_INVALID_PARAMS,
		                      "there is no such prompt, or an argument is missing", NULL);
	}
	json_array_end(&w);
	send_messages(c, &messages);
}

static void method_complete(struct mcp_call *c, const struct rpc_message *m)
{
	struct mcp_answer a;

	if (!json_is_object(rpc_param(m, "ref")) || !json_is_object(rpc_param(m, "argument")))
		return mcp_call_error(c, RPC_INVALID_PARAMS, "'ref' and 'argument' are wanted",
		                      NULL);
	answer_begin(&a, c, "complete");
	json_member_raw(&a.w, "completion",
	                "{\"values\":[\"test1\",\"test2\"],\"total\":2,\"hasMore\":false}");
	(void)answer_send(&a);
}

mcp_method *mcp_fixture_method(const char *name)
{
	return strcmp(name, "prompts/list") == 0          ? method_prompts_list
	       : strcmp(name, "prompts/get") == 0         ? method_prompts_get
	       : strcmp(name, "completion/complete") == 0 ? method_complete
	                                                  : NULL;
}

void mcp_fixture_put_capabilities(struct json_writer *w)
{
	json_member_raw(w, "prompts", "{\"listChanged\":true}");
	json_member_raw(w, "completions", "{}");
}

void mcp_fixture_put_list_changed(struct json_writer *w)
{
	json_member_bool(w, "listChanged", true);
}

void mcp_fixture_put_resources(struct json_writer *w, bool templates)
{
	if (templates) {
		json_put_raw(w,
		             "{\"uriTemplate\":\"" TEMPLATE "{id}/data\",\"name\":\"template\","
		             "\"description\":\"data by id\",\"mimeType\":\"application/json\"}");
		return;
	}
	json_put_raw(w, "{\"uri\":\"test://static-text\",\"name\":\"static-text\","
	                "\"description\":\"a fixed text\",\"mimeType\":\"text/plain\"}");
	json_put_raw(w, "{\"uri\":\"test://static-binary\",\"name\":\"static-binary\","
	                "\"description\":\"a fixed image\",\"mimeType\":\"image/png\"}");
	json_put_raw(w, "{\"uri\":\"test://watched-resource\",\"name\":\"watched-resource\","
	                "\"description\":\"to be watched\",\"mimeType\":\"text/plain\"}");
}

bool mcp_fixture_is_resource(json_t *uri)
{
	const char *text = json_string_value(uri);

	return text && strncmp(text, "test://", 7) == 0;
}

bool mcp_fixture_read(struct mcp_call *c, const char *uri)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer inner = {.out = &text};
	bool binary = strcmp(uri, "test://static-binary") == 0;
	bool data = strncmp(uri, TEMPLATE, strlen(TEMPLATE)) == 0;
	const char *id = uri + strlen(TEMPLATE);
	struct mcp_answer a;

	if (!binary && !data && strcmp(uri, "test://static-text") != 0 &&
	    strcmp(uri, "test://watched-resource") != 0)
		return false;
	if (data) {
		json_object_begin(&inner);
		json_member_bytes(&inner, "id", id, strcspn(id, "/"));
		json_member_bool(&inner, "templateTest", true);
		json_object_end(&inner);
	}
	answer_begin(&a, c, "complete");
	json_member_array(&a.w, "contents");
	json_object_begin(&a.w);
	json_member_string(&a.w, "uri", uri);
	json_member_string(&a.w, "mimeType",
	                   binary ? "image/png"
	                   : data ? "application/json"
	                          : "text/plain");
	json_member_string(&a.w, binary ? "blob" : "text",
	                   binary ? FIXTURE_PNG
	                   : data ? buffer_str(&text)
	                          : "This is the content of the static text resource.");
	json_object_end(&a.w);
	json_array_end(&a.w);
	answer_cacheable(&a, 0, false);
	(void)answer_send(&a);
	return true;
}
