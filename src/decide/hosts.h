#pragma once
/*
 * Hosts: the hosts that stand in the words of a line, as far as they are known before it runs:
 * URLs, what ssh, scp, rsync and git take for a remote, host= and --host, operands of curl and
 * wget.
 *
 * For people who decide, and for questions that are better asked before a command starts. It is no
 * proof: a program may connect to hosts that stand nowhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct shell_facts;

#define HOSTS_MAX 64

struct host_seen {
	const char *name; /* canonical, or an address */
	bool literal;     /* it is an address */
	bool sure;        /* a program of the line is told to connect there */
	uint16_t port;    /* as the line or the program says; 0: not known */
};

/* Each (name, port) once, in the order of the line. Returns 0 or -ENOMEM. */
int hosts_seen(struct arena *arena, const struct shell_facts *facts,
               const struct host_seen **ret_hosts, size_t *ret_count);
