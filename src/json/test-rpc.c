#include "base/test-support.h"

#include <string.h>
#include "base/buffer.h"
#include "json/write.h"
#include "json/rpc.h"
#include "json/rpc-write.h"

static struct rpc_message read_text(const char *text)
{
	struct rpc_message m;

	rpc_message_read(text, strlen(text), &m);
	return m;
}

static void expect_invalid(const char *text, int code, const char *id)
{
	scoped(rpc_message_donep) struct rpc_message m = read_text(text);

	assert_int_equal(m.kind, RPC_INVALID);
	assert_int_equal(m.code, code);
	assert_true(m.problem[0]);
	if (id)
		assert_string_equal(m.id, id);
	else
		assert_null(m.id);
}

static void an_id_comes_back_as_it_was_written(void **state)
{
	static const char *const ids[] = {"0",
	                                  "-7",
	                                  "9007199254740991",
	                                  "-9223372036854775808",
	                                  "\"\"",
	                                  "\"1\"",
	                                  "\"a\\u00e9\\n\"",
	                                  "\"\xc3\xa9\"",
	                                  "\"\\ud83d\\ude00\"",
	                                  "1"};
	scoped(buffer_donep) struct buffer text = {0};

	for (size_t i = 0; i < array_size(ids); i++) {
		scoped(rpc_message_donep) struct rpc_message m = {0};

		buffer_clear(&text);
		buffer_printf(&text,
		              "{\"params\":{\"id\":5,\"x\":[{\"id\":6}]},\"jsonrpc\":\"2.0\", "
		              "\"id\" :\t%s , \"method\":\"id\"}",
		              ids[i]);
		m = read_text(text.data);
		assert_int_equal(m.kind, RPC_REQUEST);
		assert_string_equal(m.id, ids[i]);
		assert_string_equal(m.method, "id");
	}
}

static void a_key_in_escapes_is_found_too(void **state)
{
	scoped(rpc_message_donep) struct rpc_message m =
		read_text("{\"jsonrpc\":\"2.0\",\"\\u0069d\":\"a\\/b\",\"method\":\"m\"}");

	assert_int_equal(m.kind, RPC_REQUEST);
	assert_string_equal(m.id, "\"a/b\"");
}

static void what_is_no_id_is_refused(void **state)
{
	static const char *const bad[] = {"null", "true", "{}", "[]", "1.5", "1e3", "[1]"};
	scoped(buffer_donep) struct buffer text = {0};

	for (size_t i = 0; i < array_size(bad); i++) {
		buffer_clear(&text);
		buffer_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", bad[i]);
		expect_invalid(text.data, RPC_INVALID_REQUEST, NULL);
	}
}

static void what_is_not_json_has_no_id(void **state)
{
	expect_invalid("", RPC_PARSE_ERROR, NULL);
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", RPC_PARSE_ERROR, NULL);
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", RPC_PARSE_ERROR, NULL);
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"} x", RPC_PARSE_ERROR, NULL);
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"id\":2}",
	               RPC_INVALID_REQUEST, NULL);
}

/* A client whose number is too large, or whose library writes a member twice, waits as others do.
 */
static void what_is_json_but_not_for_us_is_answered_under_its_id(void **state)
{
	expect_invalid(
		"{\"jsonrpc\":\"2.0\",\"id\":\"n\",\"method\":\"m\",\"params\":{\"x\":1e999}}",
		RPC_INVALID_REQUEST, "\"n\"");
	expect_invalid("{\"params\":{\"x\":18446744073709551616},\"method\":\"id\",\"id\":7}",
	               RPC_INVALID_REQUEST, "7");
	expect_invalid("{\"id\":7,\"method\":\"m\",\"params\":{\"a\":1,\"a\":2,\"id\":3}}",
	               RPC_INVALID_REQUEST, "7");
	expect_invalid("{\"id\":7,\"method\":\"m\",\"params\":{\"x\":\"cut \\ud83d\"}}",
	               RPC_INVALID_REQUEST, "7");
	expect_invalid("{\"params\":[\"\\ude00\",\"\\ud83d\\u0041\"],\"id\":7,\"method\":\"m\"}",
	               RPC_INVALID_REQUEST, "7");
	expect_invalid("{\"id\":7,\"method\":\"m\",\"params\":{\"a\\u0000b\":1}}",
	               RPC_INVALID_REQUEST, "7");
	expect_invalid("{\"id\":\"\\ud83d\",\"method\":\"m\"}", RPC_INVALID_REQUEST, NULL);
	expect_invalid("{\"id\":18446744073709551616,\"method\":\"m\"}", RPC_INVALID_REQUEST, NULL);
	expect_invalid("{\"id\":7,\"method\":\"m\",\"id\":1e999}", RPC_INVALID_REQUEST, NULL);
}

static void a_shape_that_nobody_knows_is_answered_under_its_id(void **state)
{
	expect_invalid("{\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1");
	expect_invalid("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1");
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", RPC_INVALID_REQUEST, "1");
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\\u0000\"}",
	               RPC_INVALID_REQUEST, "1");
	expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, "1");
	expect_invalid("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"result\":{}}", RPC_INVALID_REQUEST,
	               NULL);
	expect_invalid("7", RPC_INVALID_REQUEST, NULL);
	expect_invalid("[]", RPC_INVALID_REQUEST, NULL);
}

static void what_nests_too_deeply_is_answered_under_its_id(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(rpc_message_donep) struct rpc_message m = {0};

	buffer_puts(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"deep\",\"method\":\"m\",\"params\":");
	for (int i = 0; i < RPC_DEPTH_MAX; i++)
		buffer_putc(&text, '[');
	expect_invalid(text.data, RPC_INVALID_REQUEST, "\"deep\"");
	buffer_clear(&text);
	buffer_puts(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":");
	for (int i = 0; i < RPC_DEPTH_MAX - 1; i++)
		buffer_putc(&text, '[');
	for (int i = 0; i < RPC_DEPTH_MAX - 1; i++)
		buffer_putc(&text, ']');
	buffer_putc(&text, '}');
	m = read_text(text.data);
	assert_int_equal(m.kind, RPC_REQUEST);
}

/* A text of some megabytes could take gigabytes when it is read. */
static void what_holds_too_many_values_is_answered_under_its_id(void **state)
{
	static const char *const kinds[] = {"{},", "0,", "[[]],", "{\"a\":0},"};

	for (size_t i = 0; i < array_size(kinds); i++) {
		scoped(buffer_donep) struct buffer text = {0};
		scoped(rpc_message_donep) struct rpc_message m = {0};

		buffer_puts(&text,
		            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":[");
		for (int k = 0; k <= RPC_VALUES_MAX; k++)
			buffer_puts(&text, kinds[i]);
		buffer_puts(&text, "0]}}");
		expect_invalid(text.data, RPC_INVALID_REQUEST, "1");
		buffer_clear(&text);
		buffer_puts(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"");
		for (int k = 0; k <= RPC_VALUES_MAX; k++)
			buffer_puts(&text, "[,{");
		buffer_puts(&text, "\"}");
		m = read_text(text.data);
		assert_int_equal(m.kind, RPC_REQUEST);
	}
}

static void an_id_that_could_be_misread_is_not_echoed_unread(void **state)
{
	static const char *const bad[] = {"\"\xff\"", "\"a\nb\"", "\"\\x\"", "\"\\ud800\"",
	                                  "01",       "1a",       "-"};
	scoped(buffer_donep) struct buffer text = {0};

	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(rpc_message_donep) struct rpc_message m = {0};

		buffer_clear(&text);
		buffer_printf(&text, "{\"id\":%s,\"x\":", bad[i]);
		rpc_message_refuse(text.data, text.len, RPC_INVALID_REQUEST, "too long", &m);
		assert_null(m.id);
		assert_string_equal(m.problem, "too long");
	}
}

static void notifications_and_responses_are_told_apart(void **state)
{
	scoped(rpc_message_donep) struct rpc_message a =
		read_text("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"k\":[1]}}");
	scoped(rpc_message_donep) struct rpc_message b =
		read_text("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}");
	scoped(rpc_message_donep) struct rpc_message c =
		read_text("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1}}");

	assert_int_equal(a.kind, RPC_NOTIFICATION);
	assert_true(json_is_array(rpc_param(&a, "k")));
	assert_null(rpc_param(&a, "l"));
	assert_int_equal(b.kind, RPC_RESPONSE);
	assert_non_null(b.result);
	assert_int_equal(c.kind, RPC_RESPONSE);
	assert_null(c.result);
}

static void a_response_that_is_wrong_is_still_one(void **state)
{
	static const char *const wrong[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700}}",
		"{\"jsonrpc\":\"2.0\",\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
		"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}",
	};

	for (size_t i = 0; i < array_size(wrong); i++) {
		scoped(rpc_message_donep) struct rpc_message m = read_text(wrong[i]);

		assert_int_equal(m.kind, RPC_RESPONSE);
		assert_true(!m.result || !m.id); /* what has no id is nobody's */
	}
}

static void a_number_that_nobody_can_hold_is_told(void **state)
{
	scoped(rpc_message_donep) struct rpc_message m =
		read_text("{\"jsonrpc\":\"2.0\",\"id\":9223372036854775808,\"method\":\"m\"}");

	assert_int_equal(m.kind, RPC_INVALID);
	assert_int_equal(m.code, RPC_INVALID_REQUEST);
	assert_null(m.id);
	assert_non_null(strstr(m.problem, "number"));
}

static void a_batch_has_elements_each_by_itself(void **state)
{
	scoped(rpc_message_donep) struct rpc_message m =
		read_text("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},7,[],"
	                  "{\"jsonrpc\":\"2.0\",\"method\":\"b\"}]");
	static const enum rpc_kind kinds[] = {RPC_REQUEST, RPC_INVALID, RPC_INVALID,
	                                      RPC_NOTIFICATION};

	assert_int_equal(m.kind, RPC_BATCH);
	assert_int_equal(rpc_message_count(&m), 4);
	for (size_t i = 0; i < array_size(kinds); i++) {
		scoped(rpc_message_donep) struct rpc_message one = {0};

		rpc_message_element(&m, i, &one);
		assert_int_equal(one.kind, kinds[i]);
	}
}

static void a_nul_anywhere_is_told(void **state)
{
	scoped(rpc_message_donep) struct rpc_message m =
		read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":["
	                  "\"x\\u0000y\"]}}");

	assert_int_equal(m.kind, RPC_REQUEST);
	assert_true(m.has_nul);
}

static void what_is_written_can_be_read(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(rpc_message_donep) struct rpc_message m = {0};
	struct json_writer w = {.out = &text};

	rpc_begin_request(&w, "\"nacre-1\"", "ask");
	json_object_begin(&w);
	json_object_end(&w);
	rpc_end(&w);
	m = read_text(buffer_str(&text));
	assert_int_equal(m.kind, RPC_REQUEST);
	rpc_message_done(&m);
	buffer_clear(&text);
	rpc_write_error(&text, NULL, RPC_PARSE_ERROR, "a \"word\" \xff", "{\"k\":1}");
	assert_string_equal(text.data,
	                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
	                    "\"message\":\"a \\\"word\\\" \xef\xbf\xbd\",\"data\":{"
	                    "\"k\":1}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_comes_back_as_it_was_written),
		cmocka_unit_test(a_key_in_escapes_is_found_too),
		cmocka_unit_test(what_is_no_id_is_refused),
		cmocka_unit_test(what_is_not_json_has_no_id),
		cmocka_unit_test(what_is_json_but_not_for_us_is_answered_under_its_id),
		cmocka_unit_test(a_shape_that_nobody_knows_is_answered_under_its_id),
		cmocka_unit_test(what_nests_too_deeply_is_answered_under_its_id),
		cmocka_unit_test(what_holds_too_many_values_is_answered_under_its_id),
		cmocka_unit_test(an_id_that_could_be_misread_is_not_echoed_unread),
		cmocka_unit_test(notifications_and_responses_are_told_apart),
		cmocka_unit_test(a_response_that_is_wrong_is_still_one),
		cmocka_unit_test(a_number_that_nobody_can_hold_is_told),
		cmocka_unit_test(a_batch_has_elements_each_by_itself),
		cmocka_unit_test(a_nul_anywhere_is_told),
		cmocka_unit_test(what_is_written_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
