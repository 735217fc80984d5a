#include "base/test-support.h"
#include "serve/replay.h"

#include <errno.h>
#include "base/cleanup.h"

static void what_was_missed_comes_in_its_order(void **state)
{
	struct replay r = {.stream = 3};
	const struct replay_event *e;
	char id[REPLAY_ID_MAX];

	assert_null(replay_after(&r, 0));
	for (int i = 0; i < 3; i++)
		assert_non_null(replay_add(&r, &"abc"[i], 1));
	e = replay_after(&r, 1);
	assert_int_equal(e->json[0], 'b');
	replay_id(&r, e, id);
	assert_string_equal(id, "3-2");
	e = replay_after(&r, e->number);
	assert_int_equal(e->json[0], 'c');
	assert_null(replay_after(&r, e->number));
	assert_null(replay_after(&r, 99));
	replay_clear(&r);
	assert_null(r.last);
	assert_int_equal(r.bytes, 0);
}

static void the_oldest_goes_and_the_last_stays(void **state)
{
	static char large[REPLAY_BYTES_MAX / 2 + 1];
	struct replay r = {.stream = 1};

	for (int i = 1; i <= 5; i++) {
		assert_non_null(replay_add(&r, large, sizeof(large)));
		assert_int_equal(replay_after(&r, 0)->number, i);
		assert_int_equal(r.bytes, sizeof(large));
	}
	assert_non_null(replay_add(&r, "x", 1));
	assert_int_equal(replay_after(&r, 0)->number, 5);
	assert_int_equal(replay_after(&r, 5)->len, 1);
	replay_clear(&r);
}

static void only_our_own_names_are_read(void **state)
{
	static const char *const wrong[] = {"",
	                                    "-",
	                                    "1",
	                                    "1-",
	                                    "-1",
	                                    "1-x",
	                                    "x-1",
	                                    "1--1",
	                                    "1- 1",
	                                    "1-2-3",
	                                    "99999999999999999999999-1",
	                                    "+1-1"};
	uint64_t stream, number;

	assert_int_equal(replay_id_read("12-34", &stream, &number), 0);
	assert_int_equal(stream, 12);
	assert_int_equal(number, 34);
	for (size_t i = 0; i < array_size(wrong); i++)
		assert_int_equal(replay_id_read(wrong[i], &stream, &number), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_missed_comes_in_its_order),
		cmocka_unit_test(the_oldest_goes_and_the_last_stays),
		cmocka_unit_test(only_our_own_names_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
