#pragma once
/*
 * Fit: which addresses may be dialled at all, whatever the lists say.
 *
 * A name must not lead to the machine itself, its neighbours or metadata services. `private` lifts
 * this for the names, addresses and ranges that it lists, but for a metadata service and the
 * machine's own addresses: those need the literal address in `allow` and `private`, or host.nacre.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/address.h"
#include "gateway/rules.h"

struct fit_question {
	const struct network_rules *rules;
	const char *name; /* canonical; NULL: the program named the address itself */
	uint16_t port;
	const struct network_address *own; /* every address of the machine */
	size_t own_count;
};

struct fit_answer {
	enum network_reason reason; /* NONE: fit; PRIVATE, or DENIED by an address in `deny` */
	const char *what;           /* "private", "this machine": for messages; NULL: fit */
	size_t which;               /* of fit_all(): the index of the unfit address */
};

/* One address. */
bool fit_check(const struct fit_question *q, const struct network_address *address,
               struct fit_answer *ret_answer);
/* All addresses of an answer: one that is unfit makes all of it unfit. False for none at all. */
bool fit_all(const struct fit_question *q, const struct network_address *addresses, size_t n,
             struct fit_answer *ret_answer);
/* What kind of address it is by its number alone: "private", "loopback"; NULL: a public one. */
const char *fit_kind(const struct network_address *address);
