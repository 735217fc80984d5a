#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/error.h"

static void set_returns_the_code_and_keeps_kind_and_words(void **state)
{
	struct error err;

	assert_int_equal(error_set(&err, ERROR_LIMIT, E2BIG, "more than %d", 5), -E2BIG);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(err.sys, E2BIG);
	assert_string_equal(err.text, "more than 5");
}

static void without_an_errno_the_code_is_einval(void **state)
{
	struct error err;

	assert_int_equal(error_set(&err, ERROR_INPUT, 0, "no"), -EINVAL);
	assert_int_equal(err.sys, 0);
	assert_int_equal(error_wrap(&err, "outer"), -EINVAL);
}

static void a_failed_system_call_is_explained(void **state)
{
	struct error err;

	assert_int_equal(error_sys(&err, ENOENT, "opening '%s'", "x"), -ENOENT);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.text, "opening 'x': No such file or directory");
}

static void an_errno_without_words_is_no_harm(void **state)
{
	struct error err;

	assert_int_equal(error_sys(&err, 9999, "odd"), -9999);
	assert_memory_equal(err.text, "odd: ", 5);
}

static void wrapping_puts_words_in_front_and_keeps_the_code(void **state)
{
	struct error err;

	error_set(&err, ERROR_INPUT, EPERM, "inner");
	assert_int_equal(error_wrap(&err, "middle %d", 1), -EPERM);
	assert_int_equal(error_wrap(&err, "outer"), -EPERM);
	assert_string_equal(err.text, "outer: middle 1: inner");
	assert_int_equal(err.kind, ERROR_INPUT);
}

static void every_call_accepts_no_error(void **state)
{
	assert_int_equal(error_set(NULL, ERROR_INPUT, EPERM, "x"), -EPERM);
	assert_int_equal(error_set(NULL, ERROR_INPUT, 0, "x"), -EINVAL);
	assert_int_equal(error_sys(NULL, EPERM, "x"), -EPERM);
	assert_true(error_wrap(NULL, "x") < 0);
	assert_int_equal(error_nomem(NULL), -ENOMEM);
}

static void no_memory_is_a_matter_of_the_machine(void **state)
{
	struct error err;

	assert_int_equal(error_nomem(&err), -ENOMEM);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.text, "out of memory");
}

/* For every length around the size of the text. */
static void long_words_are_cut_and_always_end(void **state)
{
	char words[400];
	struct error err;

	for (int n = 230; n < 300; n++) {
		memset(words, 'x', sizeof(words));
		error_set(&err, ERROR_INPUT, EPERM, "%.*s", n, words);
		assert_true(strlen(err.text) < sizeof(err.text));
		error_sys(&err, ENOENT, "%.*s", n, words);
		assert_true(strlen(err.text) < sizeof(err.text));
		assert_int_equal(error_wrap(&err, "%.*s", n, words), -ENOENT);
		assert_true(strlen(err.text) < sizeof(err.text));
	}
	error_set(&err, ERROR_INPUT, EPERM, "inner");
	error_wrap(&err, "%.*s", 244, words);
	assert_string_equal(err.text + 240, "xxxx: i");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_returns_the_code_and_keeps_kind_and_words),
		cmocka_unit_test(without_an_errno_the_code_is_einval),
		cmocka_unit_test(a_failed_system_call_is_explained),
		cmocka_unit_test(an_errno_without_words_is_no_harm),
		cmocka_unit_test(wrapping_puts_words_in_front_and_keeps_the_code),
		cmocka_unit_test(every_call_accepts_no_error),
		cmocka_unit_test(no_memory_is_a_matter_of_the_machine),
		cmocka_unit_test(long_words_are_cut_and_always_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
