#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "json/read.h"

static int read_text(const char *text, json_t **ret_value, struct error *err)
{
	return json_read(text, strlen(text), 1000, "text", ret_value, err);
}

static void a_value_is_read_and_owned_by_the_caller(void **state)
{
	scoped(json_decrefp) json_t *value = NULL;

	assert_int_equal(read_text("{\"a\": [1, \"\\u00e4\", null]}", &value, NULL), 0);
	assert_string_equal(json_string_value(json_array_get(json_object_get(value, "a"), 1)),
	                    "\xc3\xa4");
}

static void what_is_not_strict_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"{\"a\": 1",
		"[1,]",
		"{\"a\": 1,}",
		"{a: 1}",
		"['a']",
		"[01]",
		"[1] [2]",
		"[1] x",
		"[NaN]",
		"[\"\t\"]",
		"{\"a\": 1, \"a\": 1}", /* a duplicate key: readers would differ */
		"{\"x\": {\"a\": 1, \"a\": 2}}",
		"[\"\xff\"]",
		"[\"\xed\xa0\x80\"]",
		"[\"\\ud800\"]",
		"[\"\\u0000\"]",
		"{\"a\\u0000b\": 1}",
		"[99999999999999999999]",
		"[1e999]",
		"/* c */ []",
	};
	json_t *value = NULL;
	struct error err;

	for (size_t i = 0; i < array_size(bad); i++) {
		if (read_text(bad[i], &value, &err) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.kind, ERROR_INPUT);
		assert_null(value);
	}
}

static void nul_bytes_and_bytes_past_the_end_are_not_read(void **state)
{
	scoped(json_decrefp) json_t *value = NULL;

	assert_int_equal(json_read("[\"a\0b\"]", 7, 1000, "text", &value, NULL), -EINVAL);
	assert_int_equal(json_read("[]\0", 3, 1000, "text", &value, NULL), -EINVAL);
	assert_null(value);
	assert_int_equal(json_read("[1]garbage", 3, 1000, "text", &value, NULL), 0);
}

static void the_error_names_text_and_place(void **state)
{
	json_t *value = NULL;
	struct error err;

	assert_int_equal(read_text("{\n  \"a\": x\n}", &value, &err), -EINVAL);
	assert_memory_equal(err.text, "text: line 2, column ", 21);
	assert_int_equal(read_text("[\"\\u0000\"]", &value, &err), -EINVAL);
	assert_non_null(strstr(err.text, "U+0000"));
	assert_null(strstr(err.text, "JSON_"));
}

static void a_text_longer_than_the_limit_is_refused_unread(void **state)
{
	scoped(json_decrefp) json_t *value = NULL;
	struct error err;

	assert_int_equal(json_read("[1]", 3, 3, "text", &value, &err), 0);
	assert_int_equal(json_read("[12]", 4, 3, "text", &value, &err), -E2BIG);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(json_read(NULL, SIZE_MAX, 3, "text", &value, &err), -E2BIG);
}

static void deep_nesting_is_an_error_and_not_a_crash(void **state)
{
	static char text[1 << 20];
	json_t *value = NULL;

	memset(text, '[', sizeof(text));
	assert_int_equal(json_read(text, sizeof(text), sizeof(text), "text", &value, NULL),
	                 -EINVAL);
	memset(text + sizeof(text) / 2, ']', sizeof(text) / 2);
	assert_int_equal(json_read(text, sizeof(text), sizeof(text), "text", &value, NULL),
	                 -EINVAL);
	assert_null(value);
}

/* Damages a good text in every way that one byte can, and keeps to the two allowed answers. */
static void every_damage_of_one_byte_is_read_or_refused(void **state)
{
	static const char good[] = "{\"a\":[1,-2.5e3,\"\\u00e4\\n\xc3\xa4\"],\"b\":{\"c\":true}}";
	char text[sizeof(good)];
	int refused = 0;

	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		for (int c = 0; c < 256; c++) {
			scoped(json_decrefp) json_t *value = NULL;
			int r;

			memcpy(text, good, sizeof(good));
			text[i] = (char)c;
			r = json_read(text, sizeof(good) - 1, 1000, "text", &value, NULL);
			assert_true((r == 0 && value) || (r == -EINVAL && !value));
			refused += r < 0;
		}
	}
	assert_true(refused > 1000);
}

static void a_whole_number_may_be_spelled_with_a_fraction_of_zero(void **state)
{
	static const struct {
		const char *text;
		bool whole;
		json_int_t number;
	} cases[] = {{"[30]", true, 30},      {"[30.0]", true, 30},
	             {"[-2e3]", true, -2000}, {"[9223372036854775807]", true, INT64_MAX},
	             {"[1.5]", false, 0},     {"[1e300]", false, 0},
	             {"[-1e19]", false, 0},   {"[true]", false, 0},
	             {"[\"30\"]", false, 0}};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(json_decrefp) json_t *value = NULL;
		json_int_t n = 0;

		assert_int_equal(
			json_read(cases[i].text, strlen(cases[i].text), 100, "text", &value, NULL),
			0);
		if (json_whole(json_array_get(value, 0), &n) != cases[i].whole)
			fail_msg("%s", cases[i].text);
		if (cases[i].whole)
			assert_int_equal(n, cases[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_read_and_owned_by_the_caller),
		cmocka_unit_test(what_is_not_strict_json_is_refused),
		cmocka_unit_test(nul_bytes_and_bytes_past_the_end_are_not_read),
		cmocka_unit_test(the_error_names_text_and_place),
		cmocka_unit_test(a_text_longer_than_the_limit_is_refused_unread),
		cmocka_unit_test(deep_nesting_is_an_error_and_not_a_crash),
		cmocka_unit_test(every_damage_of_one_byte_is_read_or_refused),
		cmocka_unit_test(a_whole_number_may_be_spelled_with_a_fraction_of_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
