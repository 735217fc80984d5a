#include "base/test-support.h"

#include <string.h>
#include "base/suggest.h"

static void words_that_are_near_are_found(void **state)
{
	unsigned best = SUGGEST_NONE;

	assert_int_equal(suggest_distance("allow", "alow", 3), 1);
	assert_int_equal(suggest_distance("allow", "lalow", 3), 1);
	assert_int_equal(suggest_distance("", "abc", 5), 3);
	assert_int_equal(suggest_distance("kitten", "sitting", 5), 3);
	assert_int_equal(suggest_distance("abcdef", "uvwxyz", 2), 3);
	assert_true(suggest_is_near("dney", "deny", &best));
	assert_false(suggest_is_near("x", "deny", &best));
}

static void the_nearest_of_a_table_is_found(void **state)
{
	static const struct {
		const char *name;
		int more;
	} table[] = {{"timeout", 1}, {"idle-timeout", 2}, {"json", 3}, {NULL, 0}, {"run", 4}};
	const size_t size = sizeof(table[0]);

	assert_string_equal(suggest_from("timout", table, 5, size), "timeout");
	assert_string_equal(suggest_from("idle-timout", table, SIZE_MAX, size), "idle-timeout");
	assert_null(suggest_from("frob", table, 5, size));
	assert_null(suggest_from("rnu", table, 5, size)); /* the table ends before it */
	assert_null(suggest_from("timout", table, 0, size));
}

static void a_word_for_the_same_thing_is_found(void **state)
{
	static const struct {
		const char *name;
	} run[] = {{"timeout"}, {"approval-timeout"}}, other[] = {{"timeout"}, {"json"}};

	assert_string_equal(suggest_from("wait-approval", run, 2, sizeof(run[0])),
	                    "approval-timeout");
	assert_null(suggest_from("wait-approval", other, 2, sizeof(other[0])));
}

static void a_long_word_is_near_to_nothing(void **state)
{
	char word[4096];
	unsigned best = SUGGEST_NONE;

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_false(suggest_is_near(word, "aaaa", &best));
	assert_int_equal(suggest_distance("aaaa", word, 3), 4);
	word[SUGGEST_MAX] = '\0';
	assert_int_equal(suggest_distance(word, word, 3), 0);
}

static void a_message_ends_with_the_word(void **state)
{
	char words[SUGGEST_WORDS_MAX], longest[SUGGEST_MAX + 1];

	assert_string_equal(suggest_words("run", words), ", did you mean 'run'?");
	assert_string_equal(suggest_words(NULL, words), "");
	memset(longest, 'a', SUGGEST_MAX);
	longest[SUGGEST_MAX] = '\0';
	assert_string_equal(strrchr(suggest_words(longest, words), 'a'), "a'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_are_near_are_found),
		cmocka_unit_test(the_nearest_of_a_table_is_found),
		cmocka_unit_test(a_word_for_the_same_thing_is_found),
		cmocka_unit_test(a_long_word_is_near_to_nothing),
		cmocka_unit_test(a_message_ends_with_the_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
