#include "base/test-support.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include "base/buffer.h"

/* The sanitizer would end the process where malloc() returns NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void an_empty_buffer_is_an_empty_string(void **state)
{
	struct buffer b = {0};

	assert_string_equal(buffer_str(&b), "");
	assert_int_equal(buffer_error(&b), 0);
	buffer_done(&b);
}

static void holds_what_was_appended_in_order(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	buffer_puts(&b, "one ");
	buffer_putc(&b, '2');
	buffer_append(&b, " three!", 6);
	buffer_printf(&b, " %d%s", 4, ".");
	assert_string_equal(buffer_str(&b), "one 2 three 4.");
	assert_int_equal(b.len, 14);
}

static void bytes_may_be_nul_and_nothing(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	buffer_append(&b, "a\0b", 3);
	buffer_append(&b, NULL, 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b\0", 4);
}

static void grows_as_a_plain_copy_would(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	static char expected[300000];
	uint64_t seed = 1;
	size_t len = 0;

	while (len < 200000) {
		size_t n = test_random(&seed) % 5000;

		for (size_t i = 0; i < n; i++)
			expected[len + i] = (char)test_random(&seed);
		buffer_append(&b, expected + len, n);
		len += n;
		assert_int_equal(b.len, len);
		assert_int_equal(b.data[len], '\0');
		assert_true(b.capacity > b.len);
	}
	assert_memory_equal(b.data, expected, len);
}

static void is_full_at_its_limit_and_not_before(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 10};

	buffer_puts(&b, "0123456789");
	assert_int_equal(buffer_error(&b), 0);
	buffer_append(&b, "", 0);
	assert_int_equal(buffer_error(&b), 0);
	buffer_putc(&b, 'x');
	assert_int_equal(buffer_error(&b), -E2BIG);
	assert_string_equal(buffer_str(&b), "0123456789");
}

static void printing_keeps_the_limit_too(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 4};

	buffer_printf(&b, "%d", 1234);
	assert_int_equal(buffer_error(&b), 0);
	buffer_printf(&b, "%d", 5);
	assert_int_equal(buffer_error(&b), -E2BIG);
	assert_string_equal(buffer_str(&b), "1234");
}

static void the_first_failure_stays_and_later_appends_do_nothing(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 4};

	buffer_puts(&b, "ab");
	buffer_puts(&b, "too long");
	buffer_puts(&b, "c"); /* would fit */
	assert_int_equal(buffer_error(&b), -E2BIG);
	assert_string_equal(buffer_str(&b), "ab");
	assert_null(buffer_reserve(&b, 0));
	assert_null(buffer_take(&b));
}

static void a_length_that_overflows_is_too_big(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	buffer_puts(&b, "ab");
	assert_null(buffer_reserve(&b, SIZE_MAX));
	assert_int_equal(buffer_error(&b), -E2BIG);
}

static void without_a_limit_the_default_holds(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	assert_non_null(buffer_reserve(&b, BUFFER_MAX_DEFAULT));
	assert_null(buffer_reserve(&b, BUFFER_MAX_DEFAULT + 1));
	assert_int_equal(buffer_error(&b), -E2BIG);
}

static void memory_that_is_not_there_is_reported(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = SIZE_MAX / 4};

	buffer_puts(&b, "kept");
	assert_null(buffer_reserve(&b, SIZE_MAX / 4 - 100));
	assert_int_equal(buffer_error(&b), -ENOMEM);
	assert_string_equal(buffer_str(&b), "kept");
}

static void reserved_room_can_be_filled_to_the_last_byte(void **state)
{
	for (size_t n = 0; n < 300; n++) {
		scoped(buffer_donep) struct buffer b = {0};
		char *to = buffer_reserve(&b, n);

		assert_non_null(to);
		memset(to, 'x', n);
		b.len += n;
		buffer_append(&b, "", 0); /* the NUL behind it still fits */
		assert_int_equal(strlen(buffer_str(&b)), n);
	}
}

static void reserved_room_that_is_not_used_leaves_the_text_as_it_was(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	mallopt(M_PERTURB, 0xa5); /* fresh memory is not zero */
	assert_non_null(buffer_reserve(&b, 1000));
	mallopt(M_PERTURB, 0);
	assert_string_equal(buffer_str(&b), "");
}

static void clear_forgets_content_and_failure(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 4};

	buffer_puts(&b, "abcd");
	buffer_puts(&b, "e");
	buffer_clear(&b);
	assert_int_equal(buffer_error(&b), 0);
	assert_string_equal(buffer_str(&b), "");
	buffer_puts(&b, "efgh");
	assert_string_equal(buffer_str(&b), "efgh");
	assert_int_equal(buffer_error(&b), 0);
}

static void done_leaves_an_empty_usable_buffer_with_its_limit(void **state)
{
	struct buffer b = {.max = 2};

	buffer_puts(&b, "ab");
	buffer_done(&b);
	assert_string_equal(buffer_str(&b), "");
	buffer_puts(&b, "abc");
	assert_int_equal(buffer_error(&b), -E2BIG);
	buffer_done(&b);
	assert_int_equal(buffer_error(&b), 0);
}

static void taken_memory_is_the_callers_and_never_null(void **state)
{
	struct buffer b = {0};
	scoped(freep) char *empty = buffer_take(&b);
	scoped(freep) char *text = NULL;

	assert_string_equal(empty, "");
	buffer_puts(&b, "abc");
	text = buffer_take(&b);
	assert_string_equal(text, "abc");
	assert_null(b.data);
	assert_int_equal(b.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_is_an_empty_string),
		cmocka_unit_test(holds_what_was_appended_in_order),
		cmocka_unit_test(bytes_may_be_nul_and_nothing),
		cmocka_unit_test(grows_as_a_plain_copy_would),
		cmocka_unit_test(is_full_at_its_limit_and_not_before),
		cmocka_unit_test(printing_keeps_the_limit_too),
		cmocka_unit_test(the_first_failure_stays_and_later_appends_do_nothing),
		cmocka_unit_test(a_length_that_overflows_is_too_big),
		cmocka_unit_test(without_a_limit_the_default_holds),
		cmocka_unit_test(memory_that_is_not_there_is_reported),
		cmocka_unit_test(reserved_room_can_be_filled_to_the_last_byte),
		cmocka_unit_test(reserved_room_that_is_not_used_leaves_the_text_as_it_was),
		cmocka_unit_test(clear_forgets_content_and_failure),
		cmocka_unit_test(done_leaves_an_empty_usable_buffer_with_its_limit),
		cmocka_unit_test(taken_memory_is_the_callers_and_never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
