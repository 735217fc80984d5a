#include "base/test-support.h"

#include <errno.h>
#include "base/error.h"
#include "edit/jsonc.h"

static const struct jsonc_step hook[] = {{.key = "hooks"}, {.key = "Pre"}},
			       env[] = {{.key = "env"}, {.key = "A"}};

static char *edited(int how, const char *text, const struct jsonc_step *path, size_t steps,
                    const char *value)
{
	struct buffer b = {0};
	struct error err = {0};
	int r = how == 0   ? jsonc_set(text, strlen(text), path, steps, value, &b, &err)
	        : how == 1 ? jsonc_append(text, strlen(text), path, steps, value, &b, &err)
	                   : jsonc_remove(text, strlen(text), path, steps, &b, &err);

	if (r < 0)
		printf("# %d %s\n", r, err.text);
	assert_int_equal(r, 0);
	return buffer_take(&b);
}

static void expect(int how, const char *text, const struct jsonc_step *path, size_t steps,
                   const char *value, const char *wanted)
{
	char *got = edited(how, text, path, steps, value);

	assert_string_equal(got, wanted);
	free(got);
}

static void a_new_member_stands_behind_the_last(void **state)
{
	expect(0, "{\n  \"x\": 1\n}\n", env, 2, "\"v\"",
	       "{\n  \"x\": 1,\n  \"env\": {\n    \"A\": \"v\"\n  }\n}\n");
	expect(0, "{\n\t\"x\": 1,\n}\n", env, 2, "\"v\"",
	       "{\n\t\"x\": 1,\n\t\"env\": {\n\t\t\"A\": \"v\"\n\t},\n}\n");
	expect(0, "{\"x\":1}", env, 2, "\"v\"", "{\"x\":1, \"env\": {\"A\": \"v\"}}");
	expect(0, "{\r\n  \"x\": 1\r\n}", env, 2, "1",
	       "{\r\n  \"x\": 1,\r\n  \"env\": {\r\n    \"A\": 1\r\n  }\r\n}");
}

static void an_empty_text_becomes_an_object(void **state)
{
	expect(0, "", env, 2, "1", "{\n  \"env\": {\n    \"A\": 1\n  }\n}\n");
	expect(0, "// mine", env, 2, "1", "// mine\n{\n  \"env\": {\n    \"A\": 1\n  }\n}\n");
	expect(0, "{}", env, 2, "1", "{\n  \"env\": {\n    \"A\": 1\n  }\n}");
	expect(0, "{ }\n", env, 2, "1", "{\n  \"env\": {\n    \"A\": 1\n  }\n }\n");
	expect(0, "{\n}\n", env, 2, "1", "{\n  \"env\": {\n    \"A\": 1\n  }\n}\n");
	expect(0, "{\n  // none yet\n}\n", env, 2, "1",
	       "{\n  // none yet\n  \"env\": {\n    \"A\": 1\n  }\n}\n");
}

static void comments_stay_with_what_they_are_about(void **state)
{
	expect(0, "{\n  \"x\": 1 // of x\n  /* end */\n}\n", env, 1, "2",
	       "{\n  \"x\": 1, // of x\n  /* end */\n  \"env\": 2\n}\n");
	expect(0, "{\"x\": 1 // of x\n}", env, 1, "2", "{\"x\": 1, // of x\n\"env\": 2\n}");
	expect(0, "{\"s\": \"// none\" /* , } */}", env, 1, "2",
	       "{\"s\": \"// none\", /* , } */ \"env\": 2}");
}

static void a_value_is_replaced_in_its_place(void **state)
{
	expect(0, "{ \"env\" : { \"A\" :\"old\", \"B\": 2 } }", env, 2, "\"new\"",
	       "{ \"env\" : { \"A\" :\"new\", \"B\": 2 } }");
	expect(0, "{\"\\u0065nv\": 1}", env, 1, "2", "{\"\\u0065nv\": 2}");
}

static void entries_are_appended_to_lists(void **state)
{
	expect(1,
	       "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"m\": 1\n      }\n    ]\n  "
	       "}\n}\n",
	       hook, 2, "{\n \"c\": [\n  1\n ]\n}",
	       "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"m\": 1\n      },\n      {\n  "
	       "      \"c\": [\n          "
	       "1\n        ]\n      }\n    ]\n  }\n}\n");
	expect(1, "{}", hook, 2, "1", "{\n  \"hooks\": {\n    \"Pre\": [\n      1\n    ]\n  }\n}");
	expect(1, "{\"hooks\": {\"Pre\": []}}", hook, 2, "1", "{\"hooks\": {\"Pre\": [\n  1\n]}}");
}

static void entries_are_removed_with_their_comma(void **state)
{
	static const struct jsonc_step first[] = {{.key = "l"}, {.index = 0}},
				       second[] = {{.key = "l"}, {.index = 1}};

	expect(2, "{\"l\": [1, 2]}", first, 2, NULL, "{\"l\": [2]}");
	expect(2, "{\"l\": [1, 2]}", second, 2, NULL, "{\"l\": [1]}");
	expect(2, "{\"l\": [1, 2,]}", second, 2, NULL, "{\"l\": [1,]}");
	expect(2, "{\"l\": [1]}", first, 2, NULL, "{\"l\": []}");
	expect(2, "{\n  \"a\": 1, // of a\n  \"env\": {\n    \"A\": 1\n  }\n}\n", env, 1, NULL,
	       "{\n  \"a\": 1 // of a\n}\n");
	expect(2, "{\n  \"env\": 1,\n  \"a\": 2\n}\n", env, 1, NULL, "{\n  \"a\": 2\n}\n");
	expect(2, "{\n  \"env\": 1\n}\n", env, 1, NULL, "{}\n");
	expect(2, "{ // c\n  \"env\": 1}", env, 1, NULL, "{ // c\n}");
}

static void what_was_added_is_removed_without_a_trace(void **state)
{
	static const char *const texts[] = {
		"{\n\t\"a\": [1,],\n\t\"x\": 1,\n}\n",
		"{\n  \"x\": 1\n}\n",
		"{\"x\":1}",
		"{\n\t\"x\": [1, 2] // c\n}",
		"{\n  \"x\": 1 /* c */\n  // d\n}\n",
	};

	for (size_t i = 0; i < array_size(texts); i++) {
		char *more = edited(1, texts[i], hook, 2, "{\n \"c\": 1\n}");

		expect(2, more, hook, 1, NULL, texts[i]);
		free(more);
	}
}

static void what_is_in_doubt_is_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{"{\"env\": 1}", -EINVAL},
		{"[]", -EINVAL},
		{"{\"env\": {}, \"env\": {}}", -EEXIST},
		{"{\"env\": {\"A\": 1, \"A\": 2}}", -EEXIST},
		{"{", -EINVAL},
		{"{\"a\" 1}", -EINVAL},
		{"{} x", -EINVAL},
		{"/* ", -EINVAL},
		{"{\"a\": \"\n\"}", -EINVAL},
		{"{\"a\": \"\\x\"}", -EINVAL},
		{"{\"a\": \"\xff\"}", -EINVAL},
		{"{'a': 1}", -EINVAL},
		{"{,}", -EINVAL},
		{"{\"a\":}", -EINVAL},
	};

	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(buffer_donep) struct buffer b = {0};
		struct error err = {0};

		assert_int_equal(jsonc_set(bad[i].text, strlen(bad[i].text), env, 2, "1", &b, &err),
		                 bad[i].code);
		assert_true(err.text[0]);
	}
}

static void what_is_too_deep_is_refused(void **state)
{
	scoped(buffer_donep) struct buffer b = {0}, out = {0};

	for (int i = 0; i <= JSONC_DEPTH_MAX; i++)
		buffer_putc(&b, '[');
	assert_int_equal(jsonc_set(buffer_str(&b), b.len, env, 2, "1", &out, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_member_stands_behind_the_last),
		cmocka_unit_test(an_empty_text_becomes_an_object),
		cmocka_unit_test(comments_stay_with_what_they_are_about),
		cmocka_unit_test(a_value_is_replaced_in_its_place),
		cmocka_unit_test(entries_are_appended_to_lists),
		cmocka_unit_test(entries_are_removed_with_their_comma),
		cmocka_unit_test(what_was_added_is_removed_without_a_trace),
		cmocka_unit_test(what_is_in_doubt_is_refused),
		cmocka_unit_test(what_is_too_deep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
