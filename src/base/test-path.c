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

static int note(void *context, int fd, const char *path)
{
	char *seen = context, real[PATH_MAX];

	assert_int_equal(path_of_fd(fd, real), 0);
	assert_string_equal(real, path);
	strcat(strcat(seen, strrchr(path, '/')), " ");
	return strcmp(strrchr(path, '/'), "/stop") == 0 ? -ECANCELED : 0;
}

static void every_directory_on_the_way_down_is_visited(void **state)
{
	char directory[64], bottom[128], seen[256] = "", wanted[256];
	scoped(fd_closep) int fd = -1;

	test_directory_make(directory);
	fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(bottom, sizeof(bottom), "%s/a", directory);
	assert_int_equal(mkdir(bottom, 0700), 0);
	snprintf(bottom, sizeof(bottom), "%s/a/stop", directory);
	assert_int_equal(mkdir(bottom, 0700), 0);
	snprintf(bottom, sizeof(bottom), "%s/a/b", directory);
	assert_int_equal(mkdir(bottom, 0700), 0);
	assert_int_equal(path_descend(fd, directory, bottom, note, seen), 0);
	snprintf(wanted, sizeof(wanted), "%s /a /b ", strrchr(directory, '/'));
	assert_string_equal(seen, wanted);

	seen[0] = '\0';
	assert_int_equal(path_descend(fd, directory, directory, note, seen), 0);
	snprintf(wanted, sizeof(wanted), "%s ", strrchr(directory, '/'));
	assert_string_equal(seen, wanted);

	snprintf(bottom, sizeof(bottom), "%s/a/stop/c", directory);
	assert_int_equal(path_descend(fd, directory, bottom, note, seen), -ECANCELED);
	assert_int_equal(path_descend(fd, directory, "/usr", note, seen), -EXDEV);
	snprintf(bottom, sizeof(bottom), "%s/link", directory);
	assert_int_equal(symlink("a", bottom), 0);
	assert_int_equal(path_descend(fd, directory, bottom, note, seen), -ENOTDIR);
	test_directory_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_file_has_the_path_that_the_kernel_knows),
		cmocka_unit_test(what_is_not_open_has_none),
		cmocka_unit_test(a_path_is_in_a_directory_by_whole_names),
		cmocka_unit_test(every_directory_on_the_way_down_is_visited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
