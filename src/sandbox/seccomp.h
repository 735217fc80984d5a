#pragma once
/*
 * Seccomp: the system calls that a command may make.
 *
 * The filter is a list of what is forbidden: what ordinary programs need is far too varied to be
 * listed. A forbidden call answers EPERM, or ENOSYS where programs have a fallback for old kernels,
 * so that they degrade instead of dying. What is newer than this list answers ENOSYS, as an older
 * kernel would; so do calls in 32-bit and x32 manner. The set-user-id bit cannot be set on files.
 *
 * The program is compiled before the clone and kept with the plan; loading it is one system call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct error;
struct sock_filter; /* of <linux/filter.h> */

/* The newest system call that the list has an opinion about. */
#define SECCOMP_NEWEST 469

enum seccomp_sockets {
	SECCOMP_SOCKETS_INET,  /* unix, inet and inet6, and netlink for routes; none of them raw */
	SECCOMP_SOCKETS_UNIX,  /* unix alone: where no network namespace stands behind it */
	SECCOMP_SOCKETS_PAIRS, /* only socketpair(): a path such as docker's socket is a way out */
};

struct seccomp_options {
	enum seccomp_sockets sockets;
	bool no_anonymous_exec; /* memfd_create and execveat by descriptor: where not all may run */
	bool no_anonymous_files; /* memfd_create: where no control group would count their memory */
	bool no_namespaces; /* the host's System V and POSIX queues, limits of other processes */
	bool no_setgid; /* no set-group-id either: files are root's on disk, or no group works there
	                 */
	bool no_truncate; /* files that Landlock lets be read must not be cut: before its ABI 3 */
	bool asks;        /* signals that may reach others are asked for: before its ABI 6 */
	bool debug;       /* ptrace and its kin: only where a pid namespace has no process but the
	                   * command's
	                   */
	bool renames;     /* renaming is asked for: what git does with its configuration */
	bool checkouts;   /* files that git makes and removes in its work tree, too */
	bool own_ids; /* a user namespace has these two alone: others are refused, not invalid */
	uint32_t uid, gid;
};

struct seccomp_program {
	struct sock_filter *code; /* owned */
	unsigned short count;
};

int seccomp_compile(const struct seccomp_options *options, struct seccomp_program *ret_program,
                    struct error *err);
void seccomp_program_done(struct seccomp_program *p); /* an empty one is fine */
static inline void seccomp_program_donep(struct seccomp_program *p)
{
	seccomp_program_done(p);
}

/* Whether filters can be loaded here; one system call. */
bool seccomp_available(void);

/* Async-signal-safe: 0 or a negative errno. The last step before execve; no_new_privs must be set
 * before. It also holds for what the caller starts. */
int seccomp_enforce(const struct seccomp_program *p);

/* The same for a program that asks: returns the listener, a close-on-exec descriptor. When its last
 * copy is closed every question is answered with ENOSYS. */
int seccomp_enforce_asking(const struct seccomp_program *p);

/* Whether a program that asks can be loaded here: there is one listener at most for all filters of
 * a process, and a filter around us may refuse another one. Costs a process. */
bool seccomp_can_ask(void);
