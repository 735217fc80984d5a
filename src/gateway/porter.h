#pragma once
/*
 * Porter: the process that carries connections from published ports of the host into a box.
 *
 * The listeners are of the host. The process itself enters the network of the box before it accepts
 * anything, so whatever it connects to is in there: it has no way to the host, to other boxes or to
 * the world. It reads none of the bytes. It is confined as a gateway is, and ends with its owner.
 */
#include <stddef.h>
#include <stdint.h>

struct porter_port {
	int listener;
	uint16_t box; /* the port in the box */
};

struct porter_wish {
	const struct porter_port *ports;
	size_t count;
	int user, net; /* the namespaces of the box */
	int owner;     /* its end is the porter's */
};

/* In a process of its own, right after the fork. Closes all other descriptors. */
_Noreturn void porter_main(const struct porter_wish *wish);
