#include "base/test-support.h"
#include "serve/rate.h"

static void a_burst_passes_and_then_the_rate(void **state)
{
	struct rate_limit limit = {.per_second = 10, .burst = 3};
	struct rate r = {0};
	int wait = 0;

	for (int i = 0; i < 3; i++)
		assert_true(rate_take(&r, &limit, 1000, &wait));
	assert_false(rate_take(&r, &limit, 1000, &wait));
	assert_int_equal(wait, 1);
	assert_false(rate_take(&r, &limit, 1099, &wait));
	assert_true(rate_take(&r, &limit, 1101, &wait));
	assert_false(rate_take(&r, &limit, 1101, &wait));
}

static void a_pause_fills_the_bucket_and_no_more(void **state)
{
	struct rate_limit limit = {.per_second = 1, .burst = 2};
	struct rate r = {0};
	int wait = 0, taken = 0;

	assert_true(rate_take(&r, &limit, 1, &wait));
	while (taken < 100 && rate_take(&r, &limit, 3600000, &wait))
		taken++;
	assert_int_equal(taken, 2);
}

static void a_slow_rate_tells_how_long(void **state)
{
	struct rate_limit limit = {.per_second = 0.1, .burst = 1};
	struct rate r = {0};
	int wait = 0;

	assert_true(rate_take(&r, &limit, 5, &wait));
	assert_false(rate_take(&r, &limit, 5, &wait));
	assert_in_range(wait, 10, 11);
}

static void without_a_rate_all_pass(void **state)
{
	struct rate_limit limit = {0};
	struct rate r = {0};
	int wait;

	for (int i = 0; i < 1000; i++)
		assert_true(rate_take(&r, &limit, 1, &wait));
}

static void what_takes_long_counts_for_more(void **state)
{
	struct rate_limit limit = {.per_second = 1000, .burst = 2000}, none = {0};
	struct rate r = {0}, free = {0};
	int wait = 0;

	assert_true(rate_take(&r, &limit, 1, &wait));
	rate_spend(&r, &limit, RATE_FREE_MS);
	assert_true(rate_take(&r, &limit, 1, &wait));
	rate_spend(&r, &limit, 3000);
	assert_false(rate_take(&r, &limit, 1, &wait));
	assert_in_range(wait, 3, 5);
	assert_true(rate_take(&r, &limit, 6000, &wait));
	assert_true(rate_take(&free, &none, 1, &wait));
	rate_spend(&free, &none, 3000);
	assert_true(rate_take(&free, &none, 1, &wait));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_and_then_the_rate),
		cmocka_unit_test(a_pause_fills_the_bucket_and_no_more),
		cmocka_unit_test(a_slow_rate_tells_how_long),
		cmocka_unit_test(without_a_rate_all_pass),
		cmocka_unit_test(what_takes_long_counts_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
