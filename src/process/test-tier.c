/* The landlock tier: no namespaces, the same questions. */
#include "process/test-box.h"

#include "protect/protect.h"

static int tier_setup(void **state)
{
	struct box *b;
	int r = box_setup(state);

	b = *state;
	b->spec.tier = SANDBOX_TIER_LANDLOCK;
	return r;
}

static void a_command_runs_in_its_workspace(void **state)
{
	struct box *b = *state;

	expect(b, "echo hello > made && mkdir d && mv made d && cat d/made", "hello\n");
	assert_int_equal(b->standing.tier, SANDBOX_TIER_LANDLOCK);
	assert_true(b->standing.missing & SANDBOX_LAYER_NAMESPACES);
	assert_true(b->standing.layers & SANDBOX_LAYER_LANDLOCK);
	expect_file(b, "work/d/made", "hello\n");
}

static void files_beside_the_workspace_are_out_of_reach(void **state)
{
	struct box *b = *state;

	refused(b, "cat ../outside");
	refused(b, "echo x > ../outside");
	refused(b, "ln ../outside x || mv ../outside x");
	refused(b, "touch /tmp/nacre-tier-leak || touch /var/tmp/nacre-tier-leak");
	refused(b, "cat /etc/shadow");
	refused(b, "ls /root || ls /home || ls /");
	expect_file(b, "outside", "secret");
}

static void a_link_leads_nowhere(void **state)
{
	struct box *b = *state;
	char path[160];

	path_in(b, "work/link", path);
	assert_int_equal(symlink("../outside", path), 0);
	refused(b, "cat link");
	refused(b, "echo x > link");
	expect_file(b, "outside", "secret");
}

static void temporary_files_have_a_place_that_goes_away(void **state)
{
	struct box *b = *state;
	scoped(process_freep) struct process *p = NULL;
	struct sandbox_plan *plan = NULL;
	char script[200], tmp[64];

	p = box_start(b, ":", &plan);
	box_follow(b, p);
	snprintf(tmp, sizeof(tmp), "%s", sandbox_plan_tmp(plan));
	assert_int_equal(access(tmp, F_OK), 0);
	b->place.tmp = tmp;
	snprintf(script, sizeof(script), "mkdir %s/d && echo x > %s/d/x", tmp, tmp);
	assert_int_equal(box_run(b, script), 0);
	sandbox_plan_free(plan);
	assert_int_equal(access(tmp, F_OK), -1);
}

static void it_has_no_capability_and_no_socket(void **state)
{
	struct box *b = *state;

	expect(b, "grep -c 'Cap[IPEA].*:.0000000000000000' /proc/self/status", "4\n");
	refused(b, "python3 -c 'import socket; socket.socket(socket.AF_INET)'");
	refused(b, "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'");
	assert_int_equal(box_run(b, "python3 -c 'import socket; socket.socketpair()'"), 0);
	assert_true(b->standing.layers & SANDBOX_LAYER_NETWORK);
}

static void it_cannot_signal_what_is_outside(void **state)
{
	struct box *b = *state;
	char script[64];

	snprintf(script, sizeof(script), "kill -0 %d || kill -0 1", getpid());
	refused(b, script);
}

static void denied_programs_can_neither_run_nor_be_read(void **state)
{
	struct box *b = *state;

	b->spec.denied = (const char *const[]){"perl", "awk", NULL};
	refused(b, "perl -e 1 || awk 1 /dev/null || mawk 1 /dev/null");
	refused(b, "for p in /usr/bin/perl5.*; do $p -e 1 && exit 0; done; exit 1");
	refused(b, "cat /usr/bin/perl");
	refused(b, "/lib64/ld-linux-x86-64.so.2 /usr/bin/mawk 1 /dev/null");
	expect(b, "ls -d . && sort /dev/null", ".\n");
}

static void only_listed_programs_run(void **state)
{
	struct box *b = *state;

	b->spec.exec = SANDBOX_EXEC_LISTED;
	b->spec.programs = (const char *const[]){"sh", "cat", NULL};
	expect(b, "echo fine | cat", "fine\n");
	refused(b, "ls");
	refused(b, "/lib64/ld-linux-x86-64.so.2 /usr/bin/ls");
	assert_true(b->standing.missing & SANDBOX_LAYER_PROGRAMS); /* the loader maps files */
}

static void secrets_of_the_workspace_are_out_of_reach(void **state)
{
	struct box *b = *state;
	char path[160];

	path_in(b, "work/.ssh", path);
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(b, "work/.ssh/id", path);
	write_text(path, "private");
	path_in(b, "work/src", path);
	assert_int_equal(mkdir(path, 0755), 0);
	b->place.home = b->workspace;
	b->spec.secrets = (const char *const[]){"~/.ssh", NULL};
	refused(b, "cat .ssh/id");
	refused(b, "mv .ssh x || rm -rf .ssh");
	assert_int_equal(box_run(b, "echo x > src/x"), 0);
}

static void swap_workspace(struct box *b)
{
	char path[160];

	path_in(b, "moved", path);
	assert_int_equal(rename(b->workspace, path), 0);
	assert_int_equal(symlink("keys", b->workspace), 0);
}

static void swap_entry(struct box *b)
{
	char path[160];

	path_in(b, "work/src", path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink(".ssh", path), 0);
}

/* Who works in a directory above it does that, while the box is being made. */
static void what_becomes_a_link_meanwhile_is_not_granted(void **state)
{
	struct box *b = *state;
	char path[160];

	path_in(b, "keys", path);
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(b, "keys/id", path);
	write_text(path, "private");
	path_in(b, "work/.ssh", path);
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(b, "work/.ssh/id", path);
	write_text(path, "private");
	path_in(b, "work/src", path);
	assert_int_equal(mkdir(path, 0755), 0);
	b->place.home = b->workspace;
	b->spec.secrets = (const char *const[]){"~/.ssh", NULL};
	b->meanwhile = swap_entry;
	refused(b, "cat src/id");
	b->meanwhile = swap_workspace;
	assert_int_equal(box_run(b, "cat id; echo x > id"), -1);
	assert_int_equal(b->output.len, 0);
	expect_file(b, "keys/id", "private");
}

static void a_changed_protected_path_is_named(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	scoped(buffer_donep) struct buffer names = {0};
	scoped(buffer_donep) struct buffer others = {0};
	struct protect_aside aside = {.open = open_given, .id = "t"};
	int nowhere = -1;
	char path[160];

	path_in(b, "work/.git", path);
	assert_int_equal(mkdir(path, 0755), 0);
	path_in(b, "work/.git/config", path);
	write_text(path, "[core]\n");
	b->spec.protected_ = (const char *const[]){".git/config", ".git/hooks", NULL};
	p = box_start(b, "echo x >> .git/config", &plan);
	box_follow(b, p);
	aside.owner = &nowhere;
	assert_int_equal(protect_check(sandbox_plan_protect(plan), &aside, &names, &others), 1);
	assert_string_equal(buffer_str(&names), ".git/config\t~");
}

static void a_read_only_workspace_is_one(void **state)
{
	struct box *b = *state;

	b->spec.workspace_readonly = true;
	refused(b, "touch x || mkdir d || rm -rf .");
	assert_int_equal(box_run(b, "ls"), 0);
}

#undef box_test
#define box_test(f) cmocka_unit_test_setup_teardown(f, tier_setup, box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		box_test(a_command_runs_in_its_workspace),
		box_test(files_beside_the_workspace_are_out_of_reach),
		box_test(a_link_leads_nowhere),
		box_test(temporary_files_have_a_place_that_goes_away),
		box_test(it_has_no_capability_and_no_socket),
		box_test(it_cannot_signal_what_is_outside),
		box_test(denied_programs_can_neither_run_nor_be_read),
		box_test(only_listed_programs_run),
		box_test(secrets_of_the_workspace_are_out_of_reach),
		box_test(what_becomes_a_link_meanwhile_is_not_granted),
		box_test(a_changed_protected_path_is_named),
		box_test(a_read_only_workspace_is_one),
	};

	box_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
