#pragma once
/*
 * Ports: what the host reaches of a box (sandbox.network.publish). The owner of a network, a keeper
 * or a gate, holds listeners on 127.0.0.1 of the host while a task runs. A porter is forked when
 * the first connection comes; a command that nobody visits pays for sockets alone.
 *
 * A port of the host that is in use is tried again and again: who has it may end. That is worth a
 * word only if the command does listen on its side.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "gateway/rules.h"
#include "sandbox/doors.h"

#define PORTS_FDS      NETWORK_PUBLISH_MAX
#define PORTS_TEXT_MAX 512

struct ports {
	struct {
		uint16_t host, box;
		uint16_t at; /* the port of the host that it is: HOST, or any free one for 0 */
		int fd;      /* -1: not to be had */
		int sys;     /* why */
		bool asked;  /* while something listened on the other side */
	} list[NETWORK_PUBLISH_MAX];
	size_t count;
	int user, net, diag; /* borrowed */
	int life;            /* of the porter; -1: none runs */
	pid_t pid;
	int starts;
	int64_t look_at; /* INT64_MAX: all of them are open */
};
#define PORTS_NONE ((struct ports){.life = -1, .look_at = INT64_MAX})

/* For a task that begins in the network USER, NET with these doors. */
void ports_open(struct ports *p, const struct network_rules *rules, int user, int net,
                const struct sandbox_doors *doors);
void ports_close(struct ports *p);

size_t ports_watch(const struct ports *p, struct pollfd into[PORTS_FDS]);
int64_t ports_due(const struct ports *p);
/* After poll(), also when nothing was ready. */
void ports_turn(struct ports *p, const struct pollfd *polled, size_t count);

/* One per line: HOST BOX. */
void ports_print(const struct ports *p, char *into, size_t size);
/* What the command is told about one that could not be opened; "": nothing. */
void ports_notice(const struct ports *p, char *into, size_t size);
