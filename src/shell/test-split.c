#include "base/test-support.h"

#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "shell/split.h"

static void expect_words(const char *text, const char *joined)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer out = {0};
	const char *const *words;

	assert_int_equal(shell_split(arena, text, strlen(text), &words, NULL), 0);
	for (size_t i = 0; words[i]; i++)
		buffer_printf(&out, "[%s]", words[i]);
	assert_string_equal(buffer_str(&out), joined);
}

static void blanks_separate_and_quotes_join(void **state)
{
	expect_words("", "");
	expect_words(" \t\n ", "");
	expect_words("ls -la  src", "[ls][-la][src]");
	expect_words("grep 'a b' \"c 'd'\" e\\ f", "[grep][a b][c 'd'][e f]");
	expect_words("a'b'\"c\"d", "[abcd]");
	expect_words("'' \"\" x", "[][][x]");
	expect_words("x", "[x]");
	expect_words("a b", "[a][b]");
}

static void a_backslash_means_what_it_means_to_a_shell(void **state)
{
	expect_words("a\\\"b", "[a\"b]");
	expect_words("'a\\b'", "[a\\b]");
	expect_words("\"a\\b\\\"c\\\\\"", "[a\\b\"c\\]");
	expect_words("a\\\nb", "[ab]");
}

static void nothing_is_expanded(void **state)
{
	expect_words("*.c ~ # x {a,b} $y `z` !", "[*.c][~][#][x][{a,b}][$y][`z`][!]");
	expect_words("a;b|c>d&", "[a;b|c>d&]");
}

static void an_open_quote_is_an_error_that_says_where(void **state)
{
	static const char *const texts[] = {"ls 'a", "ls \"a", "ls a\\"};

	for (size_t i = 0; i < array_size(texts); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		const char *const *words;
		struct error err;

		assert_true(shell_split(arena, texts[i], strlen(texts[i]), &words, &err) < 0);
		assert_non_null(strstr(err.text, "column"));
	}
}

static void quoted_words_are_read_back_as_they_were(void **state)
{
	static const char *const words[] = {"a b", "", "it's", "\n\\\"$x`y`", "*", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer text = {0};
	const char *const *back;

	shell_quote_words(words, &text);
	assert_int_equal(shell_split(arena, buffer_str(&text), text.len, &back, NULL), 0);
	for (size_t i = 0; i < array_size(words) - 1; i++)
		assert_string_equal(back[i], words[i]);
	assert_null(back[array_size(words) - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_separate_and_quotes_join),
		cmocka_unit_test(a_backslash_means_what_it_means_to_a_shell),
		cmocka_unit_test(nothing_is_expanded),
		cmocka_unit_test(an_open_quote_is_an_error_that_says_where),
		cmocka_unit_test(quoted_words_are_read_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
