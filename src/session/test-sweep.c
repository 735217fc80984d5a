#include "base/test-support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "session/session.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

struct house {
	char state[64];
};

static int house_make(void **state)
{
	struct house *h = calloc(1, sizeof(*h));
	char path[96];

	assert_non_null(h);
	test_directory_make(h->state);
	snprintf(path, sizeof(path), "%s/sessions", h->state);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/grants", h->state);
	assert_int_equal(mkdir(path, 0700), 0);
	*state = h;
	return 0;
}

static int house_remove(void **state)
{
	struct house *h = *state;

	test_directory_remove(h->state);
	free(h);
	return 0;
}

static void path_of(const struct house *h, const char *name, char into[160])
{
	snprintf(into, 160, "%s/%s", h->state, name);
}

/* A file that was written so many days ago. */
static void make(const struct house *h, const char *name, const char *text, int days)
{
	int64_t at = clock_wall_ms() / 1000 - days * DAY_MS / 1000;
	const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
	scoped(fd_closep) int fd = -1;
	char path[160];

	path_of(h, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(futimens(fd, times), 0);
}

static bool is_there(const struct house *h, const char *name)
{
	char path[160];

	path_of(h, name, path);
	return access(path, F_OK) == 0;
}

/* A command of this session ends and has exported something. */
static int commit(const struct house *h, const char *id, const char *principal,
                  char notice[SESSION_NOTICE_MAX])
{
	static const char *const env[] = {NULL};
	static const char record[] =
		"\0nacre-session 1\0declare -x KEPT=\"x\"\n\0/\n\0end"; /* and the last NUL */
	const struct session_start start = {.state = h->state,
	                                    .id = id,
	                                    .principal = principal,
	                                    .workspace = "/",
	                                    .cwd = "/",
	                                    .envp = env};

	return session_commit(&start, record, sizeof(record), notice);
}

static void what_nobody_used_for_long_goes_with_what_was_approved_for_it(void **state)
{
	struct house *h = *state;

	make(h, "sessions/old.json", "{}", 8);
	make(h, "sessions/young.json", "{}", 6);
	make(h, "sessions/.old.json.new", "{}", 1);
	make(h, "sessions/.young.json.new", "{}", 0);
	make(h, "sessions/README", "not ours", 100);
	make(h, "grants/old.json", "[]", 8);
	make(h, "grants/young.json", "[]", 6);
	assert_int_equal(session_sweep(h->state, SESSION_AGE_MS), 1);
	assert_false(is_there(h, "sessions/old.json"));
	assert_false(is_there(h, "grants/old.json"));
	assert_false(is_there(h, "sessions/.old.json.new"));
	assert_true(is_there(h, "sessions/.young.json.new")); /* somebody may write it just now */
	assert_true(is_there(h, "sessions/young.json"));
	assert_true(is_there(h, "grants/young.json"));
	assert_true(is_there(h, "sessions/README"));
	assert_int_equal(session_sweep(h->state, 0), 0);
	assert_int_equal(session_sweep("/nonexistent", 1), 0);
}

static void what_is_in_use_stays(void **state)
{
	struct house *h = *state;
	int status, hold;
	pid_t other;

	make(h, "sessions/mine.json", "{}", 30);
	make(h, "grants/mine.json", "[]", 30);
	hold = session_hold(h->state, "mine");
	assert_true(hold >= 0);
	make(h, "sessions/mine.json", "{}", 30); /* as if the server had been idle since */
	make(h, "grants/mine.json", "[]", 30);
	other = fork(); /* another process asks, and it does not matter whose child it is */
	if (other == 0)
		_exit(session_sweep(h->state, SESSION_AGE_MS));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	assert_int_equal(session_sweep(h->state, SESSION_AGE_MS), 0);
	assert_true(is_there(h, "sessions/mine.json"));
	assert_true(is_there(h, "grants/mine.json"));
	fd_close(hold);
	assert_int_equal(session_sweep(h->state, SESSION_AGE_MS), 1);
	assert_false(is_there(h, "sessions/mine.json"));
	assert_false(is_there(h, "grants/mine.json"));
}

static void a_use_makes_it_young(void **state)
{
	struct house *h = *state;

	make(h, "sessions/mine.json", "{}", 6);
	make(h, "grants/mine.json", "[]", 6);
	fd_close(session_hold(h->state, "mine"));
	assert_int_equal(session_sweep(h->state, DAY_MS), 0);
	assert_true(is_there(h, "sessions/mine.json"));
	assert_true(is_there(h, "grants/mine.json"));
}

/* So many, of which none is older than the age; the oldest is s-0. */
static void make_many(const struct house *h, const char *principal, int count)
{
	char name[64], text[96];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "sessions/%s-%d.json", *principal ? principal : "s",
		         i);
		snprintf(text, sizeof(text), "{\n \"principal\": \"%s\"\n}", principal);
		make(h, name, *principal ? text : "{}", i == 0 ? 6 : i == 1 ? 5 : 4);
	}
}

static void of_too_many_of_a_principal_the_oldest_goes(void **state)
{
	struct house *h = *state;
	char notice[SESSION_NOTICE_MAX];

	make_many(h, "", SESSION_EACH_MAX);
	make_many(h, "alice", SESSION_EACH_MAX);
	make_many(h, "alic", 2); /* somebody else */
	assert_int_equal(commit(h, "new", "alice", notice), 0);
	assert_string_equal(notice, "");
	assert_false(is_there(h, "sessions/alice-0.json"));
	assert_true(is_there(h, "sessions/alice-1.json"));
	assert_true(is_there(h, "sessions/alic-0.json"));
	assert_true(is_there(h, "sessions/s-0.json"));
	assert_int_equal(commit(h, "new", "alice", notice), 0); /* it is one of them already */
	assert_true(is_there(h, "sessions/alice-1.json"));
	assert_int_equal(commit(h, "mine", NULL, notice), 0);
	assert_false(is_there(h, "sessions/s-0.json"));
	assert_true(is_there(h, "sessions/s-1.json"));
}

static void of_too_many_those_in_use_stay(void **state)
{
	struct house *h = *state;
	char notice[SESSION_NOTICE_MAX], id[16];
	int holds[SESSION_EACH_MAX];

	make_many(h, "", SESSION_EACH_MAX);
	for (int i = 0; i < SESSION_EACH_MAX; i++) {
		snprintf(id, sizeof(id), "s-%d", i);
		holds[i] = session_hold(h->state, id);
		assert_true(holds[i] >= 0);
	}
	assert_int_equal(commit(h, "one-more", NULL, notice), -ENOSPC);
	assert_non_null(strstr(notice, "512 others are in use"));
	assert_int_equal(commit(h, "s-7", NULL, notice), 0);
	fd_close(holds[300]);
	assert_int_equal(commit(h, "one-more", NULL, notice), 0);
	assert_false(is_there(h, "sessions/s-300.json"));
	for (int i = 0; i < SESSION_EACH_MAX; i++)
		if (i != 300)
			fd_close(holds[i]);
}

/* A variable of this name is no principal. */
static void what_a_command_exports_does_not_change_whose_it_is(void **state)
{
	struct house *h = *state;
	char notice[SESSION_NOTICE_MAX];

	make_many(h, "", SESSION_EACH_MAX - 1);
	make(h, "sessions/posing.json", "{\n \"set\": {\n  \"principal\": \"alice\"\n }\n}", 6);
	assert_int_equal(commit(h, "new", NULL, notice), 0);
	assert_int_equal(is_there(h, "sessions/posing.json") + is_there(h, "sessions/s-0.json"), 1);
}

#define HOUSE_TEST(f) cmocka_unit_test_setup_teardown(f, house_make, house_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOUSE_TEST(what_nobody_used_for_long_goes_with_what_was_approved_for_it),
		HOUSE_TEST(what_is_in_use_stays),
		HOUSE_TEST(a_use_makes_it_young),
		HOUSE_TEST(of_too_many_of_a_principal_the_oldest_goes),
		HOUSE_TEST(of_too_many_those_in_use_stay),
		HOUSE_TEST(what_a_command_exports_does_not_change_whose_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
