#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "approval/desk.h"
#include "approval/grants.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/policy.h"

struct bench {
	char state[64];
	int desk;
	struct arena *arena;
	struct approval asked;
};

static const char *const no_env[] = {NULL};
static const struct digest exact[1] = {{{1}}}, sub[1] = {{{2}}};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	int64_t now = clock_wall_ms();

	test_directory_make(b->state);
	b->desk = desk_open(b->state, true, NULL);
	assert_true(b->desk >= 0);
	b->arena = arena_new((size_t)64 << 20);
	b->asked = (struct approval){.principal = "",
	                             .profile = "workspace",
	                             .created_ms = now,
	                             .expires_ms = now + 60000,
	                             .command = "docker ps",
	                             .workspace = "/w",
	                             .cwd = "/w",
	                             .env = no_env,
	                             .reason = "because",
	                             .session = "s",
	                             .exact = {.digests = exact, .count = 1},
	                             .sub = {.digests = sub, .count = 1}};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	fd_close(b->desk);
	arena_free(b->arena);
	test_directory_remove(b->state);
	free(b);
	return 0;
}

static int answer(struct bench *b, enum approval_answer what, const char *by, struct approval *ret)
{
	struct desk_answer a = {.answer = what, .by = by};

	return desk_answer(b->desk, b->asked.id, NULL, &a, b->arena, ret, NULL);
}

static int spend(struct bench *b, struct approval *ret)
{
	return desk_spend(b->desk, b->asked.id, b->asked.principal, &b->asked.object, b->arena, ret,
	                  NULL);
}

static enum approval_state state_of(struct bench *b)
{
	struct approval a;

	assert_int_equal(desk_read(b->desk, b->asked.id, b->arena, &a, NULL), 0);
	return a.state;
}

static void it_is_open_until_somebody_answers(void **state)
{
	struct bench *b = *state;
	struct approval a;

	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(strlen(b->asked.id), APPROVAL_ID_MAX - 1);
	assert_int_equal(state_of(b), APPROVAL_OPEN);
	assert_int_equal(spend(b, &a), -EACCES);
	assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
	assert_int_equal(a.state, APPROVAL_GIVEN);
	assert_string_equal(a.by, "ada");
	assert_int_equal(spend(b, &a), 0);
	assert_int_equal(state_of(b), APPROVAL_USED);
	assert_int_equal(spend(b, &a), -EALREADY);
}

static void the_first_answer_counts(void **state)
{
	struct bench *b = *state;
	struct approval a;

	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_DENY, "first", &a), 0);
	assert_int_equal(answer(b, APPROVAL_ONCE, "second", &a), -EALREADY);
	assert_string_equal(a.by, "first");
	assert_int_equal(state_of(b), APPROVAL_REFUSED);
	assert_int_equal(spend(b, &a), -EACCES);
}

/* Starts COUNT processes that all wait for one pipe to close, and counts those that return 0. */
static int race(struct bench *b, int count, int (*attempt)(struct bench *b, int number))
{
	int ends[2], won = 0, status;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			fd_close(ends[1]);
			if (read(ends[0], &byte, 1) < 0)
				_exit(9);
			_exit(-attempt(b, i));
		}
	}
	fd_close(ends[0]);
	fd_close(ends[1]);
	for (int i = 0; i < count; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0)
			won++;
		else
			assert_int_equal(WEXITSTATUS(status), EALREADY);
	}
	return won;
}

static int answer_attempt(struct bench *b, int number)
{
	char by[16];
	struct approval a;
	int r;

	snprintf(by, sizeof(by), "number %d", number);
	r = answer(b, number % 2 ? APPROVAL_ONCE : APPROVAL_DENY, by, &a);
	return (strcmp(a.by, by) == 0) == (r == 0) ? r : -1;
}

static void of_fifty_answers_at_once_one_counts(void **state)
{
	struct bench *b = *state;

	for (int round = 0; round < 5; round++) {
		assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
		assert_int_equal(race(b, 50, answer_attempt), 1);
	}
}

static int spend_attempt(struct bench *b, int number)
{
	struct approval a;

	return spend(b, &a);
}

static void of_twenty_runs_at_once_one_has_it(void **state)
{
	struct bench *b = *state;
	struct approval a;

	for (int round = 0; round < 5; round++) {
		assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
		assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
		assert_int_equal(race(b, 20, spend_attempt), 1);
	}
}

static void an_answer_cannot_come_again_after_its_use(void **state)
{
	struct bench *b = *state;
	struct approval a;

	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
	assert_int_equal(spend(b, &a), 0);
	assert_int_equal(answer(b, APPROVAL_ONCE, "again", &a), -EALREADY);
	assert_int_equal(spend(b, &a), -EALREADY);
}

static void another_object_or_principal_cannot_use_it(void **state)
{
	struct bench *b = *state;
	struct approval_object other = b->asked.object;
	struct approval a;

	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
	for (int i = 0; i < OBJECT_PART_MAX; i++) {
		other = b->asked.object;
		other.parts[i].bytes[0] ^= 1;
		assert_int_equal(desk_spend(b->desk, b->asked.id, "", &other, b->arena, &a, NULL),
		                 -ESTALE);
	}
	assert_int_equal(
		desk_spend(b->desk, b->asked.id, "eve", &b->asked.object, b->arena, &a, NULL),
		-EACCES);
	assert_int_equal(spend(b, &a), 0); /* none of these has used it up */
}

static void it_is_found_by_what_is_asked(void **state)
{
	struct bench *b = *state;
	struct approval like = b->asked, a;

	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), -ENOENT);
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), 0);
	assert_string_equal(a.id, b->asked.id);
	like.principal = "eve";
	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), -ENOENT);
	like = b->asked;
	like.object.parts[0].bytes[0] ^= 1;
	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), -ENOENT);
	like = b->asked;
	assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), 0);
	assert_int_equal(a.state, APPROVAL_GIVEN);
	assert_int_equal(spend(b, &a), 0);
	assert_int_equal(desk_find(b->desk, &like, b->arena, &a, NULL), -ENOENT);
}

static void time_passes(void **state)
{
	struct bench *b = *state;
	struct approval a;

	b->asked.created_ms -= 120000;
	b->asked.expires_ms -= 120000;
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(state_of(b), APPROVAL_EXPIRED);
	assert_int_equal(answer(b, APPROVAL_ONCE, "late", &a), -ETIME);
	assert_int_equal(spend(b, &a), -EACCES);
}

static void others_do_not_see_it(void **state)
{
	struct bench *b = *state;
	struct desk_answer yes = {.answer = APPROVAL_ONCE, .by = "eve"};
	struct approval *list, a;
	size_t count;

	b->asked.principal = "alice";
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(desk_list(b->desk, "eve", true, b->arena, &list, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(desk_answer(b->desk, b->asked.id, "eve", &yes, b->arena, &a, NULL),
	                 -ENOENT);
	assert_int_equal(desk_list(b->desk, "alice", false, b->arena, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(desk_list(b->desk, NULL, false, b->arena, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(desk_answer(b->desk, b->asked.id, "alice", &yes, b->arena, &a, NULL), 0);
	assert_int_equal(desk_list(b->desk, NULL, false, b->arena, &list, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(desk_list(b->desk, NULL, true, b->arena, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
}

static void one_who_asks_too_much_waits_and_others_do_not(void **state)
{
	struct bench *b = *state;
	int r = 0;

	b->asked.principal = "eve";
	for (int i = 0; i < DESK_OPEN_MAX + 1 && r == 0; i++)
		r = desk_put(b->desk, &b->asked, NULL);
	assert_int_equal(r, -ENOSPC);
	b->asked.principal = "alice";
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
}

static void what_is_old_is_swept(void **state)
{
	struct bench *b = *state;
	struct approval a, old = b->asked;
	char path[160];

	old.created_ms -= (int64_t)3 * 24 * 3600 * 1000;
	old.expires_ms = old.created_ms + 1000;
	assert_int_equal(desk_put(b->desk, &old, NULL), 0);
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(desk_read(b->desk, old.id, b->arena, &a, NULL), -ENOENT);
	assert_int_equal(state_of(b), APPROVAL_OPEN);
	snprintf(path, sizeof(path), "%s/approvals", b->state);
	assert_int_equal(test_count_entries(path), 2); /* its file, by two names */
}

static void what_the_killed_have_left_is_swept(void **state)
{
	struct bench *b = *state;
	struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char path[160], young[160];

	snprintf(path, sizeof(path), "%s/approvals/.ap-0000000000.new", b->state);
	snprintf(young, sizeof(young), "%s/approvals/.x.answer", b->state);
	test_file_write(path, "{");
	test_file_write(young, "{");
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(young, F_OK), 0);
}

static void a_place_that_others_can_write_is_refused(void **state)
{
	struct bench *b = *state;
	char path[160];

	snprintf(path, sizeof(path), "%s/approvals", b->state);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(desk_open(b->state, true, NULL), -EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(chmod(b->state, 0777), 0);
	assert_int_equal(desk_open(b->state, true, NULL), -EPERM);
	assert_int_equal(chmod(b->state, 0700), 0);
	assert_int_equal(desk_open("/nowhere", true, NULL), -ENOENT);
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	snprintf(path, sizeof(path), "%s/approvals/%s.json", b->state, b->asked.id);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(desk_read(b->desk, b->asked.id, b->arena, &b->asked, NULL), -EPERM);
}

static void names_of_others_are_no_approvals(void **state)
{
	static const char *const names[] = {"../x", "/etc/passwd", "", "ap-", ".", "k-00"};
	struct bench *b = *state;
	struct approval a;

	for (size_t i = 0; i < array_size(names); i++)
		assert_int_equal(desk_read(b->desk, names[i], b->arena, &a, NULL), -ENOENT);
}

static void who_waits_hears_of_the_answer(void **state)
{
	struct bench *b = *state;
	struct approval a;
	scoped(fd_closep) int watch = -1;

	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	watch = desk_watch(b->desk);
	if (watch < 0)
		skip();
	assert_int_equal(answer(b, APPROVAL_ONCE, "ada", &a), 0);
	test_wait_readable(watch);
	desk_watch_drain(watch);
	assert_int_equal(state_of(b), APPROVAL_GIVEN);
}

static int load(struct bench *b, const char *session, const char *principal, struct grants *ret)
{
	struct grants_of of = {.state = b->state,
	                       .session = session,
	                       .principal = principal,
	                       .terms = b->asked.terms};

	return grants_load(&of, b->arena, ret, NULL);
}

static void a_session_is_granted_to_its_principal_only(void **state)
{
	struct bench *b = *state;
	struct object_file program;
	struct grants g;
	struct approval a;
	char path[160];

	snprintf(path, sizeof(path), "%s/program", b->state);
	test_file_write(path, "one\n");
	assert_int_equal(object_file_look(path, &program), 0);
	b->asked.principal = "alice";
	b->asked.object.files = b->asked.object.programs = &program;
	b->asked.object.file_count = b->asked.object.program_count = 1;
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_SESSION, "ada", &a), 0);
	assert_int_equal(load(b, "s", "alice", &g), 0);
	assert_int_equal(policy_grants_count(g.policy), 1);
	assert_int_equal(g.program_count, 1);
	grants_done(&g);
	assert_int_equal(load(b, "s", "eve", &g), 0);
	assert_int_equal(policy_grants_count(g.policy), 0);
	grants_done(&g);
	b->asked.terms.bytes[0] ^= 1; /* another profile, another box */
	assert_int_equal(load(b, "s", "alice", &g), 0);
	assert_int_equal(policy_grants_count(g.policy), 0);
	grants_done(&g);
	b->asked.terms.bytes[0] ^= 1;
	assert_int_equal(load(b, "t", "alice", &g), 0);
	assert_null(g.policy);
	test_file_write(path, "two\n");
	assert_int_equal(load(b, "s", "alice", &g), 0);
	assert_int_equal(policy_grants_count(g.policy), 0);
	grants_done(&g);
}

static void a_grant_is_for_the_program_it_was_given_for(void **state)
{
	struct object_file programs[] = {{.path = "/usr/bin/docker"}};
	struct policy_finding f = {.rule_id = "grant", .resolved = "/usr/bin/docker"};
	struct policy_answer answered = {.commands = &f, .command_count = 1};
	struct grants g = {.programs = programs, .program_count = 1};

	assert_true(grants_hold(&g, &answered));
	f.resolved = "/w/docker";
	assert_false(grants_hold(&g, &answered));
	f.resolved = NULL;
	assert_false(grants_hold(&g, &answered));
	f.rule_id = "allow:x";
	assert_true(grants_hold(&g, &answered));
}

static void without_a_session_there_is_no_grant(void **state)
{
	struct bench *b = *state;
	struct approval a;

	b->asked.session = NULL;
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_SESSION, "ada", &a), -EPERM);
	b->asked.session = "s";
	b->asked.sub.count = 0;
	assert_int_equal(desk_put(b->desk, &b->asked, NULL), 0);
	assert_int_equal(answer(b, APPROVAL_SUB, "ada", &a), -EPERM);
	assert_int_equal(state_of(b), APPROVAL_OPEN);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_open_until_somebody_answers),
		TEST(the_first_answer_counts),
		TEST(of_fifty_answers_at_once_one_counts),
		TEST(of_twenty_runs_at_once_one_has_it),
		TEST(an_answer_cannot_come_again_after_its_use),
		TEST(another_object_or_principal_cannot_use_it),
		TEST(it_is_found_by_what_is_asked),
		TEST(time_passes),
		TEST(others_do_not_see_it),
		TEST(one_who_asks_too_much_waits_and_others_do_not),
		TEST(what_is_old_is_swept),
		TEST(what_the_killed_have_left_is_swept),
		TEST(a_place_that_others_can_write_is_refused),
		TEST(names_of_others_are_no_approvals),
		TEST(who_waits_hears_of_the_answer),
		TEST(a_session_is_granted_to_its_principal_only),
		TEST(a_grant_is_for_the_program_it_was_given_for),
		TEST(without_a_session_there_is_no_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
