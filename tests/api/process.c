/*
 * What the library does to the process that uses it: nothing that can be seen. Hosts with threads,
 * with much memory, with handlers and children of their own, and with their standard descriptors
 * closed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "host.h"

static atomic_int children_seen;

static void on_child(int number)
{
	(void)number;
	atomic_fetch_add(&children_seen, 1);
}

/* How many descriptors are open, and whether each from 3 up is close-on-exec. */
static int count_descriptors(int *ret_all_closed)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	CHECK(dir);
	*ret_all_closed = 1;
	while ((e = readdir(dir))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		n++;
		if (fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			*ret_all_closed = 0;
	}
	closedir(dir);
	return n;
}

static void changes_nothing_of_the_host(void)
{
	struct sigaction mine = {.sa_handler = on_child}, before[65], now;
	int fds, closed;
	struct nacre_context *c;
	struct nacre_job *j;
	sigset_t mask, later;
	char cwd[4096], after[4096];

	CHECK(sigaction(SIGCHLD, &mine, NULL) == 0);
	for (int s = 1; s < 65; s++)
		(void)sigaction(s, NULL, &before[s]);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	CHECK(getcwd(cwd, sizeof(cwd)));
	fds = count_descriptors(&closed);
	c = context();
	nacre_result_free(run(c, "echo one"));
	j = start(c, "sleep 1000", 0);
	(void)count_descriptors(&closed);
	CHECK(closed);
	nacre_job_free(j);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no child of ours */
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	nacre_context_free(c);
	CHECK(atomic_load(&children_seen) == 0);
	CHECK(count_descriptors(&closed) == fds);
	for (int s = 1; s < 65; s++) {
		/* Some belong to the C library, which does not tell. */
		CHECK(sigaction(s, NULL, &now) < 0 || now.sa_handler == before[s].sa_handler);
	}
	sigprocmask(SIG_SETMASK, NULL, &later);
	CHECK(memcmp(&mask, &later, 8) == 0);
	CHECK(getcwd(after, sizeof(after)) && strcmp(cwd, after) == 0);
}

static void *run_some(void *context)
{
	char line[64], want[32];

	for (int i = 0; i < 6; i++) {
		struct nacre_result *r;

		snprintf(line, sizeof(line), "echo %lx-%d", (unsigned long)pthread_self(), i);
		snprintf(want, sizeof(want), "%lx-%d\n", (unsigned long)pthread_self(), i);
		r = run(context, line);
		CHECK(strcmp(r->out, want) == 0);
		nacre_result_free(r);
	}
	return NULL;
}

#if defined(__SANITIZE_ADDRESS__)
#define STACK_BYTES ((size_t)2 << 20) /* frames are several times as big */
#else
#define STACK_BYTES ((size_t)256 << 10) /* as the header promises */
#endif

static atomic_int finished;

/* Holds the allocator's locks most of the time: a fork would copy them held. */
static void *allocate(void *unused)
{
	(void)unused;
	while (!atomic_load(&finished))
		free(malloc(100 + (size_t)rand() % 100000));
	return NULL;
}

static void serves_many_threads(void)
{
	struct nacre_context *c;
	pthread_attr_t attributes;
	pthread_t busy[2], threads[6];

	for (size_t i = 0; i < 2; i++)
		CHECK(pthread_create(&busy[i], NULL, allocate, NULL) == 0);
	c = context();
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
	for (size_t i = 0; i < 6; i++)
		CHECK(pthread_create(&threads[i], &attributes, run_some, c) == 0);
	CHECK(pthread_attr_destroy(&attributes) == 0);
	for (size_t i = 0; i < 6; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	atomic_store(&finished, 1);
	for (size_t i = 0; i < 2; i++)
		CHECK(pthread_join(busy[i], NULL) == 0);
	nacre_context_free(c);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The smallest of some, and of more if none is small ENOUGH: the machine may be busy. */
static double best_start(double enough)
{
	double best = 1e9;

	for (int i = 0; i < 5 || (i < 200 && best >= enough); i++) {
		double began = now_ms();
		struct nacre_context *c = context();
		double took = now_ms() - began;

		nacre_context_free(c);
		if (took < best)
			best = took;
	}
	return best;
}

static void does_not_mind_a_big_host(void)
{
	size_t bytes = (size_t)256 << 20;
	double small = best_start(1e9), big;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED);
	(void)madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		memory[i] = 1;
	big = best_start(small * 2 + 5);
	printf("context: %.2f ms in a small host, %.2f ms in one of 256 MB\n", small, big);
	CHECK(big < small * 2 + 5);
	munmap(memory, bytes);
}

static void lives_without_standard_descriptors(void)
{
	struct nacre_context *c;
	struct nacre_result *r;

	close(0);
	close(1);
	c = context();
	r = run(c, "cat; echo fine");
	CHECK_OUT(r, "fine\n");
	nacre_result_free(r);
	nacre_context_free(c);
}

static void wait_for_the_test(const char *word)
{
	char line[64];

	printf("%s\n", word);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
}

/* Whoever kills the launcher costs the next command some milliseconds. */
static void starts_the_launcher_again(void)
{
	struct nacre_context *c = context();

	nacre_result_free(run(c, "true"));
	wait_for_the_test("kill");
	for (int i = 0; i < 3; i++) {
		struct nacre_result *r = run(c, "echo again");

		CHECK_OUT(r, "again\n");
		nacre_result_free(r);
	}
	nacre_context_free(c);
}

/* Without the program nothing can be started, and the result says so; with it, it can again. */
static void waits_for_the_program(void)
{
	struct nacre_context *c = context();
	struct nacre_result *r;

	nacre_result_free(run(c, "true"));
	wait_for_the_test("take away");
	for (int i = 0; i < 2; i++) {
		r = run(c, "echo lost");
		CHECK(!(r->flags & NACRE_RAN) && r->exit_code == 125 && *r->reason);
		nacre_result_free(r);
	}
	wait_for_the_test("bring back");
	r = run(c, "echo again");
	CHECK_OUT(r, "again\n");
	nacre_result_free(r);
	nacre_context_free(c);
}

/* As many descriptors as a process has, and one more each time: what cannot be had is an error, and
 * nothing stays open. */
static void survives_without_descriptors(void)
{
	struct nacre_request rq = NACRE_REQUEST_INIT;
	int closed, fds = count_descriptors(&closed), runs = 0, waits = 0;
	struct rlimit before, limit;
	struct nacre_context *c;
	struct nacre_result *r;
	struct nacre_error err;

	rq.command = "echo here";
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	for (int more = 0; more < 60 && runs < 2; more++) {
		limit = (struct rlimit){.rlim_cur = (rlim_t)(fds + more),
		                        .rlim_max = before.rlim_max};
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		c = NULL;
		err = (struct nacre_error){0};
		if (nacre_context_new(NULL, &c, &err) < 0) {
			CHECK(!c && *err.text);
		} else {
			r = NULL;
			if (nacre_run(c, &rq, &r, &err) == 0)
				runs += r->flags & NACRE_SUCCESS ? 1 : 0;
			else
				CHECK(!r && *err.text);
			printf("%d: %s%s\n", (int)limit.rlim_cur, err.text,
			       r && r->reason ? r->reason : "");
			nacre_result_free(r);
			nacre_context_free(c);
		}
		CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
		CHECK(count_descriptors(&closed) == fds);
		/* Descriptors on their way count for all processes of a user, and others may have
		 * sent many just now: then once more. */
		if (strstr(err.text, strerror(ETOOMANYREFS)) && waits++ < 600) {
			(void)poll(NULL, 0, 50);
			more--;
		}
	}
	CHECK(runs == 2);
}

/* A host that collects the orphans of its own gets ours, and they are not left to it. */
static void leaves_no_child_to_a_subreaper(void)
{
	struct nacre_context *c;

	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	c = context();
	nacre_context_free(c);
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
}

/* What the host has in its environment and in its descriptors does not reach a command. */
static void gives_commands_nothing_of_its_own(void)
{
	int leak = open("/etc/hostname", O_RDONLY); /* not close-on-exec */
	struct nacre_context *c;
	struct nacre_result *r;

	CHECK(leak >= 0 && setenv("HOST_TOKEN", "geheim", 1) == 0);
	c = context();
	r = run(c, "env; ls -l /proc/self/fd; tr '\\0' '\\n' </proc/1/environ");
	CHECK(!strstr(r->out, "geheim") && !strstr(r->out, "hostname") &&
	      !strstr(r->out, "socket"));
	nacre_result_free(r);
	nacre_context_free(c);
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{"changes_nothing_of_the_host", changes_nothing_of_the_host},
		{"serves_many_threads", serves_many_threads},
		{"does_not_mind_a_big_host", does_not_mind_a_big_host},
		{"lives_without_standard_descriptors", lives_without_standard_descriptors},
		{"starts_the_launcher_again", starts_the_launcher_again},
		{"gives_commands_nothing_of_its_own", gives_commands_nothing_of_its_own},
		{"waits_for_the_program", waits_for_the_program},
		{"survives_without_descriptors", survives_without_descriptors},
		{"leaves_no_child_to_a_subreaper", leaves_no_child_to_a_subreaper},
		{NULL, NULL},
	};

	return argc == 2 ? run_scenario(all, argv[1]) : 2;
}
