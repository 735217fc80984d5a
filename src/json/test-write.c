#include "base/test-support.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "base/buffer.h"
#include "base/utf8.h"
#include "json/write.h"

static void commas_and_colons_come_by_themselves(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_object_begin(&w);
	json_put_key(&w, "empty");
	json_object_begin(&w);
	json_object_end(&w);
	json_put_key(&w, "list");
	json_array_begin(&w);
	json_array_begin(&w);
	json_array_end(&w);
	json_put_int(&w, -1);
	json_put_uint(&w, 2);
	json_put_bool(&w, true);
	json_put_bool(&w, false);
	json_put_null(&w);
	json_put_string(&w, NULL);
	json_put_raw(&w, "[3,4]");
	json_object_begin(&w);
	json_put_key(&w, "k");
	json_put_string(&w, "v");
	json_object_end(&w);
	json_array_end(&w);
	json_put_key(&w, "last");
	json_put_string(&w, "");
	json_object_end(&w);
	assert_string_equal(buffer_str(&b),
	                    "{\"empty\":{},\"list\":[[],-1,2,true,false,null,null,[3,4],"
	                    "{\"k\":\"v\"}],\"last\":\"\"}");
}

static void a_list_of_strings_may_be_empty_or_none(void **state)
{
	static const char *const two[] = {"a", "b\n", NULL}, *const empty[] = {NULL};
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_array_begin(&w);
	json_put_strings(&w, two);
	json_put_strings(&w, empty);
	json_put_strings(&w, NULL);
	json_array_end(&w);
	assert_string_equal(buffer_str(&b), "[[\"a\",\"b\\n\"],[],null]");
}

static void a_single_value_stands_alone(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_put_string(&w, "x");
	assert_string_equal(buffer_str(&b), "\"x\"");
}

static void numbers_reach_both_ends_of_their_types(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_array_begin(&w);
	json_put_int(&w, INT64_MIN);
	json_put_int(&w, INT64_MAX);
	json_put_uint(&w, UINT64_MAX);
	json_array_end(&w);
	assert_string_equal(buffer_str(&b),
	                    "[-9223372036854775808,9223372036854775807,18446744073709551615]");
}

static void special_characters_are_escaped(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_put_bytes(&w, "\"\\/\b\t\n\f\r\0\x1b\x7f\xc3\xa4", 13);
	assert_string_equal(buffer_str(&b),
	                    "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001b\\u007f\xc3\xa4\"");
}

static void keys_are_escaped_like_strings(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_object_begin(&w);
	json_put_key(&w, "a\"b\n\xff");
	json_put_null(&w);
	json_object_end(&w);
	assert_string_equal(buffer_str(&b), "{\"a\\\"b\\n" UTF8_REPLACEMENT "\":null}");
}

/* What any bytes become: each bad part is one U+FFFD. */
static void repair(const char *bytes, size_t n, struct buffer *into)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_char(bytes + i, n - i, NULL);
		if (len) {
			buffer_append(into, bytes + i, len);
		} else {
			buffer_puts(into, UTF8_REPLACEMENT);
			len = utf8_bad(bytes + i, n - i);
		}
	}
}

/* Writes the bytes, reads them with jansson, and expects the same bytes, repaired. */
static void expect_comes_back(const char *bytes, size_t n)
{
	scoped(buffer_donep) struct buffer written = {0};
	scoped(buffer_donep) struct buffer expected = {0};
	scoped(json_decrefp) json_t *value = NULL;
	struct json_writer w = {.out = &written};

	json_put_bytes(&w, bytes, n);
	repair(bytes, n, &expected);
	assert_int_equal(utf8_valid_prefix(written.data, written.len), written.len);
	value = json_loadb(written.data, written.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	assert_non_null(value);
	assert_int_equal(json_string_length(value), expected.len);
	assert_memory_equal(json_string_value(value), buffer_str(&expected), expected.len);
}

static void every_byte_comes_back(void **state)
{
	for (int c = 0; c < 256; c++) {
		char bytes[3] = {'a', (char)c, 'b'};

		expect_comes_back(bytes, 3);
		expect_comes_back(bytes + 1, 1);
	}
}

static void random_bytes_come_back_with_bad_ones_replaced(void **state)
{
	/* Pieces that begin, continue and complete characters are likelier to meet this way. */
	static const char *const pieces[] = {"a",        "\"",       "\\",   "\n",
	                                     "\xc3\xa4", "\xe2\x82", "\xac", "\xf0",
	                                     "\x9f",     "\x98\x80", "\xed", "\xa0"};
	uint64_t seed = 11;
	char bytes[64];

	for (int i = 0; i < 20000; i++) {
		size_t n = 0, wanted = test_random(&seed) % 50;

		while (n < wanted) {
			if (i % 2) {
				const char *piece = pieces[test_random(&seed) % array_size(pieces)];

				memcpy(bytes + n, piece, strlen(piece));
				n += strlen(piece);
			} else {
				bytes[n++] = (char)test_random(&seed);
			}
		}
		expect_comes_back(bytes, n);
	}
}

/* Writes a random tree and lets jansson judge it. */
static void write_tree(struct json_writer *w, uint64_t *seed, int depth)
{
	uint64_t kind = test_random(seed) % (depth < 6 ? 8 : 5), n = test_random(seed) % 5;
	char key[16];

	switch (kind) {
	case 0:
		json_put_int(w, (int64_t)test_random(seed));
		break;
	case 1:
		json_put_bool(w, n & 1);
		break;
	case 2:
		json_put_null(w);
		break;
	case 3:
	case 4:
		json_put_bytes(w, (const char *)seed, sizeof(*seed));
		break;
	case 5:
		json_array_begin(w);
		while (n--)
			write_tree(w, seed, depth + 1);
		json_array_end(w);
		break;
	default:
		json_object_begin(w);
		while (n--) {
			snprintf(key, sizeof(key), "k%d", (int)n);
			json_put_key(w, key);
			write_tree(w, seed, depth + 1);
		}
		json_object_end(w);
	}
}

static void random_trees_are_valid_json(void **state)
{
	uint64_t seed = 5;

	for (int i = 0; i < 2000; i++) {
		scoped(buffer_donep) struct buffer b = {0};
		scoped(json_decrefp) json_t *value = NULL;
		struct json_writer w = {.out = &b};

		json_array_begin(&w);
		write_tree(&w, &seed, 0);
		write_tree(&w, &seed, 0);
		json_array_end(&w);
		value = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
		assert_int_equal(json_array_size(value), 2);
	}
}

static void members_have_their_keys(void **state)
{
	static const char *const list[] = {"x", NULL};
	scoped(buffer_donep) struct buffer b = {0};
	struct json_writer w = {.out = &b};

	json_object_begin(&w);
	json_member_string(&w, "string", NULL);
	json_member_string(&w, "empty", "");
	json_member_text(&w, "text", "t");
	json_member_text(&w, "no text", "");
	json_member_text(&w, "none", NULL);
	json_member_strings(&w, "strings", list);
	json_member_bytes(&w, "bytes", "abc", 2);
	json_member_int(&w, "int", -1);
	json_member_uint(&w, "uint", UINT64_MAX);
	json_member_bool(&w, "bool", true);
	json_member_raw(&w, "raw", "[]");
	json_member_object(&w, "object");
	json_object_end(&w);
	json_member_array(&w, "array");
	json_put_int(&w, 1);
	json_array_end(&w);
	json_object_end(&w);
	assert_string_equal(buffer_str(&b),
	                    "{\"string\":null,\"empty\":\"\",\"text\":\"t\",\"no text\":null,"
	                    "\"none\":null,\"strings\":[\"x\"],\"bytes\":\"ab\",\"int\":-1,"
	                    "\"uint\":18446744073709551615,\"bool\":true,\"raw\":[],"
	                    "\"object\":{},\"array\":[1]}");
}

static void an_error_stays_in_the_buffer(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 8};
	struct json_writer w = {.out = &b};

	json_array_begin(&w);
	json_put_string(&w, "much too long");
	json_array_end(&w);
	assert_int_equal(buffer_error(&b), -E2BIG);
	assert_true(b.len <= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_colons_come_by_themselves),
		cmocka_unit_test(a_list_of_strings_may_be_empty_or_none),
		cmocka_unit_test(a_single_value_stands_alone),
		cmocka_unit_test(numbers_reach_both_ends_of_their_types),
		cmocka_unit_test(special_characters_are_escaped),
		cmocka_unit_test(keys_are_escaped_like_strings),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(random_bytes_come_back_with_bad_ones_replaced),
		cmocka_unit_test(random_trees_are_valid_json),
		cmocka_unit_test(members_have_their_keys),
		cmocka_unit_test(an_error_stays_in_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
