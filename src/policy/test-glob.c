#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"
#include "policy/inside.h"

static void a_star_stays_between_slashes(void **state)
{
	assert_true(glob_matches("/dev/sd*", "/dev/sda1", false));
	assert_false(glob_matches("/dev/sd*", "/dev/sda/x", false));
	assert_true(glob_matches("/dev/sd*", "/dev/sda/x", true));
	assert_true(glob_matches("*", "", false));
	assert_false(glob_matches("?", "/", false));
}

static void two_stars_cross_slashes(void **state)
{
	assert_true(glob_matches("/etc/**", "/etc/a/b", false));
	assert_true(glob_matches("/etc/**", "/etc/a", false));
	assert_false(glob_matches("/etc/**", "/etc", false));
	assert_false(glob_matches("/etc/**", "/etcx/a", false));
	assert_true(glob_matches("/a/**/z*", "/a/b/c/zed", false));
}

static void brackets_and_backslashes_mean_one_character(void **state)
{
	assert_true(glob_matches("[1-7]777", "2777", false));
	assert_false(glob_matches("[!1-7]777", "2777", false));
	assert_true(glob_matches("/\\*", "/*", false));
	assert_false(glob_matches("/\\*", "/x", false));
	assert_true(glob_matches("[", "[", false));
}

static void patterns_meet_if_some_text_fits_both(void **state)
{
	assert_true(globs_meet("/etc/passwd", "/e?c/p*"));
	assert_true(globs_meet("/etc/**", "/*/x"));
	assert_false(globs_meet("/etc/**", "/usr/*"));
	assert_true(globs_meet("a*", "*b"));
	assert_false(globs_meet("a*", "b*"));
	assert_false(globs_meet("/*", "/a/b"));
	assert_true(globs_meet("/w/.env", "/w/**/.e*"));
	assert_true(globs_meet("/w/a/b/.env", "/w/**/.e*"));
	assert_true(globs_meet("/w/*.env", "/w/**/x.e*"));
	assert_false(globs_meet("/w/.env", "/w/*/.e*"));
	assert_true(globs_meet("", ""));
	assert_false(globs_meet("", "a"));
}

static void a_hostile_pair_of_patterns_ends(void **state)
{
	char a[200] = "", b[200] = "";

	for (int i = 0; i < 60; i++) {
		strcat(a, "*a");
		strcat(b, "b*");
	}
	assert_true(globs_meet(a, b)); /* too many steps are a suspicion */
	memset(b, 'a', sizeof(b) - 1);
	b[sizeof(b) - 1] = '\0';
	assert_false(glob_matches("*a*a*a*a*a*a*a*a*a*b", b, false));
}

static void paths_are_folded_as_texts(void **state)
{
	static const struct {
		const char *base, *path, *folded;
	} rows[] = {
		{"/w", "a", "/w/a"},
		{"/w", "./a//b/", "/w/a/b"},
		{"/w", "../../x", "/x"},
		{"/w", "/", "/"},
		{"/w", "//", "/"},
		{"/w", "/.", "/"},
		{"/w", "/tmp/..", "/"},
		{"/w", "~", "~"},
		{"/w", "~/..", "~"},
		{"/w", "~/a/../b", "~/b"},
		{"~", "x", "~/x"},
		{"/w", "", "/w"},
		{"/w", "/a/./b/../c", "/a/c"},
		{"/w", "~user", "/w/~user"},
		{"/w", "/proc/self/root", "/"},
		{"/w", "/proc/./self/x/../root//etc/passwd", "/etc/passwd"},
		{"/w", "/proc/thread-self/root/..", "/"},
		{"/proc/self", "root/dev/sda", "/dev/sda"},
		{"/w", "proc/self/root", "/w/proc/self/root"},
		{"/w", "/proc/self/rooted", "/proc/self/rooted"},
	};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct look l = {.arena = arena};

	for (size_t i = 0; i < array_size(rows); i++)
		assert_string_equal(path_fold(&l, rows[i].base, rows[i].path, strlen(rows[i].path)),
		                    rows[i].folded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_stays_between_slashes),
		cmocka_unit_test(two_stars_cross_slashes),
		cmocka_unit_test(brackets_and_backslashes_mean_one_character),
		cmocka_unit_test(patterns_meet_if_some_text_fits_both),
		cmocka_unit_test(a_hostile_pair_of_patterns_ends),
		cmocka_unit_test(paths_are_folded_as_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
