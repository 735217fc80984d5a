/*
 * A list of what is allowed: whatever else is refused with an error, so that a library that tries a
 * file goes on without it. What only an attacker would call ends the process.
 */
#include "gateway/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system calls of this machine have no name here"
#endif

/* AddressSanitizer's shadow counts as data of terabytes: no bound leaves it room. */
#ifdef __SANITIZE_ADDRESS__
#define MEMORY_MAX RLIM_INFINITY
#else
#define MEMORY_MAX ((rlim_t)256 << 20)
#endif
#define CODE_MAX 160

static const int allowed[] = {
	SYS_epoll_pwait,     SYS_epoll_ctl,    SYS_accept4,
	SYS_connect,         SYS_bind,         SYS_getsockname,
	SYS_getpeername,     SYS_getsockopt,   SYS_setsockopt,
	SYS_recvfrom,        SYS_recvmsg,      SYS_sendto,
	SYS_sendmsg,         SYS_shutdown,     SYS_splice,
	SYS_pipe2,           SYS_fcntl,        SYS_read,
	SYS_write,           SYS_readv,        SYS_writev,
	SYS_close,           SYS_mmap,         SYS_munmap,
	SYS_mremap,          SYS_madvise,      SYS_brk,
	SYS_futex,           SYS_getrandom,    SYS_clock_gettime,
	SYS_gettimeofday,    SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_rt_sigaction,    SYS_getpid,       SYS_gettid,
	SYS_restart_syscall, SYS_exit,         SYS_exit_group,
	SYS_ppoll,           SYS_uname,        SYS_sched_yield,
	SYS_ioctl,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,      SYS_poll,
#endif
};

static const int deadly[] = {SYS_execve,           SYS_execveat,          SYS_ptrace,
                             SYS_process_vm_readv, SYS_process_vm_writev, SYS_bpf,
                             SYS_io_uring_setup};

struct program {
	struct sock_filter code[CODE_MAX];
	uint16_t n;
};

static void put(struct program *p, struct sock_filter f)
{
	p->code[p->n++] = f;
}

static void put_return(struct program *p, uint32_t value)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void put_load(struct program *p, uint32_t offset)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* If the word that was loaded is VALUE, the next instruction; else the one after it. */
static void put_if(struct program *p, uint32_t value)
{
	put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
}

_Static_assert(array_size(allowed) * 2 + array_size(deadly) * 2 + 24 < CODE_MAX,
               "the program has room for all");

static int filter_load(void)
{
	struct program p = {.n = 0};
	struct sock_fprog program;

	put_load(&p, offsetof(struct seccomp_data, arch));
	put(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
	put_return(&p, SECCOMP_RET_KILL_PROCESS);
	put_load(&p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < array_size(allowed); i++) {
		put_if(&p, (uint32_t)allowed[i]);
		put_return(&p, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < array_size(deadly); i++) {
		put_if(&p, (uint32_t)deadly[i]);
		put_return(&p, SECCOMP_RET_KILL_PROCESS);
	}
	put(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0));
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	put_load(&p, offsetof(struct seccomp_data, args[0]));
	put_if(&p, AF_INET);
	put_return(&p, SECCOMP_RET_ALLOW);
	put_if(&p, AF_INET6);
	put_return(&p, SECCOMP_RET_ALLOW);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	program = (struct sock_fprog){.len = p.n, .filter = p.code};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* Governs files, and has no grant. A kernel without it has the filter, which opens none. */
static int files_forbid(void)
{
	struct landlock_wall wall = landlock_wall(landlock_abi(), false);
	scoped(fd_closep) int rules = -1;

	if (wall.abi < 1)
		return 0;
	rules = landlock_begin(&wall);
	return rules < 0 ? rules : landlock_enforce(rules);
}

size_t gateway_descriptors(size_t wanted)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return 256;
	if (r.rlim_max > wanted)
		r.rlim_max = wanted;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	return getrlimit(RLIMIT_NOFILE, &r) < 0 ? 256 : (size_t)r.rlim_cur;
}

int gateway_confine(void)
{
	const struct rlimit none = {0, 0}, memory = {MEMORY_MAX, MEMORY_MAX};
	int r;

	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
	    setrlimit(RLIMIT_NPROC, &none) < 0 || setrlimit(RLIMIT_DATA, &memory) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = caps_drop_all();
	if (r == 0)
		r = files_forbid();
	return r == 0 ? filter_load() : r;
}
