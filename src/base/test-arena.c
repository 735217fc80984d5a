#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"

static void gives_zeroed_memory_aligned_for_any_object(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(1 << 20);
	static const char zero[300];

	for (size_t n = 1; n < 300; n += 7) {
		char *p = arena_alloc(a, n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		assert_memory_equal(p, zero, n);
		memset(p, 0xff, n);
	}
}

static void keeps_earlier_allocations_when_blocks_are_added(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(1 << 20);
	char *texts[500], expected[32];

	for (int i = 0; i < 500; i++)
		texts[i] = arena_printf(a, "text number %d of many that fill blocks", i);
	for (int i = 0; i < 500; i++) {
		snprintf(expected, sizeof(expected), "text number %d of", i);
		assert_memory_equal(texts[i], expected, strlen(expected));
	}
}

static void an_allocation_larger_than_a_block_fits(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(1 << 20);
	char *big = arena_alloc(a, 100000);

	assert_non_null(big);
	memset(big, 1, 100000); /* a sanitizer watches the edge */
	assert_non_null(arena_alloc(a, 1));
}

static void fails_past_the_limit_and_stays_failed(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);
	int given = 0;

	while (given < 1000 && arena_alloc(a, 1000))
		given++;
	assert_in_range(given, 32, 65); /* not much is wasted, and the limit holds */
	assert_null(arena_alloc(a, 1));
	assert_null(arena_strndup(a, "x", 1));
	assert_null(arena_strdup(a, "x"));
	assert_null(arena_printf(a, "x"));
	assert_null(arena_new_array(a, int, 1));
}

static void a_single_allocation_past_the_limit_fails(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);

	assert_null(arena_alloc(a, (64 << 10) + 1));
	assert_null(arena_alloc(a, 1));
}

static void sizes_that_overflow_are_refused(void **state)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1};

	for (size_t i = 0; i < array_size(sizes); i++) {
		scoped(arena_freep) struct arena *a = arena_new(SIZE_MAX);

		assert_null(arena_alloc(a, sizes[i]));
		assert_null(arena_alloc(a, 1));
	}
	for (size_t i = 0; i < array_size(sizes); i++) {
		scoped(arena_freep) struct arena *a = arena_new(SIZE_MAX);

		assert_null(arena_alloc_array(a, 16, sizes[i] / 8));
		assert_null(arena_alloc(a, 1));
	}
}

static void a_copy_of_impossible_length_fails_like_any_other(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);

	assert_null(arena_strndup(a, "x", SIZE_MAX));
	assert_null(arena_alloc(a, 1));
}

static void copies_bytes_and_ends_them_with_nul(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);

	assert_memory_equal(arena_strndup(a, "a\0bcd", 4), "a\0bc\0", 5);
	assert_string_equal(arena_strndup(a, NULL, 0), "");
	assert_string_equal(arena_strdup(a, "abc"), "abc");
	assert_null(arena_strdup(a, NULL));
	assert_string_equal(arena_printf(a, "%s-%d", "x", 7), "x-7");
}

static void an_array_of_nothing_is_an_allocation(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);

	assert_non_null(arena_new_array(a, int, 0));
	assert_non_null(arena_alloc_array(a, 0, SIZE_MAX));
}

static void reset_forgets_all_and_gives_zeroed_memory_again(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);
	static const char zero[5000];
	char *p;

	for (int round = 0; round < 20; round++) {
		while ((p = arena_alloc(a, 5000)))
			memset(p, 0xff, 5000);
		arena_reset(a);
		p = arena_alloc(a, 5000);
		assert_non_null(p);
		assert_memory_equal(p, zero, 5000);
	}
}

static void reset_of_an_unused_arena_is_fine(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(64 << 10);

	arena_reset(a);
	assert_non_null(arena_alloc(a, 1));
	assert_null(arena_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_zeroed_memory_aligned_for_any_object),
		cmocka_unit_test(keeps_earlier_allocations_when_blocks_are_added),
		cmocka_unit_test(an_allocation_larger_than_a_block_fits),
		cmocka_unit_test(fails_past_the_limit_and_stays_failed),
		cmocka_unit_test(a_single_allocation_past_the_limit_fails),
		cmocka_unit_test(sizes_that_overflow_are_refused),
		cmocka_unit_test(a_copy_of_impossible_length_fails_like_any_other),
		cmocka_unit_test(copies_bytes_and_ends_them_with_nul),
		cmocka_unit_test(an_array_of_nothing_is_an_allocation),
		cmocka_unit_test(reset_forgets_all_and_gives_zeroed_memory_again),
		cmocka_unit_test(reset_of_an_unused_arena_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
