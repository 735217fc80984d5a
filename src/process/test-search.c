#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "process/search.h"

/* EXPECTED has the paths with blanks between. */
static void expect(const char *name, const char *path_variable, const char *expected)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const env[] = {"A=b", path_variable, NULL};
	const char *const *paths;
	const char *joined = "";

	assert_int_equal(process_search_paths(arena, name, env, &paths), 0);
	for (size_t i = 0; paths[i]; i++)
		joined = arena_printf(arena, "%s%s%s", joined, i ? " " : "", paths[i]);
	assert_string_equal(joined, expected);
}

static void a_plain_name_is_looked_for_in_every_directory_in_order(void **state)
{
	expect("ls", "PATH=/usr/bin:/bin", "/usr/bin/ls /bin/ls");
	expect("ls", "PATH=/bin", "/bin/ls");
}

static void a_name_with_a_slash_stands_for_itself(void **state)
{
	expect("/bin/ls", "PATH=/usr/bin:/bin", "/bin/ls");
	expect("./ls", "PATH=/usr/bin:/bin", "./ls");
	expect("a/ls", "PATH=", "a/ls");
}

static void entries_of_the_working_directory_are_left_out(void **state)
{
	expect("ls", "PATH=:/bin:", "/bin/ls");
	expect("ls", "PATH=/bin::/usr/bin", "/bin/ls /usr/bin/ls");
	expect("ls", "PATH=.:bin:../bin:~/bin:/bin", "/bin/ls");
	expect("ls", "PATH=.", "");
	expect("ls", "PATH=:::::", "");
}

static void without_a_path_nothing_is_found(void **state)
{
	expect("ls", "PATH=", "");
	expect("ls", "PATHS=/bin", "");
	expect("ls", "XPATH=/bin", "");
	expect("ls", NULL, "");
}

static void an_empty_name_is_found_nowhere(void **state)
{
	expect("", "PATH=/usr/bin:/bin", "");
}

static void a_long_path_is_searched_to_its_end(void **state)
{
	enum { COUNT = 2000 };
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	static char variable[5 + 3 * COUNT + 1] = "PATH=";
	const char *const env[] = {variable, NULL};
	const char *const *paths;
	size_t n = 0;

	for (int i = 0; i < COUNT; i++)
		memcpy(variable + 5 + 3 * i, "/a:", 3);
	assert_int_equal(process_search_paths(arena, "x", env, &paths), 0);
	for (; paths[n]; n++)
		assert_string_equal(paths[n], "/a/x");
	assert_int_equal(n, COUNT);
}

static void memory_that_runs_out_is_reported(void **state)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(0);
	const char *const *paths = NULL;

	assert_int_equal(process_search_paths(arena, "ls", env, &paths), -ENOMEM);
	assert_null(paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_name_is_looked_for_in_every_directory_in_order),
		cmocka_unit_test(a_name_with_a_slash_stands_for_itself),
		cmocka_unit_test(entries_of_the_working_directory_are_left_out),
		cmocka_unit_test(without_a_path_nothing_is_found),
		cmocka_unit_test(an_empty_name_is_found_nowhere),
		cmocka_unit_test(a_long_path_is_searched_to_its_end),
		cmocka_unit_test(memory_that_runs_out_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
