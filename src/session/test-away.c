#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"
#include "session/away.h"

static void a_directory_is_absolute_and_text(void **state)
{
	assert_true(session_away_is_valid("/"));
	assert_true(session_away_is_valid("/tmp/a b'c$(x)"));
	assert_false(session_away_is_valid(""));
	assert_false(session_away_is_valid("tmp"));
	assert_false(session_away_is_valid("/tmp/a\nrm -rf b"));
	assert_false(session_away_is_valid("/tmp/\033[2J"));
	assert_false(session_away_is_valid("/tmp/\377"));
}

static void the_line_begins_with_a_cd_that_is_quoted(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(1 << 16);

	assert_string_equal(session_away_line(a, "/tmp/x", "ls\npwd"),
	                    "cd -- '/tmp/x' || exit; ls\npwd");
	assert_string_equal(session_away_line(a, "/tmp/it's; rm -rf $HOME", "ls"),
	                    "cd -- '/tmp/it'\\''s; rm -rf $HOME' || exit; ls");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_absolute_and_text),
		cmocka_unit_test(the_line_begins_with_a_cd_that_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
