#include "sandbox/caps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "sandbox/test-child.h"

#define SKIPPED 199

static int drop_and_look(const void *unused)
{
	if (caps_drop_all() < 0)
		return 1;
	if (caps_any() != 0)
		return 2;
	return 0;
}

static void nothing_is_left_for_root_or_user(void **state)
{
	assert_int_equal(test_in_child(drop_and_look, NULL), 0);
}

static int drop_as_user(const void *unused)
{
	return test_become_user() ? 3 : drop_and_look(NULL);
}

static void an_ordinary_user_may_drop_nothing(void **state)
{
	assert_int_equal(test_in_child(drop_as_user, NULL), 0);
}

/* As a unit with SystemCallFilter=~@privileged does. */
static int refuse_capset(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0;
}

static int drop_without_the_call(const void *unused)
{
	return test_become_user() || refuse_capset() ? 3 : drop_and_look(NULL);
}

static void who_has_nothing_needs_no_call_to_give_it_up(void **state)
{
	assert_int_equal(test_in_child(drop_without_the_call, NULL), 0);
}

static int keep_against_will(const void *unused)
{
	if (caps_any() != 1)
		return SKIPPED;
	return refuse_capset() ? 3 : caps_drop_all() == -EPERM ? 0 : 1;
}

static void who_cannot_give_them_up_is_told_so(void **state)
{
	int r = test_in_child(keep_against_will, NULL);

	if (r == SKIPPED)
		skip();
	assert_int_equal(r, 0);
}

static int bounding_set_is_empty(const void *unused)
{
	if (caps_any() != 1)
		return SKIPPED; /* only who has capabilities can change the set */
	if (caps_drop_all() < 0)
		return 1;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return 2;
	if (!(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & SECBIT_NOROOT_LOCKED))
		return 3;
	return prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 ? 4 : 0;
}

static void nothing_can_be_regained(void **state)
{
	int r = test_in_child(bounding_set_is_empty, NULL);

	if (r == SKIPPED)
		skip();
	assert_int_equal(r, 0);
}

static int powers_of_root(const void *unused)
{
	if (geteuid() != 0)
		return SKIPPED;
	if (caps_drop_all() < 0)
		return 1;
	if (mount("none", "/mnt", "tmpfs", 0, NULL) == 0)
		return 2;
	if (chown("/proc/self/fd/0", 1, 1) == 0 || setuid(65534) == 0)
		return 3;
	/* The owner's right is not a capability. */
	return access("/", R_OK | X_OK) == 0 ? 0 : 4;
}

static void uid_0_is_no_root_any_more(void **state)
{
	int r = test_in_child(powers_of_root, NULL);

	if (r == SKIPPED)
		skip();
	assert_int_equal(r, 0);
}

static int program_of_root(const void *unused)
{
	if (geteuid() != 0)
		return SKIPPED;
	if (caps_drop_all() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	execl("/bin/sh", "sh", "-c", "grep -q 'CapEff:.0000000000000000' /proc/self/status",
	      (char *)NULL);
	return 2;
}

static void a_program_of_uid_0_starts_without_them(void **state)
{
	int r = test_in_child(program_of_root, NULL);

	if (r == SKIPPED)
		skip();
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_for_root_or_user),
		cmocka_unit_test(an_ordinary_user_may_drop_nothing),
		cmocka_unit_test(who_has_nothing_needs_no_call_to_give_it_up),
		cmocka_unit_test(who_cannot_give_them_up_is_told_so),
		cmocka_unit_test(nothing_can_be_regained),
		cmocka_unit_test(uid_0_is_no_root_any_more),
		cmocka_unit_test(a_program_of_uid_0_starts_without_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
