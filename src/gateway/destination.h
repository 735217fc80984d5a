#pragma once
/*
 * Destination: what an entry of sandbox.network names: hosts and ports.
 *
 *     NAME   NAME:PORT   NAME:*   *.NAME...   *...        names; *.NAME is not NAME itself
 *     10.1.2.3:5432   10.1.0.0/16:*   [fd12::5]:443       addresses, only with a port
 *
 * Without a port, an entry of `allow` or `ask` means 80 and 443, one of `deny` every port. Entries
 * of `private` have no port, and their addresses and ranges need none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"

struct error;

#define DESTINATION_NAME_SIZE 254 /* 253 and a NUL */
#define DESTINATION_TEXT_SIZE 264 /* "*." NAME ":65535" */
#define DESTINATION_HOST                                                                           \
	"host.nacre" /* 127.0.0.1 of the host; only by exact entries with a port                   \
	              */

enum network_list {
	NETWORK_ALLOW,
	NETWORK_ASK,
	NETWORK_DENY,
	NETWORK_PRIVATE,
	NETWORK_LIST_MAX,
};

enum destination_kind {
	DESTINATION_NAME,   /* exactly this name */
	DESTINATION_SUFFIX, /* one or more labels below it */
	DESTINATION_ANY,    /* every name, and no address */
	DESTINATION_ADDRESS,
	DESTINATION_RANGE,
};

enum {
	DESTINATION_PORT_ANY = -1,
	DESTINATION_PORT_USUAL = 0, /* 80 and 443 */
};

struct destination {
	enum destination_kind kind;
	int32_t port;                     /* a number, or one of the above */
	char name[DESTINATION_NAME_SIZE]; /* lower case, no final dot; of a suffix without "*." */
	struct network_address address;   /* of an address or range */
	uint8_t bits;
};

/* Set *ret_destination from an entry of LIST, or say what is wrong with it and what to write. */
int destination_parse(const char *text, enum network_list list, struct destination *ret_destination,
                      struct error *err);
/* As it would be written in LIST. */
void destination_format(const struct destination *d, enum network_list list,
                        char into[DESTINATION_TEXT_SIZE]);
bool destination_equal(const struct destination *a, const struct destination *b);
/* Whether OUTER covers all that INNER covers. */
bool destination_within(const struct destination *inner, const struct destination *outer);
/* Whether it covers the name (canonical) on this port; port 0: on any port. */
bool destination_covers_name(const struct destination *d, const char *name, uint16_t port);
bool destination_covers_address(const struct destination *d, const struct network_address *a,
                                uint16_t port);

/* Write the lower case form without a final dot. False: N bytes are no name that can be looked up:
 * letters, digits, "-", "_", labels of 63, 253 in all, and the last label is not a number. */
bool destination_canonical(const char *text, size_t n, char into[DESTINATION_NAME_SIZE]);
/* localhost and what is below it: the box's own. The name is canonical. */
bool destination_is_localhost(const char *name);
