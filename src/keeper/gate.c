#include "keeper/gate-inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "approval/desk.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"
#include "gateway/names.h"
#include "profile/profile.h"
#include "sandbox/doors.h"
#include "sandbox/plan.h"

#define DEATHS_MAX 20 /* of gateways; then there is something wrong with them */
#define LEAVE_MS   2000
#define EVENTS_MAX 256 /* in a turn */
#define GIVE_UP    'g' /* on a channel; what else comes there means that the task is over */

/* What comes by the socket, with one end of a channel. */
struct hello {
	bool asks; /* whether the digest is that of the gate's rules: one byte is the answer */
	char digest[PROFILE_DIGEST_SIZE];
	char task[STORE_ID_MAX];
	int64_t ask_ms;
};

static void tell(struct gate *g, struct gate_task *t)
{
	struct gate_news news = {
		.last = true,
		.report = {.named = true, .connections = t->connections, .refused = t->refused}};
	size_t used = 0;

	news.report.sent = t->sent;
	news.report.received = t->received;
	news.report.held = t->held;
	news.report.questions = t->questions;
	memcpy(news.report.notice, t->notice, sizeof(t->notice));
	if (!t->notice[0])
		ports_notice(&g->ports, news.report.notice, sizeof(news.report.notice));
	for (size_t i = 0; i < t->item_count; i++) {
		const struct gate_item *it = &t->items[i];
		char line[DESTINATION_NAME_SIZE + DESTINATION_TEXT_SIZE + GATEWAY_WHAT_SIZE + 64];
		int n = snprintf(line, sizeof(line), "%s\t%u\t%llu\t%s\t%s\t%s\n", it->name,
		                 it->port, (unsigned long long)it->count,
		                 network_reason_word(it->reason), it->rule, it->what);

		if (n < 0 || (size_t)n >= sizeof(line) ||
		    used + (size_t)n >= sizeof(news.report.list))
			continue;
		memcpy(news.report.list + used, line, (size_t)n + 1);
		used += (size_t)n;
	}
	(void)packet_put(t->channel, &news, sizeof(news), MSG_DONTWAIT);
}

void gate_tell_held(struct gate *g)
{
	struct gate_news news = {.last = false};
	const struct gate_question *oldest = NULL;

	memcpy(news.published, g->published, sizeof(news.published));
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++) {
		const struct gate_question *q = &g->questions[i];

		news.held += q->id[0] ? q->held_count : 0;
		if (q->id[0] && q->held_count > 0 && (!oldest || q->number < oldest->number))
			oldest = q;
	}
	/* What a person reads stays until it is answered: a key is meant for what was there. */
	if (oldest)
		memcpy(news.approval, oldest->id, sizeof(news.approval));
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		if (g->tasks[i].channel >= 0 && !g->tasks[i].leaves)
			(void)packet_put(g->tasks[i].channel, &news, sizeof(news), MSG_DONTWAIT);
}

static void forget(struct gate_task *t)
{
	fd_close(t->channel);
	*t = (struct gate_task){.channel = -1};
}

/* The last task is gone. */
static void rest(struct gate *g)
{
	ports_close(&g->ports);
	g->published[0] = '\0';
	gate_ask_forget(g);
}

/* All connections are closed: those who leave are told what came of theirs. */
static void settle(struct gate *g)
{
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		if (g->tasks[i].channel >= 0 && g->tasks[i].leaves) {
			tell(g, &g->tasks[i]);
			forget(&g->tasks[i]);
		}
	rest(g);
}

static void ask(struct gate *g, const struct gateway_event *e)
{
	size_t before = 0, after = 0;

	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		before += g->questions[i].held_count;
	gate_ask(g, e);
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		after += g->questions[i].held_count;
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		g->tasks[i].held += after > before;
}

static void heard(struct gate *g, struct gateway_event *e)
{
	e->name[sizeof(e->name) - 1] = '\0';
	e->what[sizeof(e->what) - 1] = '\0';
	if (e->rule.list >= NETWORK_LIST_MAX || e->reason >= NETWORK_REASON_MAX ||
	    e->end >= GATEWAY_END_MAX || e->protocol > FIRST_SSH)
		return; /* of a gateway that is not itself any longer */
	switch (e->kind) {
	case GATEWAY_DIAL:
		gate_dial(g, e);
		break;
	case GATEWAY_ASK:
		ask(g, e);
		break;
	case GATEWAY_REFUSED:
	case GATEWAY_UNNAMED:
		gate_refused(g, e);
		break;
	case GATEWAY_ENDED:
		gate_ended(g, e);
		break;
	case GATEWAY_IDLE:
		settle(g);
		break;
	case GATEWAY_LEFT:
		gate_ask_left(g, e);
		break;
	case GATEWAY_EVENT_MAX:
		break;
	}
}

/* Its connections were reset by the kernel. */
static void gateway_died(struct gate *g)
{
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(take_fd(&g->gateway));
	gate_orders_forget(g);
	g->deaths++;
	gate_all_ended(g);
	settle(g);
}

static void hear(struct gate *g)
{
	struct gateway_event e;

	for (int i = 0; i < EVENTS_MAX && g->gateway >= 0; i++) {
		ssize_t n = packet_get(g->gateway, &e, sizeof(e), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n != (ssize_t)sizeof(e))
			gateway_died(g);
		else
			heard(g, &e);
	}
}

static void gateway_start(struct gate *g)
{
	int ends[2];

	if (g->deaths >= DEATHS_MAX)
		_exit(1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		_exit(1);
	g->pid = fork();
	if (g->pid == 0)
		gateway_main(&(struct gateway_wish){.doors = g->wish->doors,
		                                    .rules = &g->wish->profile->network,
		                                    .names = g->wish->names,
		                                    .supervisor = ends[1]});
	fd_close(ends[1]);
	g->gateway = ends[0];
	if (g->pid < 0)
		_exit(1);
}

static void answer(const struct gate *g, const struct hello *h, int channel)
{
	char digest[PROFILE_DIGEST_SIZE], same;

	same = profile_network_digest(g->wish->profile, digest) &&
	       memcmp(digest, h->digest, sizeof(digest)) == 0;
	(void)packet_put(channel, &same, 1, MSG_DONTWAIT);
	fd_close(channel);
}

/* Tasks are told what is published, when that changes. */
static void show_ports(struct gate *g)
{
	char now[PORTS_TEXT_MAX];

	ports_print(&g->ports, now, sizeof(now));
	if (strcmp(now, g->published) == 0)
		return;
	memcpy(g->published, now, sizeof(now));
	gate_tell_held(g);
}

static bool add_task(struct gate *g, const struct hello *h, int channel)
{
	const struct sandbox_net *net = g->wish->net;
	size_t at = 0, before;

	(void)gate_first_task(g, &before);
	while (at < GATE_TASKS_MAX && g->tasks[at].channel >= 0)
		at++;
	if (at == GATE_TASKS_MAX)
		return false;
	g->tasks[at] = (struct gate_task){.channel = channel, .ask_ms = h->ask_ms};
	memcpy(g->tasks[at].id, h->task, sizeof(h->task));
	g->tasks[at].id[sizeof(h->task) - 1] = '\0';
	if (net && before == 0)
		ports_open(&g->ports, &g->wish->profile->network, net->user, net->net,
		           g->wish->doors);
	ports_print(&g->ports, g->published, sizeof(g->published));
	if (g->published[0])
		gate_tell_held(g);
	return true;
}

/* False: nobody is left who could send tasks. */
static bool take_task(struct gate *g)
{
	struct hello h;
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n = packet_receive(g->socket, &h, sizeof(h), fds, &count, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n == (ssize_t)sizeof(h) && count == 1 && h.asks) {
		answer(g, &h, fds[0]);
		return true;
	}
	if (n == (ssize_t)sizeof(h) && count == 1 && add_task(g, &h, fds[0]))
		return true;
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return n > 0;
}

/* With the last task all connections go: nobody is left whose they could be. */
static void leave(struct gate *g, struct gate_task *t)
{
	size_t n;

	t->leaves = true;
	(void)gate_first_task(g, &n);
	if (g->gateway >= 0 && n == 1) {
		gate_order(g, GATEWAY_CLOSE, 0, NETWORK_REASON_NONE);
		return;
	}
	tell(g, t);
	forget(t);
	if (n == 1)
		rest(g);
}

static _Noreturn void end(struct gate *g)
{
	ports_close(&g->ports);
	if (g->gateway >= 0) {
		(void)kill(g->pid, SIGKILL);
		gateway_died(g);
	}
	_exit(0);
}

static void turn(struct gate *g)
{
	const struct sandbox_doors *d = g->wish->doors;
	struct pollfd fds[3 + GATE_TASKS_MAX + PORTS_FDS + SANDBOX_DOORS_TCP + SANDBOX_DOORS_UDP] =
		{
			{.fd = g->socket, .events = POLLIN},
			{.fd = g->gateway, .events = gate_orders_events(g)},
			{.fd = g->watch, .events = POLLIN},
		};
	int64_t due = gate_ask_due(g), wait_ms, first;
	nfds_t n = 3 + GATE_TASKS_MAX, ports;
	int polled;
	char byte;

	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		fds[3 + i] = (struct pollfd){.fd = g->tasks[i].channel, .events = POLLIN};
	ports = ports_watch(&g->ports, fds + n);
	n += ports;
	for (size_t i = 0; g->gateway < 0 && i < d->tcp_count; i++)
		fds[n++] = (struct pollfd){.fd = d->tcp[i], .events = POLLIN};
	for (size_t i = 0; g->gateway < 0 && i < d->udp_count; i++)
		fds[n++] = (struct pollfd){.fd = d->udp[i], .events = POLLIN};
	first = ports_due(&g->ports) < due ? ports_due(&g->ports) : due;
	wait_ms = first - clock_now_ms();
	if (first == INT64_MAX)
		wait_ms = -1;
	else if (wait_ms < 0 || wait_ms > INT32_MAX)
		wait_ms = wait_ms < 0 ? 0 : INT32_MAX;
	polled = poll(fds, n, (int)wait_ms);
	if (polled < 0)
		return;
	ports_turn(&g->ports, fds + 3 + GATE_TASKS_MAX, ports);
	show_ports(g);
	if (due != INT64_MAX && (fds[2].revents || clock_now_ms() >= due))
		gate_ask_look(g);
	else if (fds[2].revents)
		desk_watch_drain(g->watch);
	if (fds[0].revents && !take_task(g))
		end(g);
	if (fds[1].revents & POLLOUT)
		gate_orders_flush(g);
	if (fds[1].revents & ~POLLOUT)
		hear(g);
	for (size_t i = 0; i < GATE_TASKS_MAX; i++) {
		struct gate_task *t = &g->tasks[i];

		if (!fds[3 + i].revents || t->channel != fds[3 + i].fd || t->leaves)
			continue;
		if (packet_get(t->channel, &byte, 1, MSG_DONTWAIT) == 1 && byte == GIVE_UP) {
			t->ask_ms = 0;
			gate_ask_give_up(g);
		} else { /* a word, or its end */
			leave(g, t);
		}
	}
	for (nfds_t i = 3 + GATE_TASKS_MAX + ports; i < n && g->gateway < 0; i++)
		if (fds[i].revents)
			gateway_start(g);
}

static void detach(int socket, const struct gate_wish *wish)
{
	const struct sandbox_doors *d = wish->doors;
	int keep[4 + SANDBOX_DOORS_TCP + SANDBOX_DOORS_UDP] = {socket};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	size_t n = 1;

	(void)prctl(PR_SET_NAME, "nacre-gate", 0, 0, 0);
	(void)setpgid(0, 0);
	for (int s = 1; s < 32; s++)
		if (s == SIGPIPE || s == SIGHUP || s == SIGINT || s == SIGTERM || s == SIGXFSZ)
			(void)sigaction(s, &ignore, NULL);
	for (size_t i = 0; i < d->tcp_count; i++)
		keep[n++] = d->tcp[i];
	for (size_t i = 0; i < d->udp_count; i++)
		keep[n++] = d->udp[i];
	if (wish->net) {
		keep[n++] = wish->net->user;
		keep[n++] = wish->net->net;
		keep[n++] = d->diag;
	}
	fd_null_standard();
	fd_close_except(keep, n);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static _Noreturn void gate_main(const struct gate_wish *wish, int socket)
{
	static struct gate g; /* too large for a stack */

	detach(socket, wish);
	g.wish = wish;
	g.socket = socket;
	g.gateway = g.desk = g.watch = -1;
	g.ports = PORTS_NONE;
	for (size_t i = 0; i < GATE_TASKS_MAX; i++)
		g.tasks[i].channel = -1;
	for (;;)
		turn(&g);
}

int gate_start(const struct gate_wish *wish, struct gate_hold *ret_hold)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		gate_main(wish, ends[1]);
	fd_close(ends[1]);
	if (pid < 0) {
		fd_close(ends[0]);
		return -EAGAIN;
	}
	*ret_hold = (struct gate_hold){.socket = ends[0], .pid = pid};
	return 0;
}

/* Not every host has a first process that reaps. */
void gate_end(struct gate_hold *h)
{
	const struct gate_hold gate = *h;
	scoped(fd_closep) int pidfd = -1;
	struct pollfd p = {.events = POLLIN};

	*h = GATE_NONE;
	fd_close(gate.socket);
	if (gate.socket < 0 || gate.pid <= 0)
		return;
	p.fd = pidfd = pidfd_open(gate.pid, 0);
	if (pidfd < 0 || poll(&p, 1, LEAVE_MS) != 1)
		(void)kill(gate.pid, SIGKILL);
	while (waitpid(gate.pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The end of a channel whose other one the gate gets. */
static int send_hello(int socket, const struct hello *h)
{
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r = packet_send(socket, h, sizeof(*h), NULL, 0, &ends[1], 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	fd_close(ends[1]);
	if (r < 0)
		fd_close(ends[0]);
	return r < 0 ? r : ends[0];
}

bool gate_serves(int socket, const struct profile *profile)
{
	struct hello h = {.asks = true};
	scoped(fd_closep) int channel = -1;
	struct pollfd p = {.events = POLLIN};
	char same = 0;

	if (!profile_network_digest(profile, h.digest))
		return false;
	channel = send_hello(socket, &h);
	p.fd = channel;
	return channel >= 0 && poll(&p, 1, LEAVE_MS) == 1 &&
	       packet_get(channel, &same, 1, MSG_DONTWAIT) == 1 && same;
}

int gate_join(int socket, const char *task, int64_t ask_ms)
{
	struct hello h = {.asks = false, .ask_ms = ask_ms};

	snprintf(h.task, sizeof(h.task), "%s", task);
	return send_hello(socket, &h);
}

int gate_hear(int channel, struct gate_news *ret_news)
{
	ssize_t n = packet_get(channel, ret_news, sizeof(*ret_news), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != (ssize_t)sizeof(*ret_news))
		return -EPIPE;
	ret_news->approval[sizeof(ret_news->approval) - 1] = '\0';
	ret_news->published[sizeof(ret_news->published) - 1] = '\0';
	ret_news->report.list[sizeof(ret_news->report.list) - 1] = '\0';
	ret_news->report.notice[sizeof(ret_news->report.notice) - 1] = '\0';
	return 0;
}

void gate_give_up(int channel)
{
	const char word = GIVE_UP;

	(void)packet_put(channel, &word, 1, MSG_DONTWAIT);
}

int gate_leave(int channel, struct keeper_network_report *ret_report)
{
	int64_t until = clock_now_ms() + LEAVE_MS;
	struct pollfd p = {.fd = channel, .events = POLLIN};
	struct gate_news news = {.last = false};
	int r = packet_put(channel, "", 1, 0) == 1 ? 0 : -EPIPE;

	while (r == 0 && !news.last) {
		int64_t left = until - clock_now_ms();

		r = left > 0 && poll(&p, 1, (int)left) == 1 ? gate_hear(channel, &news)
		                                            : -ETIMEDOUT;
	}
	if (r == 0)
		*ret_report = news.report;
	fd_close(channel);
	return r;
}
