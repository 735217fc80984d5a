/*
 * Eating the machine. Run under limits of 64 processes, 256 MiB of memory, and 64 MiB for a file
 * and for /tmp; the driver counts processes and memory from outside while the attempt lasts. Every
 * attempt is finite by itself: it stops at four times what it may have.
 */
#include "attack.h"
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>

#define MIB      (1L << 20)
#define STEP     (8 * MIB)
#define MEMORY   (1024 * MIB)
#define CHILDREN 300
#define CROWD    56

static void wait_here(int milliseconds)
{
	poll(NULL, 0, milliseconds); /* so that the driver sees it; it ends the wait by looking */
}

static void processes(void)
{
	int made = 0;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			wait_here(1000);
			_exit(0);
		}
		if (pid < 0) {
			no("fork");
			break;
		}
		made++;
	}
	printf("made %d processes\n", made);
	if (made >= CHILDREN)
		got("%d processes", made);
	wait_here(300);
}

static void *thread_stack(void)
{
	return (char *)mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0) +
	       16384;
}

static int thread_main(void *unused)
{
	syscall(SYS_poll, NULL, 0, 1000);
	syscall(SYS_exit, 0);
	return 0;
}

static void threads(void)
{
	int made = 0;

	for (int i = 0; i < CHILDREN; i++) {
		if (clone(thread_main, thread_stack(),
		          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
		          NULL) < 0) {
			no("clone");
			break;
		}
		made++;
	}
	if (made >= CHILDREN)
		got("%d threads", made);
	wait_here(300);
}

static void memory(void)
{
	for (long sum = 0; sum < MEMORY; sum += STEP) {
		char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		               0);

		if (p == MAP_FAILED) {
			no("mmap");
			return;
		}
		for (long i = 0; i < STEP; i += 4096)
			p[i] = 1;
	}
	got("%ld MiB of memory", MEMORY / MIB);
	wait_here(300);
}

/* Each child stays below the limit; together they do not. */
static void memory_of_many(void)
{
	int done = 0;

	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			char *p = mmap(NULL, MEMORY / 8, PROT_READ | PROT_WRITE,
			               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				_exit(1);
			for (long at = 0; at < MEMORY / 8; at += 4096)
				p[at] = 1;
			wait_here(500);
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;

		if (wait(&status) > 0 && status == 0)
			done++;
	}
	if (done == 8)
		got("%ld MiB of memory in 8 processes", MEMORY / MIB);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A race for the processors would prove nothing: who looks from outside must get one, too. On a
 * machine that is slow at this all of them together take half of one. */
static void wait_for_others(double used)
{
	double milliseconds = 1000 * 2 * CROWD * used;

	wait_here(milliseconds > 20 ? (int)milliseconds : 20);
}

/* Who takes one after the other away is too slow for so many. */
static void memory_of_a_crowd(void)
{
	const long each = MEMORY / CROWD;
	double began = seconds(CLOCK_MONOTONIC);
	int lived = 0, status;

	for (int i = 0; i < CROWD; i++) {
		if (fork() == 0) {
			char *p = mmap(NULL, (size_t)each, PROT_READ | PROT_WRITE,
			               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			for (long at = 0; p != MAP_FAILED && at < each; at += MIB) {
				double before = seconds(CLOCK_PROCESS_CPUTIME_ID);

				memset(p + at, 1, (size_t)(each - at < MIB ? each - at : MIB));
				wait_for_others(seconds(CLOCK_PROCESS_CPUTIME_ID) - before);
			}
			wait_here(1000 + (int)(1000 * (seconds(CLOCK_MONOTONIC) - began)));
			_exit(p == MAP_FAILED);
		}
	}
	while (wait(&status) > 0)
		lived += status == 0;
	printf("%d lived\n", lived);
	if (lived * each > MEMORY / 2)
		got("%ld MiB of memory in %d processes", lived * each / MIB, lived);
}

static void memory_file(void)
{
	static char block[MIB];

	for (long sum = 0; sum < MEMORY;
	     sum += 32 * MIB) { /* many, because of the limit on a file */
		int fd = memfd_create("x", 0);

		for (long at = 0; at < 32 * MIB; at += MIB)
			if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block)) {
				no("memfd");
				return;
			}
	}
	got("%ld MiB in memfds", MEMORY / MIB);
	wait_here(300);
}

static void memory_shared(void)
{
	for (long sum = 0; sum < MEMORY; sum += STEP) {
		int id = shmget(IPC_PRIVATE, STEP, IPC_CREAT | 0600);
		char *p = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (p == (char *)-1) {
			no("shmget");
			return;
		}
		shmctl(id, IPC_RMID, NULL);
		memset(p, 1, STEP);
	}
	got("%ld MiB of SysV memory", MEMORY / MIB);
	wait_here(300);
}

/* The pages are in a mapping that all have let go of but for one page: in no process's size. */
static void memory_unmapped(void)
{
	for (long sum = 0; sum < MEMORY; sum += STEP) {
		char *p =
			mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			no("mmap");
			return;
		}
		memset(p, 1, STEP);
		madvise(p, STEP, MADV_DONTNEED);
		munmap(p + 4096, STEP - 4096);
	}
	got("%ld MiB in mappings that are nowhere", MEMORY / MIB);
	wait_here(300);
}

/* System V memory lives on when nobody has it attached. */
static void memory_detached(void)
{
	static int ids[MEMORY / STEP];
	long made = 0;

	for (; made < MEMORY / STEP; made++) {
		char *p;

		ids[made] = shmget(IPC_PRIVATE, STEP, IPC_CREAT | 0600);
		p = ids[made] < 0 ? (char *)-1 : shmat(ids[made], NULL, 0);
		if (p == (char *)-1) {
			no("shmget");
			break;
		}
		memset(p, 1, STEP);
		shmdt(p);
	}
	if (made == MEMORY / STEP)
		got("%ld MiB of detached memory", MEMORY / MIB);
	wait_here(300);
	while (made-- > 0)
		shmctl(ids[made], IPC_RMID, NULL);
}

static long fill_sockets(void)
{
	static char block[65536];
	long sum = 0;
	int pair[2];

	for (int i = 0; i < 450; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
			break;
		for (int end = 0; end < 2; end++) {
			ssize_t n;

			while ((n = write(pair[end], block, sizeof(block))) > 0)
				sum += n;
		}
	}
	return sum;
}

/* What waits in a socket belongs to no process; eight of them have room for it. Those count that
 * are let live with it. */
static void memory_sockets(void)
{
	long sum = 0;

	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			long mine = fill_sockets();

			wait_here(1500);
			_exit(mine >= MEMORY / 8 ? 0 : 1);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;

		if (wait(&status) > 0 && status == 0)
			sum += MEMORY / 8;
	}
	printf("%ld MiB in sockets stayed\n", sum / MIB);
	if (sum >= MEMORY)
		got("%ld MiB in sockets", sum / MIB);
}

static long fill_pipes(void)
{
	static char block[65536];
	long sum = 0;
	int ends[2];

	while (sum < MEMORY && pipe2(ends, O_NONBLOCK) == 0) {
		ssize_t n;

		while ((n = write(ends[1], block, sizeof(block))) > 0)
			sum += n;
	}
	return sum;
}

/* Past what a user may have in pipes the kernel gives small ones, without end. Every other one does
 * not want to be looked at; those count that are let live. */
static void memory_pipes(void)
{
	long *sums = mmap(NULL, CROWD * sizeof(long), PROT_READ | PROT_WRITE,
	                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	if (sums == MAP_FAILED) {
		no("mmap");
		return;
	}
	for (int i = 0; i < CROWD; i++) {
		if (fork() == 0) {
			long mine;

			prctl(PR_SET_DUMPABLE, i % 2, 0, 0, 0);
			mine = fill_pipes();
			wait_here(2000);
			sums[i] = mine;
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < CROWD; i++)
		sum += sums[i];
	printf("%ld MiB in pipes stayed\n", sum / MIB);
	if (sum >= 3 * MEMORY / 4)
		got("%ld MiB in pipes", sum / MIB);
}

/* One page of a huge one that waits in a pipe keeps all of it. */
static void memory_pinned(void)
{
	long huge = 2 * MIB, sum = 0;
	int ends[2];

	for (int pipes = 0; pipes < 64 && pipe2(ends, O_NONBLOCK) == 0; pipes++) {
		for (int i = 0; i < 16 && sum < MEMORY; i++) {
			char *p = mmap(NULL, (size_t)(2 * huge), PROT_READ | PROT_WRITE,
			               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char *at = (char *)(((unsigned long)p + (unsigned long)huge - 1) &
			                    ~((unsigned long)huge - 1));
			struct iovec page = {at, 4096};
			unsigned char there = 0;
			ssize_t n;

			if (p == MAP_FAILED)
				break;
			(void)madvise(at, (size_t)huge, MADV_HUGEPAGE);
			*at = 1;
			(void)mincore(at + MIB, 4096, &there); /* else it is a small one */
			n = vmsplice(ends[1], &page, 1, 0);
			munmap(p, (size_t)(2 * huge));
			if (n <= 0) {
				no("vmsplice");
				return;
			}
			sum += there & 1 ? huge : 4096;
		}
	}
	wait_here(1500);
	printf("%ld MiB behind pipes\n", sum / MIB);
	if (sum >= MEMORY)
		got("%ld MiB behind pipes", sum / MIB);
}

/* What the kernel keeps for the box as a whole: 64 bytes for each semaphore, and for each message
 * that says nothing. */
static void memory_semaphores(void)
{
	long sum = 0;

	while (sum < MEMORY && semget(IPC_PRIVATE, 32000, 0600 | IPC_CREAT) >= 0)
		sum += 32000L * 64;
	wait_here(500);
	printf("%ld MiB of semaphores\n", sum / MIB);
	if (sum >= MEMORY)
		got("%ld MiB of semaphores", sum / MIB);
}

static void memory_messages(void)
{
	const long type = 1;
	long sum = 0;
	int queue;

	while (sum < MEMORY / 2 && (queue = msgget(IPC_PRIVATE, 0600 | IPC_CREAT)) >= 0)
		while (msgsnd(queue, &type, 0, IPC_NOWAIT) == 0)
			sum += 64;
	wait_here(500);
	printf("%ld MiB of messages\n", sum / MIB);
	if (sum >= MEMORY / 2)
		got("%ld MiB of messages", sum / MIB);
}

/* Reading where nothing was written costs a page table for 2 MiB, and no page. */
static void memory_tables(void)
{
	long step = 2 * MIB, bytes = MEMORY / 4096 * step;
	char *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);

	if (p == MAP_FAILED) {
		no("mmap");
		return;
	}
	madvise(p, (size_t)bytes, MADV_NOHUGEPAGE);
	for (long at = 0; at < bytes; at += step)
		(void)*(volatile char *)(p + at);
	got("%ld MiB of page tables", MEMORY / MIB);
	wait_here(300);
}

static void one_file(const char *dir, long bytes)
{
	static char block[MIB];
	char path[256];
	long sum = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/big", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (fd < 0) {
		no(path);
		return;
	}
	memset(block, 'x', sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	while (sum < bytes && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		sum += MIB;
	if (sum >= bytes)
		got("a file of %ld MiB in %s", sum / MIB, dir);
	else
		no(path);
	if (fallocate(fd, 0, 0, bytes) == 0 || ftruncate(fd, bytes) == 0)
		got("a file of %ld MiB in %s at once", bytes / MIB, dir);
	printf("wrote %ld MiB\n", sum / MIB);
	wait_here(100);
	unlink(path);
}

static void big_file(void)
{
	one_file(".", 4 * 64 * MIB);
}

static void behind_by(int fd, int mode, long bytes)
{
	struct stat st;

	if (fallocate(fd, mode, 0, bytes) < 0) {
		no("fallocate");
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_blocks * 512L + st.st_size >= bytes)
		got("%ld MiB behind the end of a file", bytes / MIB);
}

/* The limit is on the end of a file: blocks behind it, or room that is made before it. */
static void file_behind(void)
{
	struct {
		short type, whence;
		off_t start, length;
		int system, pid;
		int pad[4];
	} space = {.length = 4 * 64 * MIB};
	int fd = open("behind", O_CREAT | O_RDWR | O_TRUNC, 0600);
	static char block[MIB];

	if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block)) {
		no("behind");
		return;
	}
	signal(SIGXFSZ, SIG_IGN);
	behind_by(fd, FALLOC_FL_KEEP_SIZE, 4 * 64 * MIB);
	behind_by(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE, 4 * 64 * MIB);
	behind_by(fd, FALLOC_FL_INSERT_RANGE, 4 * 64 * MIB);
	told("FS_IOC_RESVSP64", ioctl(fd, 0x4030582a, &space));
	told("FS_IOC_ZERO_RANGE", ioctl(fd, 0x40305839, &space));
	unlink("behind");
}

static void many_files(const char *dir)
{
	static char block[MIB];
	char path[256];
	long sum = 0;

	memset(block, 'x', sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 4 * 64 / 8; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/nacre-escape-fill-%d", dir, i);
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
		if (fd < 0) {
			no(path);
			break;
		}
		for (int j = 0; j < 8; j++)
			if (write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
				sum += MIB;
		close(fd);
	}
	printf("wrote %ld MiB to %s\n", sum / MIB, dir);
	if (sum >= 4 * 64 * MIB)
		got("%ld MiB in %s", sum / MIB, dir);
	for (int i = 0; i < 4 * 64 / 8; i++) {
		snprintf(path, sizeof(path), "%s/nacre-escape-fill-%d", dir, i);
		unlink(path);
	}
}

static void fill_tmp(void)
{
	const char *tmp = getenv("TMPDIR");

	many_files(tmp && *tmp ? tmp : "/tmp");
}

static void fill_shm(void)
{
	many_files("/dev/shm");
}

static void fill_home(void)
{
	const char *home = getenv("HOME");

	many_files(home && *home ? home : "/var/tmp");
}

/* Inodes are memory, too: empty files in a file system of memory. Where there is room for all of
 * them anyhow, a few are enough to show it. */
static void fill_inodes(void)
{
	const char *tmp = getenv("TMPDIR");
	struct statvfs room;
	char path[256];
	long made = 0, wanted = 80000;

	tmp = tmp && *tmp ? tmp : "/tmp";
	if (statvfs(tmp, &room) < 0) {
		no(tmp);
		return;
	}
	if (room.f_favail > (fsfilcnt_t)wanted)
		wanted = 2000;
	for (; made < wanted; made++) {
		int fd;

		snprintf(path, sizeof(path), "%s/nacre-escape-%ld", tmp, made);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0) {
			no(path);
			break;
		}
		close(fd);
	}
	printf("made %ld files, room for %llu\n", made, (unsigned long long)room.f_favail);
	if (made >= wanted)
		got("%ld files", made);
	while (made-- > 0) {
		snprintf(path, sizeof(path), "%s/nacre-escape-%ld", tmp, made);
		unlink(path);
	}
}

static void open_files(void)
{
	long n = 0;

	while (n < 200000 && dup(0) >= 0)
		n++;
	printf("opened %ld\n", n);
	if (n >= 200000)
		got("%ld descriptors", n);
}

/* What is counted for a user is counted for whoever made the box, and nobody else has it then. */
static void watchers(void)
{
	long n = 0;

	while (n < 100 && inotify_init() >= 0)
		n++;
	printf("watchers %ld\n", n);
	if (n >= 100)
		got("%ld watchers", n);
}

static void signals_waiting(void)
{
	union sigval value = {0};
	sigset_t blocked;
	long n = 0;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	while (n < 10000 && sigqueue(getpid(), SIGRTMIN, value) == 0)
		n++;
	printf("waiting %ld\n", n);
	if (n >= 10000)
		got("%ld waiting signals", n);
}

static void core_dump(void)
{
	in_child(abort);
	if (access("core", F_OK) == 0)
		got("a core file");
}

static const struct attempt all[] = {
	{"processes", processes},
	{"threads", threads},
	{"memory", memory},
	{"memory_of_many", memory_of_many},
	{"memory_of_a_crowd", memory_of_a_crowd},
	{"memory_file", memory_file},
	{"memory_shared", memory_shared},
	{"memory_unmapped", memory_unmapped},
	{"memory_detached", memory_detached},
	{"memory_sockets", memory_sockets},
	{"memory_pipes", memory_pipes},
	{"memory_pinned", memory_pinned},
	{"memory_tables", memory_tables},
	{"memory_semaphores", memory_semaphores},
	{"memory_messages", memory_messages},
	{"file_behind", file_behind},
	{"big_file", big_file},
	{"fill_tmp", fill_tmp},
	{"fill_shm", fill_shm},
	{"fill_home", fill_home},
	{"fill_inodes", fill_inodes},
	{"open_files", open_files},
	{"watchers", watchers},
	{"signals_waiting", signals_waiting},
	{"core_dump", core_dump},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
