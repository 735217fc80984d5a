#include "sandbox/layers.h"

#include "base/buffer.h"
#include "base/test-support.h"
#include <string.h>

static void every_layer_has_a_name_of_its_own_and_a_remedy(void **state)
{
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++) {
		enum sandbox_layer layer = 1 << i;
		const char *name = sandbox_layer_name(layer);

		assert_non_null(name);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(sandbox_layer_name(1 << k), name);
		assert_non_null(sandbox_layer_remedy(layer));
		/* With the sentence around it, it has to fit into an error. */
		assert_true(strlen(sandbox_layer_remedy(layer)) < 140);
	}
}

static void what_is_no_layer_is_unknown(void **state)
{
	assert_null(sandbox_layer_name(1 << SANDBOX_LAYER_COUNT));
	assert_null(sandbox_layer_name(3)); /* two of them */
	assert_null(sandbox_layer_remedy(0));
}

static void tiers_have_names(void **state)
{
	assert_string_equal(sandbox_tier_name(SANDBOX_TIER_STRICT), "strict");
	assert_string_equal(sandbox_tier_name(SANDBOX_TIER_LANDLOCK), "landlock");
	assert_string_equal(sandbox_tier_name(SANDBOX_TIER_NONE), "none");
	assert_null(sandbox_tier_name(SANDBOX_TIER_MAX));
}

static void a_set_is_printed_as_a_list(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};

	sandbox_layers_print(SANDBOX_LAYER_SECCOMP | SANDBOX_LAYER_NAMESPACES, &b);
	assert_string_equal(buffer_str(&b), "namespaces, seccomp");
	buffer_clear(&b);
	sandbox_layers_print(0, &b);
	assert_string_equal(buffer_str(&b), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_has_a_name_of_its_own_and_a_remedy),
		cmocka_unit_test(what_is_no_layer_is_unknown),
		cmocka_unit_test(tiers_have_names),
		cmocka_unit_test(a_set_is_printed_as_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
