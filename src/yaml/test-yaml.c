#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "yaml/yaml.h"

static int read_bytes(struct arena *arena, const char *bytes, size_t n,
                      const struct yaml_node **ret_root, struct error *err)
{
	*err = (struct error){0};
	return yaml_read(arena, "f.yaml", bytes, n, ret_root, err);
}

/* Reads, expects the error, and leaves nothing. */
static void refuse_bytes(const char *bytes, size_t n, const char *message)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	const struct yaml_node *root = NULL;
	struct error err;

	assert_true(read_bytes(arena, bytes, n, &root, &err) < 0);
	assert_null(root);
	assert_string_equal(err.text, message);
}

static void refuse(const char *text, const char *message)
{
	refuse_bytes(text, strlen(text), message);
}

static const struct yaml_node *accept(struct arena *arena, const char *text)
{
	const struct yaml_node *root = NULL;
	struct error err;

	if (read_bytes(arena, text, strlen(text), &root, &err) < 0)
		fail_msg("%s", err.text);
	return root;
}

static void knows_where_everything_stands(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	const struct yaml_node *root =
		accept(arena, "# a comment\nname: bash\nlist:\n  - 'a'\n  - {b: 1}\n");
	const struct yaml_node *list;

	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->count, 2);
	assert_string_equal(root->first->key->text, "name");
	assert_int_equal(root->first->key->line, 2);
	assert_int_equal(root->first->column, 7);
	list = yaml_map_get(root, "list");
	assert_int_equal(list->count, 2);
	assert_false(list->first->plain);
	assert_int_equal(list->first->line, 4);
	assert_int_equal(list->first->column, 5);
	assert_string_equal(yaml_map_get(list->first->next, "b")->text, "1");
	assert_null(yaml_map_get(root, "other"));
}

static void columns_count_characters(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	const struct yaml_node *root = accept(arena, "[\"äöü\", b]\n");

	assert_int_equal(root->first->next->column, 9);
}

static void types_plain_scalars_as_yaml_1_2_does(void **state)
{
	static const struct {
		const char *text;
		enum yaml_type type;
	} rows[] = {
		{"no", YAML_TYPE_TEXT},         {"yes", YAML_TYPE_TEXT},
		{"off", YAML_TYPE_TEXT},        {"y", YAML_TYPE_TEXT},
		{"true", YAML_TYPE_BOOL},       {"FALSE", YAML_TYPE_BOOL},
		{"tRue", YAML_TYPE_TEXT},       {"'true'", YAML_TYPE_TEXT},
		{"~", YAML_TYPE_NULL},          {"null", YAML_TYPE_NULL},
		{"12", YAML_TYPE_INTEGER},      {"-3", YAML_TYPE_INTEGER},
		{"0777", YAML_TYPE_INTEGER},    {"0o17", YAML_TYPE_INTEGER},
		{"0x1F", YAML_TYPE_INTEGER},    {"0x", YAML_TYPE_TEXT},
		{"1.5", YAML_TYPE_FLOAT},       {"1e3", YAML_TYPE_FLOAT},
		{".5", YAML_TYPE_FLOAT},        {".inf", YAML_TYPE_FLOAT},
		{"5s", YAML_TYPE_TEXT},         {"12:30", YAML_TYPE_TEXT},
		{"1_000", YAML_TYPE_TEXT},      {"-", YAML_TYPE_TEXT},
		{".", YAML_TYPE_TEXT},          {"1e", YAML_TYPE_TEXT},
		{"2001-01-01", YAML_TYPE_TEXT}, {"\"12\"", YAML_TYPE_TEXT},
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
		scoped(buffer_donep) struct buffer text = {0};

		if (strcmp(rows[i].text, "-") == 0)
			continue; /* an entry of a list there */
		buffer_printf(&text, "k: %s", rows[i].text);
		if (yaml_scalar_type(accept(arena, buffer_str(&text))->first) != rows[i].type)
			fail_msg("%s has the wrong type", rows[i].text);
	}
}

static void an_empty_value_is_nothing(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);

	assert_int_equal(yaml_scalar_type(accept(arena, "deny:\nallow: []\n")->first),
	                 YAML_TYPE_NULL);
}

static void refuses_what_a_configuration_does_not_need(void **state)
{
	refuse("", "f.yaml:1:1: the file is empty");
	refuse("# only a comment\n", "f.yaml:1:1: the file is empty");
	refuse("a: &x 1\nb: 2\n", "f.yaml:1:4: anchors are not taken here");
	refuse("a: &x [1]\n", "f.yaml:1:4: anchors are not taken here");
	refuse("a: *x\n", "f.yaml:1:4: aliases are not taken here");
	refuse("a: !!str 1\n", "f.yaml:1:4: tags are not taken here");
	refuse("a: !x {}\n", "f.yaml:1:4: tags are not taken here");
	refuse("%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:1:1: tags are not taken here");
	refuse("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document; one is wanted");
	refuse("[a]: 1\n", "f.yaml:1:1: a key must be a plain text");
	refuse("? {a: 1}\n: 1\n", "f.yaml:1:3: a key must be a plain text");
	refuse("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key 'a' comes twice, first in line 1");
	refuse("a: 1\n'a': 3\n", "f.yaml:2:1: the key 'a' comes twice, first in line 1");
}

static void tells_the_place_of_what_cannot_be_read(void **state)
{
	refuse("a: [1\nb: 2\n", "f.yaml:2:2: did not find expected ',' or ']'");
	refuse("a:\n\t- b\n", "f.yaml:2:1: found character that cannot start any token");
	refuse("a: \"x\n", "f.yaml:2:1: found unexpected end of stream");
	refuse("a: 1\nb: \x01\n", "f.yaml:2:4: control characters are not allowed");
	refuse_bytes("a: 1\nb: \0x\n", 11, "f.yaml:2:4: a NUL byte");
	refuse("a: \"x\\0y\"\n", "f.yaml:1:4: a NUL character");
	refuse("ä: \xff\n", "f.yaml:1:4: this is not UTF-8");
	refuse("a: \xed\xa0\x80\n", "f.yaml:1:4: this is not UTF-8");
	refuse_bytes("\xff\xfe"
	             "a\0:\0 \0",
	             8, "f.yaml:1:1: this is not UTF-8");
}

static void takes_line_ends_and_marks_of_other_systems(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	const struct yaml_node *root = accept(arena, "\xef\xbb\xbf"
	                                             "a: 1\r\nb: x\r\n");

	assert_string_equal(yaml_map_get(root, "a")->text, "1");
	assert_string_equal(yaml_map_get(root, "b")->text, "x");
	assert_int_equal(yaml_map_get(root, "b")->line, 2);
}

static void depth_is_limited_and_cheap(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	int64_t start = clock_now_ms();

	for (int i = 0; i < 200000; i++)
		buffer_putc(&text, '[');
	refuse(buffer_str(&text), "f.yaml:1:33: nested too deep");
	buffer_clear(&text);
	for (int i = 0; i < 40000; i++)
		buffer_puts(&text, "{a: ");
	refuse(buffer_str(&text), "f.yaml:1:129: nested too deep");
	assert_true(clock_now_ms() - start < 2000);
}

static void depth_32_is_taken(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	char text[65] = {0};

	memset(text, '[', 32);
	memset(text + 32, ']', 32);
	assert_int_equal(accept(arena, text)->kind, YAML_LIST);
}

static void size_is_limited(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);

	buffer_puts(&text, "a: 1\n#");
	while (text.len < YAML_BYTES_MAX)
		buffer_putc(&text, 'x');
	assert_string_equal(yaml_map_get(accept(arena, buffer_str(&text)), "a")->text, "1");
	buffer_putc(&text, 'x');
	refuse(buffer_str(&text), "f.yaml:1:1: the file is larger than 1 MiB");
}

static void numbers_of_nodes_and_keys_are_limited(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};

	buffer_puts(&text, "[");
	for (int i = 0; i < YAML_NODE_MAX; i++)
		buffer_puts(&text, "a,");
	refuse(buffer_str(&text), "f.yaml:1:200000: the file holds too much");
	buffer_clear(&text);
	for (int i = 0; i < YAML_KEY_MAX + 1; i++)
		buffer_printf(&text, "k%d: 1\n", i);
	refuse(buffer_str(&text), "f.yaml:257:1: a map with more than 256 keys");
}

static void a_small_arena_is_an_error(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(8192);
	scoped(buffer_donep) struct buffer text = {0};
	const struct yaml_node *root;
	struct error err;

	for (int i = 0; i < 1000; i++)
		buffer_puts(&text, "- abc\n");
	assert_int_equal(read_bytes(arena, buffer_str(&text), text.len, &root, &err), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_where_everything_stands),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(types_plain_scalars_as_yaml_1_2_does),
		cmocka_unit_test(an_empty_value_is_nothing),
		cmocka_unit_test(refuses_what_a_configuration_does_not_need),
		cmocka_unit_test(tells_the_place_of_what_cannot_be_read),
		cmocka_unit_test(takes_line_ends_and_marks_of_other_systems),
		cmocka_unit_test(depth_is_limited_and_cheap),
		cmocka_unit_test(depth_32_is_taken),
		cmocka_unit_test(size_is_limited),
		cmocka_unit_test(numbers_of_nodes_and_keys_are_limited),
		cmocka_unit_test(a_small_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
