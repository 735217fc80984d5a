#pragma once
/*
 * Names: the fake address of each name that a program of the box has looked up.
 *
 * A name has the same address for the life of the network, and no other name ever has it. The table
 * lies in memory that is shared with the process that starts gateways: the next gateway goes on
 * with it. A gateway reads hostile bytes, so nothing in the table is believed: names_check() comes
 * first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"

#define NAMES_MAX 4096

struct names; /* opaque */

/* The memory stays shared over a fork; NULL: there is none. */
struct names *names_new(void);
void names_free(struct names *n); /* NULL is fine */

/* Makes the table whole again after a gateway has died while it wrote. */
void names_check(struct names *n);

/* The address of a canonical name, a new one if need be. False: the table is full. */
bool names_address(struct names *n, const char *name, struct network_address *ret_address);
/* The name of an address; NULL: it has none. Lives as long as the table. */
const char *names_find(const struct names *n, const struct network_address *address);
