/*
 * The filter in the kernel, where real calls are tried.
 */
#include "sandbox/test-seccomp.h"

#include <netinet/in.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "sandbox/test-child.h"

struct attempt {
	const struct seccomp_options *options;
	int (*act)(void);
};

static int behind_the_filter(const void *what)
{
	const struct attempt *attempt = what;
	struct seccomp_program p = {0};

	if (seccomp_compile(attempt->options, &p, NULL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_enforce(&p) < 0)
		return 255;
	return attempt->act();
}

static int attempt(const struct seccomp_options *options, int (*act)(void))
{
	struct attempt a = {options, act};

	return test_in_child(behind_the_filter, &a);
}

static int try_ptrace(void)
{
	return test_outcome(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static int try_unshare(void)
{
	return test_outcome(unshare(CLONE_NEWUSER));
}

static int try_clone3(void)
{
	uint64_t args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
	long pid = syscall(SYS_clone3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return test_outcome(pid);
}

static int try_clone(void)
{
	long pid = syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return test_outcome(pid);
}

static int try_vsock(void)
{
	return test_outcome(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static int try_alg(void)
{
	return test_outcome(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static int try_packet(void)
{
	return test_outcome(socket(AF_PACKET, SOCK_RAW, 0));
}

static int try_raw(void)
{
	return test_outcome(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static int try_inet(void)
{
	return test_outcome(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int try_unix(void)
{
	return test_outcome(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_pair(void)
{
	int fds[2];

	return test_outcome(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
}

static int try_io_uring(void)
{
	char params[256] = {0};

	return test_outcome(syscall(SYS_io_uring_setup, 4, params));
}

static int try_sticky_input(void)
{
	int main_fd, terminal;

	if (openpty(&main_fd, &terminal, NULL, NULL, NULL) < 0)
		return 254;
	/* The kernel reads 32 bits of the request. */
	return test_outcome(syscall(SYS_ioctl, terminal, TIOCSTI | 1UL << 32, "x"));
}

static int try_window_size(void)
{
	struct winsize size;
	int main_fd, terminal;

	if (openpty(&main_fd, &terminal, NULL, NULL, NULL) < 0)
		return 254;
	return test_outcome(ioctl(terminal, TIOCGWINSZ, &size));
}

static int try_memfd(void)
{
	return test_outcome(memfd_create("x", MFD_CLOEXEC));
}

static int try_shm(void)
{
	return test_outcome(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
}

static int try_set_user_id(void)
{
	char name[] = "/tmp/nacre-test-suid-XXXXXX";
	int fd = mkstemp(name), r;

	if (fd < 0)
		return 254;
	r = test_outcome(fchmod(fd, 04755));
	unlink(name);
	return r;
}

#ifdef __x86_64__
/* getpid as a 32-bit program calls it. */
static int try_int80(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return r < 0 ? (int)-r : 0;
}

static int try_x32(void)
{
	return test_outcome(syscall(SYS_getpid | 0x40000000));
}
#endif

static void *idle(void *nothing)
{
	return nothing;
}

static int try_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) != 0)
		return 1;
	return pthread_join(thread, NULL);
}

static int try_program(void)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "test \"$(echo a | cat)\" = a", (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 254;
}

static void the_kernel_refuses_the_forbidden(void **state)
{
	assert_int_equal(attempt(&loose, try_ptrace), EPERM);
	assert_int_equal(attempt(&loose, try_unshare), EPERM);
	assert_int_equal(attempt(&loose, try_clone3), ENOSYS);
	assert_int_equal(attempt(&loose, try_clone), EPERM);
	assert_int_equal(attempt(&loose, try_vsock), EAFNOSUPPORT);
	assert_int_equal(attempt(&loose, try_alg), EAFNOSUPPORT);
	assert_int_equal(attempt(&loose, try_packet), EAFNOSUPPORT);
	assert_int_equal(attempt(&loose, try_raw), EPERM);
	assert_int_equal(attempt(&loose, try_io_uring), ENOSYS);
	assert_int_equal(attempt(&loose, try_sticky_input), EPERM);
	assert_int_equal(attempt(&loose, try_set_user_id), EPERM);
	assert_int_equal(attempt(&strict, try_memfd), EPERM);
	assert_int_equal(attempt(&strict, try_inet), EAFNOSUPPORT);
	assert_int_equal(attempt(&strict, try_unix), EAFNOSUPPORT);
	assert_int_equal(attempt(&strict, try_shm), ENOSYS);
}

static void calls_of_32_bit_programs_are_refused(void **state)
{
#ifdef __x86_64__
	int r = attempt(&loose, try_int80);

	/* A kernel without 32-bit support ends the caller by itself. */
	assert_true(r == ENOSYS || r == TEST_KILLED + SIGSEGV);
	assert_int_equal(attempt(&loose, try_x32), ENOSYS);
#else
	skip();
#endif
}

static void the_ordinary_works(void **state)
{
	assert_int_equal(attempt(&loose, try_inet), 0);
	assert_int_equal(attempt(&loose, try_unix), 0);
	assert_int_equal(attempt(&loose, try_memfd), 0);
	assert_int_equal(attempt(&strict, try_pair), 0);
	assert_int_equal(attempt(&strict, try_window_size), 0);
	assert_int_equal(attempt(&strict, try_thread), 0);
	assert_int_equal(attempt(&strict, try_program), 0);
}

static int try_to_lift(void)
{
	struct seccomp_program none = {0};

	if (seccomp_enforce(&none) == 0) /* an empty program is no program */
		return 1;
	if (fork() == 0)
		_exit(try_ptrace() == EPERM ? 0 : 1);
	(void)wait(NULL);
	return try_ptrace();
}

static void the_filter_cannot_be_lifted(void **state)
{
	assert_true(seccomp_available());
	assert_int_equal(attempt(&loose, try_to_lift), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_refuses_the_forbidden),
		cmocka_unit_test(calls_of_32_bit_programs_are_refused),
		cmocka_unit_test(the_ordinary_works),
		cmocka_unit_test(the_filter_cannot_be_lifted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
