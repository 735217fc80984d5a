#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/fd.h"

/* A file without a name that holds N bytes of a pattern, read from its start. */
static int file_of(size_t n)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		putc((int)('a' + i % 26), f);
	assert_int_equal(fflush(f), 0);
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
	fclose(f);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void close_keeps_errno_and_passes_over_nothing(void **state)
{
	errno = ERANGE;
	fd_close(-1);
	fd_close(1000000); /* EBADF */
	assert_int_equal(errno, ERANGE);
}

static void reads_a_whole_file(void **state)
{
	static const size_t sizes[] = {0, 1, 16383, 16384, 16385, 100000};

	for (size_t i = 0; i < array_size(sizes); i++) {
		scoped(buffer_donep) struct buffer b = {0};
		scoped(fd_closep) int fd = file_of(sizes[i]);

		assert_int_equal(fd_read_all(fd, &b), 0);
		assert_int_equal(b.len, sizes[i]);
		for (size_t j = 0; j < b.len; j++)
			assert_int_equal(b.data[j], 'a' + j % 26);
		assert_int_equal(strlen(buffer_str(&b)), sizes[i]);
	}
}

static void a_file_longer_than_the_limit_is_too_big(void **state)
{
	scoped(buffer_donep) struct buffer b = {.max = 20000};
	scoped(fd_closep) int fd = file_of(20001);

	assert_int_equal(fd_read_all(fd, &b), -E2BIG);
	assert_true(b.len <= 20000);
}

static void a_file_as_long_as_the_limit_is_read(void **state)
{
	static const size_t sizes[] = {1, 10, 4096, 20000};

	for (size_t i = 0; i < array_size(sizes); i++) {
		scoped(buffer_donep) struct buffer b = {.max = sizes[i]};
		scoped(fd_closep) int fd = file_of(sizes[i]);

		assert_int_equal(fd_read_all(fd, &b), 0);
		assert_int_equal(b.len, sizes[i]);
	}
}

static void reading_reports_what_cannot_be_read(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	scoped(fd_closep) int fd = open("/", O_RDONLY | O_CLOEXEC);

	assert_int_equal(fd_read_all(fd, &b), -EISDIR);
	assert_int_equal(fd_read_all(-1, &b), -EBADF);
}

/* A pipe takes 64 KiB at a time, so a longer write is many. */
static void a_text_ends_with_a_nul_whatever_happens(void **state)
{
	char directory[64], text[8];
	int fd;

	test_directory_make(directory);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fd_replace_file(fd, "f", "12345678", 8), 0);
	assert_int_equal(fd_read_text(fd, "f", text, sizeof(text)), 7);
	assert_string_equal(text, "1234567");
	assert_int_equal(fd_replace_file(fd, "f", "12", 2), 0);
	assert_int_equal(fd_read_text(fd, "f", text, sizeof(text)), 2);
	assert_string_equal(text, "12");
	assert_int_equal(fd_read_text(fd, "none", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(fd_read_text(fd, ".", text, sizeof(text)), -EISDIR);
	assert_string_equal(text, "");
	fd_close(fd);
	test_directory_remove(directory);
}

static void writes_all_through_a_pipe_that_is_read_slowly(void **state)
{
	enum { BYTES = 1000000 };
	scoped(buffer_donep) struct buffer b = {0};
	scoped(freep) char *bytes = malloc(BYTES);
	int ends[2], status;
	pid_t child;

	for (int i = 0; i < BYTES; i++)
		bytes[i] = (char)('a' + i % 26);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		_exit(fd_write_all(ends[1], bytes, BYTES) == 0 ? 0 : 1);
	}
	close(ends[1]);
	assert_int_equal(fd_read_all(ends[0], &b), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(b.len, BYTES);
	assert_memory_equal(b.data, bytes, BYTES);
	close(ends[0]);
}

static void writing_reports_what_cannot_be_written(void **state)
{
	scoped(fd_closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_int_equal(fd_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(fd_write_all(-1, NULL, 0), 0);
}

static void nonblocking_is_added_to_the_other_flags(void **state)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_set_nonblocking(ends[1]), 0);
	assert_int_equal(fcntl(ends[1], F_GETFL), O_WRONLY | O_NONBLOCK);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(fd_set_nonblocking(ends[0]), -EBADF);
}

/* Runs CHECK in a process of its own, whose descriptors it may ruin; it returns 0 for good. */
static void expect_in_child(int (*check)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(check());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int fills_all_three(void)
{
	struct stat null, st;

	close(0);
	close(2);
	if (fd_fill_standard() < 0 || stat("/dev/null", &null) < 0)
		return 1;
	for (int fd = 0; fd < 3; fd += 2)
		if (fstat(fd, &st) < 0 || st.st_rdev != null.st_rdev)
			return 2;
	return open("/dev/null", O_RDONLY | O_CLOEXEC) == 3 ? 0 : 3;
}

static int closes_all_but_these(void)
{
	static const int keep[] = {7, -1, 3, 5, 5, 1};
	static const bool open_after[] = {true, true, true, true, false, true, false, true, false};

	for (int fd = 3; fd < 9; fd++)
		if (dup2(1, fd) < 0)
			return 1;
	fd_close_except(keep, array_size(keep));
	for (int fd = 0; fd < 9; fd++)
		if ((fcntl(fd, F_GETFD) >= 0) != open_after[fd])
			return 10 + fd;
	fd_close_except(NULL, 0);
	return fcntl(3, F_GETFD) < 0 && fcntl(2, F_GETFD) >= 0 ? 0 : 2;
}

static void closed_standard_streams_become_the_null_device(void **state)
{
	expect_in_child(fills_all_three);
}

static void descriptors_are_closed_but_for_a_list(void **state)
{
	expect_in_child(closes_all_but_these);
}

static void expect_file(int dir_fd, const char *name, const char *content)
{
	scoped(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	scoped(buffer_donep) struct buffer b = {0};

	assert_int_equal(fd_read_all(fd, &b), 0);
	assert_string_equal(buffer_str(&b), content);
}

static void a_file_is_made_or_replaced_as_a_whole(void **state)
{
	scoped(fd_closep) int dir_fd = -1;
	scoped(fd_closep) int old = -1;
	struct stat st;
	char dir[64], c;

	test_directory_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fd_replace_file(dir_fd, "name", "one", 3), 0);
	expect_file(dir_fd, "name", "one");
	old = openat(dir_fd, "name", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_replace_file(dir_fd, "name", "second", 6), 0);
	expect_file(dir_fd, "name", "second");
	assert_int_equal(read(old, &c, 1),
	                 1); /* whoever has it open reads the old one to its end */
	assert_int_equal(c, 'o');
	assert_int_equal(fstatat(dir_fd, "name", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(test_count_entries(dir), 1);
	test_directory_remove(dir);
}

static void a_failed_replacement_leaves_nothing_behind(void **state)
{
	scoped(fd_closep) int dir_fd = -1;
	char dir[64], name[300];

	test_directory_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(dir_fd, "name", 0700), 0);
	assert_int_equal(fd_replace_file(dir_fd, "name", "x", 1), -EISDIR);
	assert_int_equal(test_count_entries(dir), 1);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(fd_replace_file(dir_fd, name, "x", 1), -ENAMETOOLONG);
	assert_int_equal(fd_replace_file(-1, "name", "x", 1), -EBADF);
	assert_int_equal(test_count_entries(dir), 1);
	test_directory_remove(dir);
}

static void expect_regular(int dir_fd, const char *name)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, name);

	assert_true(fd >= 0);
}

static void a_planted_link_is_not_written_through(void **state)
{
	scoped(fd_closep) int dir_fd = -1;
	char dir[64];

	test_directory_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat("victim", dir_fd, ".name.new"), 0);
	assert_int_equal(fd_replace_file(dir_fd, "name", "x", 1), 0);
	assert_int_equal(faccessat(dir_fd, "victim", F_OK, 0), -1);
	expect_regular(dir_fd, "name");
	/* A FIFO without a reader would keep an open() waiting for ever. */
	assert_int_equal(mkfifoat(dir_fd, ".name.new", 0600), 0);
	assert_int_equal(fd_replace_file(dir_fd, "name", "y", 1), 0);
	expect_regular(dir_fd, "name");
	assert_int_equal(mkfifoat(dir_fd, "pipe", 0600), 0);
	assert_int_equal(fd_open_regular(dir_fd, "pipe"), -EINVAL);
	test_directory_remove(dir);
}

static void a_directory_that_others_can_write_to_is_not_private(void **state)
{
	char dir[64];
	scoped(fd_closep) int dir_fd = -1, fd = -1;

	test_directory_make(dir);
	dir_fd = fd_open_private(AT_FDCWD, dir);
	assert_true(dir_fd >= 0);
	assert_int_equal(mkdirat(dir_fd, "open", 0700), 0);
	assert_int_equal(fchmodat(dir_fd, "open", 0720, 0), 0);
	assert_int_equal(fd_open_private(dir_fd, "open"), -EPERM);
	assert_int_equal(fchmodat(dir_fd, "open", 0702, 0), 0);
	assert_int_equal(fd_open_private(dir_fd, "open"), -EPERM);
	assert_int_equal(fchmodat(dir_fd, "open", 0755, 0), 0);
	fd = fd_open_private(dir_fd, "open");
	assert_true(fd >= 0);
	assert_int_equal(symlinkat("open", dir_fd, "link"), 0);
	assert_int_equal(fd_open_private(dir_fd, "link"), -ENOTDIR);
	assert_int_equal(fd_open_private(dir_fd, "none"), -ENOENT);
	test_directory_remove(dir);
}

static void a_lock_is_waited_for_but_not_for_ever(void **state)
{
	char dir[64];
	scoped(fd_closep) int first = -1, second = -1;

	test_directory_make(dir);
	first = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	second = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fd_lock(first), 0);
	assert_int_equal(fd_lock(second), -EBUSY);
	fd_close(take_fd(&first));
	assert_int_equal(fd_lock(second), 0);
	test_directory_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close_keeps_errno_and_passes_over_nothing),
		cmocka_unit_test(reads_a_whole_file),
		cmocka_unit_test(a_file_longer_than_the_limit_is_too_big),
		cmocka_unit_test(a_file_as_long_as_the_limit_is_read),
		cmocka_unit_test(reading_reports_what_cannot_be_read),
		cmocka_unit_test(a_text_ends_with_a_nul_whatever_happens),
		cmocka_unit_test(writes_all_through_a_pipe_that_is_read_slowly),
		cmocka_unit_test(writing_reports_what_cannot_be_written),
		cmocka_unit_test(nonblocking_is_added_to_the_other_flags),
		cmocka_unit_test(closed_standard_streams_become_the_null_device),
		cmocka_unit_test(descriptors_are_closed_but_for_a_list),
		cmocka_unit_test(a_file_is_made_or_replaced_as_a_whole),
		cmocka_unit_test(a_failed_replacement_leaves_nothing_behind),
		cmocka_unit_test(a_planted_link_is_not_written_through),
		cmocka_unit_test(a_directory_that_others_can_write_to_is_not_private),
		cmocka_unit_test(a_lock_is_waited_for_but_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
