/*
 * A log of 1,000 records, and everything that can be done to one of them: each byte changed, each
 * record taken out, put in twice, moved, each end cut off. The walk along the chain goes on from
 * where it stood before the record, so that every position can be tried.
 *
 * What takes the whole verifier for each position is sampled, unless NACRE_EVERY is set (`make
 * campaign`): then the log is cut off behind each of its bytes, and each bit of it is flipped.
 */
#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <sodium.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "audit/event.h"
#include "audit/verify.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"

#define RECORDS 1000
#define SAMPLES 40 /* of each kind, through the whole verifier */

struct world {
	char state[64];
	char *bytes; /* of the log */
	size_t size, count;
	size_t *starts;             /* of each line; one more for the end */
	struct audit_chain *before; /* where the walk stands in front of each */
};

static void write_log(struct world *w)
{
	scoped(audit_freep) struct audit *a = NULL;
	struct error err = {0};
	uint64_t seq = 0, seed = 7;

	if (audit_open(w->state, NULL, &a, &err) < 0)
		fail_msg("%s", err.text);
	while (seq < RECORDS - 1) {
		char command[64];
		uint64_t n = test_random(&seed);
		const struct audit_event e = {.kind = (enum audit_kind)(n % (AUDIT_ENDED + 1)),
		                              .task = "bash-0123456789abcdef",
		                              .command = command,
		                              .exit_code = (int)(n % 256),
		                              .ended = n % 7 == 0};

		snprintf(command, sizeof(command), "echo %.*s", (int)(n % 40),
		         "a\nb\"c\\d\xc3\xa4 and so on, some of them longer");
		assert_int_equal(audit_append(a, &e, 1, &seq, &err), 0);
	}
	/* The last of a thousand brings a checkpoint with it. */
	assert_int_equal(audit_append(a, &(struct audit_event){.kind = AUDIT_ENDED}, 1, &seq, NULL),
	                 0);
}

static void read_log(struct world *w)
{
	scoped(buffer_donep) struct buffer log = {0};
	scoped(fd_closep) int fd = -1;
	struct audit_chain c = {0};
	char path[128];
	size_t at = 0;

	snprintf(path, sizeof(path), "%s/audit/log.000001", w->state);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_read_all(fd, &log), 0);
	w->size = log.len;
	w->bytes = buffer_take(&log);
	w->starts = calloc(2 * RECORDS, sizeof(*w->starts));
	w->before = calloc(2 * RECORDS, sizeof(*w->before));
	assert_true(w->bytes && w->starts && w->before);
	while (at < w->size) {
		const char *end = memchr(w->bytes + at, '\n', w->size - at);

		assert_non_null(end);
		w->starts[w->count] = at;
		w->before[w->count++] = c;
		assert_int_equal(audit_chain_feed(&c, w->bytes + at, (size_t)(end - w->bytes) - at),
		                 0);
		at = (size_t)(end - w->bytes) + 1;
	}
	w->starts[w->count] = at;
	w->before[w->count] = c;
	assert_true(w->count > RECORDS);
}

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	test_directory_make(w->state);
	write_log(w);
	read_log(w);
	*state = w;
	return 0;
}

static int unmake(void **state)
{
	struct world *w = *state;

	test_directory_remove(w->state);
	free(w->bytes);
	free(w->starts);
	free(w->before);
	free(w);
	return 0;
}

/* Whether a walk from record FIRST over these bytes, in place of those up to record NEXT, ends
 * anywhere else than it should. */
static bool is_found(const struct world *w, size_t first, size_t next, const char *bytes, size_t n)
{
	struct audit_chain c = w->before[first];
	size_t at = 0;

	while (at < n) {
		const char *end = memchr(bytes + at, '\n', n - at);

		if (!end || audit_chain_feed(&c, bytes + at, (size_t)(end - bytes) - at) < 0)
			return true;
		at = (size_t)(end - bytes) + 1;
	}
	return memcmp(&c.link, &w->before[next].link, sizeof(c.link)) != 0;
}

static bool wants_every(void)
{
	return getenv("NACRE_EVERY") != NULL;
}

static size_t behind(const struct world *w, size_t i)
{
	return i + 2 < w->count ? i + 2 : w->count;
}

static void any_changed_byte_is_found(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->count; i++) {
		size_t begin = w->starts[i], n = w->starts[behind(w, i)] - begin;

		for (size_t k = begin; k < w->starts[i + 1]; k++) {
			char kept = w->bytes[k];

			for (size_t bit = 0; bit < (wants_every() ? 8 : 1); bit++) {
				w->bytes[k] = (char)(kept ^ (1 << ((k + bit) % 8)));
				if (!is_found(w, i, behind(w, i), w->bytes + begin, n))
					fail_msg("byte %zu of record %zu", k - begin, i);
			}
			w->bytes[k] = '\n';
			if (kept != '\n' && (wants_every() || k % 5 == 0) &&
			    !is_found(w, i, behind(w, i), w->bytes + begin, n))
				fail_msg("a newline at %zu of record %zu", k - begin, i);
			w->bytes[k] = kept;
		}
	}
}

/* These records, by number, one behind the other. */
static bool is_found_in(const struct world *w, size_t first, size_t next, const size_t *order,
                        size_t count)
{
	scoped(buffer_donep) struct buffer b = {0};

	for (size_t i = 0; i < count; i++)
		buffer_append(&b, w->bytes + w->starts[order[i]],
		              w->starts[order[i] + 1] - w->starts[order[i]]);
	return is_found(w, first, next, buffer_str(&b), b.len);
}

static bool is_good(const struct world *w, const char *bytes, size_t n)
{
	scoped(fd_closep) int fd = -1;
	struct audit_verdict v;
	char path[128];

	snprintf(path, sizeof(path), "%s/audit/log.000001", w->state);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(fd_write_all(fd, bytes, n), 0);
	snprintf(path, sizeof(path), "%s/audit", w->state);
	assert_int_equal(audit_verify(path, NULL, &v, NULL), 0);
	return v.good;
}

static void any_record_taken_out_is_found(void **state)
{
	struct world *w = *state;

	/* What a log begins with is not in the chain either: the verifier knows it. */
	assert_false(is_good(w, w->bytes + w->starts[1], w->size - w->starts[1]));
	assert_true(is_good(w, w->bytes, w->size));
	for (size_t i = 1; i < w->count; i++)
		if (!is_found_in(w, i, behind(w, i), (size_t[]){i + 1}, i + 1 < w->count))
			fail_msg("record %zu", i);
}

static void any_two_records_swapped_are_found(void **state)
{
	struct world *w = *state;
	uint64_t seed = 11;

	for (size_t i = 0; i + 1 < w->count; i++) {
		size_t other = test_random(&seed) % w->count;

		if (!is_found_in(w, i, i + 2, (size_t[]){i + 1, i}, 2))
			fail_msg("records %zu and %zu", i, i + 1);
		if (other != i && !is_found_in(w, i, i + 1, (size_t[]){other}, 1))
			fail_msg("record %zu in place of %zu", other, i);
	}
}

static void any_record_put_in_is_found(void **state)
{
	struct world *w = *state;
	uint64_t seed = 13;

	for (size_t i = 0; i < w->count; i++) {
		size_t other = test_random(&seed) % w->count;

		if (!is_found_in(w, i, i + 1, (size_t[]){i, i}, 2) ||
		    !is_found_in(w, i, i + 1, (size_t[]){i, other}, 2) ||
		    (i > 0 && !is_found_in(w, i, i + 1, (size_t[]){other, i}, 2)))
			fail_msg("at %zu", i);
	}
}

/* Byte by byte, from the end. */
static void cut_everywhere(const struct world *w)
{
	scoped(fd_closep) int fd = -1;
	struct audit_verdict v;
	char path[128];

	assert_true(is_good(w, w->bytes, w->size));
	snprintf(path, sizeof(path), "%s/audit/log.000001", w->state);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/audit", w->state);
	for (size_t n = w->size; n-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		assert_int_equal(audit_verify(path, NULL, &v, NULL), 0);
		if (v.good)
			fail_msg("behind %zu bytes", n);
	}
	print_message("# %zu cuts\n", w->size);
}

/* The end is not in the chain: the head knows it. */
static void any_end_cut_off_is_found(void **state)
{
	struct world *w = *state;
	uint64_t seed = 17;

	assert_true(is_good(w, w->bytes, w->size));
	for (size_t i = 0; i < w->count; i++) /* whole records */
		if (memcmp(&w->before[i].link, &w->before[w->count].link,
		           sizeof(struct audit_link)) == 0)
			fail_msg("record %zu", i);
	for (size_t i = w->count - SAMPLES; i < w->count; i++)
		if (is_good(w, w->bytes, w->starts[i]))
			fail_msg("in front of record %zu", i);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_false(is_good(w, w->bytes, test_random(&seed) % w->size));
	assert_false(is_good(w, w->bytes, w->size - 1));
	if (wants_every())
		cut_everywhere(w);
	assert_true(is_good(w, w->bytes, w->size));
}

static void the_whole_verifier_finds_it_too(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer copy = {0};
	uint64_t seed = 19;

	for (int i = 0; i < SAMPLES; i++) {
		size_t at = test_random(&seed) % w->size;
		char kept = w->bytes[at];

		w->bytes[at] ^= 4;
		if (is_good(w, w->bytes, w->size))
			fail_msg("byte %zu", at);
		w->bytes[at] = kept;
	}
	for (int i = 0; i < SAMPLES; i++) {
		size_t k = test_random(&seed) % w->count;

		buffer_clear(&copy);
		buffer_append(&copy, w->bytes, w->starts[k]);
		buffer_append(&copy, w->bytes + w->starts[k + 1], w->size - w->starts[k + 1]);
		if (is_good(w, buffer_str(&copy), copy.len))
			fail_msg("without record %zu", k);
	}
	assert_true(is_good(w, w->bytes, w->size));
}

static void a_line_says_what_is_wrong_with_it(void **state)
{
	struct world *w = *state;
	struct audit_chain c = w->before[5];
	struct audit_line l;
	const char *line = w->bytes + w->starts[5];
	size_t n = w->starts[6] - w->starts[5] - 1;

	assert_null(audit_line_read(line, n, &l));
	assert_int_equal(l.seq, 6);
	assert_non_null(audit_line_read(line, n - 1, &l));
	assert_non_null(audit_line_read("", 0, &l));
	assert_non_null(audit_line_read("{}", 2, &l));
	assert_int_equal(
		audit_chain_feed(&c, w->bytes + w->starts[7], w->starts[8] - w->starts[7] - 1),
		-EBADMSG);
	assert_string_equal(c.problem, "record 8 stands where 6 should be");
}

static void times_are_read_and_written(void **state)
{
	char text[32];
	int64_t ms = 0;

	assert_int_equal(audit_time_parse("2026-11-16T07:24:47.123Z", &ms), 0);
	audit_time_print(ms, text);
	assert_string_equal(text, "2026-11-16T07:24:47.123Z");
	assert_int_equal(audit_time_parse("2026-11-16", &ms), 0);
	audit_time_print(ms, text);
	assert_string_equal(text, "2026-11-16T00:00:00.000Z");
	assert_int_equal(audit_time_parse("2026-11-16 07:24:47", &ms), 0);
	static const char *const bad[] = {"",
	                                  "2026",
	                                  "2026-13-01",
	                                  "2026-11-16T",
	                                  "2026-11-16T25:00:00Z",
	                                  "2026-11-16T07:24:47.12Z",
	                                  "2026-11-16x",
	                                  "2026-11-16ZZ"};
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(audit_time_parse(bad[i], &ms), -EINVAL);
}

/* Against the C library: the first and last moments of many days, leap years among them. */
static void times_are_those_of_the_calendar(void **state)
{
	int64_t seconds = 0;

	for (int64_t day = 0; day < (int64_t)8029 * 365; day += day < 150000 ? 1 : 97)
		for (int end = 0; end < 2; end++) {
			char text[32], expected[48];
			struct tm t;
			size_t n;

			seconds = day * 86400 + (end ? 86399 : 0);
			assert_non_null(gmtime_r(&seconds, &t));
			n = strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", &t);
			snprintf(expected + n, sizeof(expected) - n, ".%03dZ", end ? 999 : 0);
			audit_time_print(seconds * 1000 + (end ? 999 : 0), text);
			assert_string_equal(text, expected);
		}
	assert_true(seconds > 250000000000); /* up to the year 9990 or so */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_changed_byte_is_found),
		cmocka_unit_test(any_record_taken_out_is_found),
		cmocka_unit_test(any_two_records_swapped_are_found),
		cmocka_unit_test(any_record_put_in_is_found),
		cmocka_unit_test(any_end_cut_off_is_found),
		cmocka_unit_test(the_whole_verifier_finds_it_too),
		cmocka_unit_test(a_line_says_what_is_wrong_with_it),
		cmocka_unit_test(times_are_read_and_written),
		cmocka_unit_test(times_are_those_of_the_calendar),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
