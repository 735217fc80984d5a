#include "engine/permits.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/test-support.h"

struct holder {
	struct permit permit;
	int granted;
	bool drops; /* at once, when it is granted */
};

static void on_granted(struct permit *p)
{
	struct holder *h = container_of(p, struct holder, permit);

	h->granted++;
	if (h->drops)
		permit_drop(p);
}

static int take(struct holder *h, struct permit_share *s)
{
	*h = (struct holder){.permit = {.granted = on_granted}, .drops = h->drops};
	return permit_take(&h->permit, s);
}

static void the_first_that_waits_is_the_first_that_runs(void **state)
{
	struct permits all = {.running_max = 1, .queued_max = 2};
	struct permit_share s = {.permits = &all};
	struct holder a = {0}, b = {0}, c = {0}, d = {0};

	assert_int_equal(take(&a, &s), 0);
	assert_false(a.permit.waits);
	assert_int_equal(take(&b, &s), 0);
	assert_int_equal(take(&c, &s), 0);
	assert_true(b.permit.waits && c.permit.waits);
	assert_int_equal(take(&d, &s), -EBUSY);
	permit_drop(&d.permit); /* it has none: nothing happens */
	assert_int_equal(all.running, 1);
	assert_int_equal(all.queued, 2);
	permit_drop(&a.permit);
	assert_int_equal(b.granted, 1);
	assert_int_equal(c.granted, 0);
	permit_drop(&b.permit);
	assert_int_equal(c.granted, 1);
	assert_int_equal(a.granted, 0); /* it had its own at once */
	permit_drop(&c.permit);
	assert_int_equal(all.running, 0);
	assert_int_equal(all.queued, 0);
}

static void one_at_its_limit_does_not_hold_up_the_others(void **state)
{
	struct permits all = {.running_max = 2, .queued_max = 8};
	struct permit_share greedy = {.permits = &all, .running_max = 1}, other = {.permits = &all};
	struct holder a = {0}, b = {0}, c = {0}, d = {0};

	assert_int_equal(take(&a, &greedy), 0);
	assert_int_equal(take(&b, &greedy), 0);
	assert_true(b.permit.waits);
	assert_int_equal(take(&c, &other), 0);
	assert_false(c.permit.waits);
	assert_int_equal(take(&d, &other), 0);
	assert_true(d.permit.waits);
	permit_drop(&c.permit);
	assert_int_equal(b.granted, 0);
	assert_int_equal(d.granted, 1);
	permit_drop(&a.permit);
	assert_int_equal(b.granted, 1);
	permit_drop(&b.permit);
	permit_drop(&d.permit);
	assert_int_equal(greedy.running + other.running + all.running, 0);
}

static void who_leaves_the_queue_is_not_granted(void **state)
{
	struct permits all = {.running_max = 1, .queued_max = 8};
	struct permit_share s = {.permits = &all};
	struct holder a = {0}, b = {0}, c = {0}, d = {0};

	assert_int_equal(take(&a, &s), 0);
	assert_int_equal(take(&b, &s), 0);
	assert_int_equal(take(&c, &s), 0);
	permit_drop(&c.permit); /* the last */
	assert_int_equal(take(&d, &s), 0);
	permit_drop(&b.permit); /* the first */
	assert_int_equal(all.queued, 1);
	permit_drop(&a.permit);
	assert_int_equal(b.granted + c.granted, 0);
	assert_int_equal(d.granted, 1);
	permit_drop(&d.permit);
}

static void what_ends_as_soon_as_it_is_granted_makes_way(void **state)
{
	struct permits all = {.running_max = 1, .queued_max = 8};
	struct permit_share s = {.permits = &all};
	struct holder a = {0}, many[5] = {0};

	assert_int_equal(take(&a, &s), 0);
	for (size_t i = 0; i < array_size(many); i++) {
		many[i].drops = true;
		assert_int_equal(take(&many[i], &s), 0);
	}
	permit_drop(&a.permit);
	for (size_t i = 0; i < array_size(many); i++)
		assert_int_equal(many[i].granted, 1);
	assert_int_equal(all.running, 0);
	assert_int_equal(all.queued, 0);
}

static void after_the_close_nothing_is_granted(void **state)
{
	struct permits all = {.running_max = 1, .queued_max = 8};
	struct permit_share s = {.permits = &all};
	struct holder a = {0}, b = {0};

	assert_int_equal(take(&a, &s), 0);
	assert_int_equal(take(&b, &s), 0);
	permits_close(&all);
	permit_drop(&a.permit);
	assert_int_equal(b.granted, 0);
	permit_drop(&b.permit);
	assert_int_equal(all.running + all.queued, 0);
}

static void without_a_share_nothing_is_counted(void **state)
{
	struct holder a = {0};

	assert_int_equal(take(&a, NULL), 0);
	assert_false(a.permit.waits);
	permit_drop(&a.permit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_waits_is_the_first_that_runs),
		cmocka_unit_test(one_at_its_limit_does_not_hold_up_the_others),
		cmocka_unit_test(who_leaves_the_queue_is_not_granted),
		cmocka_unit_test(what_ends_as_soon_as_it_is_granted_makes_way),
		cmocka_unit_test(after_the_close_nothing_is_granted),
		cmocka_unit_test(without_a_share_nothing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
