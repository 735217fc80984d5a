#include "base/test-support.h"

#include <errno.h>
#include <limits.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

enum colour { COLOUR_RED, COLOUR_BLUE };

struct inner {
	uint16_t small;
	uint32_t middle;
};

struct thing {
	const char *text, *bytes, *other;
	const char *const *words, *const *same;
	char chars[4];
	bool flag, rare;
	int number;
	int64_t large;
	uint64_t count;
	enum colour colour;
	struct inner inner;
};

static const char *const colours[] = {[COLOUR_RED] = "red", [COLOUR_BLUE] = "blue"};

static const struct json_field inner_fields[] = {
	JSON_NUMBER("small", struct inner, small, JSON_SPARSE, 0, UINT16_MAX),
	JSON_NUMBER("middle", struct inner, middle, JSON_REQUIRED, 0, UINT32_MAX),
	{0},
};

static const struct json_field fields[] = {
	JSON_TEXT("text", struct thing, text, JSON_REQUIRED),
	JSON_BYTES("bytes", struct thing, bytes, JSON_OPTIONAL),
	JSON_BYTES("other", struct thing, other, JSON_OPTIONAL, JSON_UNLESS(struct thing, bytes)),
	JSON_WORDS("words", struct thing, words, JSON_OPTIONAL, 1),
	JSON_WORDS("same", struct thing, same, JSON_OPTIONAL, 0, JSON_UNLESS(struct thing, words)),
	JSON_CHARS("chars", struct thing, chars, JSON_OPTIONAL),
	JSON_BOOL("flag", struct thing, flag, JSON_REQUIRED),
	JSON_BOOL("rare", struct thing, rare, JSON_SPARSE),
	JSON_NUMBER("number", struct thing, number, JSON_OPTIONAL, INT_MIN, INT_MAX),
	JSON_NUMBER("large", struct thing, large, JSON_SPARSE, INT64_MIN, INT64_MAX),
	JSON_NUMBER("count", struct thing, count, JSON_OPTIONAL, 0, 10),
	JSON_NAME("colour", struct thing, colour, JSON_OPTIONAL, colours),
	JSON_OBJECT("inner", struct thing, inner, inner_fields),
	{0},
};

static const char *const some_words[] = {"a", "\xff\x10", "", NULL};

static void expect_written(const struct thing *t, const char *expected)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct json_writer w = {.out = &text};

	json_fields_write(&w, fields, t);
	assert_string_equal(buffer_str(&text), expected);
}

static int read_thing(const char *text, struct arena *arena, struct thing *into, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;

	assert_int_equal(json_read(text, strlen(text), 1 << 20, "test", &root, NULL), 0);
	return json_fields_read(root, "thing", fields, arena, into, err);
}

#define FULL                                                                                       \
	"{\"text\":\"t\",\"bytes\":{\"hex\":\"fe\"},\"other\":\"o\",\"words\":[\"a\",{\"hex\":"    \
	"\"ff10\"},\"\"],\"same\":[],\"chars\":\"abc\",\"flag\":true,\"rare\":true,"               \
	"\"number\":-2147483648,\"large\":-9223372036854775808,\"count\":10,"                      \
	"\"colour\":\"blue\",\"inner\":{\"small\":65535,\"middle\":4294967295}}"

static void every_type_is_written_and_comes_back(void **state)
{
	static const char *const none[] = {NULL};
	const struct thing t = {.text = "t",
	                        .bytes = "\xfe",
	                        .other = "o",
	                        .words = some_words,
	                        .same = none,
	                        .chars = "abc",
	                        .flag = true,
	                        .rare = true,
	                        .number = INT_MIN,
	                        .large = INT64_MIN,
	                        .count = 10,
	                        .colour = COLOUR_BLUE,
	                        .inner = {.small = UINT16_MAX, .middle = UINT32_MAX}};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
	struct thing again = {0};

	expect_written(&t, FULL);
	assert_int_equal(read_thing(FULL, arena, &again, NULL), 0);
	assert_string_equal(again.bytes, t.bytes);
	assert_string_equal(again.words[1], t.words[1]);
	assert_null(again.words[3]);
	expect_written(&again, FULL);
}

static void what_is_empty_or_said_before_is_left_out(void **state)
{
	const struct thing t = {.text = "\xff",
	                        .bytes = "b",
	                        .other = "b",
	                        .words = some_words,
	                        .same = some_words};

	expect_written(&t, "{\"text\":\"\xef\xbf\xbd\",\"bytes\":\"b\",\"words\":[\"a\",{\"hex\":"
	                   "\"ff10\"},\"\"],\"chars\":\"\",\"flag\":false,\"number\":0,"
	                   "\"count\":0,\"colour\":\"red\",\"inner\":{\"middle\":0}}");
	expect_written(&(struct thing){0},
	               "{\"chars\":\"\",\"flag\":false,\"number\":0,\"count\":0,"
	               "\"colour\":\"red\",\"inner\":{\"middle\":0}}");
}

#define LEAST "{\"text\":\"\",\"flag\":false,\"inner\":{\"middle\":1}}"

static void what_may_be_missing_stays_as_it_was(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
	struct thing t = {.number = 7, .colour = COLOUR_BLUE, .rare = true};

	assert_int_equal(read_thing(LEAST, arena, &t, NULL), 0);
	assert_int_equal(t.number, 7);
	assert_int_equal(t.colour, COLOUR_BLUE);
	assert_true(t.rare);
	assert_null(t.words);
	assert_int_equal(t.inner.middle, 1);
}

static void chars_are_cut_to_what_fits(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
	struct thing t = {.flag = true};

	assert_int_equal(read_thing("{\"text\":\"\",\"chars\":\"abcdef\",\"flag\":false,"
	                            "\"inner\":{\"middle\":1}}",
	                            arena, &t, NULL),
	                 0);
	assert_string_equal(t.chars, "abc");
	assert_false(t.flag);
}

static void what_is_wrong_is_refused_by_name(void **state)
{
	static const struct {
		const char *old, *new, *words;
	} changes[] = {
		{"\"text\":\"t\",", "", "thing: 'text' is missing"},
		{"\"text\":\"t\"", "\"text\":1", "thing: 'text' must be a string"},
		{"\"text\":\"t\"", "\"text\":{\"hex\":\"41\"}", "thing: 'text' must be a string"},
		{"{\"hex\":\"fe\"}", "{\"hex\":\"fe\",\"x\":1}",
	         "thing: 'bytes' must be a string, or bytes in hex"},
		{"{\"hex\":\"fe\"}", "{\"hex\":\"00\"}",
	         "thing: 'bytes' must be a string, or bytes in hex"},
		{"{\"hex\":\"fe\"}", "null", "thing: 'bytes' must be a string, or bytes in hex"},
		{"\"words\":[\"a\"", "\"words\":[1",
	         "thing: 'words' must be a list of strings, not empty"},
		{"\"words\":", "\"words\":[],\"x\":",
	         "thing: 'words' must be a list of strings, not empty"},
		{"\"same\":[]", "\"same\":{}", "thing: 'same' must be a list of strings"},
		{"\"chars\":\"abc\"", "\"chars\":[]", "thing: 'chars' must be a string"},
		{"\"flag\":true", "\"flag\":1", "thing: 'flag' must be true or false"},
		{"-2147483648", "-2147483649",
	         "thing: 'number' must be a whole number from -2147483648 to 2147483647"},
		{"\"count\":10", "\"count\":11",
	         "thing: 'count' must be a whole number from 0 to 10"},
		{"\"count\":10", "\"count\":-1",
	         "thing: 'count' must be a whole number from 0 to 10"},
		{"\"count\":10", "\"count\":1.0",
	         "thing: 'count' must be a whole number from 0 to 10"},
		{"\"blue\"", "\"Blue\"", "thing: 'colour' must be one of the known words"},
		{"\"blue\"", "1", "thing: 'colour' must be one of the known words"},
		{"65535", "65536", "thing: inner: 'small' must be a whole number from 0 to 65535"},
		{"\"small\"", "\"big\":1,\"small\"", "thing: inner: unknown member 'big'"},
		{"\"inner\":", "\"inner\":[],\"x\":", "thing: inner: must be an object"},
		{"{\"text\"", "{\"more\":1,\"text\"", "thing: unknown member 'more'"},
	};

	for (size_t i = 0; i < array_size(changes); i++) {
		scoped(buffer_donep) struct buffer changed = {0};
		scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
		struct thing t = {0};
		struct error err;

		test_replace(FULL, changes[i].old, changes[i].new, &changed);
		assert_int_equal(read_thing(buffer_str(&changed), arena, &t, &err), -EINVAL);
		assert_string_equal(err.text, changes[i].words);
		assert_int_equal(err.kind, ERROR_INPUT);
		assert_int_equal(read_thing(buffer_str(&changed), arena, &t, NULL), -EINVAL);
	}
}

static void a_part_leaves_other_members_to_the_caller(void **state)
{
	static const char more[] = "{\"more\":1,\"middle\":7}";
	scoped(buffer_donep) struct buffer text = {0};
	scoped(json_decrefp) json_t *root = NULL;
	struct json_writer w = {.out = &text};
	struct inner in = {0};

	assert_int_equal(json_read(more, strlen(more), 100, "test", &root, NULL), 0);
	assert_int_equal(json_fields_read(root, "in", inner_fields, NULL, &in, NULL), -EINVAL);
	assert_int_equal(json_fields_read_part(root, "in", inner_fields, NULL, &in, NULL), 0);
	assert_int_equal(in.middle, 7);
	json_object_begin(&w);
	json_member_int(&w, "more", 1);
	json_fields_write_part(&w, inner_fields, &in);
	json_object_end(&w);
	assert_string_equal(buffer_str(&text), more);
	assert_int_equal(json_object_del(root, "middle"), 0);
	assert_int_equal(json_fields_read_part(root, "in", inner_fields, NULL, &in, NULL), -EINVAL);
}

static void no_memory_is_told_apart(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(0);
	struct thing t = {0};
	struct error err;

	assert_int_equal(read_thing(FULL, arena, &t, &err), -ENOMEM);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_written_and_comes_back),
		cmocka_unit_test(what_is_empty_or_said_before_is_left_out),
		cmocka_unit_test(what_may_be_missing_stays_as_it_was),
		cmocka_unit_test(chars_are_cut_to_what_fits),
		cmocka_unit_test(what_is_wrong_is_refused_by_name),
		cmocka_unit_test(a_part_leaves_other_members_to_the_caller),
		cmocka_unit_test(no_memory_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
