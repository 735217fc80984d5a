#include "base/test-support.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gateway/names.h"

static void a_name_keeps_its_address(void **state)
{
	struct names *n = names_new();
	struct network_address a, again, other;

	(void)state;
	assert_non_null(n);
	assert_true(names_address(n, "a.test", &a));
	assert_true(names_address(n, "b.test", &other));
	assert_true(names_address(n, "a.test", &again));
	assert_true(network_address_equal(&a, &again));
	assert_false(network_address_equal(&a, &other));
	assert_string_equal(names_find(n, &a), "a.test");
	assert_string_equal(names_find(n, &other), "b.test");
	names_free(n);
}

static void addresses_that_were_not_given_name_nothing(void **state)
{
	const struct network_address self = network_address_v4(0xc6120001U),
				     below = network_address_v4(0xc611ffffU),
				     above = network_address_v4(0xc6140000U),
				     six = {.family = 6, .bytes = {0xc6, 0x12, 1, 1}};
	struct names *n = names_new();
	struct network_address a;

	(void)state;
	assert_true(names_address(n, "a.test", &a));
	assert_null(names_find(n, &self));
	assert_null(names_find(n, &below));
	assert_null(names_find(n, &above));
	assert_null(names_find(n, &six));
	names_free(n);
}

static void the_table_has_an_end(void **state)
{
	struct names *n = names_new();
	struct network_address a;
	char name[32];

	(void)state;
	for (int i = 0; i < NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.test", i);
		assert_true(names_address(n, name, &a));
		assert_string_equal(names_find(n, &a), name);
	}
	assert_false(names_address(n, "one-more.test", &a));
	assert_true(names_address(n, "n0.test", &a));
	names_free(n);
}

/* The next gateway goes on with what the last one has given. */
static void another_process_sees_it(void **state)
{
	struct names *n = names_new();
	struct network_address a;
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(names_address(n, "child.test", &a) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	names_check(n);
	assert_true(names_address(n, "child.test", &a));
	assert_true(names_address(n, "more.test", &a));
	assert_string_equal(names_find(n, &a), "more.test");
	names_free(n);
}

/* Whatever a gateway that was not itself any longer has written there. */
static void a_damaged_table_is_made_whole(void **state)
{
	for (unsigned seed = 1; seed < 20; seed++) {
		struct names *n = names_new();
		struct network_address a;
		unsigned char *bytes = (unsigned char *)n;
		unsigned x = seed;

		(void)state;
		assert_true(names_address(n, "a.test", &a));
		for (int i = 0; i < 40000; i++) {
			x = x * 1103515245U + 12345U;
			bytes[i] = (unsigned char)(x >> 16);
		}
		names_check(n);
		assert_true(names_address(n, "b.test", &a));
		assert_string_equal(names_find(n, &a), "b.test");
		names_free(n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_address),
		cmocka_unit_test(addresses_that_were_not_given_name_nothing),
		cmocka_unit_test(the_table_has_an_end),
		cmocka_unit_test(another_process_sees_it),
		cmocka_unit_test(a_damaged_table_is_made_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
