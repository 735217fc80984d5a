/*
 * Network by name, as the keeper has it: it makes the namespaces and the doors before the box is
 * planned, and watches the doors. Only when a program wants something of the network is there a
 * gate, and by it a gateway; a command that wants nothing pays for sockets alone.
 *
 * A keeper that stands by again keeps its network, its names and its gate: they belong to its box.
 */
#include "keeper/inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/names.h"
#include "keeper/gate.h"
#include "keeper/record.h"
#include "profile/profile.h"
#include "sandbox/plan.h"
#include "task/control.h"

#define STARTS_MAX 8 /* of gates; then there is something wrong with them */

static void add_port(struct sandbox_ports *ports, int32_t port)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->items[i] == port)
			return;
	if (port > 0 && ports->count < SANDBOX_PORTS_MAX)
		ports->items[ports->count++] = (uint16_t)port;
}

void keeper_network_ports(const struct profile *p, struct sandbox_ports *ret_ports)
{
	static const enum network_list lists[] = {NETWORK_ALLOW, NETWORK_ASK};

	*ret_ports = (struct sandbox_ports){.count = 0};
	add_port(ret_ports, 80);
	add_port(ret_ports, 443);
	for (size_t i = 0; i < array_size(lists); i++)
		for (size_t j = 0; j < p->network.lists[lists[i]].count; j++)
			add_port(ret_ports, p->network.lists[lists[i]].rules[j].to.port);
}

int keeper_network_take(struct keeper *k, int init)
{
	struct keeper_network *n = &k->network;
	int r = doors_receive(init, &n->doors);

	if (r < 0)
		return r;
	n->names = names_new();
	return n->names ? 0 : -ENOMEM;
}

void keeper_network_open(struct keeper *k, const char *workspace)
{
	struct keeper_network *n = &k->network;
	struct sandbox_ports ports;

	if (n->doors.way != SANDBOX_WAY_NONE && !n->net.named)
		keeper_network_close(k); /* of a kept box, and this one is another */
	if (k->profile->sandbox.network != SANDBOX_NETWORK_NAMES ||
	    k->profile->sandbox.tier != SANDBOX_TIER_STRICT || n->doors.way != SANDBOX_WAY_NONE ||
	    k->net.named)
		return;
	n->names = names_new();
	if (!n->names)
		return;
	keeper_network_ports(k->profile, &ports);
	if (sandbox_net_make(workspace, &ports, &n->net, &n->doors) < 0)
		n->net = SANDBOX_NET_NONE;
}

void keeper_network_close(struct keeper *k)
{
	struct keeper_network *n = &k->network;

	ports_close(&n->ports);
	fd_close(take_fd(&n->channel));
	gate_end(&n->gate);
	sandbox_net_done(&n->net);
	doors_close(&n->doors);
	names_free(n->names);
	n->names = NULL;
}

size_t keeper_network_fds(const struct keeper *k, int into[KEEPER_NETWORK_FDS])
{
	const struct keeper_network *n = &k->network;
	size_t count = 0;

	if (n->doors.way == SANDBOX_WAY_NONE)
		return 0;
	into[count++] = n->net.user;
	into[count++] = n->net.net;
	into[count++] = n->doors.diag;
	for (size_t i = 0; i < n->doors.tcp_count; i++)
		into[count++] = n->doors.tcp[i];
	for (size_t i = 0; i < n->doors.udp_count; i++)
		into[count++] = n->doors.udp[i];
	return count;
}

/* Those of the doors, or of the gate. */
static size_t watch(const struct keeper_network *n, struct pollfd *into)
{
	size_t count = 0;

	if (n->channel >= 0) {
		into[count++] = (struct pollfd){.fd = n->channel, .events = POLLIN};
		return count;
	}
	if (n->doors.way == SANDBOX_WAY_NONE || n->starts >= STARTS_MAX)
		return 0;
	for (size_t i = 0; i < n->doors.tcp_count; i++)
		into[count++] = (struct pollfd){.fd = n->doors.tcp[i], .events = POLLIN};
	for (size_t i = 0; i < n->doors.udp_count; i++)
		into[count++] = (struct pollfd){.fd = n->doors.udp[i], .events = POLLIN};
	return count;
}

size_t keeper_network_watch(const struct keeper *k, struct pollfd into[KEEPER_NETWORK_POLL])
{
	size_t ports = ports_watch(&k->network.ports, into);

	return ports + watch(&k->network, into + ports);
}

int64_t keeper_network_due(const struct keeper *k)
{
	return ports_due(&k->network.ports);
}

/* For `nacre tasks`. A task that nobody can find needs no such file. */
static void show_ports(struct keeper *k)
{
	struct keeper_network *n = &k->network;

	if (n->ports.count > 0)
		ports_print(&n->ports, n->shown, sizeof(n->shown));
	if (k->home.fd < 0 || strcmp(n->shown, n->written) == 0)
		return;
	memcpy(n->written, n->shown, sizeof(n->written));
	(void)fd_replace_file(k->home.fd, HOME_PUBLISHED, n->shown, strlen(n->shown));
}

static void begin(struct keeper *k)
{
	struct keeper_network *n = &k->network;
	const struct gate_wish wish = {.profile = k->profile,
	                               .state = k->order.request.state,
	                               .principal = k->order.principal,
	                               .session = k->order.request.session,
	                               .door = k->order.door,
	                               .workspace = k->order.request.workspace,
	                               .doors = &n->doors,
	                               .names = n->names};

	if (n->gate.socket < 0) {
		n->starts++;
		if (gate_start(&wish, &n->gate) < 0)
			return;
	}
	n->channel = gate_join(n->gate.socket, k->order.task_id, k->order.ask_ms);
	if (n->channel < 0) {
		gate_end(&n->gate); /* it is gone: another one next time */
		n->channel = -1;
	}
}

/* Time that the command waits for a person is not its own: the limits are put off by as much as is
 * left of the whole wait, and what was not used of it is taken back. */
static void note_held(struct keeper *k, bool held)
{
	struct keeper_network *n = &k->network;
	int64_t now = clock_now_ms(), used = now - n->held_since;

	if (held == n->held)
		return;
	n->held = held;
	if (held) {
		n->held_since = now;
		if (k->deadline != KEEPER_DEADLINE_NONE && k->state == RUNNING)
			k->deadline += k->order.ask_ms - n->waited_ms;
		return;
	}
	if (used > k->order.ask_ms - n->waited_ms)
		used = k->order.ask_ms - n->waited_ms;
	if (k->deadline != KEEPER_DEADLINE_NONE && k->state == RUNNING)
		k->deadline -= k->order.ask_ms - n->waited_ms - used;
	n->waited_ms += used;
	keeper_heard(k); /* nor was that its silence */
}

/* The starter can ask the person who sits there. */
static void tell_starter(struct keeper *k, const char *approval)
{
	struct keeper_network *n = &k->network;

	if (strcmp(n->told, approval) == 0 || k->starter_gone || k->order.ask_ms == 0)
		return;
	snprintf(n->told, sizeof(n->told), "%s", approval);
	(void)control_send(k->fds.control, CONTROL_HELD, approval, strlen(approval), -1);
}

void keeper_network_give_up(struct keeper *k)
{
	if (k->network.channel >= 0)
		gate_give_up(k->network.channel);
}

bool keeper_network_waits(const struct keeper *k)
{
	return k->network.held &&
	       clock_now_ms() - k->network.held_since + k->network.waited_ms < k->order.ask_ms;
}

static void hear(struct keeper *k)
{
	struct keeper_network *n = &k->network;
	struct gate_news news;
	int r;

	while ((r = gate_hear(n->channel, &news)) == 0) {
		note_held(k, news.held > 0);
		memcpy(n->shown, news.published, sizeof(n->shown));
		tell_starter(k, news.held > 0 ? news.approval : "");
	}
	if (r == -EAGAIN)
		return;
	note_held(k, false);
	tell_starter(k, "");
	keeper_record_network_lost(k);
	fd_close(take_fd(&n->channel));
	gate_end(&n->gate);
}

void keeper_network_turn(struct keeper *k, const struct pollfd *polled, size_t count)
{
	struct pollfd ports[PORTS_FDS];
	size_t first = ports_watch(&k->network.ports, ports); /* as many as were polled */

	if (first > count)
		first = count;
	ports_turn(&k->network.ports, polled, first);
	show_ports(k);
	for (size_t i = first; i < count; i++) {
		if (!polled[i].revents)
			continue;
		if (k->network.channel < 0)
			begin(k);
		else
			hear(k);
		return;
	}
}

/* A gate of before has the doors, and must know whose the connections are from now on. */
void keeper_network_begin(struct keeper *k)
{
	struct keeper_network *n = &k->network;

	if (n->doors.way != SANDBOX_WAY_NONE && n->net.user >= 0)
		ports_open(&n->ports, &k->profile->network, n->net.user, n->net.net, &n->doors);
	if (n->channel >= 0)
		return;
	if (n->gate.socket >= 0)
		begin(k);
	else if (k->net.named && k->plan && sandbox_plan_joins(k->plan)) /* of the session */
		n->channel = gate_join(k->net.gate, k->order.task_id, k->order.ask_ms);
}

void keeper_network_end(struct keeper *k)
{
	struct keeper_network_report *r = &k->report.network;
	bool wanted = k->profile && k->spec.network == SANDBOX_NETWORK_NAMES;
	struct keeper_network_report told = {.named = true};

	k->network.held = false;
	k->network.waited_ms = 0;
	k->network.told[0] = '\0';
	if (!wanted || !k->process)
		return;
	r->named = (k->report.sandbox.layers & SANDBOX_LAYER_NETWORK_NAMES) != 0;
	if (!r->named) /* what is missing is told with the other layers */
		return;
	ports_notice(&k->network.ports, r->notice, sizeof(r->notice));
	ports_close(&k->network.ports);
	if (k->network.channel < 0) {
		if (k->net.named) /* the gate of a session has died */
			snprintf(r->notice, sizeof(r->notice),
			         "the network of this session is closed, because its gateway has "
			         "died; use another session");
		return;
	}
	if (gate_leave(take_fd(&k->network.channel), &told) < 0) {
		snprintf(r->notice, sizeof(r->notice),
		         "what the command wanted of the network is not known: its gateway has not "
		         "answered");
		keeper_record_network_lost(k);
		gate_end(&k->network.gate);
		return;
	}
	if (!told.notice[0])
		memcpy(told.notice, r->notice, sizeof(told.notice));
	*r = told;
}
