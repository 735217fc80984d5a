#include "base/test-support.h"

#include <string.h>
#include "base/error.h"
#include "mcp/arguments.h"
#include "mcp/era.h"
#include "mcp/uri.h"
#include "json/rpc.h"

#define VERSION      "\"" MCP_META "protocolVersion\":"
#define CAPABILITIES "\"" MCP_META "clientCapabilities\":{}"

static struct mcp_envelope read_envelope(const char *method, const char *params, const char *header)
{
	scoped(rpc_message_donep) struct rpc_message m = {0};
	struct mcp_envelope e;
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
	rpc_message_read(text, strlen(text), &m);
	assert_int_equal(m.kind, RPC_REQUEST);
	mcp_envelope_read(&m, header, &e);
	e.requested = NULL; /* it was the message's */
	return e;
}

static void a_message_tells_its_era(void **state)
{
	static const struct {
		const char *method, *params, *header;
		bool modern;
		int code;
	} cases[] = {
		{"tools/list", "{}", NULL, false, 0},
		{"initialize", "{\"protocolVersion\":\"2026-07-28\"}", NULL, false, 0},
		{"tools/list", "{\"_meta\":{\"progressToken\":1}}", NULL, false, 0},
		{"tools/list", "{}", "2025-11-25", false, 0},
		{"tools/list", "{}", "nonsense", false, 0},
		{"tools/list", "{\"_meta\":{" VERSION "\"2025-06-18\"}}", NULL, false, 0},
		{"tools/list", "{\"_meta\":{" VERSION "\"2025-06-18\"}}", "2026-07-28", true,
	         MCP_HEADER_MISMATCH},
		{"tools/list", "{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "}}", NULL,
	         true, 0},
		{"initialize", "{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "}}", NULL,
	         true, 0},
		{"initialize", "{\"_meta\":{" VERSION "\"2026-07-28\"}}", NULL, false, 0},
		{"initialize", "{\"_meta\":{" CAPABILITIES "}}", NULL, false, 0},
		{"initialize", "{\"_meta\":{" CAPABILITIES "}}", "2025-11-25", false, 0},
		{"initialize", "{}", "2026-07-28", true, RPC_INVALID_PARAMS},
		{"initialize", "{\"_meta\":{" VERSION "\"2099-01-01\"," CAPABILITIES "}}", NULL,
	         true, MCP_UNSUPPORTED_VERSION},
		{"tools/list", "{\"_meta\":{" VERSION "\"2099-01-01\"," CAPABILITIES "}}", NULL,
	         true, MCP_UNSUPPORTED_VERSION},
		{"tools/list", "{\"_meta\":{" VERSION "\"1.0\"," CAPABILITIES "}}", NULL, true,
	         MCP_UNSUPPORTED_VERSION},
		{"tools/list", "{\"_meta\":{" VERSION "\"2026-07-28\"}}", NULL, true,
	         RPC_INVALID_PARAMS},
		{"tools/list", "{\"_meta\":{" VERSION "7," CAPABILITIES "}}", NULL, true,
	         RPC_INVALID_PARAMS},
		{"tools/list", "{\"_meta\":{" CAPABILITIES "}}", NULL, true, RPC_INVALID_PARAMS},
		{"server/discover", "{}", NULL, true, RPC_INVALID_PARAMS},
		{"tools/list", "{}", "2026-07-28", true, RPC_INVALID_PARAMS},
		{"tools/list", "[]", "2026-07-28", true, RPC_INVALID_PARAMS},
	};

	for (size_t i = 0; i < array_size(cases); i++) {
		struct mcp_envelope e =
			read_envelope(cases[i].method, cases[i].params, cases[i].header);

		assert_int_equal(e.modern, cases[i].modern);
		assert_int_equal(e.code, cases[i].code);
		if (cases[i].code)
			assert_non_null(e.problem);
	}
}

static void errors_have_their_status(void **state)
{
	assert_int_equal(mcp_http_status(true, 0), 200);
	assert_int_equal(mcp_http_status(true, RPC_METHOD_NOT_FOUND), 404);
	assert_int_equal(mcp_http_status(false, RPC_METHOD_NOT_FOUND), 200);
	assert_int_equal(mcp_http_status(true, RPC_INVALID_PARAMS), 200);
	assert_int_equal(mcp_http_status(true, MCP_UNSUPPORTED_VERSION), 400);
	assert_int_equal(mcp_http_status(false, RPC_PARSE_ERROR), 400);
}

static void addresses_are_ours_or_nothing(void **state)
{
	static const char *const bad[] = {
		"",
		"nacre://",
		"nacre://policy?x=1",
		"nacre://session/other",
		"nacre://output/",
		"nacre://output/?offset=1",
		"nacre://output/a/b",
		"nacre://output/../x",
		"nacre://output/0123456789012345678901234567890123456789",
		"nacre://output/a?offset",
		"nacre://output/a?offset=",
		"nacre://output/a?offset=-1",
		"nacre://output/a?offset=1&offset",
		"nacre://output/a?length=0",
		"nacre://output/a?stream=x",
		"nacre://output/a?stream=out",
		"nacre://output/a?offset=18446744073709551616",
		"nacre://output/a?offset=1234567890123456789012345",
		"NACRE://policy",
		"file:///etc/passwd",
	};
	struct uri u;

	for (size_t i = 0; i < array_size(bad); i++) {
		uri_read(bad[i], &u);
		assert_int_equal(u.kind, URI_NONE);
	}
	uri_read("nacre://policy", &u);
	assert_int_equal(u.kind, URI_POLICY);
	uri_read("nacre://session", &u);
	assert_int_equal(u.kind, URI_SESSION);
	uri_read("nacre://output/bash-x", &u);
	assert_int_equal(u.kind, URI_OUTPUT);
	assert_string_equal(u.id, "bash-x");
	assert_int_equal(u.stream, -1);
	uri_read("nacre://output/bash-x?length=5&stream=stderr&offset=7", &u);
	assert_int_equal(u.kind, URI_OUTPUT);
	assert_int_equal(u.offset, 7);
	assert_int_equal(u.length, 5);
	assert_int_equal(u.stream, 1);
}

static const struct argument table[] = {
	{"text", ARGUMENT_STRING, true, "", 0},
	{"number", ARGUMENT_NUMBER, false, "", 10},
	{"flag", ARGUMENT_BOOL, false, "", 0},
	{"list", ARGUMENT_STRINGS, false, "", 0},
};

static int read_arguments(const char *text, struct argument_value *values, struct error *err)
{
	json_t *object = json_loads(text, 0, NULL);
	int r = arguments_read(table, array_size(table), object, values, err);

	json_decref(object);
	return r;
}

static void arguments_are_checked_by_their_table(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"text\":1}",
		"{\"text\":\"a\",\"number\":-1}",
		"{\"text\":\"a\",\"number\":11}",
		"{\"text\":\"a\",\"number\":1.5}",
		"{\"text\":\"a\",\"number\":11.0}",
		"{\"text\":\"a\",\"number\":-1.0}",
		"{\"text\":\"a\",\"flag\":1}",
		"{\"text\":\"a\",\"list\":[]}",
		"{\"text\":\"a\",\"list\":[1]}",
		"{\"text\":\"a\",\"list\":\"a\"}",
		"{\"text\":\"a\",\"more\":1}",
	};
	struct argument_value values[array_size(table)];
	struct error err = {0};

	for (size_t i = 0; i < array_size(bad); i++) {
		assert_true(read_arguments(bad[i], values, &err) < 0);
		assert_true(err.text[0]);
	}
	/* It is an integer to JSON Schema, which is what the table becomes. */
	assert_int_equal(read_arguments("{\"text\":\"a\",\"number\":7.0}", values, &err), 0);
	assert_int_equal(values[1].number, 7);
	assert_int_equal(
		read_arguments("{\"text\":\"a\",\"number\":10,\"flag\":true}", values, &err), 0);
	assert_true(values[1].given && values[1].number == 10 && values[2].flag);
	assert_false(values[3].given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_tells_its_era),
		cmocka_unit_test(errors_have_their_status),
		cmocka_unit_test(addresses_are_ours_or_nothing),
		cmocka_unit_test(arguments_are_checked_by_their_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
