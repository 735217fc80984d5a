#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/capture.h"
#include "output/clean.h"
#include "output/count.h"
#include "output/view.h"

static const struct view_file kept = {.name = "FILE"};

/* The view of bytes that went through a capture with these limits. */
static struct view make_within(const char *bytes, size_t n, struct capture_limits within,
                               const struct view_limits *limits, const struct view_file *file)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(capture_freep) struct capture *c = NULL;
	struct view v = {0};

	assert_int_equal(capture_new(&within, &c, NULL), 0);
	capture_append(c, bytes, n);
	assert_int_equal(capture_copy(c, &s, NULL), 0);
	assert_int_equal(view_make(&s, limits, file, &v, NULL), 0);
	assert_int_equal(v.len, strlen(v.text));
	assert_int_equal(utf8_valid_prefix(v.text, v.len), v.len);
	assert_int_equal(v.total_bytes, n);
	assert_true(v.truncated == (v.notice != NULL));
	return v;
}

static struct view make(const char *bytes, size_t n, const struct view_limits *limits)
{
	return make_within(bytes, n, view_capture_limits(limits), limits, &kept);
}

static void expect_text(const char *text, const struct view_limits *limits, const char *wanted)
{
	scoped(view_donep) struct view v = make(text, strlen(text), limits);

	assert_string_equal(v.text, wanted);
}

static void halves_at_exactly_the_limit_are_whole(void **state)
{
	const struct view_limits ten = {.style = VIEW_HALVES, .limit = 10};
	scoped(view_donep) struct view v = make("0123456789", 10, &ten);

	assert_string_equal(v.text, "0123456789");
	assert_false(v.truncated);
	assert_null(v.notice);
	assert_int_equal(v.shown_chars, 10);
	assert_int_equal(v.omitted_chars, 0);
}

static void halves_say_between_them_how_much_is_left_out(void **state)
{
	const struct view_limits ten = {.style = VIEW_HALVES, .limit = 10};
	const struct view_limits nine = {.style = VIEW_HALVES, .limit = 9};
	scoped(view_donep) struct view v = make("0123456789a", 11, &ten);

	assert_string_equal(v.text,
	                    "01234\n[1 character left out; the full output is in FILE]\n6789a");
	assert_true(v.truncated);
	assert_int_equal(v.shown_chars, 10);
	assert_int_equal(v.omitted_chars, 1);
	assert_string_equal(v.notice, "1 character left out; the full output is in FILE");
	expect_text("0123456789", &nine,
	            "0123\n[1 character left out; the full output is in FILE]\n56789");
	expect_text("0123\n56789a", &ten, /* no empty line before the notice */
	            "0123\n[1 character left out; the full output is in FILE]\n6789a");
}

static void tail_shows_exactly_the_last_characters(void **state)
{
	const struct view_limits four = {.style = VIEW_TAIL_CHARS, .limit = 4};
	scoped(view_donep) struct view v = make("\xc3\xbc\xe2\x82\xac"
	                                        "abc",
	                                        8, &four);

	assert_string_equal(v.text, "\xe2\x82\xac"
	                            "abc");
	assert_string_equal(v.notice,
	                    "only the last 4 of 5 characters are shown; the full output is "
	                    "in FILE");
	expect_text("abcd", &four, "abcd");
	expect_text("abcde", &four, "bcde");
	expect_text("", &four, "");
}

static void bytes_are_never_more_than_the_limit(void **state)
{
	/* Characters of 1 to 4 bytes, cut at every offset. */
	static const char text[] = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t wanted[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};

	for (size_t limit = 1; limit <= 10; limit++) {
		const struct view_limits l = {.style = VIEW_BYTES, .limit = limit};
		scoped(view_donep) struct view v = make(text, 11, &l);

		assert_int_equal(v.len, wanted[limit]);
		assert_memory_equal(v.text, text, v.len);
		assert_true(v.truncated);
		assert_int_equal(v.shown_bytes + v.omitted_bytes, 11);
		assert_int_equal(v.shown_chars + v.omitted_chars, 5);
	}
	expect_text(text, &(struct view_limits){.style = VIEW_BYTES, .limit = 11}, text);
}

static void edges_are_cut_between_characters_at_every_offset(void **state)
{
	char text[400];
	size_t n;

	for (size_t edge = 1; edge < 20; edge++) {
		const struct view_limits l = {.style = VIEW_EDGES, .limit = 64, .edge = edge};

		for (size_t shift = 0; shift < 4; shift++) {
			memset(text, 'x', shift);
			for (n = shift; n + 4 < 300; n += 4)
				memcpy(text + n, "\xf0\x9f\x98\x80", 4);
			text[n++] = '\n';
			scoped(view_donep) struct view v = make(text, n, &l);

			assert_in_range(v.shown_bytes, 0, 2 * edge);
			assert_in_range(v.shown_bytes + 6, 2 * edge, SIZE_MAX);
			assert_int_equal(v.shown_bytes + v.omitted_bytes, n);
		}
	}
}

static void edges_warn_with_size_and_file(void **state)
{
	scoped(freep) char *text = malloc(100000);
	const struct view_limits l = {.style = VIEW_EDGES};

	memset(text, 'a', 50000);
	memset(text + 50000, 'z', 50000);
	for (size_t n = 16384; n <= 100000; n += 100000 - 16384) {
		scoped(view_donep) struct view v = make(text, n, &l);

		assert_true(v.truncated == (n > 16384));
		assert_int_equal(v.shown_bytes, n > 16384 ? 2048 : n);
		if (n == 100000) {
			assert_int_equal(strspn(v.text, "a"), 1024);
			assert_int_equal(strlen(strrchr(v.text, '\n') + 1), 1024);
			assert_non_null(strstr(v.text, "\n[output truncated: it has 100000 bytes"));
			assert_non_null(strstr(v.text, "in FILE]\n"));
			assert_int_equal(v.omitted_bytes, 100000 - 2048);
		}
	}
	scoped(view_donep) struct view over = make(text, 16385, &l);

	assert_int_equal(over.shown_bytes, 2048);
}

static void counts_stay_exact_when_the_middle_was_never_kept(void **state)
{
	enum { CHARS = 1000000 };
	scoped(freep) char *text = malloc(CHARS * 3);

	for (size_t i = 0; i < CHARS; i++)
		memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	for (enum view_style style = 0; style < VIEW_STYLE_MAX; style++) {
		const struct view_limits l = {.style = style};
		scoped(view_donep) struct view v = make(text, CHARS * 3, &l);

		assert_true(v.truncated);
		assert_int_equal(v.shown_chars + v.omitted_chars, CHARS);
		assert_int_equal(v.shown_bytes + v.omitted_bytes, CHARS * 3);
		if (style == VIEW_HALVES)
			assert_int_equal(v.shown_chars, 30000);
		if (style == VIEW_TAIL_CHARS)
			assert_int_equal(v.shown_chars, 50000);
	}
}

static void the_gap_may_lie_anywhere_in_a_character(void **state)
{
	static const char text[] =
		"\xf0\x9f\x98\x80\xf0\x9f\x98\x81\xf0\x9f\x98\x82\xf0\x9f\x98\x83";
	const struct view_limits l = {.style = VIEW_ALL};

	for (size_t head = 0; head <= 16; head++)
		for (size_t tail = 0; head + tail < 16; tail++) {
			struct capture_limits within = {.head = head, .tail = tail};
			scoped(view_donep) struct view v = make_within(text, 16, within, &l, &kept);

			assert_null(strstr(v.text, UTF8_REPLACEMENT));
			assert_int_equal(v.shown_chars, head / 4 + tail / 4);
			assert_int_equal(v.shown_chars + v.omitted_chars, 4);
			assert_int_equal(v.shown_bytes + v.omitted_bytes, 16);
		}
}

static void the_limit_is_of_the_cleaned_text(void **state)
{
	const struct view_limits four = {.style = VIEW_HALVES, .limit = 4};
	const struct view_limits bytes = {.style = VIEW_BYTES, .limit = 4};

	expect_text("\x1b[1;31mab\x1b[0mcd\x1b[K", &four, "abcd");
	expect_text("1%\r2%\r3%\nx", &four, "3%\nx");
	expect_text(
		"\xff\xff", &(struct view_limits){.style = VIEW_TAIL_CHARS, .limit = 1},
		"[binary output: text that is not UTF-8, 2 bytes; the full output is in FILE]\n");
	expect_text("abc\xff"
	            "d",
	            &bytes, "abc");
}

static void kept_sequences_are_never_cut(void **state)
{
	static const char text[] = "ab\x1b[31mcd\x1b[0mef"; /* 15 bytes */

	for (size_t limit = 1; limit < 15; limit++) {
		const struct view_limits first = {
			.style = VIEW_BYTES, .limit = limit, .keep_escapes = true};
		const struct view_limits last = {
			.style = VIEW_TAIL_CHARS, .limit = limit, .keep_escapes = true};
		scoped(view_donep) struct view a = make(text, 15, &first);
		scoped(view_donep) struct view b = make(text, 15, &last);
		const char *escape;

		assert_in_range(a.len, 0, limit);
		assert_in_range(b.len, 0, limit);
		assert_memory_equal(a.text, text, a.len);
		assert_memory_equal(b.text, text + 15 - b.len, b.len);
		for (escape = a.text; (escape = strchr(escape, 0x1b)); escape++)
			assert_non_null(strchr(escape, 'm'));
		assert_true(b.text[0] != '[' && b.text[0] != 'm');
		assert_int_equal(strspn(b.text, "0123456789"), 0);
	}
}

static void binary_output_is_named_and_counted(void **state)
{
	const struct view_limits l = {.style = VIEW_HALVES};
	char png[12345] = "\x89PNG\r\n\x1a\n";
	scoped(view_donep) struct view v = make(png, sizeof(png), &l);

	assert_true(v.binary);
	assert_true(v.truncated);
	assert_string_equal(v.type, "PNG image");
	assert_string_equal(v.text, "[binary output: PNG image, 12345 bytes; the full output is in "
	                            "FILE]\n");
	assert_int_equal(v.shown_bytes, 0);
	assert_int_equal(v.omitted_bytes, 12345);
}

static void an_early_nul_is_binary_even_if_it_was_not_kept(void **state)
{
	const struct view_limits l = {.style = VIEW_ALL};
	const struct capture_limits within = {.head = 2, .tail = 2};
	scoped(view_donep) struct view v = make_within("abc\0defg", 8, within, &l, &kept);

	assert_true(v.binary);
	assert_string_equal(v.type, "data");
}

static void expect_notice(const struct view_file *file, const char *wanted)
{
	const struct view_limits one = {.style = VIEW_HALVES, .limit = 2};
	scoped(view_donep) struct view v =
		make_within("abc", 3, view_capture_limits(&one), &one, file);

	assert_string_equal(v.notice, wanted);
}

static void the_notice_says_where_the_rest_is_or_why_not(void **state)
{
	expect_notice(NULL, "1 character left out; the full output was not kept");
	expect_notice(&(struct view_file){.why_not = "No space left on device"},
	              "1 character left out; the full output was not kept (No space left on "
	              "device)");
	expect_notice(&(struct view_file){.name = "F", .dropped_bytes = 5},
	              "1 character left out; the output is in F, without 5 bytes of its middle");
	expect_notice(&(struct view_file){.name = "F", .lost_bytes = 6},
	              "1 character left out; the output is in F, without 6 bytes that could not be "
	              "written");
	expect_notice(
		&(struct view_file){.name = "F", .dropped_bytes = 5, .lost_bytes = 6},
		"1 character left out; the output is in F, without 5 bytes of its middle and 6 "
		"bytes that could not be written");
}

static void capture_limits_stay_below_two_mebibytes(void **state)
{
	static const size_t limits[] = {0, 1, 1000, 50000, 1 << 20, 1 << 24, SIZE_MAX};

	for (enum view_style style = 0; style < VIEW_STYLE_MAX; style++)
		for (size_t i = 0; i < array_size(limits); i++) {
			const struct view_limits l = {.style = style, .limit = limits[i]};
			struct capture_limits c = view_capture_limits(&l);

			assert_in_range(c.head, 8192, 2 << 20);
			assert_in_range(c.tail, 8192, (2 << 20) - c.head);
		}
}

/* Pieces of input with everything that cutting and cleaning must get right. */
static size_t random_text(unsigned *seed, char *to, size_t size, bool tame)
{
	static const char *const pieces[] = {
		"plain ", "\n", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "word",
		/* not tame: */
		"\x1b[31m", "\x1b]0;t\x07", "\r", "\b", "\xff", "\xe2\x82", "\x1b[K", "\x1b",
		"\x01", "\r\n", "\xc2\x9b", "\x1b[2K"};
	size_t n = 0, len;

	while (n + 8 < size) {
		const char *piece = pieces[(size_t)rand_r(seed) % (tame ? 6 : array_size(pieces))];

		len = strlen(piece);
		memcpy(to + n, piece, len);
		n += len;
	}
	return n;
}

static struct view random_view(unsigned *seed, const char *text, size_t n,
                               const struct view_limits *l, struct capture_limits within)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(capture_freep) struct capture *c = NULL;
	struct view v = {0};
	size_t part;

	assert_int_equal(capture_new(&within, &c, NULL), 0);
	for (size_t i = 0; i < n; i += part) {
		part = 1 + (size_t)rand_r(seed) % 40;
		if (part > n - i)
			part = n - i;
		capture_append(c, text + i, part);
	}
	assert_int_equal(capture_copy(c, &s, NULL), 0);
	assert_int_equal(view_make(&s, l, &kept, &v, NULL), 0);
	return v;
}

static void check_limit(const struct view *v, const struct view_limits *l)
{
	if (l->style == VIEW_HALVES || l->style == VIEW_TAIL_CHARS)
		assert_in_range(v->shown_chars, 0, l->limit);
	if (l->style == VIEW_BYTES || (l->style == VIEW_EDGES && !v->truncated))
		assert_in_range(v->shown_bytes, 0, l->limit);
	if (l->style == VIEW_EDGES && v->truncated)
		assert_in_range(v->shown_bytes, 0, 2 * l->edge);
	assert_int_equal(utf8_valid_prefix(v->text, v->len), v->len);
}

/* The text before the notice is how the cleaned whole begins, the text behind it how that ends. */
static void check_ends(const struct view *v, enum view_style style, const char *clean, size_t n)
{
	scoped(freep) char *line = NULL;
	const char *mark;
	size_t first, last;

	if (!v->truncated) {
		assert_int_equal(v->len, n);
		assert_memory_equal(v->text, clean, n);
		return;
	}
	if (style == VIEW_BYTES || style == VIEW_TAIL_CHARS) {
		assert_int_equal(v->len, v->shown_bytes);
		assert_memory_equal(v->text, style == VIEW_BYTES ? clean : clean + n - v->len,
		                    v->len);
		return;
	}
	assert_true(asprintf(&line, "[%s]\n", v->notice) > 0);
	mark = strstr(v->text, line);
	assert_non_null(mark);
	first = (size_t)(mark - v->text);
	last = v->len - first - strlen(line);
	if (first + last > v->shown_bytes)
		first--; /* the newline before the notice */
	assert_int_equal(first + last, v->shown_bytes);
	assert_memory_equal(v->text, clean, first);
	assert_memory_equal(mark + strlen(line), clean + n - last, last);
}

static void invariants_hold_for_random_output(void **state)
{
	unsigned seed = 20240607;

	for (int round = 0; round < 6000; round++) {
		scoped(buffer_donep) struct buffer whole = {0};
		bool tame = round % 2;
		char text[600];
		size_t n = random_text(&seed, text, 9 + (size_t)rand_r(&seed) % 590, tame);
		struct view_limits l = {.style = (enum view_style)(rand_r(&seed) % VIEW_STYLE_MAX),
		                        .limit = 1 + (size_t)rand_r(&seed) % 300,
		                        .keep_escapes = rand_r(&seed) % 4 == 0};
		struct capture_limits within = {.head = 20 + (size_t)rand_r(&seed) % 300,
		                                .tail = (size_t)rand_r(&seed) % 300};
		const struct clean_options options = {.keep_escapes = l.keep_escapes};
		struct clean_facts facts;

		l.edge = 1 + l.limit / 4;
		if (l.edge > l.limit / 2)
			l.edge = l.limit / 2;
		if (!l.edge)
			l.limit = 2, l.edge = 1;
		scoped(view_donep) struct view v = random_view(&seed, text, n, &l, within);

		if (v.binary)
			continue;
		check_limit(&v, &l);
		assert_int_equal(clean_text(text, n, &options, &whole, &facts), 0);
		if (tame) {
			assert_int_equal(v.shown_chars + v.omitted_chars, facts.chars);
			assert_int_equal(v.shown_bytes + v.omitted_bytes, n);
		}
		if (tame || within.head + within.tail >= n) {
			check_ends(&v, l.style, buffer_str(&whole), whole.len);
			assert_int_equal(v.shown_chars + v.omitted_chars, facts.chars);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_at_exactly_the_limit_are_whole),
		cmocka_unit_test(halves_say_between_them_how_much_is_left_out),
		cmocka_unit_test(tail_shows_exactly_the_last_characters),
		cmocka_unit_test(bytes_are_never_more_than_the_limit),
		cmocka_unit_test(edges_are_cut_between_characters_at_every_offset),
		cmocka_unit_test(edges_warn_with_size_and_file),
		cmocka_unit_test(counts_stay_exact_when_the_middle_was_never_kept),
		cmocka_unit_test(the_gap_may_lie_anywhere_in_a_character),
		cmocka_unit_test(the_limit_is_of_the_cleaned_text),
		cmocka_unit_test(kept_sequences_are_never_cut),
		cmocka_unit_test(binary_output_is_named_and_counted),
		cmocka_unit_test(an_early_nul_is_binary_even_if_it_was_not_kept),
		cmocka_unit_test(the_notice_says_where_the_rest_is_or_why_not),
		cmocka_unit_test(capture_limits_stay_below_two_mebibytes),
		cmocka_unit_test(invariants_hold_for_random_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
