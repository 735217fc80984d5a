#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/test-support.h"
#include "output/pick.h"

static int collect(void *owner, const struct pick_line *l)
{
	struct buffer *b = owner;

	if (l->skipped)
		buffer_puts(b, "--\n");
	buffer_printf(b, "%s%llu:", l->stream ? "!" : "", (unsigned long long)l->number);
	buffer_append(b, l->text, l->len);
	return 0;
}

/* Byte by byte and at once, the lines must be the same. */
static void expect(const struct pick_options *o, const char *text, const char *wanted)
{
	for (size_t step = 1; step <= strlen(text); step += strlen(text) - 1) {
		scoped(buffer_donep) struct buffer got = {0};
		scoped(pick_freep) struct pick *p = NULL;

		assert_int_equal(pick_new(o, collect, &got, &p, NULL), 0);
		for (size_t i = 0; i < strlen(text); i += step) {
			size_t n = strlen(text) - i < step ? strlen(text) - i : step;

			if (pick_put(p, 0, text + i, n) != 0)
				break;
		}
		assert_int_equal(pick_end(p), 0);
		assert_string_equal(buffer_str(&got), wanted);
	}
}

static void hands_on_every_line_and_the_unfinished_one(void **state)
{
	expect(&(struct pick_options){0}, "a\n\nb", "1:a\n2:\n3:b");
}

static void picks_lines_by_number(void **state)
{
	expect(&(struct pick_options){.from = 2, .to = 3}, "a\nb\nc\nd\n", "--\n2:b\n3:c\n");
}

static void picks_the_first_and_the_last(void **state)
{
	expect(&(struct pick_options){.head = 2}, "a\nb\nc\n", "1:a\n2:b\n");
	expect(&(struct pick_options){.tail = 2}, "a\nb\nc\n", "--\n2:b\n3:c\n");
}

static void matches_with_context_and_says_where_lines_are_left_out(void **state)
{
	const char *text = "1\n2\nx\n4\n5\n6\n7\nx\n";

	expect(&(struct pick_options){.regex = "^x$"}, text, "--\n3:x\n--\n8:x\n");
	expect(&(struct pick_options){.regex = "^x$", .context = 1}, text,
	       "--\n2:2\n3:x\n4:4\n--\n7:7\n8:x\n");
	expect(&(struct pick_options){.regex = "x", .context = 1, .tail = 2}, text,
	       "--\n7:7\n8:x\n");
	expect(&(struct pick_options){.regex = "x", .context = 2, .head = 2}, text, "1:1\n2:2\n");
}

static void says_that_no_more_is_wanted(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	scoped(pick_freep) struct pick *p = NULL;

	assert_int_equal(pick_new(&(struct pick_options){.head = 1}, collect, &got, &p, NULL), 0);
	assert_int_equal(pick_put(p, 0, "a\n", 2), 0);
	assert_int_equal(pick_put(p, 0, "b\n", 2), 1);
	assert_string_equal(buffer_str(&got), "1:a\n");
}

static void keeps_the_unfinished_lines_of_two_streams_apart(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	scoped(pick_freep) struct pick *p = NULL;

	assert_int_equal(pick_new(&(struct pick_options){0}, collect, &got, &p, NULL), 0);
	assert_int_equal(pick_put(p, 0, "ou", 2), 0);
	assert_int_equal(pick_put(p, 1, "err\n", 4), 0);
	assert_int_equal(pick_put(p, 0, "t\n", 2), 0);
	assert_int_equal(pick_put(p, 1, "prompt", 6), 0);
	assert_int_equal(pick_flush(p), 0);
	assert_string_equal(buffer_str(&got), "!1:err\n2:out\n!3:prompt");
}

static void cuts_a_line_that_is_too_long(void **state)
{
	scoped(buffer_donep) struct buffer got = {0}, text = {0};
	scoped(pick_freep) struct pick *p = NULL;

	for (size_t i = 0; i < PICK_LINE_MAX + 10; i++)
		buffer_putc(&text, 'a');
	assert_int_equal(pick_new(&(struct pick_options){.head = 1}, collect, &got, &p, NULL), 0);
	for (size_t i = 0; i < text.len; i += 1000)
		(void)pick_put(p, 0, text.data + i, text.len - i < 1000 ? text.len - i : 1000);
	assert_int_equal(got.len, PICK_LINE_MAX + 2);
}

static void refuses_a_wrong_expression_and_outlives_a_slow_one(void **state)
{
	scoped(buffer_donep) struct buffer got = {0};
	scoped(pick_freep) struct pick *p = NULL;
	struct error err = {0};

	assert_int_equal(pick_new(&(struct pick_options){.regex = "a("}, collect, &got, &p, &err),
	                 -EINVAL);
	assert_non_null(strstr(err.text, "regular expression"));
	assert_int_equal(
		pick_new(&(struct pick_options){.regex = "(a+)+$"}, collect, &got, &p, &err), 0);
	assert_int_equal(pick_put(p, 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n", 47), 0);
	assert_int_equal(got.len, 0);
}

/* The library's limit is for one place of one line: here are many lines, and one line with many
 * places. */
static void gives_up_on_an_expression_that_is_slow_on_every_line(void **state)
{
	static const char line[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\n";
	scoped(buffer_donep) struct buffer got = {0}, many = {0}, one = {0};
	static const char *const slow[] = {"(a+)+$", "a.*?[xy]"};
	const struct buffer *const texts[] = {&many, &one};

	for (int i = 0; i < 2000; i++)
		buffer_puts(&many, line);
	for (int i = 0; i < 60000; i++)
		buffer_putc(&one, 'a');
	buffer_puts(&one, "c\n");
	for (size_t i = 0; i < 2; i++) {
		scoped(pick_freep) struct pick *p = NULL;
		int64_t before = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

		assert_int_equal(
			pick_new(&(struct pick_options){.regex = slow[i]}, collect, &got, &p, NULL),
			0);
		assert_int_equal(pick_put(p, 0, texts[i]->data, texts[i]->len), -ETIME);
		assert_true(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before < 5000000000);
		assert_int_equal(got.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_on_every_line_and_the_unfinished_one),
		cmocka_unit_test(picks_lines_by_number),
		cmocka_unit_test(picks_the_first_and_the_last),
		cmocka_unit_test(matches_with_context_and_says_where_lines_are_left_out),
		cmocka_unit_test(says_that_no_more_is_wanted),
		cmocka_unit_test(keeps_the_unfinished_lines_of_two_streams_apart),
		cmocka_unit_test(cuts_a_line_that_is_too_long),
		cmocka_unit_test(refuses_a_wrong_expression_and_outlives_a_slow_one),
		cmocka_unit_test(gives_up_on_an_expression_that_is_slow_on_every_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
