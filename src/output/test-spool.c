#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "output/spool.h"

/* Every test works in a directory of its own, held by its descriptor. */
struct place {
	char path[64];
	int dir;
};

static int enter(void **state)
{
	static struct place place;

	strcpy(place.path, "test-spool-XXXXXX");
	if (!mkdtemp(place.path))
		return -1;
	place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &place;
	return place.dir < 0;
}

static int leave(void **state)
{
	struct place *place = *state;

	unlinkat(place->dir, "out", 0);
	close(place->dir);
	return rmdir(place->path);
}

static struct spool *make(void **state, uint64_t cap)
{
	struct place *place = *state;
	struct spool *s = NULL;

	assert_int_equal(spool_open(place->dir, "out", cap, &s, NULL), 0);
	assert_non_null(s);
	return s;
}

/* The byte that the test stream has at an offset; no short period, so a shift shows. */
static char byte_at(uint64_t at)
{
	uint64_t x = at * 0x9e3779b97f4a7c15ULL;

	return (char)(x >> 56);
}

static void feed(struct spool *s, uint64_t *at, uint64_t n, size_t chunk)
{
	static char bytes[1 << 16];

	while (n) {
		size_t part = n < chunk ? (size_t)n : chunk;

		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(*at + i);
		spool_write(s, bytes, part);
		*at += part;
		n -= part;
	}
}

static char *content(void **state, size_t *ret_size)
{
	struct place *place = *state;
	scoped(fd_closep) int fd = openat(place->dir, "out", O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* The file is [0, HEAD) of the stream, then [FROM, TOTAL). */
static void expect_file(void **state, uint64_t head, uint64_t from, uint64_t total)
{
	scoped(freep) char *bytes = NULL;
	size_t size;

	bytes = content(state, &size);
	assert_int_equal(size, head + (total - from));
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != byte_at(i < head ? i : from + (i - head)))
			fail_msg("byte %zu of %zu differs", i, size);
}

static void keeps_all_up_to_the_cap(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 1000);
	struct spool_status st;
	uint64_t at = 0;

	feed(s, &at, 1000, 7);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.total, 1000);
	assert_int_equal(st.written, 1000);
	assert_int_equal(st.size, 1000);
	assert_int_equal(st.dropped_bytes, 0);
	assert_int_equal(st.lost_bytes, 0);
	assert_int_equal(st.first_errno, 0);
	expect_file(state, 1000, 1000, 1000);
}

static void the_file_is_private_and_new(void **state)
{
	struct place *place = *state;
	scoped(spool_freep) struct spool *s = make(state, 1000);
	struct spool *again = NULL;
	struct error err = {0};
	struct stat st;

	assert_int_equal(fstatat(place->dir, "out", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(spool_open(place->dir, "out", 1000, &again, &err), -EEXIST);
	assert_null(again);
	assert_non_null(strstr(err.text, "out"));
	assert_int_equal(spool_open(place->dir, "none/out", 1000, &again, &err), -ENOENT);
	spool_write(s, "x", 1); /* the first one is none the worse for it */
	spool_finish(s, NULL);
	assert_int_equal(fstatat(place->dir, "out", &st, 0), 0);
	assert_int_equal(st.st_size, 1);
}

static void a_link_is_not_followed(void **state)
{
	struct place *place = *state;
	struct spool *s = NULL;

	assert_int_equal(symlinkat("elsewhere", place->dir, "out"), 0);
	assert_int_equal(spool_open(place->dir, "out", 1000, &s, NULL), -EEXIST);
	assert_int_equal(faccessat(place->dir, "elsewhere", F_OK, 0), -1);
}

static void one_byte_over_the_cap_drops_one_byte(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 1001);
	struct spool_status st;
	uint64_t at = 0;

	feed(s, &at, 1002, 1);
	spool_status(s, &st);
	assert_int_equal(st.dropped_bytes, 1); /* known before the end */
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.dropped_at, 500);
	assert_int_equal(st.dropped_bytes, 1);
	assert_int_equal(st.size, 1001);
	expect_file(state, 500, 501, 1002);
}

static void the_middle_is_dropped_for_every_cap_and_chunk(void **state)
{
	static const uint64_t caps[] = {1, 2, 100, 4096, 10000, 65536, 100001};
	static const size_t chunks[] = {1, 13, 4096, 65536};
	struct place *place = *state;

	for (size_t i = 0; i < array_size(caps); i++)
		for (size_t j = 0; j < array_size(chunks); j++) {
			scoped(spool_freep) struct spool *s = make(state, caps[i]);
			uint64_t total = chunks[j] == 1 ? 30000 : 700000, at = 0, head;
			struct spool_status st;

			feed(s, &at, total, chunks[j]);
			spool_finish(s, NULL);
			spool_status(s, &st);
			if (total > caps[i]) {
				head = caps[i] / 2;
				assert_int_equal(st.dropped_at, head);
				assert_int_equal(st.dropped_bytes, total - caps[i]);
				assert_int_equal(st.size, caps[i]);
				assert_false(st.hole);
				expect_file(state, head, head + st.dropped_bytes, total);
			} else {
				expect_file(state, total, total, total);
			}
			assert_int_equal(st.lost_bytes, 0);
			assert_int_equal(unlinkat(place->dir, "out", 0), 0);
		}
}

static void disk_use_stays_near_the_cap(void **state)
{
	enum { CAP = 4 << 20, STEP = CAP / 8 };
	struct place *place = *state;
	scoped(spool_freep) struct spool *s = make(state, CAP);
	uint64_t at = 0, most = 0;
	struct stat st;

	for (int i = 0; i < 400; i++) { /* 25 MiB */
		feed(s, &at, 65536, 65536);
		assert_int_equal(fstatat(place->dir, "out", &st, 0), 0);
		assert_int_equal(st.st_size, at); /* true offsets while it runs */
		if ((uint64_t)st.st_blocks * 512 > most)
			most = (uint64_t)st.st_blocks * 512;
	}
	assert_in_range(most, CAP, CAP + STEP + 65536);
	spool_finish(s, NULL);
	assert_int_equal(fstatat(place->dir, "out", &st, 0), 0);
	assert_in_range(st.st_blocks * 512, CAP, CAP + 65536);
	expect_file(state, CAP / 2, at - CAP / 2, at);
}

static void a_write_longer_than_the_cap_writes_only_what_stays(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 8192);
	struct spool_status st;
	uint64_t at = 0;

	feed(s, &at, 65536, 65536);
	spool_status(s, &st);
	assert_int_equal(st.written, 8192);
	spool_finish(s, NULL);
	expect_file(state, 4096, 65536 - 4096, 65536);
}

static int no_holes(int fd, int mode, off_t offset, off_t n)
{
	errno = EOPNOTSUPP;
	return -1;
}

static const struct spool_calls without_holes = {.pwrite = pwrite, .fallocate = no_holes};

static void without_holes_the_tail_comes_from_memory(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 16384);
	char tail[3000];
	const struct iovec parts[2] = {{.iov_base = tail, .iov_len = 1000},
	                               {.iov_base = tail + 1000, .iov_len = 2000}};
	struct place *place = *state;
	struct spool_status st;
	struct stat info;
	uint64_t at = 0;

	spool_set_calls(s, &without_holes);
	feed(s, &at, 100000, 999);
	assert_int_equal(fstatat(place->dir, "out", &info, 0), 0);
	assert_int_equal(info.st_size, 8192);
	spool_status(s, &st);
	assert_int_equal(st.dropped_bytes, 100000 - 8192);
	for (size_t i = 0; i < sizeof(tail); i++)
		tail[i] = byte_at(97000 + i);
	spool_finish(s, parts);
	spool_status(s, &st);
	assert_int_equal(st.dropped_at, 8192);
	assert_int_equal(st.dropped_bytes, 100000 - 8192 - 3000);
	assert_int_equal(st.size, 8192 + 3000);
	expect_file(state, 8192, 97000, 100000);
}

static void without_holes_a_long_tail_is_cut_to_the_cap(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 8192);
	char tail[10000];
	const struct iovec parts[2] = {{.iov_base = tail, .iov_len = 7000},
	                               {.iov_base = tail + 7000, .iov_len = 3000}};
	struct spool_status st;
	uint64_t at = 0;

	spool_set_calls(s, &without_holes);
	feed(s, &at, 60000, 60000); /* one write that is longer than the cap */
	for (size_t i = 0; i < sizeof(tail); i++)
		tail[i] = byte_at(50000 + i);
	spool_finish(s, parts);
	spool_status(s, &st);
	assert_int_equal(st.dropped_bytes, 60000 - 8192);
	expect_file(state, 4096, 60000 - 4096, 60000);
}

/* A disk that is full while the stream lies in a range of offsets. */
static struct {
	off_t from, to;
	int sys;
	int asked;
} full_disk;

static ssize_t pwrite_or_full(int fd, const void *bytes, size_t n, off_t offset)
{
	if (offset >= full_disk.from && offset < full_disk.to) {
		full_disk.asked++;
		errno = full_disk.sys;
		return -1;
	}
	if (offset < full_disk.from && offset + (off_t)n > full_disk.from)
		n = (size_t)(full_disk.from - offset); /* a short write first, as a disk does */
	return pwrite(fd, bytes, n, offset);
}

static const struct spool_calls on_full_disk = {.pwrite = pwrite_or_full, .fallocate = fallocate};

static void a_full_disk_loses_bytes_but_not_the_caller(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 64 << 20);
	scoped(freep) char *bytes = NULL;
	struct spool_status st;
	uint64_t at = 0;
	size_t size;

	full_disk.from = 100000;
	full_disk.to = 200000;
	full_disk.sys = ENOSPC;
	full_disk.asked = 0;
	spool_set_calls(s, &on_full_disk);
	feed(s, &at, 3 << 20, 65536);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(full_disk.asked, 1); /* one attempt, then quiet for a MiB */
	assert_int_equal(st.first_errno, ENOSPC);
	assert_int_equal(st.lost_at, 100000);
	assert_int_equal(st.lost_bytes, 131072 + (1 << 20) - 100000);
	assert_int_equal(st.written + st.lost_bytes, st.total);
	bytes = content(state, &size);
	assert_int_equal(size, 3 << 20);
	for (size_t i = 0; i < size; i++) { /* what is lost reads as zero, all else in its place */
		bool lost = i >= st.lost_at && i < st.lost_at + st.lost_bytes;

		if (bytes[i] != (lost ? 0 : byte_at(i)))
			fail_msg("byte %zu differs", i);
	}
}

static void space_given_back_is_used_at_once(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 1 << 20);
	struct spool_status st;
	uint64_t at = 0;

	full_disk.from = 600000;
	full_disk.to = 700000;
	full_disk.sys = ENOSPC;
	full_disk.asked = 0;
	spool_set_calls(s, &on_full_disk);
	feed(s, &at, 4 << 20, 65536);
	spool_status(s, &st);
	assert_int_equal(st.lost_at, 600000);
	assert_in_range(st.lost_bytes, 65536, (1 << 20) + 4 * 65536 - 600000); /* no MiB of quiet */
}

static void a_disk_that_stays_full_is_asked_seldom(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 64 << 20);
	struct spool_status st;
	uint64_t at = 0;

	full_disk.from = 1000;
	full_disk.to = INT64_MAX;
	full_disk.sys = EDQUOT;
	full_disk.asked = 0;
	spool_set_calls(s, &on_full_disk);
	feed(s, &at, 10 << 20, 4096);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_in_range(full_disk.asked, 5, 11);
	assert_int_equal(st.lost_at, 1000);
	assert_int_equal(st.lost_bytes, (10 << 20) - 1000);
	assert_int_equal(st.first_errno, EDQUOT);
	assert_int_equal(st.size, 1000);
	expect_file(state, 1000, 1000, 1000);
}

static void a_hole_that_cannot_be_closed_stays(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 1 << 20);
	scoped(freep) char *bytes = NULL;
	struct spool_status st;
	uint64_t at = 0;
	size_t size;

	feed(s, &at, 4 << 20, 65536);
	full_disk.from = 0; /* full when the tail is to move */
	full_disk.to = INT64_MAX;
	full_disk.sys = ENOSPC;
	spool_set_calls(s, &on_full_disk);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_true(st.hole);
	assert_int_equal(st.first_errno, ENOSPC);
	assert_int_equal(st.lost_bytes, 0);
	assert_int_equal(st.size, 4 << 20);
	bytes = content(state, &size);
	assert_int_equal(bytes[100], byte_at(100));
	assert_int_equal(bytes[size - 100], byte_at(size - 100));
	assert_int_equal(bytes[1 << 20], 0);
}

static void a_file_size_limit_is_a_full_disk(void **state)
{
	scoped(spool_freep) struct spool *s = make(state, 64 << 20);
	struct rlimit old, small;
	struct spool_status st;
	uint64_t at = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 50000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	feed(s, &at, 200000, 65536);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.first_errno, EFBIG);
	assert_int_equal(st.lost_at, 50000);
	assert_int_equal(st.lost_bytes, 150000);
	expect_file(state, 50000, 50000, 50000);
}

static void a_cap_of_nothing_makes_no_file(void **state)
{
	struct place *place = *state;
	scoped(spool_freep) struct spool *s = make(state, 0);
	struct spool_status st;
	uint64_t at = 0;

	feed(s, &at, 5000, 100);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(faccessat(place->dir, "out", F_OK, 0), -1);
	assert_int_equal(st.total, 5000);
	assert_int_equal(st.dropped_bytes, 5000);
	assert_int_equal(st.lost_bytes, 0);
}

static void no_spool_is_a_spool_that_keeps_nothing(void **state)
{
	struct spool_status st = {.total = 7};

	spool_write(NULL, "x", 1);
	spool_finish(NULL, NULL);
	spool_status(NULL, &st);
	assert_int_equal(st.total, 0);
	assert_null(spool_free(NULL));
}

#define in_a_place(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_a_place(keeps_all_up_to_the_cap),
		in_a_place(the_file_is_private_and_new),
		in_a_place(a_link_is_not_followed),
		in_a_place(one_byte_over_the_cap_drops_one_byte),
		in_a_place(the_middle_is_dropped_for_every_cap_and_chunk),
		in_a_place(disk_use_stays_near_the_cap),
		in_a_place(a_write_longer_than_the_cap_writes_only_what_stays),
		in_a_place(without_holes_the_tail_comes_from_memory),
		in_a_place(without_holes_a_long_tail_is_cut_to_the_cap),
		in_a_place(a_full_disk_loses_bytes_but_not_the_caller),
		in_a_place(space_given_back_is_used_at_once),
		in_a_place(a_disk_that_stays_full_is_asked_seldom),
		in_a_place(a_hole_that_cannot_be_closed_stays),
		in_a_place(a_file_size_limit_is_a_full_disk),
		in_a_place(a_cap_of_nothing_makes_no_file),
		in_a_place(no_spool_is_a_spool_that_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
