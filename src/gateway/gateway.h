#pragma once
/*
 * Gateway: the process outside of a box that serves its doors (sandbox/doors.h). It answers
 * look-ups, judges connections by the rules, and carries their bytes.
 *
 * It reads hostile bytes, so it is confined: no files, no programs, few system calls, bounded
 * memory. It tells its supervisor what happens and waits for a word before it dials: what cannot be
 * recorded is not dialled. It ends when the supervisor's socket does.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"
#include "gateway/destination.h"
#include "gateway/first.h"
#include "gateway/rules.h"

struct names;
struct sandbox_doors;

/* One packet each, to the supervisor. */
enum gateway_event_kind {
	GATEWAY_DIAL,    /* about to connect to ADDRESS: wants GATEWAY_GO or GATEWAY_STOP */
	GATEWAY_ASK,     /* a person has to decide: wants GATEWAY_GO or GATEWAY_STOP */
	GATEWAY_LEFT,    /* the program of a question did not wait for the answer */
	GATEWAY_REFUSED, /* a connection */
	GATEWAY_UNNAMED, /* a look-up was refused; there is no port */
	GATEWAY_ENDED,   /* a connection that was dialled */
	GATEWAY_IDLE,    /* all connections are closed, as the supervisor wanted */
	GATEWAY_EVENT_MAX,
};

enum gateway_end {
	GATEWAY_END_CLOSED, /* by both sides */
	GATEWAY_END_RESET,  /* by one of them */
	GATEWAY_END_REFUSED,
	GATEWAY_END_FAILED, /* could not connect */
	GATEWAY_END_LEFT,   /* the program left before there was a connection */
	GATEWAY_END_OVER,   /* the command ended */
	GATEWAY_END_MAX,
};
const char *gateway_end_word(enum gateway_end end);

#define GATEWAY_WHAT_SIZE 64

struct gateway_event {
	enum gateway_event_kind kind;
	uint32_t id;                      /* of the connection, for the answer */
	char name[DESTINATION_NAME_SIZE]; /* or an address as text */
	uint16_t port;
	enum network_verdict_kind verdict;
	enum network_reason reason;
	struct network_ref rule;
	struct network_address address; /* that is dialled, or was unfit; family 0: none */
	char what[GATEWAY_WHAT_SIZE]; /* more about the reason: "private", the other name; or "" */
	int64_t waited_ms;            /* for a person */
	int64_t ms;                   /* GATEWAY_ENDED: since the dial */
	uint64_t sent, received;
	enum first_protocol protocol;
	enum gateway_end end;
	bool ech;
};

/* One packet each, from the supervisor. */
enum gateway_order_kind {
	GATEWAY_GO,    /* dial */
	GATEWAY_STOP,  /* refuse, for this reason */
	GATEWAY_CLOSE, /* all connections; GATEWAY_IDLE follows */
	GATEWAY_ORDER_MAX,
};

struct gateway_order {
	enum gateway_order_kind kind;
	uint32_t id;
	enum network_reason reason;
};

struct gateway_wish {
	const struct sandbox_doors *doors;
	const struct network_rules *rules;
	struct names *names;
	int supervisor; /* a packet socket */
};

/* In a process of its own, right after the fork. Closes all other descriptors. */
_Noreturn void gateway_main(const struct gateway_wish *wish);
