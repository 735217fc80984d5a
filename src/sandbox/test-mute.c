#include "sandbox/test-child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "sandbox/mute.h"

static int write_a_byte(const void *what)
{
	int fd = *(const int *)what, r = sandbox_mute() < 0 ? 99 : 0;

	if (r == 0)
		r = test_outcome(write(fd, "x", 1));
	/* Not _exit(): a sanitizer does much in there. */
	return (int)syscall(SYS_exit_group, r);
}

static int open_a_file(const void *what)
{
	return sandbox_mute() < 0 ? 99 : test_outcome(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static int make_a_socket(const void *what)
{
	return sandbox_mute() < 0 ? 99 : test_outcome(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int start_a_process(const void *what)
{
	return sandbox_mute() < 0 ? 99 : test_outcome(syscall(SYS_getpid));
}

static int take_memory(const void *what)
{
	if (sandbox_mute() < 0)
		return 99;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	                       MAP_FAILED
	               ? 1
	               : 0;
}

static void what_is_held_can_be_written(void **state)
{
	int ends[2];
	char byte = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(test_in_child(write_a_byte, &ends[1]), 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(ends[0]);
	close(ends[1]);
}

static void anything_else_is_the_end(void **state)
{
	int (*const attempts[])(const void *) = {open_a_file, make_a_socket, start_a_process,
	                                         take_memory};

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		assert_int_equal(test_in_child(attempts[i], NULL), TEST_KILLED + SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_held_can_be_written),
		cmocka_unit_test(anything_else_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
