/*
 * Coverage builds only: _exit() and execve() that write the counts first.
 *
 * The processes of nacre that were forked leave with _exit(), which skips the handler that would
 * save what they have run; the linker sends these calls here (--wrap). gcc has an execve() of its
 * own for this, but that one marks the counts as written, and in a vfork child this mark lies in
 * the memory of its parent, whose counts would be lost. Hence the reset after each dump.
 */
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_execve(const char *path, char *const argv[], char *const envp[]);
int __wrap_execve(const char *path, char *const argv[], char *const envp[]);

static void save_counts(void)
{
	__gcov_dump();
	__gcov_reset();
}

_Noreturn void __wrap__exit(int status)
{
	save_counts();
	__real__exit(status);
}

int __wrap_execve(const char *path, char *const argv[], char *const envp[])
{
	save_counts();
	return __real_execve(path, argv, envp);
}
