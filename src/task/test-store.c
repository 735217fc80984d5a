#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "task/home.h"
#include "task/store.h"

/* The directory of this test; NACRE_STATE_DIR and TMPDIR point into it. */
struct place {
	char dir[64], state[80], temporary[80];
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_directory_make(p->dir);
	snprintf(p->state, sizeof(p->state), "%s/state", p->dir);
	snprintf(p->temporary, sizeof(p->temporary), "%s/tmp", p->dir);
	assert_int_equal(mkdir(p->temporary, 0700), 0);
	setenv("NACRE_STATE_DIR", p->state, 1);
	setenv("TMPDIR", p->temporary, 1);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static void the_state_directory_is_made_private(void **state)
{
	struct place *p = *state;
	struct store s;
	struct stat st;
	char deep[120];

	snprintf(deep, sizeof(deep), "%s/a/b/", p->state);
	setenv("NACRE_STATE_DIR", deep, 1);
	store_open(&s);
	assert_true(s.tasks_fd >= 0);
	assert_false(s.temporary);
	assert_string_equal(s.notice, "");
	assert_int_equal(stat(s.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	store_done(&s);
	assert_int_equal(access(s.path, F_OK), 0); /* it stays for the next one */
	store_open(&s);
	assert_string_equal(s.notice, "");
	store_done(&s);
}

/* What a keeper makes first. */
static int new_task(struct store *s, char id[STORE_ID_MAX])
{
	int fd;

	assert_int_equal(id_new("bash-", id, STORE_ID_MAX), 0);
	assert_int_equal(mkdirat(s->tasks_fd, id, 0700), 0);
	fd = openat(s->tasks_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

/* Opens the store, expects a temporary one with a notice, and that nothing of it stays. */
static void expect_temporary(struct place *p)
{
	struct store s;
	char id[STORE_ID_MAX];

	store_open(&s);
	assert_true(s.tasks_fd >= 0);
	assert_true(s.temporary);
	assert_non_null(strstr(s.notice, p->temporary));
	assert_memory_equal(s.path, p->temporary, strlen(p->temporary));
	close(new_task(&s, id));
	store_task_remove(&s, id);
	store_done(&s);
	assert_int_equal(s.tasks_fd, -1);
	assert_int_equal(test_count_entries(p->temporary), 0);
}

static void a_state_directory_that_others_may_write_is_not_used(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdir(p->state, 0700), 0);
	assert_int_equal(chmod(p->state, 0770), 0);
	expect_temporary(p);
	assert_int_equal(chmod(p->state, 0702), 0);
	expect_temporary(p);
	assert_int_equal(test_count_entries(p->state), 0);
}

static void a_link_a_file_and_a_relative_name_are_not_used(void **state)
{
	struct place *p = *state;

	assert_int_equal(symlink(p->temporary, p->state), 0);
	expect_temporary(p);
	assert_int_equal(unlink(p->state), 0);
	close(open(p->state, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	expect_temporary(p);
	setenv("NACRE_STATE_DIR", "relative/name", 1);
	expect_temporary(p);
	setenv("NACRE_STATE_DIR", "/proc/nothing/here", 1);
	expect_temporary(p);
}

static void a_temporary_directory_with_kept_tasks_stays(void **state)
{
	struct place *p = *state;
	struct store s;
	char id[STORE_ID_MAX];

	setenv("NACRE_STATE_DIR", "/proc/nothing", 1);
	store_open(&s);
	close(new_task(&s, id));
	store_done(&s);
	assert_int_equal(test_count_entries(p->temporary), 1);
}

static void where_nothing_can_be_stored_it_is_said(void **state)
{
	struct store s;

	setenv("NACRE_STATE_DIR", "/proc/nothing", 1);
	setenv("TMPDIR", "/proc/nothing", 1);
	store_open(&s);
	assert_int_equal(s.tasks_fd, -1);
	assert_non_null(strstr(s.notice, "in memory only"));
	store_task_remove(&s, "bash-none");
	assert_int_equal(store_sweep(&s, 0, 0), 0);
	store_done(&s);
}

/* A task with FILES of a length, whose directory was last changed AGE seconds ago. */
static int make_task(struct store *s, char id[STORE_ID_MAX], size_t bytes, int age)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
	scoped(fd_closep) int out = -1;
	int dir_fd, spec;

	dir_fd = new_task(s, id);
	spec = openat(dir_fd, "spec.json", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	out = openat(dir_fd, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (size_t i = 0; i < bytes; i += 4096) {
		char page[4096];

		memset(page, 'x', sizeof(page));
		assert_int_equal(write(out, page, sizeof(page)), sizeof(page));
	}
	assert_int_equal(fsync(out), 0); /* some file systems allocate blocks late */
	assert_int_equal(futimens(dir_fd, times), 0);
	close(dir_fd);
	return spec;
}

static bool exists(struct store *s, const char *id)
{
	return faccessat(s->tasks_fd, id, F_OK, 0) == 0;
}

static void removing_a_task_takes_its_files_and_no_others(void **state)
{
	char ids[2][STORE_ID_MAX], name[64];
	struct store s;

	store_open(&s);
	close(make_task(&s, ids[0], 4096, 0));
	close(make_task(&s, ids[1], 4096, 0));
	snprintf(name, sizeof(name), "%s/not-ours", ids[1]);
	close(openat(s.tasks_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	store_task_remove(&s, ids[0]);
	store_task_remove(&s, ids[1]);
	store_task_remove(&s, "bash-never");
	assert_false(exists(&s, ids[0]));
	assert_true(exists(&s, name));
	store_done(&s);
}

static void what_a_command_planted_goes_with_its_task(void **state)
{
	struct place *p = *state;
	char id[STORE_ID_MAX], name[96], target[120];
	struct store s;

	store_open(&s);
	close(make_task(&s, id, 4096, 0));
	snprintf(target, sizeof(target), "%s/kept", p->temporary);
	close(open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	snprintf(name, sizeof(name), "%s/planted-0", id);
	assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	snprintf(name, sizeof(name), "%s/planted-0/link", id);
	assert_int_equal(symlinkat(p->temporary, s.tasks_fd, name), 0);
	snprintf(name, sizeof(name), "%s/planted-0/sub", id);
	assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	snprintf(name, sizeof(name), "%s/planted-1", id);
	close(openat(s.tasks_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	store_task_remove(&s, id);
	assert_false(exists(&s, id));
	assert_int_equal(access(target, F_OK), 0);
	store_done(&s);
}

/* However deep it is, and whatever its modes are: the state would grow for ever. */
static void what_was_planted_to_stay_goes_too(void **state)
{
	char id[STORE_ID_MAX], name[96];
	struct store s;
	int fd;

	store_open(&s);
	close(make_task(&s, id, 4096, 0));
	snprintf(name, sizeof(name), "%s/planted-0", id);
	assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	fd = openat(s.tasks_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 300; i++) {
		int next;

		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(fchmod(fd, i % 7 == 0 ? 0 : 0700), 0);
		close(fd);
		fd = next;
	}
	close(fd);
	store_task_remove(&s, id);
	assert_false(exists(&s, id));
	store_done(&s);
}

static void a_planted_link_is_not_followed_by_removal(void **state)
{
	struct place *p = *state;
	char target[120];
	struct store s;

	store_open(&s);
	snprintf(target, sizeof(target), "%s/out", p->temporary);
	close(open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(symlinkat(p->temporary, s.tasks_fd, "bash-link"), 0);
	store_task_remove(&s, "bash-link");
	assert_int_equal(access(target, F_OK), 0);
	store_done(&s);
}

static void a_sweep_deletes_the_oldest_until_the_rest_fits(void **state)
{
	enum { BYTES = 64 << 10 };
	char ids[4][STORE_ID_MAX];
	struct store s;

	store_open(&s);
	for (int i = 0; i < 4; i++) /* the third is the oldest, then the first */
		close(make_task(&s, ids[i], BYTES, (const int[]){300, 200, 400, 100}[i]));
	assert_int_equal(store_sweep(&s, (uint64_t)100 * BYTES, 0), 0);
	assert_int_equal(store_sweep(&s, BYTES * 5 / 2, 0), 2);
	assert_false(exists(&s, ids[2]));
	assert_false(exists(&s, ids[0]));
	assert_true(exists(&s, ids[1]));
	assert_true(exists(&s, ids[3]));
	assert_int_equal(store_sweep(&s, 0, 0), 2);
	store_done(&s);
}

/* A command can plant as much as it likes, as deep as it likes. */
static void what_was_planted_counts(void **state)
{
	enum { BYTES = 1 << 20 };
	char ids[3][STORE_ID_MAX], name[96], bytes[4096] = {1};
	scoped(fd_closep) int fd = -1;
	struct store s;

	store_open(&s);
	for (int i = 0; i < 3; i++)
		close(make_task(&s, ids[i], 4096, 300));
	snprintf(name, sizeof(name), "%s/planted-0", ids[0]);
	assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	strcat(name, "/large");
	fd = openat(s.tasks_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (size_t n = 0; n < BYTES; n += sizeof(bytes))
		assert_int_equal(fd_write_all(fd, bytes, sizeof(bytes)), 0);
	fsync(fd); /* some file systems count blocks when they are on the disk */
	assert_int_equal(store_sweep(&s, 2 * BYTES, 0), 0);
	assert_int_equal(store_sweep(&s, BYTES / 2, 0), 3); /* it was changed last */
	assert_false(exists(&s, ids[0]));
	close(make_task(&s, ids[1], 4096, 300));
	snprintf(name, sizeof(name), "%s/planted-0", ids[1]);
	assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	for (int i = 0; i < 20; i++) { /* deeper than anybody looks */
		strcat(name, "/d");
		assert_int_equal(mkdirat(s.tasks_fd, name, 0700), 0);
	}
	assert_int_equal(store_sweep(&s, (uint64_t)100 * BYTES, 0), 1);
	assert_false(exists(&s, ids[1]));
	store_done(&s);
}

static void what_a_killed_keeper_has_left_does_not_keep_a_task(void **state)
{
	static const char *const names[] = {"env", ".env.new", "sock", ".state.json.new"};
	char id[STORE_ID_MAX], name[64];
	struct store s;

	store_open(&s);
	close(make_task(&s, id, 10, 0));
	for (size_t i = 0; i < array_size(names); i++) {
		snprintf(name, sizeof(name), "%s/%s", id, names[i]);
		close(openat(s.tasks_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	assert_int_equal(store_sweep(&s, 0, 0), 1);
	assert_false(exists(&s, id));
	store_done(&s);
}

static void what_is_too_old_is_swept_however_little_it_is(void **state)
{
	char old[STORE_ID_MAX], young[STORE_ID_MAX];
	struct store s;

	store_open(&s);
	close(make_task(&s, old, 10, 3600));
	close(make_task(&s, young, 10, 60));
	assert_int_equal(store_sweep(&s, UINT64_MAX, 0), 0);
	assert_int_equal(store_sweep(&s, UINT64_MAX, 1800 * 1000), 1);
	assert_false(exists(&s, old));
	assert_true(exists(&s, young));
	assert_true(store_sweep_is_due(&s));
	assert_false(store_sweep_is_due(&s)); /* one of many who ask */
	store_done(&s);
}

static void a_start_that_was_cut_off_is_not_running(void **state)
{
	char id[STORE_ID_MAX];
	int dir_fd, look;
	struct store s;

	store_open(&s);
	dir_fd = new_task(&s, id);
	look = openat(s.tasks_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(store_task_is_running(look));
	close(dir_fd); /* its keeper dies before there is a spec.json */
	assert_false(store_task_is_running(look));
	close(look);
	store_done(&s);
}

static void what_was_never_named_is_swept_with_its_maker(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct store s;
	int maker;

	store_open(&s);
	assert_int_equal(mkdirat(s.tasks_fd, HOME_UNBORN "bash-1", 0700), 0);
	maker = openat(s.tasks_fd, HOME_UNBORN "bash-1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(futimens(maker, old), 0);
	assert_int_equal(flock(maker, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(store_sweep(&s, 1 << 20, 60000), 0);
	close(maker);
	assert_int_equal(store_sweep(&s, 1 << 20, 60000), 1);
	assert_int_equal(test_count_entries(s.path), 0);
	store_done(&s);
}

static void looking_makes_nothing(void **state)
{
	struct place *p = *state;
	struct store s;

	store_look(&s);
	assert_int_equal(s.tasks_fd, -1);
	assert_int_equal(access(p->state, F_OK), -1);
	store_done(&s);
}

static void running_tasks_are_never_swept(void **state)
{
	char locked[STORE_ID_MAX], young[STORE_ID_MAX];
	int spec, dir_fd;
	struct store s;

	store_open(&s);
	spec = make_task(&s, locked, 8192, 1000);
	assert_int_equal(flock(spec, LOCK_EX | LOCK_NB), 0);
	dir_fd = new_task(&s, young); /* no spec.json yet */
	assert_int_equal(store_sweep(&s, 0, 0), 0);
	assert_true(exists(&s, locked));
	assert_true(exists(&s, young));
	close(spec); /* the keeper ends */
	assert_int_equal(store_sweep(&s, 0, 0), 1);
	assert_false(exists(&s, locked));
	assert_true(exists(&s, young));
	close(dir_fd);
	store_done(&s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_state_directory_is_made_private),
		TEST(a_state_directory_that_others_may_write_is_not_used),
		TEST(a_link_a_file_and_a_relative_name_are_not_used),
		TEST(a_temporary_directory_with_kept_tasks_stays),
		TEST(where_nothing_can_be_stored_it_is_said),
		TEST(removing_a_task_takes_its_files_and_no_others),
		TEST(what_a_command_planted_goes_with_its_task),
		TEST(what_was_planted_to_stay_goes_too),
		TEST(a_planted_link_is_not_followed_by_removal),
		TEST(a_sweep_deletes_the_oldest_until_the_rest_fits),
		TEST(what_was_planted_counts),
		TEST(what_a_killed_keeper_has_left_does_not_keep_a_task),
		TEST(running_tasks_are_never_swept),
		TEST(what_is_too_old_is_swept_however_little_it_is),
		TEST(a_start_that_was_cut_off_is_not_running),
		TEST(what_was_never_named_is_swept_with_its_maker),
		TEST(looking_makes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
