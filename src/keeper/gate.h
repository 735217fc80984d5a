#pragma once
/*
 * Gate: the process that watches over one network by name. It starts a gateway when the first
 * packet comes, and another one when that has died. It writes the audit log: a gateway may not open
 * files. It keeps for each task what came of its connections.
 *
 * A network belongs to one task, or to the tasks of one session. A connection is recorded for the
 * task if there is one, and for the session alone if there are more: the kernel does not tell which
 * of them has made it. It ends when the last copy of its socket is closed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "approval/approval.h"
#include "keeper/ports.h"
#include "task/report.h"
#include "task/store.h"

struct error;
struct names;
struct profile;
struct sandbox_doors;
struct sandbox_net;

struct gate_wish {
	const struct profile *profile;
	const char *state;     /* its directory; NULL or "": nothing is recorded */
	const char *principal; /* each of these may be NULL */
	const char *session, *door, *workspace;
	const struct sandbox_doors *doors;
	/* With them the gate publishes the ports of the rules while there are tasks; NULL: not. */
	const struct sandbox_net *net;
	struct names *names;
};

/* Forks it; the caller ends it with gate_end(). */
struct gate_hold {
	int socket; /* tasks come by it; -1: there is no gate */
	pid_t pid;
};
#define GATE_NONE ((struct gate_hold){.socket = -1})
int gate_start(const struct gate_wish *wish, struct gate_hold *ret_hold);
/* Closes the socket. Where that was the last copy the gate ends, and is waited for. */
void gate_end(struct gate_hold *h);

/* Whether its rules are those of this profile. False where it does not answer. */
bool gate_serves(int socket, const struct profile *profile);

/* A task begins: the other end of the channel that its news come by, or a negative errno. ASK_MS:
 * how long its connections may wait for a person. */
int gate_join(int socket, const char *task, int64_t ask_ms);

struct gate_news {
	bool last;                           /* the task is over; nothing follows */
	uint64_t held;                       /* connections that wait for a person */
	char approval[APPROVAL_ID_MAX];      /* what one of them waits for */
	char published[PORTS_TEXT_MAX];      /* as ports_print() */
	struct keeper_network_report report; /* of the last */
};
/* 0; -EAGAIN: there are none; -EPIPE: the gate is gone. */
int gate_hear(int channel, struct gate_news *ret_news);
/* Nobody will answer for this task. */
void gate_give_up(int channel);
/* The task is over. Its news, after the ends of its connections; or a negative errno. Closes the
 * channel. */
int gate_leave(int channel, struct keeper_network_report *ret_report);
