/*
 * One process, one command, no threads: ppoll over the starter's socket, init's socket and the two
 * pipes, with one deadline. The life of the command is the table `life` below, state by event.
 *
 * Nothing here waits for a peer that may not answer: a starter that does not read gets no more
 * packets, an init that does not obey is killed and its tree taken over, a pipe that a stranger
 * holds open is left after a bounded drain.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "keeper/check.h"
#include "keeper/control.h"
#include "keeper/order.h"
#include "keeper/report.h"
#include "keeper/search.h"
#include "keeper/stream.h"
#include "keeper/watch.h"
#include "output/capture.h"
#include "process/spawn.h"
#include "process/tree.h"
#include "profile/profile.h"
#include "sandbox/pids.h"
#include "sandbox/plan.h"
#include "sandbox/protect.h"

#define READ_BYTES        ((size_t)256 << 10)
#define LINGER_QUIET_MS   50  /* a background job that is still printing may go on this long ... */
#define LINGER_MAX_MS     500 /* ... and no longer after the command itself has ended */
#define LEFTOVER_GRACE_MS 200
#define KILL_WAIT_MS      6000 /* init gives up by itself a little earlier */
#define DRAIN_MS          250
#define CROWD_LOOK_MS     50
#define DEADLINE_NONE     INT64_MAX

enum state {
	RUNNING,
	LINGER,   /* the command has ended, others of its tree have not */
	LEFTOVER, /* these were asked to end */
	ENDING,   /* the whole tree was asked to end: time limit, or a stop */
	KILLING,  /* the whole tree was killed */
	DRAIN,    /* nothing lives; what is in the pipes is read */
	DONE,
	STATE_MAX,
};

enum event {
	EV_FAILED,    /* the command could not be executed */
	EV_EXITED,    /* the command has ended */
	EV_LEFTOVER,  /* the same, and others live on */
	EV_GONE,      /* nothing is left */
	EV_INIT_LOST, /* init was killed */
	EV_DEADLINE,
	EV_CROWD, /* more processes than allowed */
	EV_STOP,
	EV_STOP_NOW,
	EV_MAX,
};

struct keeper {
	struct keeper_fds fds;
	struct keeper_order order;
	const char *const *paths; /* files that the command may be, in the order of trying */
	struct process *process;
	struct profile *profile;     /* of the second check */
	struct sandbox_spec spec;    /* its box, with our limits */
	struct sandbox_plan *plan;   /* NULL: no box */
	int init_socket, init_pidfd; /* of an init that stands by; -1: none */
	int detail;                  /* where, for sandbox_plan_explain() */
	bool owns_plan;              /* it was made here */
	bool tmp_full;
	bool refused; /* the kernel did not let init into its box */
	struct stream streams[2];
	enum state state;
	int64_t deadline, linger_end;
	int64_t started_at; /* monotonic */
	struct keeper_report report;
	int64_t crowd_next_look;
	uint64_t crowd_line; /* tasks of the system from which ours are counted; 0: the kernel does
	                        it */
	struct watch watch;  /* of the box */
	bool starter_gone;
	char *buffer;
};

typedef enum state (*life_action)(struct keeper *k);

static void set_deadline(struct keeper *k, int64_t from_now_ms)
{
	k->deadline = clock_now_ms() + from_now_ms;
}

static int streams_open(struct keeper *k, struct error *err)
{
	static const char *const names[2] = {"out", "err"};
	int r;

	for (int i = 0; i < 2; i++) {
		k->streams[i].name = names[i];
		k->streams[i].dir_fd = k->fds.task;
		k->streams[i].spool_cap = k->order.spool_cap;
		r = stream_open(&k->streams[i], take_fd(&k->process->output[i]), &k->order.kept,
		                err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A box has limits of its own; only what they leave open is watched here. */
static void fill_box_limits(struct keeper *k, struct process_command *c)
{
	const struct limit_value *limits;
	bool memory_held, processes_held;

	sandbox_plan_held(k->plan, &memory_held, &processes_held);
	watch_init(&k->watch, &k->spec.limits, memory_held, processes_held);
	c->limit_count = sandbox_plan_limits(k->plan, &limits);
	memcpy(c->limits, limits, (size_t)c->limit_count * sizeof(*limits));
	k->report.processes_bounded =
		(sandbox_plan_standing(k->plan)->layers & SANDBOX_LAYER_PROCESSES) != 0;
}

static void fill_limits(struct keeper *k, struct process_command *c)
{
	const struct {
		int resource;
		rlim_t value;
	} wishes[] = {{RLIMIT_CORE, 0}, {RLIMIT_NPROC, pids_rlimit(k->order.max_processes)}};
	struct rlimit now;

	for (size_t i = 0; i < array_size(wishes); i++) {
		if (getrlimit((__rlimit_resource_t)wishes[i].resource, &now) < 0 ||
		    wishes[i].value >=
		            now.rlim_max) /* only ever lowered; RLIM_INFINITY is the largest */
			continue;
		c->limits[c->limit_count++] = (struct limit_value){
			.resource = wishes[i].resource,
			.value = {.rlim_cur = wishes[i].value, .rlim_max = wishes[i].value}};
	}
	k->report.processes_bounded = wishes[1].value != RLIM_INFINITY;
}

/* Where no limit of the kernel holds: a line in the number of all tasks from which on ours are
 * counted. */
static void watch_crowd(struct keeper *k)
{
	uint64_t tasks;

	k->crowd_line = 0;
	if (!k->report.processes_bounded && k->order.max_processes > 0) {
		tasks = pids_now();
		k->crowd_line = tasks > 0 ? tasks + k->order.max_processes : 0;
	}
}

/* Where /tmp is not private, temporary files have a directory of their own. */
static int point_to_tmp(struct keeper *k)
{
	const char *tmp = sandbox_plan_tmp(k->plan);
	const char **envp;
	size_t n = 0;
	char *entry;

	if (!tmp)
		return 0;
	for (const char *const *e = k->order.envp; *e; e++)
		n++;
	envp = calloc(n + 2, sizeof(*envp));
	if (!envp || asprintf(&entry, "TMPDIR=%s", tmp) < 0) {
		free(envp);
		return -ENOMEM;
	}
	n = 0;
	for (const char *const *e = k->order.envp; *e; e++)
		if (strncmp(*e, "TMPDIR=", 7) != 0)
			envp[n++] = *e;
	envp[n] = entry;
	k->order.envp = envp;
	return 0;
}

static int start(struct keeper *k, struct error *err)
{
	struct process_command c = {
		.cwd = k->order.cwd,
		.paths = k->paths,
		.argv = k->order.argv,
		.envp = k->order.envp,
		.stdin_fd = k->fds.input,
		.merged = k->order.merged,
		.sandbox = k->plan,
	};
	int r;

	if (k->plan) {
		if (point_to_tmp(k) < 0)
			return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
		c.envp = k->order.envp;
		fill_box_limits(k, &c);
		k->report.sandbox = *sandbox_plan_standing(k->plan);
	} else {
		fill_limits(k, &c);
	}
	watch_crowd(k);
	r = k->init_socket >= 0 ? process_adopt(&c, take_fd(&k->init_socket),
	                                        take_fd(&k->init_pidfd), &k->process, err)
	                        : process_spawn(&c, &k->process, err);
	if (r < 0)
		return r;
	if (!k->plan) /* else a second try may need it */
		fd_close(take_fd(&k->fds.input));
	return streams_open(k, err);
}

/* The kernel refused the namespaces: a spec that can do without them gets the next tier. */
static int start_weaker(struct keeper *k)
{
	struct error err = {0};
	int r;

	k->refused = false;
	r = sandbox_plan_weaken(&k->plan, k->report.sys, &err);
	if (r < 0)
		return r;
	k->process = process_free(k->process);
	for (int i = 0; i < 2; i++)
		stream_done(&k->streams[i]);
	r = start(k, &err);
	if (r < 0)
		return r;
	k->report.end = KEEPER_END_EXITED;
	k->report.step = (enum child_step)0;
	k->report.sys = 0;
	k->report.why[0] = '\0';
	return 0;
}

static enum state on_failed(struct keeper *k)
{
	struct error err = {0};

	k->report.end = KEEPER_END_FAILED;
	k->refused = k->report.step == CHILD_SANDBOX;
	if (k->refused) {
		sandbox_plan_explain(k->plan, k->detail, k->report.sys, &err);
		snprintf(k->report.why, sizeof(k->report.why), "%s", err.text);
	}
	return k->state; /* init reaps the child and says goodbye next */
}

static enum state on_leftover(struct keeper *k)
{
	k->linger_end = clock_now_ms() + LINGER_MAX_MS;
	set_deadline(k, LINGER_QUIET_MS);
	return LINGER;
}

static enum state linger_over(struct keeper *k)
{
	process_order(k->process, INIT_TERM);
	set_deadline(k, LEFTOVER_GRACE_MS);
	return LEFTOVER;
}

static enum state end_tree(struct keeper *k, enum keeper_end end)
{
	k->report.end = end;
	process_order(k->process, INIT_TERM);
	set_deadline(k, k->order.grace_ms);
	return ENDING;
}

static enum state on_timeout(struct keeper *k)
{
	return end_tree(k, KEEPER_END_TIMEOUT);
}

static enum state on_stop(struct keeper *k)
{
	return end_tree(k, KEEPER_END_STOPPED);
}

static enum state kill_tree(struct keeper *k)
{
	process_order(k->process, INIT_KILL);
	set_deadline(k, KILL_WAIT_MS);
	return KILLING;
}

static enum state on_stop_now(struct keeper *k)
{
	k->report.end = KEEPER_END_STOPPED;
	return kill_tree(k);
}

static enum state on_crowd(struct keeper *k)
{
	k->report.end = KEEPER_END_CROWDED;
	return kill_tree(k);
}

static enum state drain(struct keeper *k)
{
	set_deadline(k, DRAIN_MS);
	return DRAIN;
}

static enum state take_over(struct keeper *k)
{
	k->report.killed += process_take_over(k->process, &k->report.survivors);
	return drain(k);
}

/* What init could not end is now below us. */
static enum state on_gone(struct keeper *k)
{
	if (k->refused && start_weaker(k) == 0)
		return RUNNING;
	return k->report.survivors > 0 ? take_over(k) : drain(k);
}

/* The status of the command went with init, unless it had ended before. */
static enum state on_init_lost(struct keeper *k)
{
	if (k->state == RUNNING && k->report.end == KEEPER_END_EXITED)
		k->report.end = KEEPER_END_LOST;
	return take_over(k);
}

static enum state finish(struct keeper *k)
{
	return DONE;
}

/* An event that a state does not name changes nothing in it. */
static const life_action life[STATE_MAX][EV_MAX] = {
	[RUNNING] =
		{
			[EV_FAILED] = on_failed,
			[EV_LEFTOVER] = on_leftover,
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = on_timeout,
			[EV_CROWD] = on_crowd,
			[EV_STOP] = on_stop,
			[EV_STOP_NOW] = on_stop_now,
		},
	[LINGER] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = linger_over,
			[EV_CROWD] = on_crowd,
			[EV_STOP] = linger_over,
			[EV_STOP_NOW] = kill_tree,
		},
	[LEFTOVER] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = kill_tree,
			[EV_CROWD] = on_crowd,
			[EV_STOP_NOW] = kill_tree,
		},
	[ENDING] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = kill_tree,
			[EV_CROWD] = on_crowd,
			[EV_STOP_NOW] = kill_tree,
		},
	[KILLING] =
		{
			[EV_GONE] = on_gone,
			[EV_INIT_LOST] = on_init_lost,
			[EV_DEADLINE] = take_over,
		},
	[DRAIN] =
		{
			[EV_DEADLINE] = finish,
		},
	[DONE] = {NULL},
};

static void step(struct keeper *k, enum event e)
{
	life_action act = life[k->state][e];

	if (act)
		k->state = act(k);
}

static void output_read(struct keeper *k, struct stream *s)
{
	if (!stream_read(s, k->buffer, READ_BYTES))
		return;
	if (k->state == LINGER && k->deadline < k->linger_end) {
		set_deadline(k, LINGER_QUIET_MS);
		if (k->deadline > k->linger_end)
			k->deadline = k->linger_end;
	}
	if (k->order.follow && !k->starter_gone)
		(void)control_send(k->fds.control, CONTROL_OUTPUT, NULL, 0, -1);
}

static void note_message(struct keeper *k, const struct init_message *m)
{
	k->report.cpu_ms = m->cpu_us / 1000;
	k->report.max_rss_kb = m->max_rss_kb;
	switch (m->event) {
	case INIT_FAILED:
		k->report.step = m->step;
		k->report.sys = m->sys;
		k->detail = m->detail;
		step(k, EV_FAILED);
		break;
	case INIT_READY:
	case INIT_STARTED:
		fd_close(take_fd(&k->fds.input));
		break;
	case INIT_EXITED:
		k->report.status = m->status;
		k->tmp_full = m->tmp_full;
		step(k, m->leftover ? EV_LEFTOVER : EV_EXITED);
		break;
	case INIT_GONE:
		k->report.killed += m->killed;
		k->report.survivors = m->survivors;
		step(k, EV_GONE);
		break;
	}
}

static void init_read(struct keeper *k)
{
	struct init_message m;
	int r;

	while ((r = process_receive(k->process, &m)) > 0)
		note_message(k, &m);
	if (r < 0) {
		step(k, EV_INIT_LOST); /* after INIT_GONE this is DRAIN, where it means nothing */
		fd_close(take_fd(&k->process->socket));
	}
}

static void starter_read(struct keeper *k)
{
	enum control_order order;
	ssize_t n = recv(k->fds.control, &order, sizeof(order), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(order))
		step(k, order == CONTROL_STOP ? EV_STOP : EV_STOP_NOW);
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		k->starter_gone = true; /* the command goes on: its result will lie in the task */
}

/* Where the kernel does not limit the number of processes, a storm is seen before it fills the
 * machine: the number of all tasks is cheap to read, and only when it has grown by the whole share
 * is ours counted. */
static void look_for_crowd(struct keeper *k)
{
	int64_t now = clock_now_ms();

	if (!k->crowd_line || now < k->crowd_next_look)
		return;
	k->crowd_next_look = now + CROWD_LOOK_MS;
	if (pids_now() > k->crowd_line &&
	    tree_count(k->process->init_pid) > (int)k->order.max_processes)
		step(k, EV_CROWD);
}

static void turn(struct keeper *k)
{
	struct pollfd fds[] = {
		{.fd = k->starter_gone ? -1 : k->fds.control, .events = POLLIN},
		{.fd = k->process->socket, .events = POLLIN},
		{.fd = k->streams[0].fd, .events = POLLIN},
		{.fd = k->streams[1].fd, .events = POLLIN},
	};
	int64_t wait_ms = k->deadline - clock_now_ms();
	int n = 0;

	if (wait_ms > INT32_MAX)
		wait_ms = INT32_MAX;
	if (k->crowd_line && wait_ms > CROWD_LOOK_MS)
		wait_ms = CROWD_LOOK_MS;
	if (watch_is_on(&k->watch) && wait_ms > WATCH_LOOK_MS)
		wait_ms = WATCH_LOOK_MS;
	n = poll(fds, 4, wait_ms > 0 ? (int)wait_ms : 0);
	if (n > 0) {
		/* Output first: what a command wrote before its end is read before its end is seen.
		 */
		for (int i = 0; i < 2; i++)
			if (fds[2 + i].revents)
				output_read(k, &k->streams[i]);
		if (fds[1].revents)
			init_read(k);
		if (fds[0].revents)
			starter_read(k);
	}
	look_for_crowd(k);
	watch_look(&k->watch, k->process->init_pidfd, clock_now_ms());
	if (k->watch.too_many)
		step(k, EV_CROWD);
	if (k->state == DRAIN && k->streams[0].fd < 0 && k->streams[1].fd < 0)
		k->state = DONE;
	/* Read the clock again: a flood of output must not put off the time limit. */
	if (k->state != DONE && clock_now_ms() >= k->deadline)
		step(k, EV_DEADLINE);
}

/* Both captures in one anonymous file: it needs no disk, and no reader to be ready. */
static int pack_captures(struct keeper *k)
{
	scoped(fd_closep) int fd = memfd_create("nacre-captures", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (k->streams[i].capture && capture_write(k->streams[i].capture, fd, NULL) < 0)
			return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : take_fd(&fd);
}

/* What is told about the box after its end. */
static void judge_box(struct keeper *k)
{
	bool exited = k->report.end == KEEPER_END_EXITED; /* else the signal was ours */
	struct limits_evidence evidence = {
		.wait_status = exited ? k->report.status : 0,
		.cpu_us = (uint64_t)k->report.cpu_ms * 1000,
		.oom_kills = k->watch.memory_kills,
		.forks_denied = k->watch.crowded || k->report.end == KEEPER_END_CROWDED,
		.tmp_full = k->tmp_full,
	};
	scoped(buffer_donep) struct buffer planted = {.max = REPORT_PLANTED_MAX - 1};

	if (!k->plan || k->report.end == KEEPER_END_FAILED)
		return;
	k->report.limit_hit = sandbox_plan_judge(k->plan, &evidence);
	(void)sandbox_protect_check(k->plan, k->fds.task, k->order.task_id, &planted);
	snprintf(k->report.planted, sizeof(k->report.planted), "%s", buffer_str(&planted));
}

static void publish(struct keeper *k)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int captures = -1;

	k->report.duration_ms = clock_now_ms() - k->started_at;
	if (keeper_report_write(&k->report, &text) < 0)
		return;
	/* Before the starter hears of the end: should it die in this moment, the state is there. A
	 * disk that refuses it leaves the packet as the only copy. */
	if (k->fds.task >= 0)
		(void)fd_replace_file(k->fds.task, "state.json", text.data, text.len);
	if (k->starter_gone)
		return;
	captures = pack_captures(k);
	/* OUTPUT packets may fill the socket; the starter is owed this one. */
	while (control_send(k->fds.control, CONTROL_REPORT, text.data, text.len, captures) ==
	       -EAGAIN) {
		struct pollfd p = {.fd = k->fds.control, .events = POLLOUT};

		if (poll(&p, 1, 10000) <= 0)
			return;
	}
}

static const char *home_of(const struct keeper_order *o)
{
	for (const char *const *e = o->envp; *e; e++)
		if (strncmp(*e, "HOME=", 5) == 0)
			return *e + 5;
	return NULL;
}

static int make_plan(struct keeper *k, struct error *err)
{
	char buffer[PATH_MAX];
	struct profile_request files;
	const char *hidden[3] = {0};
	struct sandbox_place place = {
		.workspace = k->order.request.workspace,
		.home = home_of(&k->order),
		.hidden = hidden,
	};
	int n = 0;

	profile_request_init(&files, buffer, sizeof(buffer));
	if (files.user_dir)
		hidden[n++] = files.user_dir;
	if (k->order.request.state)
		hidden[n++] = k->order.request.state;

	k->owns_plan = true;
	return sandbox_plan_new(k->order.sandbox, &place, &k->plan, err);
}

/* Decides once more, from the raw request, and learns from the profile what the box is like. */
static int check(struct keeper *k, struct arena *arena, struct error *err)
{
	uint64_t *processes = &k->spec.limits.processes;
	int r;

	r = k->profile ? 0 : check_load_profile(&k->order.request, &k->profile, err);
	if (r == 0)
		r = check_again(arena, k->profile, &k->order.request, k->order.argv, k->order.envp,
		                err);
	if (r < 0 || !k->profile) {
		k->report.end = KEEPER_END_REFUSED;
		return r;
	}
	k->spec = k->profile->sandbox;
	/* The person who runs nacre may want fewer. */
	if (k->order.max_processes > 0 && (*processes == 0 || k->order.max_processes < *processes))
		*processes = k->order.max_processes;
	k->order.max_processes = *processes;
	if (k->spec.tier != SANDBOX_TIER_NONE)
		k->order.sandbox = &k->spec;
	return 0;
}

static int launch(struct keeper *k, struct arena *arena, struct error *err)
{
	int r;

	r = check(k, arena, err);
	if (r < 0)
		return r;
	r = keeper_search_paths(arena, k->order.argv[0], k->order.envp, &k->paths);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "out of memory");
	k->report.started_ms = clock_wall_ms();
	k->started_at = clock_now_ms();
	k->deadline = k->order.timeout_ms > 0 ? k->started_at + k->order.timeout_ms : DEADLINE_NONE;
	if (k->order.sandbox && !k->plan) {
		r = make_plan(k, err);
		if (r < 0)
			return r;
	}
	r = start(k, err);
	if (r < 0 && k->plan && !k->process && sandbox_plan_weaken(&k->plan, -r, err) == 0)
		r = start(k, err);
	return r;
}

/* The lock on this file says that the keeper lives: it goes with the process, however that ends. */
static void record_order(struct keeper *k, const char *order, size_t n)
{
	int fd;

	if (k->fds.task < 0)
		return;
	fd = openat(k->fds.task, "spec.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	            0600);
	/* Left open on purpose: the lock is held until the process ends. A disk that is full leaves
	 * a part of the order, and the lock still says that the task lives. */
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)fd_write_all(fd, order, n);
}

static void detach(const int *keep_fds, size_t count)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, fallback = {.sa_handler = SIG_DFL};
	sigset_t none;

	(void)prctl(PR_SET_NAME, "nacre-keeper", 0, 0, 0);
	/* The terminal's Ctrl-C is nacre's to see, not ours. A group is enough for that; a session
	 * of its own would be a scheduling group of its own, and wait behind all others on a busy
	 * machine. */
	(void)setpgid(0, 0);
	for (int s = 1; s < 32; s++)
		(void)sigaction(s, &fallback, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	(void)sigaction(SIGHUP, &ignore, NULL);
	(void)sigaction(SIGINT, &ignore, NULL);
	(void)sigaction(SIGTERM, &ignore,
	                NULL); /* to end a command, ask nacre; to end this, SIGKILL */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd_null_standard(); /* a reader of nacre's output must not wait for us */
	/* Also nothing that nacre inherited: a lock or a pipe of somebody else must not stay alive.
	 */
	fd_close_except(keep_fds, count);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (chdir("/") < 0) /* no file system is kept busy by us; where it is, nothing is lost */
		return;
}

static void say_hello(int control)
{
	scoped(fd_closep) int self = pidfd_open(getpid(), 0);

	(void)control_send(control, CONTROL_HELLO, NULL, 0, self);
}

/* From the order to the report. */
static _Noreturn void keep(struct keeper *k, const char *order, size_t order_bytes)
{
	struct arena *arena = arena_new(4 * ORDER_BYTES_MAX);
	struct error err = {0};
	int r = -ENOMEM;

	if (k->fds.hello)
		say_hello(k->fds.control);
	k->buffer = malloc(READ_BYTES);
	if (arena && k->buffer)
		r = keeper_order_read(order, order_bytes, arena, &k->order, &err);
	if (r == 0) {
		record_order(k, order, order_bytes);
		r = launch(k, arena, &err);
	}
	if (r < 0) {
		if (k->report.end != KEEPER_END_REFUSED)
			k->report.end = KEEPER_END_FAILED;
		k->report.step = CHILD_FORK;
		k->report.sys = -r;
		snprintf(k->report.why, sizeof(k->report.why), "%s", err.text);
		if (k->process) /* init already runs, its streams could not be opened */
			process_take_over(k->process, &k->report.survivors);
	} else {
		while (k->state != DONE)
			turn(k);
	}
	for (int i = 0; i < 2; i++)
		stream_close(&k->streams[i], &k->report.streams[i]);
	judge_box(k);
	publish(k);
	if (k->owns_plan) /* its control group, its temporary files */
		k->plan = sandbox_plan_free(k->plan);
	/* Not every host has a first process that reaps. The starter knows all it needs by now. */
	if (k->process)
		process_reap(k->process);
	_exit(0);
}

static const struct keeper empty = {.fds = {-1, -1, -1, false},
                                    .streams = {{.fd = -1}, {.fd = -1}},
                                    .init_socket = -1,
                                    .init_pidfd = -1,
                                    .report.sandbox.tier = SANDBOX_TIER_NONE};

_Noreturn void keeper_main(const struct keeper_fds *fds, const char *order, size_t order_bytes)
{
	struct keeper k = empty;

	k.fds = *fds;
	detach((const int[]){fds->control, fds->task, fds->input}, 3);
	keep(&k, order, order_bytes);
}

/* Reads the order that came as a file. */
static void fetch(const int *fds, size_t count, struct keeper_fds *ret_fds, struct buffer *order)
{
	*ret_fds = (struct keeper_fds){.control = fds[KEEPER_FD_CONTROL],
	                               .task = count > KEEPER_FD_TASK ? fds[KEEPER_FD_TASK] : -1,
	                               .input = fds[KEEPER_FD_INPUT],
	                               .hello = true};
	if (lseek(fds[KEEPER_FD_ORDER], 0, SEEK_SET) < 0 ||
	    fd_read_all(fds[KEEPER_FD_ORDER], order) < 0)
		_exit(1);
	fd_close(fds[KEEPER_FD_ORDER]);
}

_Noreturn void keeper_launched(const int *fds, size_t count)
{
	struct buffer order = {.max = ORDER_BYTES_MAX};
	struct keeper_fds own;

	fetch(fds, count, &own, &order);
	keeper_main(&own, order.data, order.len);
}

/* Whether the init is there; it says so before anybody has an order, as a rule. */
static bool init_is_ready(struct keeper *k)
{
	struct init_message m;
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n = packet_receive(k->init_socket, &m, sizeof(m), fds, &count, 0);

	if (n == (ssize_t)sizeof(m) && m.event == INIT_READY && count == 1) {
		k->init_pidfd = fds[0];
		return true;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return false;
}

_Noreturn void keeper_wait(const struct keeper_ready *ready)
{
	struct buffer order = {.max = ORDER_BYTES_MAX};
	struct keeper k = empty;
	int fds[PACKET_FDS_MAX];
	size_t count;
	char byte;

	detach((const int[]){ready->orders, ready->init}, 2);
	k.init_socket = ready->init;
	if (packet_receive(ready->orders, &byte, sizeof(byte), fds, &count, 0) <= 0 ||
	    count < KEEPER_FD_TASK || count > KEEPER_FD_MAX)
		_exit(0);
	fd_close(ready->orders);
	fetch(fds, count, &k.fds, &order);
	if (init_is_ready(&k)) {
		k.profile = ready->profile;
		k.plan = ready->plan;
	} else {
		fd_close(take_fd(&k.init_socket)); /* the box is gone: one is made as for anybody */
	}
	keep(&k, order.data, order.len);
}
