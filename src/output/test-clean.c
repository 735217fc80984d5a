#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "output/clean.h"
#include "output/line.h"

static void expect_as(const struct clean_options *options, const char *bytes, size_t n,
                      const char *wanted)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct clean_facts facts = {0};
	uint64_t chars = 0;

	assert_int_equal(clean_text(bytes, n, options, &out, &facts), 0);
	assert_string_equal(buffer_str(&out), wanted);
	assert_int_equal(out.len, strlen(wanted));
	for (size_t i = 0; i < out.len; i++)
		chars += (out.data[i] & 0xc0) != 0x80;
	assert_int_equal(facts.chars, chars);
}

#define expect(text, wanted)                                                                       \
	expect_as(&(struct clean_options){0}, (text), sizeof(text) - 1, (wanted))
#define expect_kept(text, wanted)                                                                  \
	expect_as(&(struct clean_options){.keep_escapes = true}, (text), sizeof(text) - 1, (wanted))

static void plain_text_stays_as_it_is(void **state)
{
	expect("", "");
	expect("a\tb\nc\n\n", "a\tb\nc\n\n");
	expect("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n",
	       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n");
}

static void invalid_bytes_become_replacement_characters(void **state)
{
	expect("a\xff z", "a" UTF8_REPLACEMENT " z");
	expect("a\xe2\x82z", "a" UTF8_REPLACEMENT "z");
	expect("\xc0\xaf", UTF8_REPLACEMENT UTF8_REPLACEMENT);
	expect("\xed\xa0\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT);
	expect("cut\xf0\x9f\x98", "cut" UTF8_REPLACEMENT);
	expect("\x9b"
	       "31m",
	       UTF8_REPLACEMENT "31m"); /* a bare byte is no introducer */
}

static void escape_sequences_go(void **state)
{
	expect("\x1b[1;31mred\x1b[0m", "red");
	expect("\x1b[38:2::255:0:0mx", "x");
	expect("\x1b[?25lx\x1b[?25h", "x");
	expect("\x1b[>4;2mx\x1b[!p", "x");
	expect("\x1b]0;title\x07x", "x");
	expect("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link");
	expect("\x1bPq#0;2\x1b\\x\x1b^pm\x1b\\y\x1b_apc\x1b\\z\x1bXsos\x1b\\", "xyz");
	expect("\x1b(B\x1b)0x\x1b#8y\x1b%Gz", "xyz");
	expect("\x1b"
	       "7x\x1b"
	       "8\x1b=\x1b>\x1b"
	       "c\x1bMy",
	       "xy");
	expect("\xc2\x9b"
	       "31mred\xc2\x9d"
	       "0;t\xc2\x9cx\xc2\x85y",
	       "redxy"); /* C1 in UTF-8 */
}

static void broken_sequences_end_where_they_break(void **state)
{
	expect("\x1b[31\nx", "\nx");
	expect("\x1b[31\xc3\xbcx", "\xc3\xbcx");
	expect("\x1b\x1b[31mx", "x");
	expect("\x1b\nx", "\nx");
	expect("\x1b]0;never closed\nx", "\nx");
	expect("\x1b]0;first\x1b[31mx", "x");
	expect("\x1b]0;cancelled\x18x", "x");
	expect("a\x1b", "a");
	expect("a\x1b[", "a");
	expect("a\x1b[12;", "a");
	expect("a\x1b]0;t", "a");
	expect("a\x1b]0;t\x1b", "a");
	expect("a\x1b(", "a");
}

static void control_characters_go_or_are_shown(void **state)
{
	const struct clean_options shown = {.show_controls = true};

	expect("a\x01"
	       "b\x07\x7f"
	       "c\x0b\x0c\x0e"
	       "d",
	       "abcd");
	expect_as(&shown,
	          "a\x01"
	          "b\x7f\0z",
	          6, "a^Ab^?^@z");
	expect_as(&shown, "ab\r\x01", 4, "^A");
}

static void a_carriage_return_rewrites_the_line(void **state)
{
	expect("10%\r20%\r100%\n", "100%\n");
	expect("long line\rshort\n", "shortline\n");
	expect("a\r\nb\r\r\nc\r\n", "a\nb\nc\n");
	expect("x\nab\rc", "x\ncb");
	expect("ab\r", "ab");
	expect("gr\xc3\xbcn\r\xc3\x9f\n", "\xc3\x9fr\xc3\xbcn\n"); /* by characters, not bytes */
	expect("\xf0\x9f\x98\x80\xe2\x82\xac\rx\n", "x\xe2\x82\xac\n");
	expect("\xff\xff\rx\n", "x" UTF8_REPLACEMENT "\n");
	expect("done 50%\r        \rok\n", "ok\n"); /* blanks that overwrite leave no trace */
	expect("a  \n", "a  \n");                   /* but blanks of plain lines stay */
}

static void erasing_works_within_the_line(void **state)
{
	expect("abcdef\rxy\x1b[K\n", "xy\n");
	expect("abcdef\r\x1b[2Kz\n", "z\n");
	expect("abcdef\x1b[2K\rz\n", "z\n");
	expect("abcdef\x1b[3D\x1b[1K\n", "    ef\n");
	expect("abcdef\x1b[3G\x1b[0K\n", "ab\n");
	expect("a\x1b[Kb\x1b[K\n", "ab\n");
	expect("\x1b[01;31m\x1b[Kgrep\x1b[m\x1b[K \n", "grep \n");
	expect("abcdef\r\x1b[?2Kz\n", "zbcdef\n"); /* a private sequence is another one */
}

static void the_cursor_moves_within_the_line(void **state)
{
	expect("abc\x1b[1Gx\n", "xbc\n");
	expect("abc\x1b[Gx\n", "xbc\n");
	expect("a\x1b[3Cb\n", "a   b\n");
	expect("abcd\x1b[2Dx\n", "abxd\n");
	expect("abcd\x1b[99Dx\n", "xbcd\n");
}

static void a_move_to_the_right_pads_only_to_a_bound(void **state)
{
	scoped(buffer_donep) struct buffer out = {0};
	const struct clean_options options = {0};
	struct clean_facts facts;

	assert_int_equal(clean_text("\x1b[60000Cx", 9, &options, &out, &facts), 0);
	assert_int_equal(out.len, LINE_PAD + 1);
}

static void a_backspace_goes_back(void **state)
{
	expect("abc\b\bX\n", "aXc\n");
	expect("foo\b \b\n", "fo\n");
	expect("|\b/\b-\b\\\bok", "ok");
	expect("\b\bx", "x");
	expect("b\bbo\bol\bld _\bu", "bold u"); /* overstrike of manual pages */
	expect("\xc3\xbc\bx", "x");
}

static void kept_sequences_stay_whole(void **state)
{
	expect_kept("\x1b[31mred\x1b[0m\r\n", "\x1b[31mred\x1b[0m\r\n");
	expect_kept("10%\r20%\b\x07", "10%\r20%\b\x07");
	expect_kept("\x1b]0;t\xff\x01t\x07x", "\x1b]0;t" UTF8_REPLACEMENT "t\x07x");
	expect_kept("a\x01\x1b[3", "a");
	expect_kept("a\x1b[3\nb", "a\nb");
	expect_kept("\x1b]8;;u\x1b\\l\x1b]8;;\x1b\\", "\x1b]8;;u\x1b\\l\x1b]8;;\x1b\\");
	expect_kept("\xc2\x9b"
	            "31mx",
	            "\xc2\x9b"
	            "31mx");
}

static void a_piece_may_end_inside_of_a_character_or_sequence(void **state)
{
	const struct clean_options head = {.ends_mid = true};
	static const char text[] = "a\xf0\x9f\x98\x80";
	scoped(buffer_donep) struct buffer out = {0};
	struct clean_facts facts;

	for (size_t n = 2; n < 5; n++)
		expect_as(&head, text, n, "a");
	expect_as(&head, text, 5, text);
	expect_as(&head, "a\xff", 2, "a" UTF8_REPLACEMENT);
	expect_as(&head, "ab\x1b[31", 6, "ab");
	assert_int_equal(clean_text(text, 3, &head, &out, &facts), 0);
	assert_int_equal(facts.cut_chars, 1);
	assert_int_equal(facts.cut_bytes, 2);
	assert_int_equal(facts.replaced, 0);
}

static void a_piece_may_begin_inside_of_a_character_or_sequence(void **state)
{
	const struct clean_options tail = {.starts_mid = true};
	static const char text[] = "\xf0\x9f\x98\x80z";
	scoped(buffer_donep) struct buffer out = {0};
	struct clean_facts facts;

	for (size_t i = 1; i < 4; i++)
		expect_as(&tail, text + i, 5 - i, "z");
	expect_as(&tail, text, 5, text);
	expect_as(&tail, "\x80\x80\x80\x80z", 5, UTF8_REPLACEMENT "z"); /* no rest is that long */
	expect_as(&tail, "1;31mred", 8, "red");
	expect_as(&tail, "[0mx", 4, "x");
	expect_as(&tail, "mx", 2, "mx");
	expect_as(&tail, "12x", 3, "12x");
	expect_as(&tail, "12", 2, "12");
	expect_as(&tail, "far 9%\r20%\n9%\r2\n", 16, "20%\n2%\n"); /* unknown columns give way */
	assert_int_equal(clean_text("\x98\x80[0mz", 6, &tail, &out, &facts), 0);
	assert_int_equal(facts.cut_chars, 3); /* the torn character belongs to what came before */
	assert_int_equal(facts.cut_bytes, 5);
}

static void appends_to_what_is_there(void **state)
{
	scoped(buffer_donep) struct buffer out = {0};
	const struct clean_options options = {0};
	struct clean_facts facts;

	buffer_puts(&out, "kept");
	assert_int_equal(clean_text("ab\rc", 4, &options, &out, &facts), 0);
	assert_string_equal(buffer_str(&out), "keptcb");
	assert_int_equal(facts.chars, 2);
}

static void a_full_buffer_is_an_error(void **state)
{
	scoped(buffer_donep) struct buffer out = {.max = 4};
	const struct clean_options options = {0};
	struct clean_facts facts;

	assert_true(clean_text("abcdefgh", 8, &options, &out, &facts) < 0);
}

/* Repeats a pattern after a long line; quadratic work would take hours. */
static void expect_linear(const char *pattern, size_t line)
{
	enum { TOTAL = 4 << 20 };
	scoped(buffer_donep) struct buffer out = {.max = (size_t)TOTAL * 16};
	scoped(freep) char *text = malloc(TOTAL);
	const struct clean_options options = {0};
	struct clean_facts facts;
	struct timespec from, to;
	size_t n = strlen(pattern), i = line;

	assert_non_null(text);
	memset(text, 'x', line);
	for (; i + n <= TOTAL; i += n)
		memcpy(text + i, pattern, n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	assert_int_equal(clean_text(text, i, &options, &out, &facts), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 10);
}

static void hostile_lines_take_linear_time(void **state)
{
	static const char *const patterns[] = {
		"\r",          "\rx",          "\b",
		"\bxy",        "\x1b[2Kx",     "\x1b[1K",
		"\r\x1b[1Kx",  "\x1b[99999Gx", "\rx\x1b[99999G\x1b[1K",
		"\x1b[9999Cx", "\x1b",         "\x1b[",
		"\x1b]",       "\x1b]\n",      "\xc2\x9d",
		"\x1b[K\rx",   "\xff",         "\r\xf0\x9f",
	};

	for (size_t i = 0; i < array_size(patterns); i++) {
		expect_linear(patterns[i], 2 << 20);
		expect_linear(patterns[i], 0);
	}
}

static void units_are_characters_and_whole_sequences(void **state)
{
	assert_int_equal(clean_unit("ab", 2), 1);
	assert_int_equal(clean_unit("\xe2\x82\xacx", 4), 3);
	assert_int_equal(clean_unit("\x1b[31mx", 6), 5);
	assert_int_equal(clean_unit("\x1b]0;t\x07x", 7), 6);
	assert_int_equal(clean_unit("\xff", 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_stays_as_it_is),
		cmocka_unit_test(invalid_bytes_become_replacement_characters),
		cmocka_unit_test(escape_sequences_go),
		cmocka_unit_test(broken_sequences_end_where_they_break),
		cmocka_unit_test(control_characters_go_or_are_shown),
		cmocka_unit_test(a_carriage_return_rewrites_the_line),
		cmocka_unit_test(erasing_works_within_the_line),
		cmocka_unit_test(the_cursor_moves_within_the_line),
		cmocka_unit_test(a_move_to_the_right_pads_only_to_a_bound),
		cmocka_unit_test(a_backspace_goes_back),
		cmocka_unit_test(kept_sequences_stay_whole),
		cmocka_unit_test(a_piece_may_end_inside_of_a_character_or_sequence),
		cmocka_unit_test(a_piece_may_begin_inside_of_a_character_or_sequence),
		cmocka_unit_test(appends_to_what_is_there),
		cmocka_unit_test(a_full_buffer_is_an_error),
		cmocka_unit_test(hostile_lines_take_linear_time),
		cmocka_unit_test(units_are_characters_and_whole_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
