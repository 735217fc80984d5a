/*
 * The filter is a binary tree over the numbers of the system calls: neighbours with the same
 * verdict are one leaf, and equal leaves are one piece of code. The kernel translates the filter
 * when it is loaded and runs it for every number (to remember what is always allowed): a short tree
 * loads in half the time of a list. Assembling it takes some microseconds where libseccomp takes
 * 250, and a command that is run once waits for both.
 *
 * Arguments are compared by their low 32 bits, as the kernel reads all those that are looked at:
 * bits that a caller sets above them change nothing.
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "sandbox/seccomp-rules.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the low half of an argument comes first");

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#define ARCH_COMPAT AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#define ARCH_COMPAT AUDIT_ARCH_ARM
#else
#error "the list of system calls is not checked for this architecture"
#endif

#define CODE_MAX  512
#define JUMPS_MAX 1024
#define JUMP_FAR  255 /* as far as an instruction can jump */
#define VERDICTS  (SECCOMP_NEWEST + 2)
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define O_TMPFILE_BIT       (O_TMPFILE & ~O_DIRECTORY)
#define IO_PRIORITY_PROCESS 1 /* of ioprio_set(2) */
/* FS_IOC_RESVSP, its kin of 64 bits and FS_IOC_ZERO_RANGE, which no header has. */
#define RESERVE_SPACE   0x40305828
#define RESERVE_SPACE64 0x4030582a
#define ZERO_RANGE      0x40305839
#define TYPE_MASK       0xf         /* of a socket; above it are flags */
#define SHARED_MAX      65536       /* bytes; times 4096 segments is 256 MiB */
#define NEXT            VERDICT_MAX /* the instruction that follows */

struct jump { /* to be filled in when the piece is put */
	unsigned short from;
	unsigned char hit; /* where the test holds, else where it does not */
	unsigned char to;
};

struct assembler {
	const struct seccomp_options *options;
	unsigned char verdicts[VERDICTS];
	struct jump jumps[JUMPS_MAX];
	size_t jump_count;
	struct sock_filter *code;
	size_t count;
	bool failed;
};

static void put(struct assembler *a, struct sock_filter instruction)
{
	if (a->count == CODE_MAX)
		a->failed = true;
	else
		a->code[a->count++] = instruction;
}

static void put_load(struct assembler *a, size_t offset)
{
	put(a, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_load_argument(struct assembler *a, int index)
{
	put_load(a, offsetof(struct seccomp_data, args) + 8 * (size_t)index);
}

static void put_mask(struct assembler *a, uint32_t mask)
{
	put(a, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
}

static void put_return(struct assembler *a, uint32_t action)
{
	put(a, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void want_jump(struct assembler *a, size_t from, bool hit, enum verdict to)
{
	if (to == NEXT)
		return;
	if (a->jump_count == JUMPS_MAX)
		a->failed = true;
	else
		a->jumps[a->jump_count++] =
			(struct jump){(unsigned short)from, hit, (unsigned char)to};
}

/* Goes on at HIT if the accumulator is VALUE (JEQ), has a bit of it (JSET) or is at least that
 * (JGE), else at MISS. */
static void put_test(struct assembler *a, uint16_t test, uint32_t value, enum verdict hit,
                     enum verdict miss)
{
	want_jump(a, a->count, true, hit);
	want_jump(a, a->count, false, miss);
	put(a, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, 0));
}

/* HIT if it is one of these. */
static void put_tests(struct assembler *a, const uint32_t *values, size_t count, enum verdict hit,
                      enum verdict miss)
{
	for (size_t i = 0; i < count; i++)
		put_test(a, BPF_JEQ, values[i], hit, i + 1 < count ? NEXT : miss);
}

static void check_bits(struct assembler *a, int index, uint32_t bits)
{
	put_load_argument(a, index);
	put_test(a, BPF_JSET, bits, REFUSE, ALLOW);
}

static void check_zero(struct assembler *a, int index, enum verdict hit, enum verdict miss)
{
	put_load_argument(a, index);
	put_test(a, BPF_JEQ, 0, hit, miss);
}

static void check_ioctl(struct assembler *a)
{
	/* TIOCSETD loads line disciplines, old kernel code that no terminal program wants; the
	 * others are names of fallocate(). */
	static const uint32_t requests[] = {TIOCSTI,       TIOCLINUX,       TIOCSETD,
	                                    RESERVE_SPACE, RESERVE_SPACE64, ZERO_RANGE};

	static const uint32_t owners[] = {FIOSETOWN, SIOCSPGRP}; /* of signals */

	put_load_argument(a, 1);
	if (a->options->asks)
		put_tests(a, owners, array_size(owners), REFUSE, NEXT);
	put_tests(a, requests, array_size(requests), REFUSE, ALLOW);
}

static void check_fcntl(struct assembler *a)
{
	put_load_argument(a, 1);
	put_test(a, BPF_JEQ, F_SETOWN, ASK, NEXT);
	put_test(a, BPF_JEQ, F_SETOWN_EX, REFUSE, ALLOW); /* it keeps the owner in memory */
}

static void check_personality(struct assembler *a)
{
	static const uint32_t harmless[] = {PER_LINUX, PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE,
	                                    0xffffffff};

	put_load_argument(a, 0);
	put_tests(a, harmless, array_size(harmless), ALLOW, REFUSE);
}

static void check_socket(struct assembler *a)
{
	static const uint32_t inet[] = {AF_INET, AF_INET6};

	put_load_argument(a, 0);
	if (a->options->sockets != SECCOMP_SOCKETS_INET) {
		put_test(a, BPF_JEQ, AF_UNIX,
		         a->options->sockets == SECCOMP_SOCKETS_UNIX ? ALLOW : NO_FAMILY,
		         NO_FAMILY);
		return;
	}
	put_test(a, BPF_JEQ, AF_UNIX, ALLOW, NEXT);
	put_tests(a, inet, array_size(inet), CHECK_INET_TYPE, NEXT);
	put_test(a, BPF_JEQ, AF_NETLINK, CHECK_NETLINK, NO_FAMILY);
}

static void check_inet_type(struct assembler *a)
{
	static const uint32_t types[] = {SOCK_STREAM, SOCK_DGRAM}; /* nothing raw */

	put_load_argument(a, 1);
	put_mask(a, TYPE_MASK);
	put_tests(a, types, array_size(types), CHECK_INET, REFUSE);
}

/* Protocols that nobody asks for are kernel modules that nobody has looked at. */
static void check_inet(struct assembler *a)
{
	static const uint32_t protocols[] = {
		0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_MPTCP};

	put_load_argument(a, 2);
	put_tests(a, protocols, array_size(protocols), ALLOW, NO_PROTOCOL);
}

static void check_socketpair(struct assembler *a)
{
	put_load_argument(a, 0);
	put_test(a, BPF_JEQ, AF_UNIX,
	         a->options->sockets == SECCOMP_SOCKETS_PAIRS ? CHECK_PAIR_TYPE : ALLOW, NO_FAMILY);
}

/* One of a pair of datagram sockets (a raw one is the same) can send to any other that has a path.
 * The others stay with each other. */
static void check_pair_type(struct assembler *a)
{
	static const uint32_t types[] = {SOCK_STREAM, SOCK_SEQPACKET};

	put_load_argument(a, 1);
	put_mask(a, TYPE_MASK);
	put_tests(a, types, array_size(types), ALLOW, NO_PROTOCOL);
}

/* Looking (no new limit) is free; setting only for the caller itself. The pointer is 64 bits. */
static void check_prlimit(struct assembler *a)
{
	check_zero(a, 0, ALLOW, NEXT);
	check_zero(a, 2, NEXT, REFUSE);
	put_load(a, offsetof(struct seccomp_data, args) + 8 * 2 + 4);
	put_test(a, BPF_JEQ, 0, ALLOW, REFUSE);
}

/* WHICH says what the second argument names; a user or a group is more than oneself. */
static void check_priority(struct assembler *a, uint32_t which)
{
	put_load_argument(a, 0);
	put_test(a, BPF_JEQ, which, CHECK_OWN_SECOND, REFUSE);
}

static uint32_t forbidden_bits(const struct assembler *a)
{
	return S_ISUID | (a->options->no_setgid ? S_ISGID : 0);
}

static void check_mode(struct assembler *a, int index)
{
	check_bits(a, index, forbidden_bits(a));
}

/* Who answers may let it go on, so nothing is asked that would be refused. */
static void check_git_mode(struct assembler *a)
{
	put_load_argument(a, 3);
	put_test(a, BPF_JSET, forbidden_bits(a), REFUSE, ASK);
}

/* Holes can be made; the rest of what keeps the size, or moves what is there to make room, takes
 * blocks that no limit knows of. */
static void check_fallocate(struct assembler *a)
{
	put_load_argument(a, 1);
	put_test(a, BPF_JEQ, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, ALLOW, NEXT);
	put_test(a, BPF_JSET, FALLOC_FL_KEEP_SIZE | FALLOC_FL_INSERT_RANGE, NO_SUPPORT, ALLOW);
}

/* The size is 64 bits. */
static void check_shmget(struct assembler *a)
{
	put_load(a, offsetof(struct seccomp_data, args) + 8 * 1 + 4);
	put_test(a, BPF_JEQ, 0, CHECK_SHMGET_LOW, NO_SPACE);
}

static void check_shmget_low(struct assembler *a)
{
	put_load_argument(a, 1);
	put_test(a, BPF_JGE, SHARED_MAX + 1, NO_SPACE, ALLOW);
}

/* The mode means something only if a file is made. */
static void check_open(struct assembler *a, int flags_index, enum verdict mode)
{
	/* Cutting a file counts as writing for its mode, but not for Landlock before ABI 3, which
	 * looks at how it is opened: to read, or (3) for nothing but its attributes. */
	static const uint32_t cuts[] = {O_TRUNC | O_RDONLY, O_TRUNC | O_ACCMODE};

	put_load_argument(a, flags_index);
	if (a->options->no_truncate) {
		put_mask(a, O_TRUNC | O_ACCMODE);
		put_tests(a, cuts, array_size(cuts), REFUSE, NEXT);
		put_load_argument(a, flags_index);
	}
	if (a->options->checkouts && mode == CHECK_MODE_3)
		put_test(a, BPF_JEQ, O_WRONLY | O_CREAT | O_EXCL, CHECK_GIT_OPENAT, NEXT);
	put_test(a, BPF_JSET, O_CREAT | O_TMPFILE_BIT, mode, ALLOW);
}

static void check_here(struct assembler *a, enum verdict hit, enum verdict miss)
{
	put_load_argument(a, 0);
	put_test(a, BPF_JEQ, (uint32_t)AT_FDCWD, hit, miss);
}

static void check_mknod(struct assembler *a, int mode_index, enum verdict mode)
{
	static const uint32_t devices[] = {S_IFCHR, S_IFBLK};

	put_load_argument(a, mode_index);
	put_mask(a, S_IFMT);
	put_tests(a, devices, array_size(devices), REFUSE, mode);
}

/* -1 stands for "as it is". */
static void check_id(struct assembler *a, int index, uint32_t own, enum verdict hit)
{
	const uint32_t allowed[] = {own, 0xffffffff};

	put_load_argument(a, index);
	put_tests(a, allowed, array_size(allowed), hit, REFUSE);
}

static void put_verdict(struct assembler *a, enum verdict verdict)
{
	const uint32_t uid = a->options->uid, gid = a->options->gid;

	switch (verdict) {
	case CHECK_CLONE:
		return check_bits(a, 0, NAMESPACES);
	case CHECK_UNSHARE:
		return check_bits(a, 0, NAMESPACES | CLONE_NEWTIME);
	case CHECK_IOCTL:
		return check_ioctl(a);
	case CHECK_SOCKET:
		return check_socket(a);
	case CHECK_INET_TYPE:
		return check_inet_type(a);
	case CHECK_INET:
		return check_inet(a);
	case CHECK_NETLINK: /* for routes, which is 0 */
		return check_zero(a, 2, ALLOW, NO_PROTOCOL);
	case CHECK_SOCKETPAIR:
		return check_socketpair(a);
	case CHECK_PAIR_TYPE:
		return check_pair_type(a);
	case CHECK_PERSONALITY:
		return check_personality(a);
	case CHECK_SECCOMP:
		return check_bits(a, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	case CHECK_EXECVEAT:
		return check_bits(a, 4, AT_EMPTY_PATH);
	case CHECK_FALLOCATE:
		return check_fallocate(a);
	case CHECK_SHMGET:
		return check_shmget(a);
	case CHECK_SHMGET_LOW:
		return check_shmget_low(a);
	case CHECK_PRLIMIT:
		return check_prlimit(a);
	case CHECK_PRIORITY:
		return check_priority(a, PRIO_PROCESS);
	case CHECK_IO_PRIORITY:
		return check_priority(a, IO_PRIORITY_PROCESS);
	case CHECK_OWN_SECOND:
		return check_zero(a, 1, ALLOW, REFUSE);
	case CHECK_OWN:
		return check_zero(a, 0, ALLOW, REFUSE);
	case CHECK_OPEN:
		return check_open(a, 1, CHECK_MODE_2);
	case CHECK_OPENAT:
		return check_open(a, 2, CHECK_MODE_3);
	case CHECK_GIT_OPENAT:
		return check_here(a, CHECK_GIT_MODE, CHECK_MODE_3);
	case CHECK_GIT_MODE:
		return check_git_mode(a);
	case CHECK_GIT_REMOVE:
		return check_here(a, CHECK_GIT_FLAGS, ALLOW);
	case CHECK_GIT_FLAGS: /* no directory */
		return check_zero(a, 2, ASK, ALLOW);
	case CHECK_GIT_MKDIR:
		return check_here(a, ASK, ALLOW);
	case CHECK_KILL:
		return check_zero(a, 0, ALLOW, ASK);
	case CHECK_FCNTL:
		return check_fcntl(a);
	case CHECK_MKNOD:
		return check_mknod(a, 1, CHECK_MODE_1);
	case CHECK_MKNODAT:
		return check_mknod(a, 2, CHECK_MODE_2);
	case CHECK_MODE_1:
		return check_mode(a, 1);
	case CHECK_MODE_2:
		return check_mode(a, 2);
	case CHECK_MODE_3:
		return check_mode(a, 3);
	case CHECK_CHOWN:
		return check_id(a, 1, uid, CHECK_CHOWN_GROUP);
	case CHECK_CHOWN_GROUP:
		return check_id(a, 2, gid, ALLOW);
	case CHECK_CHOWNAT:
		return check_id(a, 2, uid, CHECK_CHOWNAT_GROUP);
	case CHECK_CHOWNAT_GROUP:
		return check_id(a, 3, gid, ALLOW);
	case CHECK_UID_2:
		return check_id(a, 2, uid, CHECK_UID_1);
	case CHECK_UID_1:
		return check_id(a, 1, uid, CHECK_UID_0);
	case CHECK_UID_0:
		return check_id(a, 0, uid, ALLOW);
	case CHECK_GID_2:
		return check_id(a, 2, gid, CHECK_GID_1);
	case CHECK_GID_1:
		return check_id(a, 1, gid, CHECK_GID_0);
	case CHECK_GID_0:
		return check_id(a, 0, gid, ALLOW);
	case ALLOW:
		return put_return(a, SECCOMP_RET_ALLOW);
	case REFUSE:
		return put_return(a, SECCOMP_RET_ERRNO | EPERM);
	case ABSENT:
		return put_return(a, SECCOMP_RET_ERRNO | ENOSYS);
	case NO_FAMILY:
		return put_return(a, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	case NO_PROTOCOL:
		return put_return(a, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
	case NO_SUPPORT:
		return put_return(a, SECCOMP_RET_ERRNO | EOPNOTSUPP);
	case NO_SPACE:
		return put_return(a, SECCOMP_RET_ERRNO | ENOSPC);
	case ASK:
		return put_return(a, SECCOMP_RET_USER_NOTIF);
	case VERDICT_MAX:
		break;
	}
	a->failed = true;
}

/* Lets the jumps to VERDICT, if there are any, end at what is put next. */
static bool land_jumps(struct assembler *a, enum verdict verdict)
{
	bool any = false;

	for (size_t i = 0; i < a->jump_count; i++) {
		const struct jump *j = &a->jumps[i];
		size_t distance = a->count - j->from - 1;

		if (j->to != verdict)
			continue;
		any = true;
		if (distance > JUMP_FAR)
			a->failed = true;
		else if (j->hit)
			a->code[j->from].jt = (uint8_t)distance;
		else
			a->code[j->from].jf = (uint8_t)distance;
	}
	return any;
}

/* Runs of equal verdicts begin at starts[first], ... starts[last]; there are at least two. A run
 * alone on its side of a node is no node, but a jump to its verdict. */
static void put_tree(struct assembler *a, const unsigned short *starts, size_t first, size_t last)
{
	size_t middle = first + (last - first + 1) / 2, node = a->count;
	enum verdict below = middle - first == 1 ? a->verdicts[starts[first]] : NEXT;
	enum verdict above = middle == last ? a->verdicts[starts[last]] : NEXT;

	put_test(a, BPF_JGE, starts[middle], above, below);
	if (below == NEXT)
		put_tree(a, starts, first, middle - 1);
	if (above != NEXT || a->failed)
		return;
	if (a->count - node - 1 > JUMP_FAR)
		a->failed = true;
	a->code[node].jt = (uint8_t)(a->count - node - 1);
	put_tree(a, starts, middle, last);
}

static void judge(struct assembler *a, const struct seccomp_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		a->verdicts[rules[i].nr] = rules[i].verdict;
}

static void assemble(struct assembler *a)
{
	unsigned short starts[VERDICTS];
	size_t runs = 0;

	memset(a->verdicts, ALLOW, sizeof(a->verdicts));
	a->verdicts[SECCOMP_NEWEST + 1] = ABSENT; /* and all above: the x32 calls (bit 30), too */
	judge(a, rules_always, array_size(rules_always));
	if (a->options->debug)
		judge(a, rules_debug, array_size(rules_debug));
	if (a->options->no_anonymous_files)
		judge(a, rules_no_anonymous_files, array_size(rules_no_anonymous_files));
	if (a->options->no_anonymous_exec)
		judge(a, rules_no_anonymous_exec, array_size(rules_no_anonymous_exec));
	if (a->options->no_namespaces)
		judge(a, rules_no_namespaces, array_size(rules_no_namespaces));
	if (a->options->no_truncate)
		judge(a, rules_no_truncate, array_size(rules_no_truncate));
	if (a->options->asks)
		judge(a, rules_asks, array_size(rules_asks));
	if (a->options->renames)
		judge(a, rules_renames, array_size(rules_renames));
	if (a->options->checkouts)
		judge(a, rules_checkouts, array_size(rules_checkouts));
	if (a->options->own_ids)
		judge(a, rules_own_ids, array_size(rules_own_ids));
	for (unsigned short nr = 0; nr < VERDICTS; nr++)
		if (nr == 0 || a->verdicts[nr] != a->verdicts[nr - 1])
			starts[runs++] = nr;

	put_load(a, offsetof(struct seccomp_data, arch));
	put(a, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_NATIVE, 2, 0));
	put_test(a, BPF_JEQ, ARCH_COMPAT, ABSENT, NEXT);
	put_return(a, SECCOMP_RET_KILL_PROCESS);
	put_load(a, offsetof(struct seccomp_data, nr));
	put_tree(a, starts, 0, runs - 1);
	for (enum verdict v = 0; v < VERDICT_MAX; v++)
		if (land_jumps(a, v))
			put_verdict(a, v);
}

int seccomp_compile(const struct seccomp_options *options, struct seccomp_program *ret_program,
                    struct error *err)
{
	struct assembler a = {.options = options};

	a.code = calloc(CODE_MAX, sizeof(*a.code));
	if (!a.code)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "no memory for the system call filter");
	assemble(&a);
	if (a.failed) {
		free(a.code);
		return error_set(err, ERROR_SYSTEM, E2BIG, "the system call filter is too long");
	}
	*ret_program = (struct seccomp_program){.code = a.code, .count = (unsigned short)a.count};
	return 0;
}

/* In a process that shares our memory until it ends, so that it can tell even where ends of
 * processes are not told. */
bool seccomp_can_ask(void)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter code = allow;
	const struct seccomp_program trial = {.code = &code, .count = 1};
	volatile int r = -EAGAIN;
	pid_t pid = vfork();

	if (pid == 0) {
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno
		                                               : seccomp_enforce_asking(&trial);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r >= 0;
}

void seccomp_program_done(struct seccomp_program *p)
{
	free(p->code);
	*p = (struct seccomp_program){0};
}
