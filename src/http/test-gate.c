#include "base/test-support.h"
#include "http/gate.h"

#include <string.h>
#include "base/cleanup.h"

struct
try {
	const char *version, *target;
	struct http_field fields[8];
	size_t count;
};

static void add(struct try *t, const char *name, const char *value)
{
	t->fields[t->count++] = (struct http_field){name, value, strlen(name), strlen(value)};
}

static struct try plain(void)
{
	struct try t = {.version = "HTTP/1.1", .target = "/v1/run?a=b"};

	add(&t, "Host", "localhost:80");
	return t;
}

static int gate(const struct try *t, struct http_facts *facts)
{
	struct http_head h = {.method = "POST",
	                      .version = t->version,
	                      .target = t->target,
	                      .fields = t->fields,
	                      .field_count = t->count};
	const char *why = NULL;
	int status = http_gate(&h, facts, &why);

	assert_non_null(why);
	assert_int_equal(status == 0, *why == '\0');
	return status;
}

static void a_plain_head_passes(void **state)
{
	struct http_facts f;
	struct try t = plain();

	add(&t, "Content-Length", "12");
	assert_int_equal(gate(&t, &f), 0);
	assert_int_equal(f.path_len, strlen("/v1/run"));
	assert_string_equal(f.query, "a=b");
	assert_true(f.has_length && !f.chunked);
	assert_int_equal(f.length, 12);
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
	static const char *const pairs[][2][2] = {
		{{"Content-Length", "3"}, {"Transfer-Encoding", "chunked"}},
		{{"Content-Length", "3"}, {"content-length", "3"}},
		{{"Content-Length", "3"}, {"Content-Length", "4"}},
		{{"Host", "other"}, {"A", "b"}},
		{{"Transfer-Encoding", "xchunked"}, {"A", "b"}},
		{{"Transfer-Encoding", "gzip, chunked"}, {"A", "b"}},
		{{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}},
		{{"Content-Length", "+2"}, {"A", "b"}},
		{{"Content-Length", "2 "}, {"A", "b"}},
		{{"Content-Length", ""}, {"A", "b"}},
		{{"Content-Length", "0x2"}, {"A", "b"}},
		{{"Content-Length", "9999999999999999"}, {"A", "b"}},
		{{"Name ", "x"}, {"A", "b"}},
		{{"", "x"}, {"A", "b"}},
		{{"N(me", "x"}, {"A", "b"}},
		{{"Name", "a\rb"}, {"A", "b"}},
		{{"Name", "a\x01"}, {"A", "b"}},
		{{"Authorization", "Bearer a"}, {"authorization", "Bearer b"}},
		{{"Origin", "http://a"}, {"Origin", "http://b"}},
		{{"Mcp-Session-Id", "a"}, {"Mcp-Session-Id", "b"}},
	};
	struct http_facts f;

	for (size_t i = 0; i < array_size(pairs); i++) {
		struct try t = plain();

		add(&t, pairs[i][0][0], pairs[i][0][1]);
		add(&t, pairs[i][1][0], pairs[i][1][1]);
		if (gate(&t, &f) != 400)
			fail_msg("%zu: '%s: %s' passed", i, pairs[i][0][0], pairs[i][0][1]);
	}
}

static void a_value_with_nul_inside_is_refused(void **state)
{
	struct http_facts f;
	struct try t = plain();

	t.fields[t.count++] = (struct http_field){"Name", "a\0b", 4, 3};
	assert_int_equal(gate(&t, &f), 400);
}

static void other_versions_are_refused(void **state)
{
	static const char *const versions[] = {"HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "", "http/1.1"};
	struct http_facts f;

	for (size_t i = 0; i < array_size(versions); i++) {
		struct try t = plain();

		t.version = versions[i];
		assert_int_equal(gate(&t, &f), 505);
	}
}

static void a_target_is_a_path_of_this_host(void **state)
{
	static const struct {
		const char *target;
		int status;
	} targets[] = {
		{"/", 0},
		{"/?", 0},
		{"http://localhost:80/x", 0},
		{"HTTP://LOCALHOST:80/x?y", 0},
		{"http://localhost:80", 400}, /* no path */
		{"http://other/x", 400},
		{"http://localhost:80@other/x", 400},
		{"https://localhost:80/x", 400},
		{"*", 400},
		{"", 400},
		{"x", 400},
		{"/a b", 400},
		{"/a#b", 400},
		{"/\x7f", 400},
		{"/\xc3\xa4", 400},
		{"localhost:80", 400},
	};
	struct http_facts f;

	for (size_t i = 0; i < array_size(targets); i++) {
		struct try t = plain();

		t.target = targets[i].target;
		assert_int_equal(gate(&t, &f), targets[i].status);
	}
}

static void without_a_host_or_with_an_odd_one_nothing_passes(void **state)
{
	static const char *const hosts[] = {"",        "a b", "a:b",   "a:",  "a:123456",
	                                    "[::1",    "[]",  "a@b",   "a/b", "[::1]x",
	                                    "a:80:80", "a,b", "\"a\"", "[a"};
	struct http_facts f;
	struct try t = {.version = "HTTP/1.1", .target = "/"};

	assert_int_equal(gate(&t, &f), 400);
	for (size_t i = 0; i < array_size(hosts); i++) {
		t.count = 0;
		add(&t, "Host", hosts[i]);
		if (gate(&t, &f) != 400)
			fail_msg("Host '%s' passed", hosts[i]);
	}
}

static void too_many_headers_are_refused(void **state)
{
	struct http_field fields[HTTP_FIELDS_MAX + 1];
	struct http_head h = {.method = "GET",
	                      .version = "HTTP/1.1",
	                      .target = "/",
	                      .fields = fields,
	                      .field_count = HTTP_FIELDS_MAX + 1};
	struct http_facts f;
	const char *why;

	for (size_t i = 0; i < array_size(fields); i++)
		fields[i] = (struct http_field){"A", "b", 1, 1};
	fields[0] = (struct http_field){"Host", "a", 4, 1};
	assert_int_equal(http_gate(&h, &f, &why), 431);
	h.field_count--;
	assert_int_equal(http_gate(&h, &f, &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_head_passes),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_value_with_nul_inside_is_refused),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(a_target_is_a_path_of_this_host),
		cmocka_unit_test(without_a_host_or_with_an_odd_one_nothing_passes),
		cmocka_unit_test(too_many_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
