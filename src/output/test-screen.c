#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "output/screen.h"

static struct screen *make(unsigned rows, unsigned cols)
{
	struct screen *s = NULL;

	assert_int_equal(screen_new((struct screen_size){rows, cols}, (struct screen_size){50, 100},
	                            false, &s, NULL),
	                 0);
	return s;
}

static void feed(struct screen *s, const char *text)
{
	screen_feed(s, text, strlen(text));
}

/* All rows that show something, each with a newline. */
static void expect(struct screen *s, const char *wanted)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct screen_facts facts;

	screen_facts(s, &facts);
	for (unsigned i = 0; i < facts.used_rows; i++) {
		screen_row(s, i, &text);
		buffer_putc(&text, '\n');
	}
	assert_string_equal(buffer_str(&text), wanted);
}

static void expect_cursor(struct screen *s, unsigned row, unsigned col)
{
	struct screen_facts facts;

	screen_facts(s, &facts);
	assert_int_equal(facts.cursor_row, row);
	assert_int_equal(facts.cursor_col, col);
}

static void an_empty_screen_shows_nothing(void **state)
{
	scoped(screen_freep) struct screen *s = make(5, 10);

	expect(s, "");
	expect_cursor(s, 0, 0);
}

static void text_wraps_and_scrolls(void **state)
{
	scoped(screen_freep) struct screen *s = make(3, 5);

	feed(s, "1234567\r\na\r\nb");
	expect(s, "67\na\nb\n");
	expect_cursor(s, 2, 1);
}

static void blanks_at_the_end_of_a_row_are_not_told(void **state)
{
	scoped(screen_freep) struct screen *s = make(3, 10);

	feed(s, " a b   \r\n\r\n  x");
	expect(s, " a b\n\n  x\n");
}

static void wide_and_combining_characters_are_whole(void **state)
{
	scoped(screen_freep) struct screen *s = make(3, 6);

	feed(s, "\xe6\x97\xa5\xe6\x9c\xac"
	        "e\xcc\x81!\r\n12345\xe6\x97\xa5");
	expect(s, "\xe6\x97\xa5\xe6\x9c\xac"
	          "e\xcc\x81!\n12345\n\xe6\x97\xa5\n");
	expect_cursor(s, 2, 2);
}

static void the_alternate_screen_goes_and_leaves_the_other_one(void **state)
{
	scoped(screen_freep) struct screen *s = make(3, 10);
	struct screen_facts facts;

	feed(s, "below\033[?1049h\033[2J\033[Habove\033[?25l");
	expect(s, "above\n");
	screen_facts(s, &facts);
	assert_true(facts.alternate);
	assert_false(facts.cursor_visible);
	feed(s, "\033[?1049l\033[?25h");
	expect(s, "below\n");
	screen_facts(s, &facts);
	assert_false(facts.alternate);
	assert_true(facts.cursor_visible);
}

static void it_can_begin_on_the_alternate_screen(void **state)
{
	scoped(screen_freep) struct screen *s = NULL;
	const struct screen_size size = {3, 10};

	assert_int_equal(screen_new(size, size, true, &s, NULL), 0);
	feed(s, "above");
	expect(s, "above\n");
	feed(s, "\033[?1049l");
	expect(s, "");
}

static void a_smaller_screen_cuts_and_a_larger_one_has_room(void **state)
{
	scoped(screen_freep) struct screen *s = make(4, 10);
	struct screen_facts facts;

	feed(s, "0123456789\r\nline\033[?1049h\033[Hfull");
	screen_resize(s, (struct screen_size){2, 4});
	feed(s, "\033[H\033[2Jabcdef");
	expect(s, "abcd\nef\n");
	screen_resize(s, (struct screen_size){50, 100});
	feed(s, "\033[50;100Hx");
	screen_facts(s, &facts);
	assert_int_equal(facts.rows, 50);
	assert_int_equal(facts.used_rows, 50);
	screen_resize(s, (struct screen_size){0, 5}); /* impossible */
	screen_facts(s, &facts);
	assert_int_equal(facts.rows, 50);
}

static void many_resizes_need_no_more_memory(void **state)
{
	scoped(screen_freep) struct screen *s = make(24, 80);

	for (unsigned i = 0; i < 5000; i++) {
		screen_resize(s, (struct screen_size){1 + i % 50, 1 + i % 100});
		feed(s, "x");
	}
	screen_resize(s, (struct screen_size){2, 10});
	feed(s, "\033[H\033[2Jend");
	expect(s, "end\n");
}

static void what_is_no_character_is_replaced(void **state)
{
	scoped(screen_freep) struct screen *s = make(2, 20);

	/* A surrogate, an overlong form and a lone continuation, as a hostile program writes them.
	 */
	feed(s, "a\xed\xa0\x80"
	        "b\xc0\x80"
	        "c\x80"
	        "d");
	{
		scoped(buffer_donep) struct buffer text = {0};

		screen_row(s, 0, &text);
		for (size_t i = 0; i < text.len; i++)
			assert_true((unsigned char)text.data[i] >= 0x20);
		assert_int_equal(text.data[0], 'a');
		assert_int_equal(text.data[text.len - 1], 'd');
	}
}

static void impossible_sizes_are_refused(void **state)
{
	static const struct screen_size sizes[] = {{0, 80}, {24, 0}, {1001, 80}, {24, 1001}};
	struct screen *s = NULL;
	struct error err = {0};

	for (size_t i = 0; i < array_size(sizes); i++)
		assert_int_equal(
			screen_new(sizes[i], (struct screen_size){1000, 1000}, false, &s, &err),
			-EINVAL);
	assert_null(s);
}

/* "text/fg/bg/attributes" of each run. */
static void expect_runs(struct screen *s, unsigned row, const char *wanted)
{
	scoped(buffer_donep) struct buffer runs = {0}, said = {0};
	unsigned count = screen_runs(s, row, &runs);
	const char *at = runs.data;

	for (unsigned i = 0; i < count; i++) {
		struct screen_run run;

		memcpy(&run, at, sizeof(run));
		at += sizeof(run);
		buffer_printf(&said, "[%.*s/%x/%x/%u]", run.len, at, run.fg, run.bg,
		              run.attributes);
		at += run.len;
	}
	assert_string_equal(buffer_str(&said), wanted);
}

static void cells_that_look_alike_are_one_run(void **state)
{
	scoped(screen_freep) struct screen *s = make(4, 20);

	feed(s, "ab \033[1;31mred\033[0m\033[48;2;1;2;3m  \033[0m   \r\n\r\n\033[7mx");
	expect_runs(s, 0, "[ab /0/0/0][red/1000001/0/1][  /0/2010203/0]");
	expect_runs(s, 1, "");
	expect_runs(s, 2, "[x/0/0/8]");
}

static void only_rows_that_changed_are_noted(void **state)
{
	scoped(screen_freep) struct screen *s = make(4, 20);

	screen_note_changes(s);
	feed(s, "a\r\nb");
	assert_true(screen_take_change(s, 0));
	assert_true(screen_take_change(s, 1));
	assert_false(screen_take_change(s, 0));
	feed(s, "c");
	assert_false(screen_take_change(s, 0));
	assert_true(screen_take_change(s, 1));
	feed(s, "\033]2;A title\007");
	assert_false(screen_take_change(s, 1));
	assert_string_equal(screen_title(s), "A title");
	feed(s, "\r\n\r\n\r\n"); /* it scrolls: all of it */
	for (unsigned i = 0; i < 2; i++)
		assert_true(screen_take_change(s, i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_screen_shows_nothing),
		cmocka_unit_test(text_wraps_and_scrolls),
		cmocka_unit_test(blanks_at_the_end_of_a_row_are_not_told),
		cmocka_unit_test(wide_and_combining_characters_are_whole),
		cmocka_unit_test(the_alternate_screen_goes_and_leaves_the_other_one),
		cmocka_unit_test(it_can_begin_on_the_alternate_screen),
		cmocka_unit_test(a_smaller_screen_cuts_and_a_larger_one_has_room),
		cmocka_unit_test(many_resizes_need_no_more_memory),
		cmocka_unit_test(what_is_no_character_is_replaced),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(cells_that_look_alike_are_one_run),
		cmocka_unit_test(only_rows_that_changed_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
