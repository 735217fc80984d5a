#include "base/test-support.h"
#include "http/text.h"

#include <errno.h>
#include <string.h>

static void a_host_is_matched_whole(void **state)
{
	assert_true(http_host_matches("localhost:80", "localhost:80"));
	assert_true(http_host_matches("LOCALHOST:80", "localhost:80"));
	assert_true(http_host_matches("[::1]:80", "[::1]:80"));
	assert_true(http_host_matches("name:81", "name")); /* any port */
	assert_true(http_host_matches("name", "name"));
	assert_false(http_host_matches("localhost:81", "localhost:80"));
	assert_false(http_host_matches("localhost", "localhost:80"));
	assert_false(http_host_matches("localhost.evil.com:80", "localhost:80"));
	assert_false(http_host_matches("evil.com", "name"));
	assert_false(http_host_matches("name.evil.com", "name"));
	assert_false(http_host_matches("xname", "name"));
	assert_false(http_host_matches("name:", "name"));
	assert_false(http_host_matches("", "name"));
}

static void an_origin_has_a_scheme_and_nothing_behind_the_port(void **state)
{
	assert_string_equal(http_origin_authority("http://localhost:80"), "localhost:80");
	assert_string_equal(http_origin_authority("https://a"), "a");
	assert_null(http_origin_authority("null"));
	assert_null(http_origin_authority("http://a/"));
	assert_null(http_origin_authority("http://a@b"));
	assert_null(http_origin_authority("ftp://a"));
	assert_null(http_origin_authority("http://"));
	assert_null(http_origin_authority(""));
}

static void a_bearer_token_is_one_word(void **state)
{
	assert_string_equal(http_bearer("Bearer abc"), "abc");
	assert_string_equal(http_bearer("bearer  abc"), "abc");
	assert_null(http_bearer("Bearer"));
	assert_null(http_bearer("Bearer "));
	assert_null(http_bearer("Bearer a b"));
	assert_null(http_bearer("Basic abc"));
	assert_null(http_bearer("Bearerabc"));
	assert_null(http_bearer("Bearer \xff"));
}

static void a_query_is_decoded_once_and_strictly(void **state)
{
	char v[8];

	assert_int_equal(http_query_get("a=1&b=%41+%2b", "b", v, sizeof(v)), 0);
	assert_string_equal(v, "A +");
	assert_int_equal(http_query_get("a=1", "b", v, sizeof(v)), -ENOENT);
	assert_int_equal(http_query_get("ab=1", "b", v, sizeof(v)), -ENOENT);
	assert_int_equal(http_query_get("b", "b", v, sizeof(v)), 0);
	assert_string_equal(v, "");
	assert_int_equal(http_query_get("b=1&b=2", "b", v, sizeof(v)), -EINVAL);
	assert_int_equal(http_query_get("b=%", "b", v, sizeof(v)), -EINVAL);
	assert_int_equal(http_query_get("b=%4", "b", v, sizeof(v)), -EINVAL);
	assert_int_equal(http_query_get("b=%4&c=1", "b", v, sizeof(v)), -EINVAL);
	assert_int_equal(http_query_get("b=%00", "b", v, sizeof(v)), -EINVAL);
	assert_int_equal(http_query_get("b=12345678", "b", v, sizeof(v)), -E2BIG);
	assert_int_equal(http_query_get("b=%2541", "b", v, sizeof(v)), 0);
	assert_string_equal(v, "%41");
}

static void unknown_names_in_a_query_are_noticed(void **state)
{
	static const char *const names[] = {"since", "wait", NULL};

	assert_true(http_query_is_known("", names));
	assert_true(http_query_is_known("since=1&wait=2", names));
	assert_true(http_query_is_known("since&&wait", names));
	assert_false(http_query_is_known("sinc=1", names));
	assert_false(http_query_is_known("since=1&x=1", names));
	assert_false(http_query_is_known("=1", names));
}

static void an_accept_header_is_a_list(void **state)
{
	const char *t = "text/event-stream";

	assert_true(http_accepts("application/json, text/event-stream", t, false));
	assert_true(http_accepts("Text/Event-Stream;q=0.5", t, false));
	assert_true(http_accepts("*/*", t, true));
	assert_true(http_accepts("text/*", t, true));
	assert_false(http_accepts("*/*", t, false));
	assert_false(http_accepts("application/*", t, true));
	assert_false(http_accepts("text/event-streams", t, true));
	assert_false(http_accepts("text/event", t, true));
	assert_false(http_accepts("", t, true));
	assert_false(http_accepts(NULL, t, true));
}

static void json_is_utf_8(void **state)
{
	assert_true(http_is_json("application/json"));
	assert_true(http_is_json("Application/JSON ; charset=UTF-8"));
	assert_true(http_is_json("application/json;charset=\"utf-8\""));
	assert_false(http_is_json("application/jsonx"));
	assert_false(http_is_json("application/json; charset=latin1"));
	assert_false(http_is_json("text/plain"));
	assert_false(http_is_json(""));
}

static void bytes_are_compared_whole(void **state)
{
	assert_true(http_same_bytes("abc", "abc", 3));
	assert_false(http_same_bytes("abc", "abd", 3));
	assert_false(http_same_bytes("xbc", "abc", 3));
}

static void a_cookie_is_found_by_its_whole_name(void **state)
{
	char value[8];

	assert_int_equal(http_cookie_get("a=1; b=22;c=", "b", value, sizeof(value)), 0);
	assert_string_equal(value, "22");
	assert_int_equal(http_cookie_get("a=1; b=22;c=", "c", value, sizeof(value)), 0);
	assert_string_equal(value, "");
	assert_int_equal(http_cookie_get("ab=1; xb=2; b", "b", value, sizeof(value)), -ENOENT);
	assert_int_equal(http_cookie_get("b=1; b=1", "b", value, sizeof(value)), -EINVAL);
	assert_int_equal(http_cookie_get("b=12345678", "b", value, sizeof(value)), -E2BIG);
	assert_int_equal(http_cookie_get(NULL, "b", value, sizeof(value)), -ENOENT);
	assert_int_equal(http_cookie_get(";;; ;", "b", value, sizeof(value)), -ENOENT);
}

static void a_port_stands_behind_the_last_colon(void **state)
{
	assert_int_equal(http_port("127.0.0.1:7878"), 7878);
	assert_int_equal(http_port("[::1]:80"), 80);
	assert_int_equal(http_port("[::1]"), 0);
	assert_int_equal(http_port("name"), 0);
	assert_int_equal(http_port("name:x"), 0);
	assert_int_equal(http_port(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_is_matched_whole),
		cmocka_unit_test(an_origin_has_a_scheme_and_nothing_behind_the_port),
		cmocka_unit_test(a_bearer_token_is_one_word),
		cmocka_unit_test(a_query_is_decoded_once_and_strictly),
		cmocka_unit_test(unknown_names_in_a_query_are_noticed),
		cmocka_unit_test(an_accept_header_is_a_list),
		cmocka_unit_test(json_is_utf_8),
		cmocka_unit_test(bytes_are_compared_whole),
		cmocka_unit_test(a_cookie_is_found_by_its_whole_name),
		cmocka_unit_test(a_port_stands_behind_the_last_colon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
