#include "base/test-support.h"

#include <errno.h>
#include <sys/stat.h>
#include "base/fd.h"
#include "base/path.h"

static void an_open_file_has_the_path_that_the_kernel_knows(void **state)
{
	char directory[64], link[80], path[PATH_MAX];
	scoped(fd_closep) int fd = -1;

	test_directory_make(directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink(directory, link), 0);
	fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(path_of_fd(fd, path), 0);
	assert_string_equal(path, directory);
	test_directory_remove(directory);
}

static void what_is_not_open_has_none(void **state)
{
	char path[PATH_MAX];

	assert_int_equal(path_of_fd(-1, path), -ENOENT);
}

static void a_path_is_in_a_directory_by_whole_names(void **state)
{
	assert_true(path_is_in("/a", "/a"));
	assert_true(path_is_in("/a/b", "/a"));
	assert_true(path_is_in("/a", "/"));
	assert_false(path_is_in("/ab", "/a"));
	assert_false(path_is_in("/", "/a"));
	assert_false(path_is_in("/b/a", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_file_has_the_path_that_the_kernel_knows),
		cmocka_unit_test(what_is_not_open_has_none),
		cmocka_unit_test(a_path_is_in_a_directory_by_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
