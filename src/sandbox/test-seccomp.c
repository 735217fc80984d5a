/*
 * The filter as data, run by a small interpreter for every number and many arguments.
 */
#include "sandbox/test-seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "base/test-support.h"

#define ALLOWED SECCOMP_RET_ALLOW
#define DENIED  (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)

static const struct seccomp_options all_options[] = {
	{0},
	{.sockets = SECCOMP_SOCKETS_UNIX},
	{.sockets = SECCOMP_SOCKETS_PAIRS, .no_namespaces = true},
	{.no_anonymous_exec = true},
	{.no_setgid = true},
	{.sockets = SECCOMP_SOCKETS_PAIRS,
         .no_anonymous_exec = true,
         .no_namespaces = true,
         .no_setgid = true},
	{.no_anonymous_files = true},
	{.no_truncate = true, .asks = true},
	{.sockets = SECCOMP_SOCKETS_PAIRS,
         .no_anonymous_exec = true,
         .no_anonymous_files = true,
         .no_namespaces = true,
         .no_setgid = true,
         .no_truncate = true,
         .asks = true},
	{.own_ids = true, .uid = 64999, .gid = 100},
	{.no_anonymous_files = true,
         .no_anonymous_exec = true,
         .no_setgid = true,
         .own_ids = true,
         .uid = 64999,
         .gid = 100},
};

static struct seccomp_program compile(const struct seccomp_options *options)
{
	struct seccomp_program p = {0};

	assert_int_equal(seccomp_compile(options, &p, NULL), 0);
	return p;
}

static bool jump_taken(uint16_t test, uint32_t a, uint32_t k)
{
	switch (test) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		fail();
		return false;
	}
}

/* What the kernel would answer. Fails on an instruction that the filter has no use for, and on a
 * jump out of the program. */
static uint32_t run(const struct seccomp_program *p, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < p->count; at++) {
		const struct sock_filter *i = &p->code[at];

		if (i->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(i->k + 4 <= sizeof(*data) && i->k % 4 == 0);
			memcpy(&a, (const char *)data + i->k, 4);
		} else if (i->code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= i->k;
		} else if (i->code == (BPF_RET | BPF_K)) {
			return i->k;
		} else {
			assert_int_equal(BPF_CLASS(i->code), BPF_JMP);
			at += jump_taken(BPF_OP(i->code), a, i->k) ? i->jt : i->jf;
		}
	}
	fail();
	return 0;
}

static uint32_t ask(const struct seccomp_program *p, int nr, uint64_t a0, uint64_t a1, uint64_t a2,
                    uint64_t a3)
{
	struct seccomp_data data = {
		.nr = nr,
		.arch = AUDIT_ARCH_X86_64,
		.args = {a0, a1, a2, a3, a3, a3},
	};

	return run(p, &data);
}

/* Written down a second time, by hand: the list in the filter cannot change unnoticed. */
static const short denied[] = {
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_clone3,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_move_mount,
	SYS_open_tree,
	467,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fsconfig,
	SYS_fspick,
	SYS_mount_setattr,
	457,
	458,
	SYS_open_by_handle_at,
	425,
	426,
	427,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_fanotify_init,
	447,
	460,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_acct,
	SYS_quotactl,
	443,
	SYS_syslog,
	SYS_vhangup,
	SYS_nfsservctl,
	SYS_lookup_dcookie,
	SYS_iopl,
	SYS_ioperm,
	SYS_modify_ldt,
	SYS_uselib,
	SYS_ustat,
	SYS_sysfs,
	SYS__sysctl,
	SYS_openat2,
};
/* Those that depend on their arguments, and all arguments are 0 below. */
static const short zero_is_refused[] = {SYS_socket, SYS_socketpair};

static bool listed(const short *list, size_t count, int nr)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == nr)
			return true;
	return false;
}

static void forbids_what_is_listed_and_nothing_else(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);

	for (int nr = 0; nr <= SECCOMP_NEWEST; nr++) {
		uint32_t answer = ask(&p, nr, 0, 0, 0, 0);

		if (listed(denied, array_size(denied), nr))
			assert_true(answer == DENIED || answer == UNKNOWN);
		else if (listed(zero_is_refused, array_size(zero_is_refused), nr))
			assert_int_equal(answer, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
		else
			assert_int_equal(answer, ALLOWED);
	}
}

static void does_not_know_what_is_newer_than_itself(void **state)
{
	for (size_t i = 0; i < array_size(all_options); i++) {
		scoped(seccomp_program_donep) struct seccomp_program p = compile(&all_options[i]);

		for (int nr = SECCOMP_NEWEST + 1; nr < 4096; nr++)
			assert_int_equal(ask(&p, nr, 0, 0, 0, 0), UNKNOWN);
		assert_int_equal(ask(&p, -1, 0, 0, 0, 0), UNKNOWN);
		assert_int_equal(ask(&p, INT32_MIN, 0, 0, 0, 0), UNKNOWN);
	}
}

/* x32 numbers are ordinary ones with bit 30, and 512 to 547 without namesakes. */
static void refuses_every_x32_call(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);

	for (int nr = 0; nr < 1024; nr++)
		assert_int_equal(ask(&p, nr | 0x40000000, 1, 1, 0, 0), UNKNOWN);
}

static void refuses_other_architectures(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	struct seccomp_data data = {.arch = AUDIT_ARCH_I386};

	for (data.nr = 0; data.nr < 512; data.nr++) {
		data.arch = AUDIT_ARCH_I386;
		assert_int_equal(run(&p, &data), UNKNOWN);
		data.arch = AUDIT_ARCH_AARCH64;
		assert_int_equal(run(&p, &data), SECCOMP_RET_KILL_PROCESS);
		data.arch = 0;
		assert_int_equal(run(&p, &data), SECCOMP_RET_KILL_PROCESS);
	}
}

static void every_program_ends_in_a_verdict_and_fits_the_kernel(void **state)
{
	for (size_t i = 0; i < array_size(all_options); i++) {
		scoped(seccomp_program_donep) struct seccomp_program p = compile(&all_options[i]);

		assert_true(p.count > 100 && p.count < BPF_MAXINSNS);
		for (int nr = 0; nr <= SECCOMP_NEWEST; nr++) { /* run() fails on a jump outside */
			(void)ask(&p, nr, 0, 0, 0, 0);
			(void)ask(&p, nr, ~0ULL, ~0ULL, ~0ULL, ~0ULL);
		}
	}
}

static void namespaces_cannot_be_made_by_any_flag(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	static const uint64_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
	                                 CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
	uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
	                  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	for (size_t i = 0; i < array_size(flags); i++) {
		assert_int_equal(ask(&p, SYS_clone, flags[i] | SIGCHLD, 0, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_clone, flags[i] | 1ULL << 40, 0, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_unshare, flags[i], 0, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_unshare, flags[i] | CLONE_FS, 0, 0, 0), DENIED);
	}
	assert_int_equal(ask(&p, SYS_unshare, 0x80 /* CLONE_NEWTIME */, 0, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_unshare, CLONE_FILES, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_clone, thread, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0), ALLOWED);
}

static void high_bits_of_an_argument_change_nothing(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);

	for (int bit = 32; bit < 64; bit++) {
		uint64_t high = 1ULL << bit;

		assert_int_equal(ask(&p, SYS_ioctl, 0, TIOCSTI | high, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_ioctl, 0, TIOCLINUX | high, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_ioctl, 0, TIOCSETD | high, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_ioctl, 0, TIOCGWINSZ | high, 0, 0), ALLOWED);
		assert_int_equal(ask(&p, SYS_socket, AF_VSOCK | high, SOCK_STREAM, 0, 0),
		                 SECCOMP_RET_ERRNO | EAFNOSUPPORT);
		assert_int_equal(ask(&p, SYS_socket, AF_INET, SOCK_RAW | high, 1, 0), DENIED);
		assert_int_equal(ask(&p, SYS_chmod, 0, S_ISUID | high, 0, 0), DENIED);
		assert_int_equal(ask(&p, SYS_personality, READ_IMPLIES_EXEC | high, 0, 0, 0),
		                 DENIED);
	}
}

static void sockets_are_of_the_granted_families_only(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program inet = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program local = compile(&all_options[1]);
	scoped(seccomp_program_donep) struct seccomp_program pairs = compile(&all_options[2]);
	uint32_t no_family = SECCOMP_RET_ERRNO | EAFNOSUPPORT;

	for (uint64_t family = 0; family < 64; family++) {
		bool ip = family == AF_INET || family == AF_INET6;
		bool granted = family == AF_UNIX || ip || family == AF_NETLINK;
		uint64_t type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

		assert_int_equal(ask(&inet, SYS_socket, family, type, 0, 0),
		                 granted ? ALLOWED : no_family);
		assert_int_equal(ask(&local, SYS_socket, family, type, 0, 0),
		                 family == AF_UNIX ? ALLOWED : no_family);
		assert_int_equal(ask(&pairs, SYS_socket, family, type, 0, 0), no_family);
		assert_int_equal(ask(&pairs, SYS_socketpair, family, type, 0, 0),
		                 family == AF_UNIX ? ALLOWED : no_family);
		for (uint64_t raw = SOCK_RAW; ip && raw < 16; raw++)
			assert_int_equal(ask(&inet, SYS_socket, family, raw | SOCK_CLOEXEC, 0, 0),
			                 DENIED);
	}
	/* A datagram socket of a pair can send to others than its fellow. */
	for (uint64_t type = 0; type < 16; type++) {
		bool keeps_to_itself = type == SOCK_STREAM || type == SOCK_SEQPACKET;

		assert_int_equal(ask(&pairs, SYS_socketpair, AF_UNIX, type | SOCK_CLOEXEC, 0, 0),
		                 keeps_to_itself ? ALLOWED : SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
		assert_int_equal(ask(&inet, SYS_socketpair, AF_UNIX, type, 0, 0), ALLOWED);
	}
	for (uint64_t protocol = 1; protocol < 64; protocol++)
		assert_int_equal(ask(&inet, SYS_socket, AF_NETLINK, SOCK_RAW, protocol, 0),
		                 SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
	assert_int_equal(ask(&inet, SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, 0),
	                 ALLOWED);
	assert_int_equal(ask(&inet, SYS_socket, AF_INET, SOCK_STREAM, 132 /* SCTP */, 0),
	                 SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
	assert_int_equal(ask(&inet, SYS_socket, AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, 0), ALLOWED);
	assert_int_equal(ask(&inet, SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_MPTCP, 0), ALLOWED);
}

static void no_file_gets_the_set_user_id_bit(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program both = compile(&all_options[4]);

	assert_int_equal(ask(&p, SYS_chmod, 0, 04755, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_fchmod, 0, 04000, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_fchmodat, 0, 0, 06755, 0), DENIED);
	assert_int_equal(ask(&p, 452 /* fchmodat2 */, 0, 0, 04755, 0), DENIED);
	assert_int_equal(ask(&p, SYS_creat, 0, 04755, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_open, 0, O_CREAT | O_WRONLY, 04755, 0), DENIED);
	assert_int_equal(ask(&p, SYS_open, 0, O_TMPFILE | O_RDWR, 04755, 0), DENIED);
	assert_int_equal(ask(&p, SYS_openat, 0, 0, O_CREAT, 04755), DENIED);
	assert_int_equal(ask(&p, SYS_openat, 0, 0, O_TMPFILE | O_RDWR, 04755), DENIED);
	assert_int_equal(ask(&p, SYS_mknod, 0, S_IFREG | 04755, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_mknodat, 0, 0, S_IFREG | 04755, 0), DENIED);

	/* Without O_CREAT the mode is whatever lay in the register. */
	assert_int_equal(ask(&p, SYS_openat, 0, 0, O_RDONLY | O_DIRECTORY, ~0ULL), ALLOWED);
	assert_int_equal(ask(&p, SYS_open, 0, O_RDWR, ~0ULL, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_openat, 0, 0, O_CREAT, 0644), ALLOWED);
	assert_int_equal(ask(&p, SYS_chmod, 0, 02775, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_chmod, 0, 01777, 0, 0), ALLOWED);
	assert_int_equal(ask(&both, SYS_chmod, 0, 02775, 0, 0), DENIED);
	assert_int_equal(ask(&both, SYS_openat, 0, 0, O_CREAT, 02755), DENIED);
	assert_int_equal(ask(&both, SYS_chmod, 0, 0755, 0, 0), ALLOWED);
}

static void device_nodes_are_refused_and_fifos_are_not(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);

	assert_int_equal(ask(&p, SYS_mknod, 0, S_IFCHR | 0666, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_mknodat, 0, 0, S_IFBLK | 0666, 0), DENIED);
	assert_int_equal(ask(&p, SYS_mknod, 0, S_IFIFO | 0666, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_mknodat, 0, 0, S_IFSOCK | 0666, 0), ALLOWED);
}

static void a_file_takes_no_room_behind_its_end(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	const uint32_t unsupported = SECCOMP_RET_ERRNO | EOPNOTSUPP;
	const uint32_t keep = FALLOC_FL_KEEP_SIZE;

	assert_int_equal(ask(&p, SYS_fallocate, 3, 0, 0, 4096), ALLOWED);
	assert_int_equal(ask(&p, SYS_fallocate, 3, FALLOC_FL_PUNCH_HOLE | keep, 0, 4096), ALLOWED);
	assert_int_equal(ask(&p, SYS_fallocate, 3, FALLOC_FL_ZERO_RANGE, 0, 4096), ALLOWED);
	assert_int_equal(ask(&p, SYS_fallocate, 3, keep, 0, 4096), unsupported);
	assert_int_equal(ask(&p, SYS_fallocate, 3, FALLOC_FL_ZERO_RANGE | keep, 0, 4096),
	                 unsupported);
	assert_int_equal(ask(&p, SYS_fallocate, 3, FALLOC_FL_INSERT_RANGE, 0, 4096), unsupported);
	assert_int_equal(ask(&p, SYS_ioctl, 3, 0x40305828, 0, 0), DENIED); /* FS_IOC_RESVSP */
	assert_int_equal(ask(&p, SYS_ioctl, 3, 0x4030582a, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_ioctl, 3, 0x40305839, 0, 0), DENIED); /* FS_IOC_ZERO_RANGE */
}

static void without_a_group_shared_memory_is_small(void **state)
{
	const struct seccomp_options ungrouped = {.no_anonymous_files = true};
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&ungrouped);
	const uint32_t full = SECCOMP_RET_ERRNO | ENOSPC;

	assert_int_equal(ask(&p, SYS_memfd_create, 0, 0, 0, 0), UNKNOWN);
	assert_int_equal(ask(&p, SYS_shmget, 0, 56, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_shmget, 0, 65536, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_shmget, 0, 65537, 0, 0), full);
	assert_int_equal(ask(&p, SYS_shmget, 0, (1ULL << 32) + 56, 0, 0), full);
}

static void options_add_what_they_name(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program s = compile(&strict);
	uint64_t pointer = 1ULL << 40;

	assert_int_equal(ask(&p, SYS_memfd_create, 0, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_memfd_create, 0, 0, 0, 0), DENIED);
	assert_int_equal(ask(&p, SYS_execveat, 3, 0, 0, AT_EMPTY_PATH), ALLOWED);
	assert_int_equal(ask(&s, SYS_execveat, 3, 0, 0, AT_EMPTY_PATH), DENIED);
	assert_int_equal(ask(&s, SYS_execveat, 3, 0, 0, AT_SYMLINK_NOFOLLOW), ALLOWED);
	assert_int_equal(ask(&p, SYS_shmget, 0, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_shmget, 0, 0, 0, 0), UNKNOWN);
	assert_int_equal(ask(&s, SYS_mq_open, 0, 0, 0, 0), UNKNOWN);
	assert_int_equal(ask(&s, SYS_prlimit64, 0, RLIMIT_CORE, pointer, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_prlimit64, 77, RLIMIT_CORE, 0, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_prlimit64, 77, RLIMIT_CORE, pointer, 0), DENIED);
	assert_int_equal(ask(&s, SYS_prlimit64, 77, RLIMIT_CORE, 4096, 0), DENIED);
	assert_int_equal(ask(&p, SYS_prlimit64, 1, RLIMIT_CORE, 4096, 0), DENIED);
	assert_int_equal(ask(&p, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                     SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 0),
	                 DENIED);
	assert_int_equal(ask(&p, SYS_personality, 0xffffffff, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_personality, READ_IMPLIES_EXEC, 0, 0, 0), DENIED);
}

static void debuggers_get_three_calls_and_no_more(void **state)
{
	struct seccomp_options options = loose;
	scoped(seccomp_program_donep) struct seccomp_program without = compile(&loose), with;
	int differ = 0;

	options.debug = true;
	with = compile(&options);
	for (int nr = 0; nr <= SECCOMP_NEWEST + 1; nr++)
		differ += ask(&with, nr, 1, 1, 1, 1) != ask(&without, nr, 1, 1, 1, 1);
	assert_int_equal(differ, 3);
	assert_int_equal(ask(&with, SYS_ptrace, PTRACE_ATTACH, 77, 0, 0), ALLOWED);
	assert_int_equal(ask(&with, SYS_process_vm_readv, 77, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&with, SYS_process_vm_writev, 77, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&with, SYS_perf_event_open, 0, 0, 0, 0), DENIED);
	assert_int_equal(ask(&with, SYS_pidfd_getfd, 0, 0, 0, 0), DENIED);
	(void)state;
}

static void without_namespaces_other_processes_keep_their_ranks(void **state)
{
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program s = compile(&strict);
	static const int by_pid[] = {SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
	                             SYS_sched_setscheduler};

	for (size_t i = 0; i < array_size(by_pid); i++) {
		assert_int_equal(ask(&p, by_pid[i], 77, 0, 0, 0), ALLOWED);
		assert_int_equal(ask(&s, by_pid[i], 77, 0, 0, 0), DENIED);
		assert_int_equal(ask(&s, by_pid[i], 0, 0, 0, 0), ALLOWED);
	}
	assert_int_equal(ask(&s, SYS_setpriority, PRIO_PROCESS, 0, 5, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_setpriority, PRIO_PROCESS, 77, 5, 0), DENIED);
	assert_int_equal(ask(&s, SYS_setpriority, PRIO_USER, 0, 5, 0), DENIED);
	assert_int_equal(ask(&p, SYS_setpriority, PRIO_PROCESS, 77, 5, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_ioprio_set, 1, 0, 5, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_ioprio_set, 1, 77, 5, 0), DENIED);
	assert_int_equal(ask(&s, SYS_ioprio_set, 3, 0, 5, 0), DENIED);
}

static void what_landlock_does_not_govern_is_asked(void **state)
{
	const struct seccomp_options asking = {.asks = true};
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program s = compile(&asking);
	static const int always[] = {SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
	                             SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal};
	static const uint64_t pids[] = {1, 77, ~0ULL, (uint64_t)-77, 1ULL << 32 | 77};

	for (size_t i = 0; i < array_size(always); i++) {
		assert_int_equal(ask(&p, always[i], 77, 77, 15, 0), ALLOWED);
		assert_int_equal(ask(&s, always[i], 77, 77, 15, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(&s, always[i], 0, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	}
	for (size_t i = 0; i < array_size(pids); i++) {
		assert_int_equal(ask(&p, SYS_kill, pids[i], 15, 0, 0), ALLOWED);
		assert_int_equal(ask(&s, SYS_kill, pids[i], 15, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(&s, SYS_fcntl, 3, F_SETOWN, pids[i], 0),
		                 SECCOMP_RET_USER_NOTIF);
	}
	assert_int_equal(ask(&s, SYS_kill, 0, 15, 0, 0), ALLOWED); /* one's own group */
	assert_int_equal(ask(&s, SYS_fcntl, 3, F_SETOWN_EX, 4096, 0), DENIED);
	assert_int_equal(ask(&s, SYS_fcntl, 3, F_SETOWN_EX | 1ULL << 32, 4096, 0), DENIED);
	assert_int_equal(ask(&s, SYS_fcntl, 3, F_SETFL, O_ASYNC, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_ioctl, 3, 0x8901 /* FIOSETOWN */, 4096, 0), DENIED);
	assert_int_equal(ask(&s, SYS_ioctl, 3, 0x8902 /* SIOCSPGRP */, 4096, 0), DENIED);
	assert_int_equal(ask(&s, SYS_ioctl, 3, TIOCSTI, 4096, 0), DENIED);
	assert_int_equal(ask(&p, SYS_ioctl, 3, 0x8901, 4096, 0), ALLOWED);
}

/* What is asked may go on, so it must be nothing that the filter refuses. */
static void what_git_does_with_files_is_asked(void **state)
{
	struct seccomp_options options = {.renames = true, .checkouts = true, .no_setgid = true};
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&options);
	const uint64_t here = (uint64_t)AT_FDCWD, makes = O_WRONLY | O_CREAT | O_EXCL;

	assert_int_equal(ask(&p, SYS_openat, here, 0, makes, 0666), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&p, SYS_openat, here, 0, makes, 04755), DENIED);
	assert_int_equal(ask(&p, SYS_openat, here, 0, makes, 02755), DENIED);
	assert_int_equal(ask(&p, SYS_openat, 5, 0, makes, 0666), ALLOWED);
	assert_int_equal(ask(&p, SYS_openat, 5, 0, makes, 04755), DENIED);
	assert_int_equal(ask(&p, SYS_openat, here, 0, makes | O_CLOEXEC, 0666), ALLOWED);
	assert_int_equal(ask(&p, SYS_openat, here, 0, makes | O_CLOEXEC, 04755), DENIED);
	assert_int_equal(ask(&p, SYS_openat, here, 0, O_RDONLY, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_unlinkat, here, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&p, SYS_unlinkat, here, 0, AT_REMOVEDIR, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_unlinkat, 5, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&p, SYS_mkdirat, here, 0, 0777, 0), SECCOMP_RET_USER_NOTIF);
	options.checkouts = false;
	seccomp_program_done(&p);
	p = compile(&options);
	assert_int_equal(ask(&p, SYS_openat, here, 0, makes, 0666), ALLOWED);
	assert_int_equal(ask(&p, SYS_unlinkat, here, 0, 0, 0), ALLOWED);
}

static void files_are_cut_only_by_who_may_write(void **state)
{
	const struct seccomp_options older = {.no_truncate = true};
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&loose);
	scoped(seccomp_program_donep) struct seccomp_program s = compile(&older);

	assert_int_equal(ask(&p, SYS_truncate, 4096, 0, 0, 0), ALLOWED);
	assert_int_equal(ask(&s, SYS_truncate, 4096, 0, 0, 0), DENIED);
	assert_int_equal(ask(&s, SYS_ftruncate, 3, 0, 0, 0), ALLOWED);
	for (uint64_t way = 0; way < 4; way++) {
		uint32_t cut = way == O_WRONLY || way == O_RDWR ? ALLOWED : DENIED;

		assert_int_equal(ask(&s, SYS_open, 0, way | O_TRUNC, 0, 0), cut);
		assert_int_equal(ask(&s, SYS_openat, 0, 0, way | O_TRUNC, 0), cut);
		assert_int_equal(ask(&s, SYS_openat, 0, 0, way | O_TRUNC | O_CREAT, 0644), cut);
		assert_int_equal(ask(&s, SYS_openat, 0, 0, way, 0), ALLOWED);
		assert_int_equal(ask(&p, SYS_openat, 0, 0, way | O_TRUNC, 0), ALLOWED);
	}
	assert_int_equal(ask(&s, SYS_openat, 0, 0, O_WRONLY | O_TRUNC | O_CREAT, 04755), DENIED);
}

static void only_the_own_ids_can_be_taken_or_given(void **state)
{
	const struct seccomp_options own = {.own_ids = true, .uid = 64999, .gid = 100};
	scoped(seccomp_program_donep) struct seccomp_program p = compile(&own);
	static const struct {
		int nr, first, count; /* indices of its ids */
		bool groups, both;    /* the last one is a group */
	} calls[] = {
		{SYS_setuid, 0, 1, false, false},    {SYS_setreuid, 0, 2, false, false},
		{SYS_setresuid, 0, 3, false, false}, {SYS_setgid, 0, 1, true, false},
		{SYS_setregid, 0, 2, true, false},   {SYS_setresgid, 0, 3, true, false},
		{SYS_chown, 1, 2, false, true},      {SYS_lchown, 1, 2, false, true},
		{SYS_fchown, 1, 2, false, true},     {SYS_fchownat, 2, 2, false, true},
	};
	static const uint64_t others[] = {0, 1, 65534, 99, 64998, 0xfffffffe};

	for (size_t i = 0; i < array_size(calls); i++) {
		const int last = calls[i].first + calls[i].count - 1;

		for (int at = calls[i].first; at <= last; at++) {
			bool group = calls[i].groups || (calls[i].both && at == last);
			uint64_t a[4] = {0};

			for (int j = calls[i].first; j <= last; j++)
				a[j] = 0xffffffff;
			assert_int_equal(ask(&p, calls[i].nr, a[0], a[1], a[2], a[3]), ALLOWED);
			a[at] = group ? 100 : 64999;
			assert_int_equal(ask(&p, calls[i].nr, a[0], a[1], a[2], a[3]), ALLOWED);
			a[at] = group ? 64999 : 100;
			assert_int_equal(ask(&p, calls[i].nr, a[0], a[1], a[2], a[3]), DENIED);
			for (size_t j = 0; j < array_size(others); j++) {
				a[at] = others[j];
				assert_int_equal(ask(&p, calls[i].nr, a[0], a[1], a[2], a[3]),
				                 DENIED);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forbids_what_is_listed_and_nothing_else),
		cmocka_unit_test(does_not_know_what_is_newer_than_itself),
		cmocka_unit_test(refuses_every_x32_call),
		cmocka_unit_test(refuses_other_architectures),
		cmocka_unit_test(every_program_ends_in_a_verdict_and_fits_the_kernel),
		cmocka_unit_test(namespaces_cannot_be_made_by_any_flag),
		cmocka_unit_test(high_bits_of_an_argument_change_nothing),
		cmocka_unit_test(sockets_are_of_the_granted_families_only),
		cmocka_unit_test(no_file_gets_the_set_user_id_bit),
		cmocka_unit_test(device_nodes_are_refused_and_fifos_are_not),
		cmocka_unit_test(a_file_takes_no_room_behind_its_end),
		cmocka_unit_test(without_a_group_shared_memory_is_small),
		cmocka_unit_test(options_add_what_they_name),
		cmocka_unit_test(debuggers_get_three_calls_and_no_more),
		cmocka_unit_test(without_namespaces_other_processes_keep_their_ranks),
		cmocka_unit_test(what_landlock_does_not_govern_is_asked),
		cmocka_unit_test(what_git_does_with_files_is_asked),
		cmocka_unit_test(files_are_cut_only_by_who_may_write),
		cmocka_unit_test(only_the_own_ids_can_be_taken_or_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
