#include "base/test-support.h"

#include <string.h>
#include <sys/stat.h>
#include "base/fd.h"
#include "task/index.h"

struct place {
	char dir[64];
	int fd;
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_memory_directory_make(p->dir);
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	close(p->fd);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static size_t read_index(struct place *p, struct index_piece *into, size_t max)
{
	scoped(fd_closep) int fd = openat(p->fd, "index", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, into, max * sizeof(*into));

	assert_true(n >= 0 && n % (ssize_t)sizeof(*into) == 0);
	return (size_t)n / sizeof(*into);
}

static void one_stream_needs_none(void **state)
{
	struct place *p = *state;
	struct index x;

	index_init(&x, &p->fd);
	for (int i = 0; i < 3; i++)
		index_note(&x, 1, 100);
	assert_int_equal(faccessat(p->fd, "index", F_OK, 0), -1);
}

static void pieces_of_one_stream_become_one(void **state)
{
	struct place *p = *state;
	struct index_piece got[8];
	struct index x;

	index_init(&x, &p->fd);
	index_note(&x, 0, 10);
	index_note(&x, 0, 5);
	index_note(&x, 1, 7);
	index_note(&x, 1, 1);
	index_note(&x, 0, 2);
	assert_int_equal(read_index(p, got, 8), 3);
	assert_memory_equal(got, ((struct index_piece[]){{0, 15}, {1, 8}, {0, 2}}),
	                    3 * sizeof(*got));
	close(x.fd);
}

static void more_than_a_piece_can_hold_becomes_several(void **state)
{
	struct place *p = *state;
	struct index_piece got[8];
	struct index x;

	index_init(&x, &p->fd);
	index_note(&x, 0, (uint64_t)UINT32_MAX + 5);
	index_note(&x, 1, 1);
	assert_int_equal(read_index(p, got, 8), 3);
	assert_memory_equal(got, ((struct index_piece[]){{0, UINT32_MAX}, {0, 5}, {1, 1}}),
	                    3 * sizeof(*got));
	close(x.fd);
}

static void at_its_limit_it_says_that_it_stops(void **state)
{
	struct place *p = *state;
	struct index_piece last;
	struct stat st;
	struct index x;
	int fd;

	index_init(&x, &p->fd);
	for (uint64_t i = 0; i < INDEX_BYTES / sizeof(last) + 10; i++)
		index_note(&x, i % 2, 1);
	assert_int_equal(x.fd, -1);
	fd = openat(p->fd, "index", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true((uint64_t)st.st_size <= INDEX_BYTES);
	assert_int_equal(pread(fd, &last, sizeof(last), st.st_size - (off_t)sizeof(last)),
	                 sizeof(last));
	assert_int_equal(last.stream, INDEX_STOP);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_stream_needs_none),
		TEST(pieces_of_one_stream_become_one),
		TEST(more_than_a_piece_can_hold_becomes_several),
		TEST(at_its_limit_it_says_that_it_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
