#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/test-support.h"
#include "base/utf8.h"
#include "output/capture.h"
#include "output/view.h"

static const struct view_file kept = {
	.name = "FILE", .call_before = "read ", .call_behind = " of it"};

static const struct capture_limits small = {.head = 2000, .tail = 2000, .middle = 8192};

static struct view make(const struct buffer *text, const struct capture_limits *within,
                        const struct view_limits *l)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(capture_freep) struct capture *c = NULL;
	struct capture_limits limits = within ? *within : view_capture_limits(l);
	struct view v = {0};

	assert_int_equal(capture_new(&limits, &c, NULL), 0);
	for (size_t i = 0; i < text->len; i += 700)
		capture_append(c, text->data + i, text->len - i < 700 ? text->len - i : 700);
	assert_int_equal(capture_copy(c, &s, NULL), 0);
	assert_int_equal(view_make(&s, l, &kept, &v, NULL), 0);
	assert_int_equal(utf8_valid_prefix(v.text, v.len), v.len);
	assert_true(v.len <= l->limit + (v.total_lines ? 0 : 120)); /* halves have a notice */
	return v;
}

/* Each line of the view is the line of the text that its notices say it is. */
static void check_numbers(const struct view *v, const struct buffer *text)
{
	const char *source = text->data, *end = text->data + text->len;
	uint64_t number = 0, from, to;

	for (const char *p = v->text; *p; p = strchr(p, '\n') + 1) {
		size_t n = strcspn(p, "\n");
		const char *mark = strstr(p, "lines "), *cut = memmem(p, n, " [… ", 6);

		if (strncmp(p, "[… ", 5) == 0) {
			if (!mark || mark > p + n ||
			    sscanf(mark, "lines %" SCNu64 "-%" SCNu64, &from, &to) != 2) {
				mark = strstr(p, "lines, ");
				if (!mark || mark > p + n ||
				    sscanf(mark, "lines, %" SCNu64 "-%" SCNu64, &from, &to) != 2) {
					mark = strstr(p, "line ");
					assert_int_equal(sscanf(mark, "line %" SCNu64, &from), 1);
					to = from;
				}
			}
			assert_int_equal(from, number + 1);
			while (number < to) {
				source =
					(const char *)memchr(source, '\n', (size_t)(end - source)) +
					1;
				number++;
			}
			continue;
		}
		n = cut ? (size_t)(cut - p) : n;
		assert_true((size_t)(end - source) >= n);
		assert_memory_equal(p, source, n);
		source = (const char *)memchr(source, '\n', (size_t)(end - source)) + 1;
		number++;
		assert_non_null(strchr(p, '\n'));
	}
	assert_ptr_equal(source, end);
}

static void put_rows(struct buffer *text, int n, int error_at)
{
	for (int i = 0; i < n; i++) {
		if (i == error_at)
			buffer_puts(text, "src/a.c:7:1: error: the cause\n");
		else
			buffer_printf(text, "%c%c%c: %d\n", 'a' + i % 26, 'a' + i % 7, 'a' + i % 5,
			              i);
	}
}

static void what_matters_is_in_it_and_numbers_are_true(void **state)
{
	for (int long_one = 0; long_one < 2; long_one++) {
		scoped(buffer_donep) struct buffer text = {0};
		const struct view_limits l = {.style = VIEW_SALIENT, .limit = 2000};
		scoped(view_donep) struct view v = {0};

		put_rows(&text, 5000, 2600);
		v = make(&text, long_one ? &small : NULL, &l);
		assert_true(v.truncated);
		assert_int_equal(v.total_lines, 5000);
		assert_non_null(strstr(v.text, "error: the cause"));
		assert_non_null(strstr(v.text, "aaa: 0\n"));
		assert_non_null(strstr(v.text, ": 4999\n"));
		assert_non_null(strstr(v.text, " left out: read "));
		assert_non_null(strstr(v.text, " of it]\n"));
		assert_non_null(
			strstr(v.notice, "of 5000 lines are shown; the full output is in FILE"));
		assert_true(v.len > 1200); /* the limit is used */
		check_numbers(&v, &text);
	}
}

static void every_limit_is_kept(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};

	put_rows(&text, 1500, 700);
	for (size_t limit = 600; limit < 9000; limit += 331)
		for (uint64_t lines = 0; lines < 120; lines += 31) {
			const struct view_limits l = {
				.style = VIEW_SALIENT, .limit = limit, .lines = lines};
			scoped(view_donep) struct view v = make(&text, NULL, &l);
			uint64_t n = 0;

			for (size_t i = 0; i < v.len; i++)
				n += v.text[i] == '\n';
			if (v.total_lines == 0)
				continue;
			assert_true(lines == 0 || n <= lines);
			check_numbers(&v, &text);
		}
}

static void repeats_are_folded(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 1000};
	scoped(view_donep) struct view v = {0};

	for (int i = 0; i < 812; i++)
		buffer_printf(&text, "   Compiling crate_%c%d v1.0\n", 'a' + i % 26, i);
	buffer_puts(&text, "error[E0308]: mismatched types\n");
	v = make(&text, NULL, &l);
	assert_string_equal(v.text, "   Compiling crate_a0 v1.0\n   Compiling crate_b1 v1.0\n"
	                            "[… 809 similar lines, 3-811]\n"
	                            "   Compiling crate_f811 v1.0\n"
	                            "error[E0308]: mismatched types\n");
}

static void a_list_is_not_folded(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 2000};
	scoped(view_donep) struct view v = {0};

	for (int i = 1; i <= 5000; i++)
		buffer_printf(&text, "%d\n", i);
	v = make(&text, NULL, &l);
	assert_null(strstr(v.text, "similar"));
	assert_non_null(strstr(v.text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"));
	check_numbers(&v, &text);
}

static void text_without_lines_shows_both_ends(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 1001};
	scoped(view_donep) struct view v = {0};

	buffer_puts(&text, "begin");
	for (int i = 0; i < 90000; i++)
		buffer_puts(&text, "é");
	buffer_puts(&text, "end");
	for (int i = 0; i < 2; i++) {
		v = make(&text, i ? &small : NULL, &l);
		assert_int_equal(strncmp(v.text, "beginéé", 9), 0);
		assert_string_equal(v.text + v.len - 5, "éend");
		assert_non_null(strstr(v.text, "bytes left out; the full output is in FILE]\n"));
		view_done(&v);
	}
}

static void long_lines_are_cut_between_characters(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 3000};
	scoped(view_donep) struct view v = {0};

	for (int i = 0; i < 400; i++) {
		buffer_printf(&text, "%c%c", 'a' + i % 26, 'a' + i % 7);
		for (int k = 0; k < i % 400; k++)
			buffer_puts(&text, "é");
		buffer_putc(&text, '\n');
	}
	v = make(&text, NULL, &l);
	assert_null(strstr(v.text, UTF8_REPLACEMENT));
	assert_non_null(strstr(v.text, " bytes]\n"));
	check_numbers(&v, &text);
}

static void what_fits_is_whole(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 100000};
	scoped(view_donep) struct view v = {0};

	put_rows(&text, 900, 5);
	v = make(&text, NULL, &l);
	assert_false(v.truncated);
	assert_string_equal(v.text, text.data);
}

static void without_a_file_nothing_is_promised(void **state)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	scoped(capture_freep) struct capture *c = NULL;
	scoped(buffer_donep) struct buffer text = {0};
	const struct view_limits l = {.style = VIEW_SALIENT, .limit = 1500};
	struct view_file capped = kept;

	put_rows(&text, 4000, 2000);
	assert_int_equal(capture_new(&small, &c, NULL), 0);
	capture_append(c, text.data, text.len);
	assert_int_equal(capture_copy(c, &s, NULL), 0);
	capped.dropped_bytes = 7; /* numbers behind the hole are not those of the file */
	for (int i = 0; i < 2; i++) {
		scoped(view_donep) struct view v = {0};

		assert_int_equal(view_make(&s, &l, i ? &capped : NULL, &v, NULL), 0);
		assert_non_null(strstr(v.text, " left out]\n"));
		assert_null(strstr(v.text, "read "));
	}
}

static void a_snapshot_travels_with_its_lines(void **state)
{
	scoped(capture_snapshot_donep) struct capture_snapshot here = {0}, there = {0};
	scoped(capture_freep) struct capture *c = NULL;
	scoped(buffer_donep) struct buffer text = {0}, packet = {0};
	const char *at;

	put_rows(&text, 4000, 2000);
	assert_int_equal(capture_new(&small, &c, NULL), 0);
	capture_append(c, text.data, text.len);
	assert_int_equal(capture_copy(c, &here, NULL), 0);
	capture_put(c, &packet);
	at = packet.data;
	assert_int_equal(capture_take(&at, at + packet.len, 8192, &there, NULL), 0);
	assert_ptr_equal(at, packet.data + packet.len);
	assert_true(here.middle_len > 0);
	assert_int_equal(there.middle_len, here.middle_len);
	assert_memory_equal(there.middle, here.middle, here.middle_len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_matters_is_in_it_and_numbers_are_true),
		cmocka_unit_test(every_limit_is_kept),
		cmocka_unit_test(repeats_are_folded),
		cmocka_unit_test(a_list_is_not_folded),
		cmocka_unit_test(text_without_lines_shows_both_ends),
		cmocka_unit_test(long_lines_are_cut_between_characters),
		cmocka_unit_test(what_fits_is_whole),
		cmocka_unit_test(without_a_file_nothing_is_promised),
		cmocka_unit_test(a_snapshot_travels_with_its_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
