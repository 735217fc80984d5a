#pragma once
/*
 * First bytes: whether what a client says first fits the name that it connected to.
 *
 * Feed what comes from the client, and act by the answer:
 *     UNDECIDED  send these bytes on, and feed the next ones, too
 *     PASS       send these bytes on, and feed no more
 *     REFUSE     send none of them; tell the client (refusal.h) and close
 * The bytes that complete a hello or a head are thus never sent before the verdict, and a client
 * that says one short word and waits is not held up. What a server says is never looked at.
 *
 * A server may ask for a second hello (HelloRetryRequest), and takes the name of that one. So a TLS
 * client is looked at until it says something else than a hello.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"
#include "gateway/destination.h"
#include "gateway/rules.h"

#define FIRST_MAX 16384 /* bytes that are kept while undecided */

enum first_state {
	FIRST_UNDECIDED,
	FIRST_PASS,
	FIRST_REFUSE,
};

enum first_protocol {
	FIRST_OTHER,
	FIRST_TLS,
	FIRST_HTTP,
	FIRST_SSH,
};
const char *first_protocol_word(enum first_protocol protocol); /* "tls", "http", "ssh", "other" */

struct first {
	enum first_state state;
	enum first_protocol protocol;     /* OTHER until it is known */
	enum network_reason reason;       /* of a refusal: SNI, HOST, PROXY, LIMIT */
	char seen[DESTINATION_NAME_SIZE]; /* the other name, if that was the reason; printable */
	bool ech;
	const char *name; /* borrowed; canonical, or an address as text */
	bool literal;     /* NAME is an address: the server's names are not compared */
	uint16_t port;
	bool after;        /* the first hello has passed */
	size_t hello_size; /* up to its end */
	bool early;        /* it announced early data, which a server that asks again passes over */
	size_t skip;       /* bytes left of a record that is passed over */
	size_t skipped;    /* in all */
	uint8_t *kept;     /* only while undecided; after the first hello, from its record on */
	size_t kept_len, kept_size;
};

/* NAME must live as long as the judge. */
void first_init(struct first *f, const char *name, bool literal, uint16_t port);
/* After a verdict it only repeats it. Without memory: REFUSE with LIMIT. */
enum first_state first_feed(struct first *f, const void *bytes, size_t n);
/* The client says no more. FIRST_REFUSE: its end must not be sent on either; else FIRST_PASS. */
enum first_state first_end(struct first *f);
void first_done(struct first *f); /* releases what is kept; the answers stay */

/* What a client that is refused in any case speaks, by its first bytes and the port: for
 * refusal.h. Port 22 is SSH, where servers speak first. */
enum first_protocol first_guess(const void *bytes, size_t n, uint16_t port);
