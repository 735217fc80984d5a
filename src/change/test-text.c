#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "change/change.h"

static void expect(const char *before, const char *after, const char *wanted)
{
	scoped(buffer_donep) struct buffer out = {0};

	change_text_diff(&(struct change_text){"a", before, strlen(before)},
	                 &(struct change_text){"b", after, strlen(after)}, &out);
	assert_string_equal(buffer_str(&out), wanted);
}

static void same_texts_have_no_difference(void **state)
{
	expect("", "", "");
	expect("one\ntwo\n", "one\ntwo\n", "");
}

static void a_changed_line_stands_between_three_others(void **state)
{
	expect("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
	       "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void a_new_file_begins_at_nought(void **state)
{
	expect("", "x\ny\n", "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+x\n+y\n");
	expect("x\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
}

static void a_missing_newline_is_told(void **state)
{
	expect("x\n", "x", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
}

static void changes_far_apart_have_a_block_each(void **state)
{
	expect("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
	       "--- a\n+++ b\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -8,3 +9,4 @@\n 8\n 9\n "
	       "10\n+11\n");
}

/* Which lines of a long text are left, and which are right, by patching by hand. */
static void long_texts_that_have_nothing_in_common_are_one_block(void **state)
{
	scoped(buffer_donep) struct buffer a = {0}, b = {0}, out = {0};

	for (int i = 0; i < 3000; i++) {
		buffer_printf(&a, "a%d\n", i);
		buffer_printf(&b, "b%d\n", i);
	}
	change_text_diff(&(struct change_text){"a", a.data, a.len},
	                 &(struct change_text){"b", b.data, b.len}, &out);
	assert_non_null(strstr(buffer_str(&out), "@@ -1,3000 +1,3000 @@\n-a0\n"));
	assert_non_null(strstr(buffer_str(&out), "+b2999\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_texts_have_no_difference),
		cmocka_unit_test(a_changed_line_stands_between_three_others),
		cmocka_unit_test(a_new_file_begins_at_nought),
		cmocka_unit_test(a_missing_newline_is_told),
		cmocka_unit_test(changes_far_apart_have_a_block_each),
		cmocka_unit_test(long_texts_that_have_nothing_in_common_are_one_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
