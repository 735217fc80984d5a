/*
 * What the kernel may lack: without Landlock the tests of the kernel are skipped, unless
 * NACRE_TEST_MUST names it.
 */
#include "sandbox/landlock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "sandbox/landlock-abi.h"
#include "sandbox/test-child.h"

struct place {
	char root[64];
	char tree[96], other[96]; /* two directories with a file and a program each */
};

static void write_file(const char *directory, const char *name, const char *text, mode_t mode)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	test_directory_make(p->root);
	assert_int_equal(chmod(p->root, 0755), 0);
	snprintf(p->tree, sizeof(p->tree), "%s/tree", p->root);
	snprintf(p->other, sizeof(p->other), "%s/other", p->root);
	assert_int_equal(mkdir(p->tree, 0777) | chmod(p->tree, 0777), 0);
	assert_int_equal(mkdir(p->other, 0777) | chmod(p->other, 0777), 0);
	write_file(p->tree, "file", "inside", 0666);
	write_file(p->other, "file", "outside", 0666);
	write_file(p->tree, "program", "#!/bin/sh\nexit 0\n", 0755);
	write_file(p->other, "program", "#!/bin/sh\nexit 0\n", 0755);
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;

	test_directory_remove(p->root);
	free(p);
	return 0;
}

static void need(int abi)
{
	const char *must = getenv("NACRE_TEST_MUST");

	if (landlock_abi() >= abi)
		return;
	assert_false(must && strstr(must, "landlock"));
	skip();
}

/* The attempts get this and work in the wall that it describes. */
struct attempt {
	const struct place *place;
	enum landlock_right right; /* granted on place->tree */
	bool as_user;
	int abi; /* 0: the kernel's; else an older one is played */
	int (*act)(const struct place *p);
};

static int behind_the_wall(const void *what)
{
	const struct attempt *a = what;
	struct landlock_wall wall = landlock_wall(a->abi ? a->abi : landlock_abi(), true);
	int rules = landlock_begin(&wall);

	if (rules < 0 || (a->as_user && test_become_user()))
		return 250;
	if (landlock_grant_at(rules, &wall, AT_FDCWD, "/usr", LANDLOCK_READ_EXEC) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/bin", LANDLOCK_READ_EXEC) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/lib64", LANDLOCK_READ_EXEC) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/lib", LANDLOCK_READ_EXEC) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/dev/null", LANDLOCK_DEVICE) < 0)
		return 251;
	if (landlock_grant_at(rules, &wall, AT_FDCWD, a->place->tree, a->right) < 0)
		return 252;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enforce(rules) < 0)
		return 253;
	return a->act(a->place);
}

static int attempt(void **state, enum landlock_right right, int (*act)(const struct place *p))
{
	struct attempt a = {.place = *state, .right = right, .act = act};
	int as_root = test_in_child(behind_the_wall, &a), as_user;

	a.as_user = true;
	as_user = test_in_child(behind_the_wall, &a);
	assert_int_equal(as_root, as_user); /* Landlock knows no root */
	return as_root;
}

static int open_in(const char *directory, const char *name, int flags)
{
	char path[160];
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	r = test_outcome(fd);
	if (fd >= 0)
		close(fd);
	return r;
}

static int read_inside(const struct place *p)
{
	return open_in(p->tree, "file", O_RDONLY);
}

static int read_outside(const struct place *p)
{
	return open_in(p->other, "file", O_RDONLY);
}

static int list_outside(const struct place *p)
{
	return open_in(p->other, ".", O_RDONLY | O_DIRECTORY);
}

static int list_inside(const struct place *p)
{
	return open_in(p->tree, ".", O_RDONLY | O_DIRECTORY);
}

static int write_inside(const struct place *p)
{
	return open_in(p->tree, "file", O_WRONLY);
}

static int make_inside(const struct place *p)
{
	char path[160];
	int r = open_in(p->tree, "new", O_WRONLY | O_CREAT | O_EXCL);

	snprintf(path, sizeof(path), "%s/new", p->tree);
	unlink(path);
	return r;
}

static int write_outside(const struct place *p)
{
	return open_in(p->other, "file", O_WRONLY);
}

static int truncate_outside(const struct place *p)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/file", p->other);
	return test_outcome(truncate(path, 0));
}

static int run_program(const char *directory)
{
	char path[160];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/program", directory);
	pid = vfork();
	if (pid == 0) {
		execl(path, path, (char *)NULL);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 249;
}

static int run_inside(const struct place *p)
{
	return run_program(p->tree);
}

static int run_outside(const struct place *p)
{
	return run_program(p->other);
}

static int move_out(const struct place *p)
{
	char from[160], to[160];

	snprintf(from, sizeof(from), "%s/file", p->tree);
	snprintf(to, sizeof(to), "%s/moved", p->other);
	return test_outcome(rename(from, to));
}

static int link_in(const struct place *p)
{
	char from[160], to[160];

	snprintf(from, sizeof(from), "%s/file", p->other);
	snprintf(to, sizeof(to), "%s/linked", p->tree);
	return test_outcome(link(from, to));
}

static int follow_a_link_out(const struct place *p)
{
	char target[160], path[160];
	int r;

	snprintf(target, sizeof(target), "%s/file", p->other);
	snprintf(path, sizeof(path), "%s/symlink", p->tree);
	if (symlink(target, path) < 0)
		return 248;
	r = open_in(p->tree, "symlink", O_RDONLY);
	unlink(path);
	return r;
}

static int rename_between_directories(const struct place *p)
{
	char from[160], directory[160], to[200];
	int r;

	snprintf(from, sizeof(from), "%s/file", p->tree);
	snprintf(directory, sizeof(directory), "%s/below", p->tree);
	snprintf(to, sizeof(to), "%s/file", directory);
	if (mkdir(directory, 0777) < 0)
		return 248;
	r = test_outcome(rename(from, to));
	if (r == 0 && rename(to, from) < 0)
		r = 247;
	rmdir(directory);
	return r;
}

static int discard_output(const struct place *p)
{
	return open_in("/dev", "null", O_WRONLY | O_TRUNC);
}

static int bind_port(const struct place *p)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? 248 : test_outcome(bind(fd, (struct sockaddr *)&any, sizeof(any)));
}

static int connect_port(const struct place *p)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? 248 : test_outcome(connect(fd, (struct sockaddr *)&at, sizeof(at)));
}

static int signal_parent(const struct place *p)
{
	return test_outcome(kill(getppid(), 0));
}

static int signal_child(const struct place *p)
{
	pid_t pid = fork();
	int r;

	if (pid == 0)
		for (;;)
			pause();
	r = test_outcome(kill(pid, SIGKILL));
	(void)waitpid(pid, NULL, r ? WNOHANG : 0);
	return r;
}

static void a_granted_tree_is_readable_and_nothing_else_is(void **state)
{
	need(1);
	assert_int_equal(attempt(state, LANDLOCK_READ, read_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_READ, list_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_READ, read_outside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ, list_outside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, follow_a_link_out), EACCES);
}

static void reading_is_neither_writing_nor_running(void **state)
{
	need(1);
	assert_int_equal(attempt(state, LANDLOCK_READ, write_inside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ, make_inside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ, run_inside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ_EXEC, run_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_READ_EXEC, make_inside), EACCES);
}

static void a_writable_tree_runs_programs_only_if_granted(void **state)
{
	need(1);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, write_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, make_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, run_inside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_WRITE_EXEC, run_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_WRITE_EXEC, run_outside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_WRITE_EXEC, write_outside), EACCES);
}

static void walking_shows_names_and_no_content(void **state)
{
	need(1);
	assert_int_equal(attempt(state, LANDLOCK_WALK, list_inside), 0);
	assert_int_equal(attempt(state, LANDLOCK_WALK, read_inside), EACCES);
}

static void files_do_not_move_across_the_wall(void **state)
{
	int r;

	need(1);
	r = attempt(state, LANDLOCK_WRITE, move_out);
	assert_true(r == EACCES || r == EXDEV);
	r = attempt(state, LANDLOCK_WRITE, link_in);
	assert_true(r == EACCES || r == EXDEV || r == EPERM);
}

static void files_move_inside_the_tree(void **state)
{
	need(LL_ABI_REFER);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, rename_between_directories), 0);
}

static void truncating_is_writing(void **state)
{
	need(LL_ABI_TRUNCATE);
	assert_int_equal(attempt(state, LANDLOCK_WRITE, truncate_outside), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ, discard_output), 0);
}

static void tcp_is_refused(void **state)
{
	need(LL_ABI_NET);
	assert_int_equal(attempt(state, LANDLOCK_READ, bind_port), EACCES);
	assert_int_equal(attempt(state, LANDLOCK_READ, connect_port), EACCES);
}

static void signals_stay_inside(void **state)
{
	need(LL_ABI_SCOPE);
	assert_int_equal(attempt(state, LANDLOCK_READ, signal_parent), EPERM);
	assert_int_equal(attempt(state, LANDLOCK_READ, signal_child), 0);
}

/* A newer kernel takes the rules of every older one: what an older kernel would hold is seen. */
static void older_kernels_get_rules_they_know(void **state)
{
	need(1);
	for (int abi = 1; abi <= landlock_abi(); abi++) {
		struct attempt a = {*state, LANDLOCK_WRITE, false, abi, read_outside};

		assert_int_equal(test_in_child(behind_the_wall, &a), EACCES);
		a.act = write_inside;
		assert_int_equal(test_in_child(behind_the_wall, &a), 0);
		a.act = connect_port;
		assert_int_equal(test_in_child(behind_the_wall, &a),
		                 abi >= LL_ABI_NET ? EACCES : ECONNREFUSED);
		a.act = signal_parent;
		assert_int_equal(test_in_child(behind_the_wall, &a),
		                 abi >= LL_ABI_SCOPE ? EPERM : 0);
	}
}

static int try_one_program(const void *what)
{
	const struct place *p = what;
	struct landlock_wall wall = landlock_wall(landlock_abi(), false);
	int rules = landlock_begin(&wall), r;

	if (landlock_grant_at(rules, &wall, AT_FDCWD, "/", LANDLOCK_READ) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/bin/sh", LANDLOCK_EXEC_FILE) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/lib64/ld-linux-x86-64.so.2",
	                      LANDLOCK_EXEC_FILE) < 0 ||
	    landlock_grant_at(rules, &wall, AT_FDCWD, "/usr/lib", LANDLOCK_READ_EXEC) < 0)
		return 250;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enforce(rules) < 0)
		return 251;
	r = run_program(p->tree);
	if (r != EACCES)
		return 1;
	r = vfork();
	if (r == 0) {
		execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
		_exit(errno);
	}
	return waitpid(r, &r, 0) < 0 ? 2 : WEXITSTATUS(r);
}

static void one_program_can_be_granted(void **state)
{
	need(1);
	assert_int_equal(test_in_child(try_one_program, *state), 42);
}

static void a_wall_holds_only_what_its_kernel_knows(void **state)
{
	struct landlock_wall none = landlock_wall(0, true), old = landlock_wall(1, true);
	struct landlock_wall five = landlock_wall(5, true), future = landlock_wall(99, false);

	assert_int_equal(none.files | none.net | none.scoped, 0);
	assert_int_equal(landlock_begin(&none), -EOPNOTSUPP);
	assert_int_equal(old.files, 0x1fff);
	assert_int_equal(old.net | old.scoped, 0);
	assert_int_equal(five.files, 0xffff);
	assert_int_equal(five.net, 3);
	assert_int_equal(five.scoped, 0);
	assert_int_equal(future.net, 0);
	assert_int_equal(future.scoped, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_granted_tree_is_readable_and_nothing_else_is),
		cmocka_unit_test(reading_is_neither_writing_nor_running),
		cmocka_unit_test(a_writable_tree_runs_programs_only_if_granted),
		cmocka_unit_test(walking_shows_names_and_no_content),
		cmocka_unit_test(files_do_not_move_across_the_wall),
		cmocka_unit_test(files_move_inside_the_tree),
		cmocka_unit_test(truncating_is_writing),
		cmocka_unit_test(tcp_is_refused),
		cmocka_unit_test(signals_stay_inside),
		cmocka_unit_test(older_kernels_get_rules_they_know),
		cmocka_unit_test(one_program_can_be_granted),
		cmocka_unit_test(a_wall_holds_only_what_its_kernel_knows),
	};

	return cmocka_run_group_tests(tests, place_make, place_remove);
}
