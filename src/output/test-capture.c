#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "output/capture.h"

static struct capture *make(size_t head, size_t tail)
{
	const struct capture_limits limits = {.head = head, .tail = tail};
	struct capture *c = NULL;

	assert_int_equal(capture_new(&limits, &c, NULL), 0);
	assert_non_null(c);
	return c;
}

static void expect(const struct capture *c, const char *head, const char *tail, uint64_t omitted)
{
	scoped(capture_snapshot_donep) struct capture_snapshot s = {0};
	const char *bytes;
	char copy[64];
	size_t n;

	capture_head(c, &bytes, &n);
	assert_int_equal(n, strlen(head));
	assert_memory_equal(bytes, head, n);
	n = capture_tail_copy(c, copy, sizeof(copy));
	assert_int_equal(n, strlen(tail));
	assert_memory_equal(copy, tail, n);
	assert_int_equal(capture_omitted(c), omitted);
	assert_int_equal(capture_copy(c, &s, NULL), 0);
	assert_int_equal(s.head_len + s.tail_len, strlen(head) + strlen(tail));
	assert_memory_equal(s.data, head, strlen(head));
	assert_memory_equal(s.data + s.head_len, tail, strlen(tail));
	assert_int_equal(capture_snapshot_omitted(&s), omitted);
}

static void keeps_nothing_of_nothing(void **state)
{
	scoped(capture_freep) struct capture *c = make(2, 3);

	capture_append(c, "", 0);
	expect(c, "", "", 0);
	assert_int_equal(capture_counts(c)->bytes, 0);
	assert_true(capture_counts(c)->nul_at == CAPTURE_NO_NUL);
}

static void says_how_much_is_left_out(void **state)
{
	scoped(capture_freep) struct capture *c = make(2, 3);

	for (int i = 0; i < 10; i++)
		capture_append(c, &"0123456789"[i], 1); /* byte by byte, so the ring wraps */
	expect(c, "01", "789", 5);
}

static void head_and_tail_are_contiguous_while_all_fits(void **state)
{
	scoped(capture_freep) struct capture *c = make(2, 3);

	capture_append(c, "0", 1);
	expect(c, "0", "", 0);
	capture_append(c, "12", 2);
	expect(c, "01", "2", 0);
	capture_append(c, "34", 2);
	expect(c, "01", "234", 0); /* exactly full */
	capture_append(c, "5", 1);
	expect(c, "01", "345", 1);
}

static void every_chunking_gives_the_same(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz";

	for (size_t head = 0; head < 6; head++)
		for (size_t tail = 0; tail < 9; tail++)
			for (size_t chunk = 1; chunk <= 26; chunk++) {
				scoped(capture_freep) struct capture *c = make(head, tail);
				char first[8] = "", last[16] = "";

				for (size_t i = 0; i < 26; i += chunk)
					capture_append(c, text + i,
					               26 - i < chunk ? 26 - i : chunk);
				memcpy(first, text, head);
				memcpy(last, text + 26 - tail, tail);
				expect(c, first, last, 26 - head - tail);
			}
}

static void copies_the_end_of_the_tail_into_a_small_buffer(void **state)
{
	scoped(capture_freep) struct capture *c = make(0, 4);
	char two[2];

	for (int i = 0; i < 7; i++)
		capture_append(c, &"0123456"[i], 1);
	assert_int_equal(capture_tail_copy(c, two, 2), 2);
	assert_memory_equal(two, "56", 2);
}

static void counts_characters_lines_and_the_first_nul(void **state)
{
	scoped(capture_freep) struct capture *c = make(4, 4);
	char big[5000];

	/* Long enough for full vectors, several rounds of them and a rest. */
	memset(big, 'x', sizeof(big));
	for (size_t i = 0; i + 3 < sizeof(big); i += 7)
		memcpy(big + i, "\xe2\x82\xac\n", 4);
	capture_append(c, big, sizeof(big));
	assert_int_equal(capture_counts(c)->bytes, 5000);
	assert_int_equal(capture_counts(c)->newlines, 714);
	assert_int_equal(capture_counts(c)->chars, 5000 - 2 * 714);
	assert_true(capture_counts(c)->nul_at == CAPTURE_NO_NUL);
	capture_append(c, "ab\0\0", 4);
	assert_int_equal(capture_counts(c)->nul_at, 5002);
	big[17] = 0;
	capture_append(c, big, sizeof(big));
	assert_int_equal(capture_counts(c)->nul_at, 5002); /* the first one stays */
}

static void counts_bytes_of_every_value(void **state)
{
	scoped(capture_freep) struct capture *c = make(0, 0);
	unsigned char all[256 * 40];
	uint64_t chars = 0, newlines = 0;

	for (size_t i = 0; i < sizeof(all); i++) {
		all[i] = (unsigned char)(i * 167 >> 3);
		chars += (all[i] & 0xc0) != 0x80;
		newlines += all[i] == '\n';
	}
	capture_append(c, all, sizeof(all));
	assert_int_equal(capture_counts(c)->chars, chars);
	assert_int_equal(capture_counts(c)->newlines, newlines);
	assert_int_equal(capture_omitted(c), sizeof(all));
}

static void counts_where_every_byte_counts(void **state)
{
	scoped(capture_freep) struct capture *c = make(0, 0);
	char same[20000]; /* more vectors than a lane can count hits */

	memset(same, '\n', sizeof(same));
	capture_append(c, same, sizeof(same));
	assert_int_equal(capture_counts(c)->newlines, 20000);
	assert_int_equal(capture_counts(c)->chars, 20000);
	memset(same, 0x80, sizeof(same));
	capture_append(c, same, sizeof(same));
	assert_int_equal(capture_counts(c)->chars, 20000);
}

static size_t resident_pages(void)
{
	unsigned long size, resident;
	char text[128] = "";
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	/* The kernel writes it. NOLINTNEXTLINE(cert-err34-c) */
	assert_int_equal(sscanf(text, "%lu %lu", &size, &resident), 2);
	return resident;
}

static void a_short_output_does_not_cost_the_whole_limit(void **state)
{
	size_t before = resident_pages();
	struct capture *c[16];

	for (int i = 0; i < 16; i++) {
		c[i] = make(4 << 20, 4 << 20);
		capture_append(c[i], "ten bytes\n", 10);
	}
	assert_in_range(resident_pages(), 0, before + 1024); /* 128 MiB are 32768 pages */
	for (int i = 0; i < 16; i++)
		capture_free(c[i]);
}

static void limits_that_overflow_are_refused(void **state)
{
	const struct capture_limits limits = {.head = SIZE_MAX, .tail = 2};
	struct capture *c = NULL;
	struct error err = {0};

	assert_int_equal(capture_new(&limits, &c, &err), -E2BIG);
	assert_null(c);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static int carrier(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void travels_to_another_process(void **state)
{
	scoped(capture_freep) struct capture *out = make(3, 4);
	scoped(capture_freep) struct capture *err = make(8, 8);
	scoped(capture_snapshot_donep) struct capture_snapshot a = {0};
	scoped(capture_snapshot_donep) struct capture_snapshot b = {0};
	scoped(fd_closep) int fd = carrier();

	for (int i = 0; i < 11; i++)
		capture_append(out, &"abc\ndef\nghi"[i], 1);
	assert_int_equal(capture_write(out, fd, NULL), 0);
	assert_int_equal(capture_write(err, fd, NULL), 0); /* empty, right behind */
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(capture_read(fd, 7, &a, NULL), 0);
	assert_int_equal(capture_read(fd, 7, &b, NULL), 0);
	assert_memory_equal(a.data, "abc\nghi", 8); /* and the NUL */
	assert_int_equal(a.head_len, 3);
	assert_int_equal(a.tail_len, 4);
	assert_memory_equal(&a.counts, capture_counts(out), sizeof(a.counts));
	assert_int_equal(capture_snapshot_omitted(&a), 4);
	assert_int_equal(b.head_len + b.tail_len, 0);
	assert_int_equal(b.counts.bytes, 0);
}

/* Writes a good record, overwrites SIZE bytes at AT and expects a refusal. */
static void expect_refused(off_t at, const void *bytes, size_t size, const char *word)
{
	scoped(capture_freep) struct capture *c = make(3, 4);
	scoped(fd_closep) int fd = carrier();
	struct capture_snapshot s = {.head_len = 77};
	struct error err = {0};

	capture_append(c, "abcdefghi", 9);
	assert_int_equal(capture_write(c, fd, NULL), 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(capture_read(fd, 100, &s, &err), -EBADMSG);
	assert_non_null(strstr(err.text, word));
	assert_int_equal(s.head_len, 77); /* untouched */
}

static void refuses_what_is_not_a_sound_record(void **state)
{
	const uint64_t huge = UINT64_MAX - 1, hundred = 100, ten = 10, three = 3;

	expect_refused(0, "N", 1, "not a capture");
	expect_refused(8, "\1", 1, "another version");
	expect_refused(12, "\x3f", 1, "another version");
	expect_refused(16, &three, 8, "more than there was");
	expect_refused(24, &ten, 8, "counts wrong");
	expect_refused(32, &ten, 8, "counts wrong");
	expect_refused(40, &ten, 8, "behind its end");
	expect_refused(48, &huge, 8, "too much");
	expect_refused(56, &huge, 8, "too much");
	expect_refused(56, &hundred, 8, "too much");
	expect_refused(56, &ten, 8, "more than there was");
	expect_refused(64, &huge, 8, "too many lines");
	expect_refused(64, &ten, 8, "too early");
}

static void refuses_every_shortened_record(void **state)
{
	scoped(capture_freep) struct capture *c = make(3, 4);
	scoped(fd_closep) int fd = carrier();
	struct capture_snapshot s = {0};
	off_t size;

	capture_append(c, "abcdefghi", 9);
	assert_int_equal(capture_write(c, fd, NULL), 0);
	for (size = lseek(fd, 0, SEEK_END) - 1; size >= 0; size--) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(capture_read(fd, 100, &s, NULL), -EBADMSG);
	}
	assert_null(s.data);
}

static void reports_a_descriptor_that_cannot_be_used(void **state)
{
	scoped(capture_freep) struct capture *c = make(3, 4);
	struct capture_snapshot s = {0};

	assert_int_equal(capture_write(c, -1, NULL), -EBADF);
	assert_int_equal(capture_read(-1, 100, &s, NULL), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_nothing_of_nothing),
		cmocka_unit_test(says_how_much_is_left_out),
		cmocka_unit_test(head_and_tail_are_contiguous_while_all_fits),
		cmocka_unit_test(every_chunking_gives_the_same),
		cmocka_unit_test(copies_the_end_of_the_tail_into_a_small_buffer),
		cmocka_unit_test(counts_characters_lines_and_the_first_nul),
		cmocka_unit_test(counts_bytes_of_every_value),
		cmocka_unit_test(counts_where_every_byte_counts),
		cmocka_unit_test(a_short_output_does_not_cost_the_whole_limit),
		cmocka_unit_test(limits_that_overflow_are_refused),
		cmocka_unit_test(travels_to_another_process),
		cmocka_unit_test(refuses_what_is_not_a_sound_record),
		cmocka_unit_test(refuses_every_shortened_record),
		cmocka_unit_test(reports_a_descriptor_that_cannot_be_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
