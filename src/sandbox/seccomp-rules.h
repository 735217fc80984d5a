#pragma once
/*
 * The list of system calls that are not simply allowed, for seccomp.c alone.
 *
 * Numbers that the C library's header may not know are given here; from 424 on they are the same
 * for all architectures.
 */
#include <sys/syscall.h>

/* Each is a piece of the filter. A piece goes on only to pieces below it: jumps lead forward. */
enum verdict {
	/* These look at arguments. */
	CHECK_CLONE,       /* no new namespaces */
	CHECK_UNSHARE,     /* the same */
	CHECK_IOCTL,       /* no typing into a terminal */
	CHECK_SOCKET,      /* families, types, protocols */
	CHECK_INET_TYPE,   /* ... a part of it */
	CHECK_INET,        /* ... */
	CHECK_NETLINK,     /* ... */
	CHECK_SOCKETPAIR,  /* unix only */
	CHECK_PAIR_TYPE,   /* ... a part of it */
	CHECK_PERSONALITY, /* questions, and no address randomisation */
	CHECK_SECCOMP,     /* no listener */
	CHECK_EXECVEAT,    /* not by descriptor alone */
	CHECK_FALLOCATE,   /* no room behind the end of a file */
	CHECK_SHMGET,      /* not much at a time */
	CHECK_SHMGET_LOW,  /* ... a part of it */
	CHECK_PRLIMIT,     /* one's own, or to look */
	CHECK_PRIORITY,    /* one process, oneself */
	CHECK_IO_PRIORITY,
	CHECK_OWN_SECOND, /* ... a part of it */
	CHECK_OWN,        /* of the first argument: oneself */
	CHECK_OPEN,       /* no set-user-id bit, where the flags make a file */
	CHECK_OPENAT,
	CHECK_GIT_OPENAT, /* ... as git makes a file: from the working directory */
	CHECK_GIT_MODE,   /* ... without a set-user-id bit: it is asked */
	CHECK_GIT_REMOVE, /* the same for a file that is removed */
	CHECK_GIT_FLAGS,  /* ... a part of it */
	CHECK_GIT_MKDIR,
	CHECK_KILL,  /* one's own group, else it is asked */
	CHECK_FCNTL, /* who gets the signals of a descriptor is asked */
	CHECK_MKNOD, /* no devices, no set-user-id bit */
	CHECK_MKNODAT,
	CHECK_MODE_1, /* no set-user-id bit in the argument with that index */
	CHECK_MODE_2,
	CHECK_MODE_3,
	CHECK_CHOWN, /* owner: oneself, or as it is */
	CHECK_CHOWN_GROUP,
	CHECK_CHOWNAT,
	CHECK_CHOWNAT_GROUP,
	CHECK_UID_2, /* the same of the argument with that index and of those before it */
	CHECK_UID_1,
	CHECK_UID_0,
	CHECK_GID_2,
	CHECK_GID_1,
	CHECK_GID_0,
	/* These answer. */
	ALLOW,
	REFUSE,      /* EPERM */
	ABSENT,      /* ENOSYS */
	NO_FAMILY,   /* EAFNOSUPPORT */
	NO_PROTOCOL, /* EPROTONOSUPPORT */
	NO_SUPPORT,  /* EOPNOTSUPP */
	NO_SPACE,    /* ENOSPC */
	ASK,         /* who has the listener */
	VERDICT_MAX,
};

struct seccomp_rule {
	short nr;
	unsigned char verdict;
};

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define NR_STATMOUNT         457
#define NR_LISTMOUNT         458
#define NR_LSM_SET_SELF_ATTR 460
#define NR_OPEN_TREE_ATTR    467

static const struct seccomp_rule rules_always[] = {
	/* Other processes: their memory, descriptors and identity. */
	{SYS_ptrace, REFUSE},
	{SYS_process_vm_readv, REFUSE},
	{SYS_process_vm_writev, REFUSE}, /* see rules_debug for these three */
	{SYS_process_madvise, REFUSE},
	{SYS_pidfd_getfd, REFUSE},
	{SYS_kcmp, REFUSE},
	{SYS_prlimit64, CHECK_PRLIMIT}, /* the box's init is of the same user */

	/* Namespaces. clone3 keeps its flags in memory, where a filter cannot look: the C libraries
         * fall back to clone. */
	{SYS_clone, CHECK_CLONE},
	{SYS_clone3, ABSENT},
	{SYS_unshare, CHECK_UNSHARE},
	{SYS_setns, REFUSE},

	/* Mounts and roots. */
	{SYS_mount, REFUSE},
	{SYS_umount2, REFUSE},
	{SYS_pivot_root, REFUSE},
	{SYS_chroot, REFUSE},
	{SYS_move_mount, REFUSE},
	{SYS_open_tree, REFUSE},
	{NR_OPEN_TREE_ATTR, REFUSE},
	{SYS_fsopen, REFUSE},
	{SYS_fsmount, REFUSE},
	{SYS_fsconfig, REFUSE},
	{SYS_fspick, REFUSE},
	{SYS_mount_setattr, REFUSE},
	{NR_STATMOUNT, ABSENT},
	{NR_LISTMOUNT, ABSENT},
	{SYS_open_by_handle_at, REFUSE},

	/* Wide doors into the kernel that few programs need, and all do without. io_uring makes
         * calls that no filter sees. */
	{SYS_io_uring_setup, ABSENT},
	{SYS_io_uring_enter, ABSENT},
	{SYS_io_uring_register, ABSENT},
	{SYS_bpf, REFUSE},
	{SYS_perf_event_open, REFUSE},
	{SYS_userfaultfd, REFUSE},
	{SYS_keyctl, ABSENT},
	{SYS_add_key, ABSENT},
	{SYS_request_key, ABSENT},
	{SYS_fanotify_init, REFUSE},
	{SYS_memfd_secret, ABSENT},
	{NR_LSM_SET_SELF_ATTR, ABSENT},
	{SYS_seccomp, CHECK_SECCOMP},
	{SYS_personality, CHECK_PERSONALITY},
	{SYS_ioctl, CHECK_IOCTL},
	{SYS_socket, CHECK_SOCKET},
	{SYS_socketpair, CHECK_SOCKETPAIR},

	/* The machine itself; only root could, and root is not in the box. */
	{SYS_kexec_load, REFUSE},
	{SYS_kexec_file_load, REFUSE},
	{SYS_init_module, REFUSE},
	{SYS_finit_module, REFUSE},
	{SYS_delete_module, REFUSE},
	{SYS_reboot, REFUSE},
	{SYS_swapon, REFUSE},
	{SYS_swapoff, REFUSE},
	{SYS_settimeofday, REFUSE},
	{SYS_clock_settime, REFUSE},
	{SYS_sethostname, REFUSE},
	{SYS_setdomainname, REFUSE},
	{SYS_acct, REFUSE},
	{SYS_quotactl, REFUSE},
	{SYS_quotactl_fd, REFUSE},
	{SYS_syslog, REFUSE},
	{SYS_vhangup, REFUSE},
#ifdef SYS_nfsservctl
	{SYS_nfsservctl, ABSENT},
#endif
#ifdef SYS_lookup_dcookie
	{SYS_lookup_dcookie, ABSENT},
#endif
#ifdef __x86_64__
	{SYS_iopl, REFUSE},
	{SYS_ioperm, REFUSE},
	{SYS_modify_ldt, ABSENT},
	{SYS_uselib, ABSENT},
	{SYS_ustat, ABSENT},
	{SYS_sysfs, ABSENT},
	{SYS__sysctl, ABSENT},
#endif

	/* The limit on a file's size is one on its end, and blocks can be had behind that. */
	{SYS_fallocate, CHECK_FALLOCATE},

	/* A file with the set-user-id bit would be a gift to other users of the host. openat2 keeps
         * its mode in memory; programs fall back to openat. */
	{SYS_fchmod, CHECK_MODE_1},
	{SYS_fchmodat, CHECK_MODE_2},
	{SYS_fchmodat2, CHECK_MODE_2},
	{SYS_openat, CHECK_OPENAT},
	{SYS_openat2, ABSENT},
	{SYS_mknodat, CHECK_MKNODAT},
#ifdef SYS_open
	{SYS_chmod, CHECK_MODE_1},
	{SYS_creat, CHECK_MODE_1},
	{SYS_open, CHECK_OPEN},
	{SYS_mknod, CHECK_MKNOD},
#endif
};

/* For debuggers. The kernel runs a filter after a tracer has had its say (since 4.8), so a call
 * that a tracer puts in place of another is judged like any other. */
static const struct seccomp_rule rules_debug[] = {
	{SYS_ptrace, ALLOW},
	{SYS_process_vm_readv, ALLOW},
	{SYS_process_vm_writev, ALLOW},
};

/* Programs fall back to a file in /tmp, which is bounded. System V memory stays when nobody has it
 * any more; data bases want a few bytes of it. A byte of a huge page that was given to a pipe keeps
 * all of that page, in nobody's memory; programs fall back to write(). */
static const struct seccomp_rule rules_no_anonymous_files[] = {
	{SYS_memfd_create, ABSENT},
	{SYS_shmget, CHECK_SHMGET},
	{SYS_vmsplice, ABSENT},
};

/* A program without a file would be on no list. */
static const struct seccomp_rule rules_no_anonymous_exec[] = {
	{SYS_memfd_create, REFUSE},
	{SYS_execveat, CHECK_EXECVEAT},
};

/* What an ipc or pid namespace would keep apart. */
static const struct seccomp_rule rules_no_namespaces[] = {
	{SYS_shmget, ABSENT},
	{SYS_shmat, ABSENT},
	{SYS_shmctl, ABSENT},
	{SYS_semget, ABSENT},
	{SYS_semop, ABSENT},
	{SYS_semtimedop, ABSENT},
	{SYS_semctl, ABSENT},
	{SYS_msgget, ABSENT},
	{SYS_msgsnd, ABSENT},
	{SYS_msgrcv, ABSENT},
	{SYS_msgctl, ABSENT},
	{SYS_mq_open, ABSENT},
	{SYS_mq_unlink, ABSENT},
	{SYS_setpriority, CHECK_PRIORITY},
	{SYS_ioprio_set, CHECK_IO_PRIORITY},
	{SYS_sched_setaffinity, CHECK_OWN},
	{SYS_sched_setattr, CHECK_OWN},
	{SYS_sched_setparam, CHECK_OWN},
	{SYS_sched_setscheduler, CHECK_OWN},
};

/* Where only one user has a number, the kernel calls every other one invalid (EINVAL). Programs
 * expect what an ordinary user is told elsewhere: EPERM. */
static const struct seccomp_rule rules_own_ids[] = {
	{SYS_setuid, CHECK_UID_0},   {SYS_setgid, CHECK_GID_0},     {SYS_setreuid, CHECK_UID_1},
	{SYS_setregid, CHECK_GID_1}, {SYS_setresuid, CHECK_UID_2},  {SYS_setresgid, CHECK_GID_2},
	{SYS_fchown, CHECK_CHOWN},   {SYS_fchownat, CHECK_CHOWNAT},
#ifdef SYS_chown
	{SYS_chown, CHECK_CHOWN},    {SYS_lchown, CHECK_CHOWN},
#endif
};

/* What Landlock before ABI 3 does not govern; see also check_open(). */
static const struct seccomp_rule rules_no_truncate[] = {
	{SYS_truncate,
         REFUSE}, /* ftruncate needs a descriptor, which was checked when it was made */
};

/* What Landlock before ABI 6 does not govern; see also check_ioctl(). timer_create and mq_notify
 * reach the caller only, and a group that a command can join has nobody from outside: it began with
 * a session of its own. */
static const struct seccomp_rule rules_asks[] = {
	{SYS_kill, CHECK_KILL},
	{SYS_tkill, ASK},
	{SYS_tgkill, ASK},
	{SYS_rt_sigqueueinfo, ASK},
	{SYS_rt_tgsigqueueinfo, ASK},
	{SYS_pidfd_send_signal, ASK},
	{SYS_fcntl, CHECK_FCNTL},
};

/* What replaces a file by another one; see broker.h. Whoever answers lets all go on but what it
 * does itself. */
static const struct seccomp_rule rules_renames[] = {
	{SYS_renameat, ASK},
	{SYS_renameat2, ASK},
#ifdef SYS_rename
	{SYS_rename, ASK},
#endif
};

/* What git does with a file of its work tree, where one is protected; see checkout.h and
 * check_open(). As git does it and few others: from the working directory. */
static const struct seccomp_rule rules_checkouts[] = {
	{SYS_unlinkat, CHECK_GIT_REMOVE},
	{SYS_mkdirat, CHECK_GIT_MKDIR},
#ifdef SYS_unlink
	{SYS_unlink, ASK},
	{SYS_mkdir, ASK},
#endif
};
