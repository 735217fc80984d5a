#pragma once
/*
 * DNS: one query read, one answer written. Nothing of a query is ever sent on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"
#include "gateway/destination.h"

#define DNS_QUERY_MAX  1232 /* longer ones are dropped */
#define DNS_ANSWER_MAX 1232
#define DNS_TTL        60

enum dns_ask {
	DNS_ASK_NOTHING,   /* no query at all: do not answer */
	DNS_ASK_REFUSED,   /* answer with dns_write_error(q, q->rcode, false ...) */
	DNS_ASK_LOCALHOST, /* answer with dns_write_localhost() */
	DNS_ASK_POINTER,   /* PTR of the address in q->pointer */
	DNS_ASK_ADDRESS,   /* A of q->name: judge the name */
	DNS_ASK_OTHER,     /* another type or class of q->name: judge, then no data or NXDOMAIN */
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
};

struct dns_query {
	enum dns_ask ask;
	enum dns_rcode rcode; /* of DNS_ASK_REFUSED */
	uint16_t id, type, class;
	bool recursion; /* desired */
	bool edns;
	uint16_t size;                    /* of the largest answer by UDP */
	char name[DESTINATION_NAME_SIZE]; /* canonical; "" if it is refused */
	struct network_address pointer;
	uint16_t question_size; /* 0: it could not be read */
	uint8_t question[260];  /* as it was sent, in its own case */
};

/* One message, without the length that stands before it on TCP. */
void dns_read(const uint8_t *bytes, size_t n, struct dns_query *ret_query);

/* Of a TCP stream: how many bytes the first message has, with its two bytes of length, or 0: more
 * bytes are needed. -EMSGSIZE: too long, close the connection. The message begins at bytes + 2. */
int dns_tcp_size(const uint8_t *bytes, size_t n);

/* All return the length of the message; SIZE is at least DNS_ANSWER_MAX. */
size_t dns_write_address(const struct dns_query *q, const struct network_address *address,
                         uint8_t *into, size_t size);
size_t dns_write_localhost(const struct dns_query *q, uint8_t *into, size_t size);
size_t dns_write_no_data(const struct dns_query *q, uint8_t *into, size_t size);
size_t dns_write_pointer(const struct dns_query *q, const char *name, uint8_t *into, size_t size);
/* FILTERED: with the extended error 17 and its text, if the query has EDNS (RFC 8914). */
size_t dns_write_error(const struct dns_query *q, enum dns_rcode rcode, bool filtered,
                       uint8_t *into, size_t size);
