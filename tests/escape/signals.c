/*
 * Signals, priorities and limits of processes outside, and the death of nacre's own.
 *
 * SIGWINCH is what is sent: it hurts nobody who does not ask for it, and the victim writes down
 * every signal that it gets. Only the processes that the driver names (nacre's own, whom it started
 * for this attempt) are sent SIGKILL and SIGSTOP.
 */
#include "attack.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

static void by_kill(void)
{
	told("kill", kill((pid_t)world_number("victim"), SIGWINCH));
}

static void by_other_calls(void)
{
	pid_t victim = (pid_t)world_number("victim");
	siginfo_t info = {.si_signo = SIGWINCH, .si_code = SI_QUEUE};
	union sigval value = {.sival_int = 1};
	int pidfd;

	told("tkill", syscall(SYS_tkill, victim, SIGWINCH));
	told("tgkill", syscall(SYS_tgkill, victim, victim, SIGWINCH));
	told("sigqueue", sigqueue(victim, SIGWINCH, value));
	told("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, victim, SIGWINCH, &info));
	told("rt_tgsigqueueinfo", syscall(SYS_rt_tgsigqueueinfo, victim, victim, SIGWINCH, &info));
	pidfd = (int)syscall(SYS_pidfd_open, victim, 0);
	if (pidfd < 0)
		no("pidfd_open");
	else
		told("pidfd_send_signal", syscall(SYS_pidfd_send_signal, pidfd, SIGWINCH, NULL, 0));
}

/* Everybody, the own group, the victim's group: the victim tells whether it heard. */
static void to_groups(void)
{
	signal(SIGWINCH, SIG_IGN);
	if (kill(-1, SIGWINCH) < 0)
		no("kill -1");
	if (kill(0, SIGWINCH) < 0)
		no("kill 0");
	if (kill(-(pid_t)world_number("victim_group"), SIGWINCH) < 0)
		no("kill of the group");
}

/* Process ids are guessed by counting, when nothing names them. */
static void by_guessing(void)
{
	pid_t victim = (pid_t)world_number("victim");

	for (pid_t pid = victim - 20; pid < victim + 20; pid++)
		if (pid != getpid() && pid > 1 && kill(pid, SIGWINCH) < 0 && errno != ESRCH)
			no("kill");
}

static void own_to(int fd, int type, pid_t pid, const char *what)
{
	struct f_owner_ex owner = {.type = type, .pid = pid};

	if (fcntl(fd, F_SETOWN_EX, &owner) < 0)
		no(what);
}

/* The owner of a descriptor is sent a signal by whoever makes it readable. */
static void by_owner(void)
{
	pid_t victim = (pid_t)world_number("victim");
	int pair[2];

	for (int type = F_OWNER_TID; type <= F_OWNER_PGRP; type++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 && pipe(pair) < 0) {
			no("pair");
			return;
		}
		own_to(pair[0], type, victim, "F_SETOWN_EX");
		if (fcntl(pair[0], F_SETSIG, SIGWINCH) < 0)
			no("F_SETSIG");
		if (fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
			no("O_ASYNC");
		if (write(pair[1], "x", 1) != 1)
			no("write");
		close(pair[0]);
		close(pair[1]);
	}
	if (fcntl(open(".", O_RDONLY), F_SETOWN, victim) < 0)
		no("F_SETOWN");
}

static void by_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGWINCH};
	struct itimerspec soon = {.it_value = {0, 1000000}};
	timer_t timer;

	event._sigev_un._tid = (pid_t)world_number("victim");
	if (told("timer_create", timer_create(CLOCK_MONOTONIC, &event, &timer)))
		timer_settime(timer, 0, &soon, NULL);
}

static void other_properties(void)
{
	pid_t victim = (pid_t)world_number("victim");
	struct rlimit limit = {64, 64};
	struct sched_param param = {0};
	cpu_set_t cpus;

	told("setpriority", setpriority(PRIO_PROCESS, (id_t)victim, 15));
	told("prlimit", prlimit(victim, RLIMIT_NOFILE, &limit, NULL));
	told("sched_setscheduler", sched_setscheduler(victim, SCHED_IDLE, &param));
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	told("sched_setaffinity", sched_setaffinity(victim, sizeof(cpus), &cpus));
	told("ioprio_set", syscall(SYS_ioprio_set, 1, victim, 3 << 13));
	told("setpgid", setpgid(victim, 0));
	/* All processes of this user, outside, too? Not tried with the root of a whole machine, nor
	 * with the person who runs the tests and could never undo it. */
	if (getuid() != 0 && world_number("own_user") && setpriority(PRIO_USER, 0, 19) < 0)
		no("setpriority of the user");
}

static void file_of_own_processes(pid_t *pids, size_t *n)
{
	FILE *file;
	long pid;

	/* The driver writes the file when it has found them; it is there soon. */
	for (int turn = 0; turn < 500 && access("attack/nacre-pids", R_OK) < 0; turn++)
		poll(NULL, 0, 10);
	file = fopen("attack/nacre-pids", "r");
	while (file && *n < 16 && fscanf(file, "%ld", &pid) == 1)
		pids[(*n)++] = (pid_t)pid;
	if (file)
		fclose(file);
}

static void at_nacre(int number)
{
	pid_t pids[16];
	size_t n = 0;

	file_of_own_processes(pids, &n);
	if (n == 0)
		printf("no: nobody to kill\n");
	for (size_t i = 0; i < n; i++)
		if (pids[i] > 1 && kill(pids[i], number) < 0)
			no("kill of nacre's");
	if (kill(1, number) < 0)
		no("kill of pid 1");
	/* By its place in the tree, too; never the init of a whole machine. */
	if (getppid() > 1 && kill(getppid(), number) < 0)
		no("kill of the parent");
	printf("sent\n");
}

static void kill_nacre(void)
{
	at_nacre(SIGKILL);
}

static void stop_nacre(void)
{
	at_nacre(SIGSTOP);
}

static const struct attempt all[] = {
	{"by_kill", by_kill},
	{"by_other_calls", by_other_calls},
	{"to_groups", to_groups},
	{"by_guessing", by_guessing},
	{"by_owner", by_owner},
	{"by_timer", by_timer},
	{"other_properties", other_properties},
	{"kill_nacre", kill_nacre},
	{"stop_nacre", stop_nacre},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
