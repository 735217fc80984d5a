#pragma once
/*
 * Doors: the sockets by which programs of a box reach the gateway.
 *
 * A socket stays in the network namespace that it was made in. These are made inside, where every
 * address is local and every TCP connection ends at a listener, and are served from outside. There
 * is no interface but lo, and no address of the host.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How connections to all addresses reach one listener, the best first. */
enum sandbox_way {
	SANDBOX_WAY_NONE,
	SANDBOX_WAY_TPROXY,   /* nf_tables hands the packet to the listener */
	SANDBOX_WAY_REDIRECT, /* nf_tables changes the address; connections are tracked */
	SANDBOX_WAY_PORTS,    /* a listener for each port of the policy */
	SANDBOX_WAY_MAX,
};

const char *sandbox_way_name(enum sandbox_way way); /* "tproxy" ...; NULL: none */

#define SANDBOX_DOORS_TCP 40
#define SANDBOX_DOORS_UDP 2
#define SANDBOX_PORTS_MAX (SANDBOX_DOORS_TCP - 2)

struct sandbox_doors {
	enum sandbox_way way;
	int tcp[SANDBOX_DOORS_TCP]; /* listeners */
	size_t tcp_count;
	int udp[SANDBOX_DOORS_UDP]; /* port 53, with IP_PKTINFO */
	size_t udp_count;
	int diag; /* for doors_listens(); -1: none */
};

/* What the policy needs, where there is a listener for each port. */
struct sandbox_ports {
	uint16_t items[SANDBOX_PORTS_MAX];
	size_t count;
};

/* The box's own address, its name server, and the range that names have their addresses from. */
#define SANDBOX_DOORS_SELF   0xc6120001U /* 198.18.0.1 */
#define SANDBOX_DOORS_SERVER "198.18.0.2"
#define SANDBOX_DOORS_NET    0xc6120000U /* 198.18.0.0/15 */
#define SANDBOX_DOORS_SPAN   0x20000U

/* In a new network namespace, with all rights over it: the loopback interface, routes, rules and
 * sockets, by the first way that works from FIRST on. 0, or a negative errno with nothing open. */
int doors_open(enum sandbox_way first, const struct sandbox_ports *ports,
               struct sandbox_doors *ret_doors);
void doors_close(struct sandbox_doors *d);

/* Whether somebody in the box listens on this TCP port. What cannot be told counts as a yes. */
bool doors_listens(int diag, uint16_t port);

/* Over a packet socket. */
int doors_send(int socket, const struct sandbox_doors *d);
int doors_receive(int socket, struct sandbox_doors *ret_doors);
