#include "base/test-support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

static char top[64];

static void in(const char *name, char into[160])
{
	snprintf(into, 160, "%s/%s", top, name);
}

static int setup(void **state)
{
	static const char *const directories[] = {"a", "a/b", "a/b/c", "z"};
	static const char *const links[][2] = {
		{"a/b", "to-b"},     {"b/../b/c", "a/round"},   {"../z", "a/z"},
		{"../..", "a/out"},  {"/etc", "absolute"},      {"loop", "loop"},
		{"file", "a/b/f"},   {"missing", "dangling"},   {"a/b/", "slash"},
		{"to-b/c", "twice"}, {"../a/../../x", "a/over"}};
	char path[160];

	test_directory_make(top);
	for (size_t i = 0; i < array_size(directories); i++) {
		in(directories[i], path);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	in("a/b/file", path);
	fd_close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (size_t i = 0; i < array_size(links); i++) {
		in(links[i][1], path);
		assert_int_equal(symlink(links[i][0], path), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	test_directory_remove(top);
	return 0;
}

static const struct {
	const char *path;
	uint64_t flags;
	int code;       /* 0: it opens */
	const char *is; /* what was opened */
} cases[] = {
	{"a", O_PATH, 0, "a"},
	{"a/b/c", O_PATH | O_DIRECTORY, 0, "a/b/c"},
	{".", O_PATH, 0, ""},
	{"a/.", O_PATH, 0, "a"},
	{"a/..", O_PATH, 0, ""},
	{"a/b/..", O_PATH, 0, "a"},
	{"a/../a/b/../b/file", O_RDONLY, 0, "a/b/file"},
	{"to-b", O_PATH, 0, "a/b"},
	{"to-b", O_PATH | O_NOFOLLOW, 0, "to-b"},
	{"to-b/file", O_RDONLY | O_NOFOLLOW, 0, "a/b/file"},
	{"to-b/f", O_RDONLY, 0, "a/b/file"},
	{"to-b/f", O_RDONLY | O_NOFOLLOW, -ELOOP, NULL},
	{"to-b", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, -ENOTDIR, NULL},
	{"to-b/..", O_PATH, 0, "a"},
	{"a/round", O_PATH, 0, "a/b/c"},
	{"a/z", O_PATH, 0, "z"},
	{"slash", O_PATH, 0, "a/b"},
	{"slash/file", O_PATH, 0, "a/b/file"},
	{"twice", O_PATH, 0, "a/b/c"},
	{"twice/../..", O_PATH, 0, "a"},
	{"a//b///file", O_PATH, 0, "a/b/file"},
	{"a/b/file/x", O_PATH, -ENOTDIR, NULL},
	{"a/b/file", O_PATH | O_DIRECTORY, -ENOTDIR, NULL},
	{"x", O_PATH, -ENOENT, NULL},
	{"a/x/y", O_PATH, -ENOENT, NULL},
	{"dangling", O_PATH, -ENOENT, NULL},
	{"dangling", O_PATH | O_NOFOLLOW, 0, "dangling"},
	{"loop", O_PATH, -ELOOP, NULL},
	{"loop/x", O_PATH | O_NOFOLLOW, -ELOOP, NULL},
	{"", O_PATH, -ENOENT, NULL},
	{"..", O_PATH, -EXDEV, NULL},
	{"a/../..", O_PATH, -EXDEV, NULL},
	{"a/out", O_PATH, -EXDEV, NULL},
	{"a/over", O_PATH, -EXDEV, NULL},
	{"absolute", O_PATH, -EXDEV, NULL},
	{"absolute/passwd", O_PATH | O_NOFOLLOW, -EXDEV, NULL},
	{"/etc", O_PATH, -EXDEV, NULL},
};

static void try_all(void)
{
	scoped(fd_closep) int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char wanted[160], real[PATH_MAX], name[NAME_MAX + 2];

	assert_true(dir >= 0);
	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(fd_closep) int fd = path_open_beneath(dir, cases[i].path, cases[i].flags);

		if ((fd < 0 ? fd : 0) != cases[i].code)
			fail_msg("'%s': %d", cases[i].path, fd);
		if (fd < 0)
			continue;
		assert_int_equal(path_of_fd(fd, real), 0);
		snprintf(wanted, sizeof(wanted), "%s%s%s", top, *cases[i].is ? "/" : "",
		         cases[i].is);
		assert_string_equal(real, wanted);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(path_open_beneath(dir, name, O_PATH), -ENAMETOOLONG);
}

/* In a child: a filter stays. */
static void try_without(int answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {array_size(code), code};
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ||
		    syscall(SYS_openat2, -1, "", NULL, 0) >= 0 || errno != answer)
			_exit(2);
		try_all();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_path_stays_in_its_directory(void **state)
{
	try_all();
}

static void it_does_so_without_openat2(void **state)
{
	try_without(ENOSYS);
	try_without(EPERM);
}

static void only_some_errors_mean_that_nothing_is_there(void **state)
{
	static const int absent[] = {ENOENT, ENOTDIR, ELOOP, EXDEV};
	static const int unknown[] = {EPERM,  ENOSYS, EACCES, EAGAIN, EMFILE,
	                              ENFILE, ENOMEM, EIO,    EINVAL, 0};

	for (size_t i = 0; i < array_size(absent); i++)
		assert_true(path_is_absent(-absent[i]));
	for (size_t i = 0; i < array_size(unknown); i++)
		assert_false(path_is_absent(-unknown[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_stays_in_its_directory),
		cmocka_unit_test(it_does_so_without_openat2),
		cmocka_unit_test(only_some_errors_mean_that_nothing_is_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
