#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/id.h"

static void an_id_is_the_prefix_and_safe_characters(void **state)
{
	char id[32];

	for (int i = 0; i < 200; i++) {
		assert_int_equal(id_new("bash-", id, sizeof(id)), 0);
		assert_memory_equal(id, "bash-", 5);
		assert_int_equal(strlen(id), 5 + ID_RANDOM_CHARS);
		assert_int_equal(strspn(id + 5, "0123456789abcdefghjkmnpqrstvwxyz"),
		                 ID_RANDOM_CHARS);
	}
}

static void ids_differ_and_use_every_letter_everywhere(void **state)
{
	static char ids[2000][ID_RANDOM_CHARS + 1];
	static unsigned seen[ID_RANDOM_CHARS][256];

	for (size_t i = 0; i < array_size(ids); i++) {
		assert_int_equal(id_new("", ids[i], sizeof(ids[i])), 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
		for (size_t j = 0; j < ID_RANDOM_CHARS; j++)
			seen[j][(unsigned char)ids[i][j]]++;
	}
	/* Expected 62 times each; 10 or 200 is further away than chance will ever take it. */
	for (size_t j = 0; j < ID_RANDOM_CHARS; j++)
		for (const char *c = "0123456789abcdefghjkmnpqrstvwxyz"; *c; c++)
			assert_in_range(seen[j][(unsigned char)*c], 10, 200);
}

static void a_place_too_small_is_refused_and_left_alone(void **state)
{
	char id[2 + ID_RANDOM_CHARS + 1] = "as it was";

	assert_int_equal(id_new("ab", id, sizeof(id) - 1), -ENOSPC);
	assert_string_equal(id, "as it was");
	assert_int_equal(id_new("ab", id, 0), -ENOSPC);
	assert_int_equal(id_new("ab", id, sizeof(id)), 0);
}

static void a_uuid_has_its_version_and_differs(void **state)
{
	char a[ID_UUID_SIZE], b[ID_UUID_SIZE];

	assert_int_equal(id_uuid(a), 0);
	assert_int_equal(id_uuid(b), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_the_prefix_and_safe_characters),
		cmocka_unit_test(ids_differ_and_use_every_letter_everywhere),
		cmocka_unit_test(a_place_too_small_is_refused_and_left_alone),
		cmocka_unit_test(a_uuid_has_its_version_and_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
