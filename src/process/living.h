#pragma once
/*
 * Living: the processes below one that are alive now, and the ports on which they listen, as /proc
 * tells. Bounded in number and time: a command decides how much there is to see, not how long we
 * look.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LIVING_MAX       16 /* processes that are told of */
#define LIVING_PORTS_MAX 8  /* of one process */
#define LIVING_NAME_MAX  16

struct living_process {
	pid_t pid;                      /* as we see it */
	pid_t inner;                    /* as it sees itself */
	char name[LIVING_NAME_MAX + 1]; /* printable ASCII without blanks */

	uint64_t work; /* page faults and ticks so far: they grow while it starts */
	uint16_t ports[LIVING_PORTS_MAX]; /* TCP, each once, in order */
	int port_count;
};

struct living {
	struct living_process list[LIVING_MAX];
	int count;
	int more; /* others that did not fit */
};

/* All below ROOT but the dead. */
void living_look(pid_t root, struct living *ret_living);

/* When PID was started, as the kernel counts; 0: it is not there. A number that was given away
 * again has another time. */
unsigned long long living_start(pid_t pid);

/* One line for each, "INNER NAME PORT PORT ...", as far as they fit. */
void living_print(const struct living *l, char *into, size_t size);

/* Reads such a line; where the next one begins, or NULL: there is none. */
const char *living_parse(const char *lines, struct living_process *ret_process);
