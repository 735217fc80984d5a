#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "yaml/pack.h"
#include "yaml/yaml.h"

static const char text[] =
	"# a comment\n"
	"name: bash\n"
	"empty: \"\"\n"
	"list:\n"
	"  - 'a'\n"
	"  - {b: 1, c: [x, \"é\", []]}\n"
	"  - {}\n"
	"long: >-\n"
	"  more than a hundred and twenty-seven bytes, so that the number of them needs\n"
	"  two bytes of its own where the others need one, and is read from both\n";

static void pack(struct buffer *into)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	const struct yaml_node *root = NULL;
	struct error err = {0};

	if (yaml_read(arena, "f.yaml", text, strlen(text), &root, &err) < 0)
		fail_msg("%s", err.text);
	yaml_pack(root, into);
	assert_int_equal(buffer_error(into), 0);
}

static void expect_same(const struct yaml_node *a, const struct yaml_node *b)
{
	if (!a || !b) {
		assert_ptr_equal(a, b);
		return;
	}
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->line, b->line);
	assert_int_equal(a->column, b->column);
	assert_int_equal(a->plain, b->plain);
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->count, b->count);
	if (a->kind == YAML_SCALAR)
		assert_string_equal(a->text, b->text);
	expect_same(a->key, b->key);
	expect_same(a->first, b->first);
	expect_same(a->next, b->next);
}

static void what_is_unpacked_is_what_was_read(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	scoped(buffer_donep) struct buffer bytes = {0};
	const struct yaml_node *read = NULL, *unpacked = NULL;
	struct error err = {0};

	pack(&bytes);
	assert_int_equal(yaml_read(arena, "f.yaml", text, strlen(text), &read, &err), 0);
	assert_int_equal(yaml_unpack(arena, bytes.data, bytes.len, &unpacked), 0);
	expect_same(read, unpacked);
}

static void a_part_is_refused(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(YAML_ARENA_MAX);
	scoped(buffer_donep) struct buffer bytes = {0};
	const struct yaml_node *root = NULL;

	pack(&bytes);
	for (size_t n = 0; n < bytes.len; n++) {
		char *part = malloc(n ? n : 1); /* of its own, so that a sanitizer sees its end */

		assert_non_null(part);
		memcpy(part, bytes.data, n);
		assert_int_equal(yaml_unpack(arena, part, n, &root), -EBADMSG);
		assert_null(root);
		free(part);
	}
	buffer_putc(&bytes, '\0');
	assert_int_equal(yaml_unpack(arena, bytes.data, bytes.len, &root), -EBADMSG);
}

static void no_byte_that_is_wrong_leads_astray(void **state)
{
	scoped(buffer_donep) struct buffer bytes = {0};

	pack(&bytes);
	for (size_t i = 0; i < bytes.len * 256; i++) {
		scoped(arena_freep) struct arena *arena = arena_new((size_t)1 << 20);
		const struct yaml_node *root = NULL;
		char kept = bytes.data[i / 256];
		int r;

		bytes.data[i / 256] = (char)(i % 256);
		r = yaml_unpack(arena, bytes.data, bytes.len, &root);
		assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
		bytes.data[i / 256] = kept;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_unpacked_is_what_was_read),
		cmocka_unit_test(a_part_is_refused),
		cmocka_unit_test(no_byte_that_is_wrong_leads_astray),
	};

	return cmocka_run_group_tests_name("yaml-pack", tests, NULL, NULL);
}
