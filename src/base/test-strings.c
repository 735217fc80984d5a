#include "base/test-support.h"

#include "base/arena.h"
#include "base/strings.h"

static const char *const some[] = {"PATH=/bin", "HOME=/h", "HOMES=2", NULL};

static void lists_are_counted_and_grow(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
	const char *const *one = strings_with(arena, NULL, "a");
	const char *const *two = strings_with(arena, one, "b");

	assert_int_equal(strings_count(NULL), 0);
	assert_int_equal(strings_count(some), 3);
	assert_int_equal(strings_count(one), 1);
	assert_int_equal(strings_count(two), 2);
	assert_string_equal(two[0], "a");
	assert_string_equal(two[1], "b");
	assert_null(strings_with(arena, two, NULL));
}

static void a_variable_is_found_by_its_whole_name(void **state)
{
	assert_string_equal(env_value(some, "HOME"), "/h");
	assert_string_equal(env_value(some, "HOMES"), "2");
	assert_null(env_value(some, "HOM"));
	assert_null(env_value(NULL, "HOME"));
}

static void a_variable_is_set_in_place_of_what_was_there(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 16);
	const char *const *env = env_with(arena, some, "HOME", "/x");

	assert_int_equal(strings_count(env), 3);
	assert_string_equal(env_value(env, "HOME"), "/x");
	assert_string_equal(env_value(env, "HOMES"), "2");
	assert_string_equal(env_value(some, "HOME"), "/h");
	env = env_with(arena, NULL, "A", "");
	assert_int_equal(strings_count(env), 1);
	assert_string_equal(env_value(env, "A"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_counted_and_grow),
		cmocka_unit_test(a_variable_is_found_by_its_whole_name),
		cmocka_unit_test(a_variable_is_set_in_place_of_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
