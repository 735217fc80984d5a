/*
 * Writers of an audit log whose every change of a file is written down, so that tests/crash/run can
 * tell what a disk may have of it when the machine goes down at any moment.
 *
 *	crash-machine write STATE TRACE SEED OPERATIONS KILL MAX_BYTES KEEP
 *	crash-machine check STATE
 *
 * Two writers append and sync in turns. Between two system calls of one that syncs others may
 *append, as other processes would. Before the system call KILL all of them are killed; a long write
 * may have been broken off at a page. A start of the machine is known by the file that NACRE_BOOT
 *names.
 *
 * The trace: "op a b n" and n bytes, with op one of
 *	C made (directory, file, name)      M directory made       R renamed (old/new)    U unlinked
 *	W written (file, offset, bytes)     D written and synced   T cut (file, size)     S synced
 *	A a record is on the disk (number, token)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "audit/verify.h"
#include "base/error.h"

#define HANDLES   4 /* two that take turns, two that come between */
#define UNSYNCED  60
#define PAGE      4096
#define TEXT_MAX  60000
#define KILLED    137
#define NEST_EACH 12 /* system calls */

struct writer {
	struct audit *audit;
	uint64_t seqs[UNSYNCED], tokens[UNSYNCED];
	size_t count;
};

static struct {
	int trace;
	long calls, kill_at;
	uint64_t random, tokens;
	bool syncing, nested, locked;
	struct writer writers[HANDLES];
} machine = {.trace = -1};

static uint64_t next_random(void)
{
	machine.random ^= machine.random << 13;
	machine.random ^= machine.random >> 7;
	machine.random ^= machine.random << 17;
	return machine.random;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t n, off_t at);
ssize_t __real_pread64(int fd, void *bytes, size_t n, off_t at);
int __real_ftruncate64(int fd, off_t size);
int __real_openat64(int dir, const char *name, int flags, mode_t mode);
int __real_open64(const char *name, int flags, mode_t mode);
int __real_renameat(int dir, const char *old, int to, const char *name);
int __real_unlinkat(int dir, const char *name, int flags);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __real_flock(int fd, int operation);

ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *bytes, size_t n, off_t at);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_openat64(int dir, const char *name, int flags, ...);
int __wrap_open64(const char *name, int flags, ...);
int __wrap_renameat(int dir, const char *old, int to, const char *name);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_flock(int fd, int operation);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static void note(char op, uint64_t a, uint64_t b, const void *bytes, size_t n)
{
	char head[96];
	int length = snprintf(head, sizeof(head), "%c %" PRIu64 " %" PRIu64 " %zu\n", op, a, b, n);

	if (machine.trace >= 0 && (__real_write(machine.trace, head, (size_t)length) != length ||
	                           __real_write(machine.trace, bytes, n) != (ssize_t)n))
		_exit(1);
}

static uint64_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void append(struct writer *w);

/* In front of each system call that matters. */
static void tick(void)
{
	if (++machine.calls == machine.kill_at)
		_exit(KILLED);
	if (!machine.syncing || machine.nested || machine.locked || next_random() % NEST_EACH)
		return;
	machine.nested = true;
	for (uint64_t i = next_random() % 4; i > 0; i--)
		append(&machine.writers[2 + next_random() % 2]);
	machine.nested = false;
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
	bool synced = fcntl(fd, F_GETFL) & O_DSYNC;
	ssize_t done;

	tick();
	if (machine.calls + 1 == machine.kill_at && n > PAGE && !synced)
		n = PAGE * (1 + next_random() % (n / PAGE));
	done = __real_pwrite64(fd, bytes, n, at);
	if (done > 0)
		note(synced ? 'D' : 'W', inode(fd), (uint64_t)at, bytes, (size_t)done);
	return done;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
	off_t at = fd > STDERR_FILENO ? lseek(fd, 0, SEEK_CUR) : -1;
	ssize_t done;

	if (at >= 0)
		tick();
	done = __real_write(fd, bytes, n);
	if (at >= 0 && done > 0)
		note('W', inode(fd), (uint64_t)at, bytes, (size_t)done);
	return done;
}

ssize_t __wrap_pread64(int fd, void *bytes, size_t n, off_t at)
{
	tick();
	return __real_pread64(fd, bytes, n, at);
}

int __wrap_ftruncate64(int fd, off_t size)
{
	int r;

	tick();
	r = __real_ftruncate64(fd, size);
	if (r == 0)
		note('T', inode(fd), (uint64_t)size, "", 0);
	return r;
}

/* The real disk is of no interest. */
int __wrap_fdatasync(int fd)
{
	tick();
	note('S', inode(fd), 0, "", 0);
	return 0;
}

int __wrap_fsync(int fd)
{
	return __wrap_fdatasync(fd);
}

int __wrap_openat64(int dir, const char *name, int flags, ...)
{
	struct stat st;
	bool was = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	mode_t mode = 0;
	va_list rest;
	int fd;

	if (flags & O_CREAT) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
		tick();
	}
	fd = __real_openat64(dir, name, flags, mode);
	if (fd >= 0 && (flags & O_CREAT) && !was)
		note('C', inode(dir), inode(fd), name, strlen(name));
	else if (fd >= 0 && (flags & O_TRUNC))
		note('T', inode(fd), 0, "", 0);
	return fd;
}

int __wrap_open64(const char *name, int flags, ...)
{
	const char *boot = getenv("NACRE_BOOT");

	return __real_open64(strcmp(name, "/proc/sys/kernel/random/boot_id") == 0 && boot ? boot
	                                                                                  : name,
	                     flags, 0600);
}

int __wrap_renameat(int dir, const char *old, int to, const char *name)
{
	char both[512];
	int r, n = snprintf(both, sizeof(both), "%s/%s", old, name);

	tick();
	r = __real_renameat(dir, old, to, name);
	if (r == 0)
		note('R', inode(dir), 0, both, (size_t)n);
	return r;
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	int r;

	tick();
	r = __real_unlinkat(dir, name, flags);
	if (r == 0)
		note('U', inode(dir), 0, name, strlen(name));
	return r;
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
	struct stat st;
	int r;

	tick();
	r = __real_mkdirat(dir, name, mode);
	if (r == 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		note('M', inode(dir), st.st_ino, name, strlen(name));
	return r;
}

/* Who comes between would wait for the lock of the writers for ever. */
int __wrap_flock(int fd, int operation)
{
	int r = __real_flock(fd, operation);
	struct stat st;

	if (r == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		machine.locked = !(operation & LOCK_UN);
	return r;
}

static _Noreturn void fail(const char *what, const struct error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->text);
	_exit(1);
}

static void append(struct writer *w)
{
	static char text[TEXT_MAX];
	const struct audit_event e = {.kind = AUDIT_STARTED, .command = text};
	size_t n = next_random() % (next_random() % 4 ? 700 : 20000);
	uint64_t token = machine.random << 16 | (++machine.tokens & 0xffff);
	struct error err = {0};
	int length;

	if (w->count == UNSYNCED)
		return;
	length = snprintf(text, sizeof(text), "token-%" PRIu64 "-", token);
	memset(text + length, 'x', n);
	text[(size_t)length + n] = '\0';
	if (audit_append(w->audit, &e, 1, &w->seqs[w->count], &err) < 0)
		fail("append", &err);
	w->tokens[w->count++] = token;
}

static void sync_all(struct writer *w)
{
	struct error err = {0};

	machine.syncing = true;
	if (w->count > 0 && audit_sync(w->audit, w->seqs[w->count - 1], &err) < 0)
		fail("sync", &err);
	machine.syncing = false;
	for (size_t i = 0; i < w->count; i++)
		note('A', w->seqs[i], w->tokens[i], "", 0);
	w->count = 0;
}

static int check(const char *state)
{
	struct audit_verdict v;
	struct error err = {0};
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/" AUDIT_DIRECTORY, state);
	if (audit_verify(dir, NULL, &v, &err) < 0)
		fail("verify", &err);
	if (!v.good)
		printf("%s:%" PRIu64 ": %s\n", v.file, v.line, v.problem);
	return v.good ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct audit_settings settings = audit_settings_default;
	struct error err = {0};

	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check(argv[2]);
	if (argc != 9)
		return 1;
	machine.random = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15 | 1;
	machine.kill_at = strtol(argv[6], NULL, 10);
	settings.max_bytes = strtoull(argv[7], NULL, 10);
	settings.keep = strtoull(argv[8], NULL, 10);
	machine.trace = __real_open64(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	for (size_t i = 0; i < HANDLES; i++)
		if (audit_open(argv[2], &settings, &machine.writers[i].audit, &err) < 0)
			fail("open", &err);
	for (long i = strtol(argv[5], NULL, 10); i > 0; i--) {
		struct writer *w = &machine.writers[next_random() % 2];

		if (w->count > 0 && next_random() % 3 == 0)
			sync_all(w);
		else
			append(w);
	}
	for (size_t i = 0; i < HANDLES; i++)
		sync_all(&machine.writers[i]);
	for (size_t i = 0; i < HANDLES; i++)
		audit_free(machine.writers[i].audit);
	return 0;
}
