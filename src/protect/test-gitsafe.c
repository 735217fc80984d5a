#include "base/test-support.h"

#include "base/cleanup.h"
#include "protect/git.h"

static struct git_text text_of(const char *s)
{
	return (struct git_text){s, strlen(s)};
}

static bool is_harmless(const char *now, const char *was)
{
	const struct git_text a = text_of(now), b = text_of(was ? was : "");

	return git_config_is_harmless(&a, was ? &b : NULL, NULL);
}

static void only_listed_keys_are_new(void **state)
{
	assert_true(is_harmless("", NULL));
	assert_true(is_harmless("[user]\n\tname = x\n[remote \"o\"]\n\turl = https://a/b\n", NULL));
	assert_true(is_harmless("[remote \"o\"]\n\turl = git@a:b\n\turl = ../b\n", NULL));
	assert_true(is_harmless("[submodule \"x\"]\n\tupdate = none\n\turl = ssh://a/b\n", NULL));
	assert_false(is_harmless("[core]\n\tfsmonitor = x\n", NULL));
	assert_false(is_harmless("[remote \"o\"]\n\turl = ext::sh\n", NULL));
	assert_false(is_harmless("[remote \"o\"]\n\turl = odd://a\n", NULL));
	assert_false(is_harmless("[remote \"o\"]\n\turl\n", NULL));
	assert_false(is_harmless("[branch \"o\"]\n\tremote = ext::sh\n", NULL));
	assert_false(is_harmless("[submodule \"x\"]\n\tupdate = !sh\n", NULL));
	assert_false(is_harmless("[remot]\n\turl = a\n", NULL));
	assert_false(is_harmless("[user]\n\tna = a\n", NULL));
}

static void all_others_stay_as_they_were(void **state)
{
	static const char was[] = "[core]\n\tpager = a\n\tpager = b\n[user]\n\tname = x\n";

	assert_true(is_harmless(was, was));
	assert_true(is_harmless("[core]\n\tpager = a\n\tpager = b\n", was));
	assert_true(is_harmless("[user]\n\tname = y\n[core]\n\tpager = a\n\tpager = b\n", was));
	assert_false(is_harmless("[core]\n\tpager = b\n\tpager = a\n", was));
	assert_false(is_harmless("[core]\n\tpager = a\n", was));
	assert_false(is_harmless("[core \"x\"]\n\tpager = a\n\tpager = b\n", was));
	assert_false(is_harmless("[core]\n\tpager = a\n\tpager = b\n\teditor = x\n", was));
}

static void a_string_that_ends_early_is_none(void **state)
{
	const struct git_text now = {"[user\0]\n\tname = x\n", 18};

	assert_false(git_config_is_harmless(&now, NULL, NULL));
}

/* A value of the old file, cut off by a page of the new one, would be a key of its own. */
static void what_is_seen_meanwhile_counts(void **state)
{
	scoped(buffer_donep) struct buffer was = {0};
	scoped(buffer_donep) struct buffer now = {0};

	buffer_puts(&was, "[core]\n#");
	while (was.len < 4095)
		buffer_putc(&was, 'x');
	buffer_puts(&was, "\n");
	buffer_puts(&was, "[user]\n\tname = old\n");
	buffer_puts(&now, "[user]\n\tname = ");
	while (now.len < 4096)
		buffer_putc(&now, 'y');
	assert_true(is_harmless(buffer_str(&now), buffer_str(&was)));
	buffer_puts(&now, "fsmonitor = z\n");
	assert_true(is_harmless(buffer_str(&now), buffer_str(&was)));
	assert_false(git_config_may_replace(&(struct git_text){now.data, now.len},
	                                    &(struct git_text){was.data, was.len}));
	assert_true(git_config_may_replace(&(struct git_text){was.data, was.len},
	                                   &(struct git_text){was.data, was.len}));
}

/* The beginning of a value of the operator's names another file. */
static void a_value_is_not_seen_in_part(void **state)
{
	scoped(buffer_donep) struct buffer was = {0};
	scoped(buffer_donep) struct buffer now = {0};

	buffer_puts(&was, "[core]\n\thookspath = .husky\n");
	buffer_puts(&now, "[core]\n#");
	while (now.len < 4096 - 18)
		buffer_putc(&now, 'x');
	buffer_puts(&now, "\n\thookspath = .husky\n");
	assert_true(is_harmless(buffer_str(&now), buffer_str(&was)));
	assert_false(git_config_may_replace(&(struct git_text){now.data, now.len},
	                                    &(struct git_text){was.data, was.len}));
}

static void an_alias_may_only_look(void **state)
{
	static const char *const fine[] = {"status", "status -sb", "log --oneline --graph --all",
	                                   "diff --cached"};
	static const char *const wrong[] = {
		"",
		"push",
		"checkout",
		"!sh",
		"-c core.pager=x log",
		"log --output=x",
		"log --ext-diff",
		"--exec-path=x status",
		"status\\tx",
		"diff -O x",
		"\"log\\n--output=x\"",
	};
	char text[128];

	for (size_t i = 0; i < array_size(fine); i++) {
		snprintf(text, sizeof(text), "[alias]\n\tx = %s\n", fine[i]);
		assert_true(is_harmless(text, NULL));
	}
	for (size_t i = 0; i < array_size(wrong); i++) {
		snprintf(text, sizeof(text), "[alias]\n\tx = %s\n", wrong[i]);
		assert_false(is_harmless(text, NULL));
	}
	assert_false(is_harmless("[alias \"x\"]\n\tcommand = status\n", NULL));
	assert_false(is_harmless("[alias]\n\tx\n", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_alias_may_only_look),
		cmocka_unit_test(only_listed_keys_are_new),
		cmocka_unit_test(all_others_stay_as_they_were),
		cmocka_unit_test(a_string_that_ends_early_is_none),
		cmocka_unit_test(what_is_seen_meanwhile_counts),
		cmocka_unit_test(a_value_is_not_seen_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
