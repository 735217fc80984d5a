/*
 * deny-calls CALL=ERROR[,CALL=ERROR]... -- COMMAND...: run a command to which the kernel refuses
 * some calls.
 *
 * It stands for other people's sandboxes, hardened units and old kernels: the filter answers each
 * named call with the named error, and everything else is as always. `CALL@N:VALUE=ERROR` refuses
 * the call only if its argument N (from 0) has that value, such as one flag of close_range. A call
 * that is not in the table below can be given as its number.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RULES_MAX = 64, PER_RULE = 6 };

static const struct {
	const char *name;
	long nr;
} calls[] = {
#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}
	CALL(accept),
	CALL(accept4),
	CALL(bind),
	CALL(capset),
	CALL(chroot),
	CALL(clone3),
	CALL(close_range),
	CALL(connect),
	CALL(execveat),
	CALL(fsconfig),
	CALL(fsmount),
	CALL(fsopen),
	CALL(getpeername),
	CALL(getsockname),
	CALL(getsockopt),
	CALL(inotify_init1),
	CALL(keyctl),
	CALL(landlock_add_rule),
	CALL(landlock_create_ruleset),
	CALL(landlock_restrict_self),
	CALL(listen),
	CALL(memfd_create),
	CALL(mount),
	CALL(mount_setattr),
	CALL(move_mount),
	CALL(name_to_handle_at),
	CALL(open_tree),
	CALL(openat2),
	CALL(pidfd_getfd),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(pivot_root),
	CALL(prlimit64),
	CALL(process_vm_readv),
	CALL(ptrace),
	CALL(recvfrom),
	CALL(recvmmsg),
	CALL(recvmsg),
	CALL(seccomp),
	CALL(sendmmsg),
	CALL(sendmsg),
	CALL(sendto),
	CALL(setgroups),
	CALL(setns),
	CALL(sethostname),
	CALL(setsockopt),
	CALL(shutdown),
	CALL(socket),
	CALL(socketpair),
	CALL(statx),
	CALL(umount2),
	CALL(unshare),
#undef CALL
};

static struct sock_filter program[RULES_MAX * PER_RULE + 8];
static unsigned short length;

static void add(uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	program[length++] = (struct sock_filter)BPF_JUMP(code, k, jt, jf);
}

static void load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static _Noreturn void bad(const char *what, const char *text)
{
	fprintf(stderr, "deny-calls: %s '%s'\n", what, text);
	exit(125);
}

static uint32_t number(const char *text, const char *what)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (*text == '\0' || *end != '\0' || n > UINT32_MAX)
		bad(what, text);
	return (uint32_t)n;
}

static uint32_t call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return (uint32_t)calls[i].nr;
	return number(name, "unknown call");
}

static uint32_t error_number(const char *name)
{
	for (int e = 1; e < 200; e++) {
		const char *known = strerrorname_np(e);

		if (known && strcmp(known, name) == 0)
			return (uint32_t)e;
	}
	return number(name, "unknown error");
}

/* The low half of an argument decides: flags and small numbers are all that is asked for. */
static void add_rule(char *rule)
{
	char *error = strchr(rule, '='), *where = strchr(rule, '@'), *value = NULL;
	uint32_t argument = 0, answer;

	if (!error)
		bad("no error in", rule);
	*error++ = '\0';
	if (where) {
		*where++ = '\0';
		value = strchr(where, ':');
		if (!value)
			bad("no value in", where);
		*value++ = '\0';
		argument = number(where, "bad argument");
		if (argument > 5)
			bad("bad argument", where);
	}
	answer = SECCOMP_RET_ERRNO | error_number(error);

	load(offsetof(struct seccomp_data, nr));
	add(BPF_JMP | BPF_JEQ | BPF_K, call_number(rule), 0, where ? 3 : 1);
	if (where) {
		load(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
		add(BPF_JMP | BPF_JEQ | BPF_K, number(value, "bad value"), 0, 1);
	}
	add(BPF_RET | BPF_K, answer, 0, 0);
}

int main(int argc, char **argv)
{
	struct sock_fprog fprog = {.filter = program};
	int rules = 0;

	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		fprintf(stderr, "usage: deny-calls CALL[@N:VALUE]=ERROR[,...] -- COMMAND...\n");
		return 125;
	}
#if defined(__x86_64__)
	/* Numbers of another architecture mean other calls: they are not looked at. */
	load(offsetof(struct seccomp_data, arch));
	add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
#endif
	for (char *rule = strtok(argv[1], ","); rule; rule = strtok(NULL, ",")) {
		if (++rules > RULES_MAX)
			bad("too many rules, at", rule);
		add_rule(rule);
	}
	add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	fprog.len = length;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) < 0) {
		perror("deny-calls: filter");
		return 125;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
