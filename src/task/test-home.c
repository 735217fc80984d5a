#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/fd.h"
#include "task/home.h"

static const char order[] = "{\"task_id\":\"bash-1\"}";

static int place_setup(void **state)
{
	char *directory = calloc(1, 64);

	test_directory_make(directory);
	*state = directory;
	return 0;
}

static int place_teardown(void **state)
{
	test_directory_remove(*state);
	free(*state);
	return 0;
}

static struct home home_in(const char *directory)
{
	struct home h = HOME_NONE;

	h.tasks_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	h.id = "bash-1";
	h.order = order;
	h.order_bytes = strlen(order);
	return h;
}

static void it_is_made_by_the_first_who_needs_it(void **state)
{
	struct home h = home_in(*state);
	struct stat st;
	int fd;

	assert_int_equal(test_count_entries(*state), 0);
	fd = home_make(&h);
	assert_true(fd >= 0);
	assert_int_equal(home_make(&h), fd);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(fd, "spec.json", &st, 0), 0);
	assert_int_equal(st.st_size, strlen(order));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(faccessat(fd, ".spec.json.new", F_OK, 0), -1);
	home_done(&h);
}

static void its_lock_says_that_the_task_lives(void **state)
{
	struct home h = home_in(*state);
	scoped(fd_closep) int look = -1;

	look = openat(home_make(&h), "spec.json", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(look, LOCK_SH | LOCK_NB), -1);
	home_done(&h);
	assert_int_equal(flock(look, LOCK_SH | LOCK_NB), 0);
}

static void where_it_cannot_be_made_that_is_remembered(void **state)
{
	struct home h = home_in(*state), none = HOME_NONE;

	assert_int_equal(mkdirat(h.tasks_fd, "bash-1", 0700), 0); /* somebody else's, empty */
	assert_int_equal(home_make(&h), -1);
	assert_int_equal(h.sys, EEXIST);
	assert_int_equal(unlinkat(h.tasks_fd, "bash-1", AT_REMOVEDIR), 0);
	assert_int_equal(home_make(&h), -1);
	assert_int_equal(test_count_entries(*state), 0);
	home_done(&h);
	assert_int_equal(home_make(&none), -1);
	assert_int_equal(none.sys, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_made_by_the_first_who_needs_it, place_setup,
	                                        place_teardown),
		cmocka_unit_test_setup_teardown(its_lock_says_that_the_task_lives, place_setup,
	                                        place_teardown),
		cmocka_unit_test_setup_teardown(where_it_cannot_be_made_that_is_remembered,
	                                        place_setup, place_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
