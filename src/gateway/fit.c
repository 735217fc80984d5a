/*
 * Two questions: what kind of address is it, and who may lift the refusal that follows.
 *
 *     the machine itself, metadata   the literal in `private`; loopback only as host.nacre
 *     other unfit ranges             the name in `private`, or the literal or its range
 *
 * A range in `private` opens no name: a name that a stranger owns could be made to lead there.
 */
#include "gateway/fit.h"

#include <string.h>
#include "base/cleanup.h"

static const struct range4 {
	uint32_t net;
	unsigned int bits;
	const char *what;
} ranges4[] = {
	{0x00000000, 8, "this machine"}, {0x0a000000, 8, "private"},
	{0x64400000, 10, "shared"},      {0x7f000000, 8, "loopback"},
	{0xa9fe0000, 16, "link-local"},  {0xac100000, 12, "private"},
	{0xc0000000, 24, "protocol"},    {0xc0a80000, 16, "private"},
	{0xc6120000, 15, "benchmark"},   {0xe0000000, 4, "multicast"},
	{0xf0000000, 4, "reserved"},
};

static const struct range6 {
	uint8_t net[16];
	unsigned int bits;
	const char *what;
} ranges6[] = {
	{{0}, 128, "this machine"},
	{{[15] = 1}, 128, "loopback"},
	{{0},
         96,
         "IPv4 in IPv6"}, /* compatible, then mapped: a resolver has no reason to give these */
	{{[10] = 0xff, 0xff}, 96, "IPv4 in IPv6"},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "local NAT64"},
	{{0x20, 0x01, 0x00, 0x00}, 32, "Teredo"},
	{{0xfc}, 7, "private"},
	{{0xfe, 0x80}, 10, "link-local"},
	{{0xfe, 0xc0}, 10, "site-local"},
	{{0xff}, 8, "multicast"},
};

/* Where clouds hand out the credentials of the machine; some of these are public addresses. */
static const uint32_t metadata4[] = {
	0xa9fea9fe,             /* 169.254.169.254: most of them */
	0xa9feaa02,             /* 169.254.170.2, and .23: containers */
	0xa9feaa17, 0x646464c8, /* 100.100.100.200 */
	0xc00000c0,             /* 192.0.0.192 */
	0xa83f8110,             /* 168.63.129.16 */
};
static const uint8_t metadata6[][16] = {
	{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54},
	{0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23},
	{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54},
};

static uint32_t number4(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* The IPv4 address that a router makes of it: NAT64 and 6to4. */
static bool translated(const struct network_address *a, struct network_address *ret_inner)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	if (a->family != 6)
		return false;
	if (memcmp(a->bytes, nat64, sizeof(nat64)) == 0)
		*ret_inner = network_address_v4(number4(a->bytes + 12));
	else if (a->bytes[0] == 0x20 && a->bytes[1] == 0x02)
		*ret_inner = network_address_v4(number4(a->bytes + 2));
	else
		return false;
	return true;
}

/* The address that is dialled in the end: also the one that the kernel makes of a mapped one. */
static struct network_address innermost(const struct network_address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff}, compatible[12] = {0};
	struct network_address inner = *a;

	if (translated(a, &inner))
		return inner;
	if (a->family == 6 &&
	    (memcmp(a->bytes, mapped, sizeof(mapped)) == 0 ||
	     (memcmp(a->bytes, compatible, sizeof(compatible)) == 0 && number4(a->bytes + 12) > 1)))
		return network_address_v4(number4(a->bytes + 12));
	return *a;
}

const char *fit_kind(const struct network_address *address)
{
	struct network_address inner, net = {.family = 6};

	if (translated(address, &inner))
		return fit_kind(&inner);
	if (address->family == 4) {
		for (size_t i = 0; i < array_size(ranges4); i++)
			if ((number4(address->bytes) ^ ranges4[i].net) >> (32 - ranges4[i].bits) ==
			    0)
				return ranges4[i].what;
		return NULL;
	}
	for (size_t i = 0; i < array_size(ranges6); i++) {
		memcpy(net.bytes, ranges6[i].net, sizeof(net.bytes));
		if (network_address_within(address, &net, ranges6[i].bits))
			return ranges6[i].what;
	}
	/* All public addresses begin with 001, so far. What a network makes of others is its own
	 * affair: some translate them to IPv4. */
	if (address->family == 6)
		return address->bytes[0] >> 5 == 1 ? NULL : "reserved";
	return "no address";
}

static bool is_metadata(const struct network_address *a)
{
	for (size_t i = 0; a->family == 4 && i < array_size(metadata4); i++)
		if (number4(a->bytes) == metadata4[i])
			return true;
	for (size_t i = 0; a->family == 6 && i < array_size(metadata6); i++)
		if (memcmp(a->bytes, metadata6[i], sizeof(metadata6[i])) == 0)
			return true;
	return false;
}

/* What leads to the machine itself. */
static bool is_own(const struct fit_question *q, const struct network_address *a)
{
	const char *kind = fit_kind(a);

	if (kind && (strcmp(kind, "this machine") == 0 || strcmp(kind, "loopback") == 0))
		return true;
	for (size_t i = 0; i < q->own_count; i++)
		if (network_address_equal(a, &q->own[i]))
			return true;
	return false;
}

static bool listed(const struct fit_question *q, enum network_list list,
                   const struct network_address *a, uint16_t port, bool exact)
{
	const struct network_rule_list *l = &q->rules->lists[list];

	for (size_t i = 0; i < l->count; i++)
		if ((!exact || l->rules[i].to.kind == DESTINATION_ADDRESS) &&
		    destination_covers_address(&l->rules[i].to, a, port))
			return true;
	return false;
}

static bool name_is_private(const struct fit_question *q)
{
	const struct network_rule_list *l = &q->rules->lists[NETWORK_PRIVATE];

	for (size_t i = 0; i < l->count; i++)
		if (destination_covers_name(&l->rules[i].to, q->name, 0))
			return true;
	return false;
}

static bool unfit(struct fit_answer *answer, enum network_reason reason, const char *what)
{
	answer->reason = reason;
	answer->what = what;
	return false;
}

/* host.nacre is 127.0.0.1 and ::1, and nothing else. */
static bool is_host(const struct network_address *a)
{
	static const struct network_address one = {.family = 6, .bytes = {[15] = 1}};
	const struct network_address home = network_address_v4(0x7f000001);

	return network_address_equal(a, &home) || network_address_equal(a, &one);
}

bool fit_check(const struct fit_question *q, const struct network_address *address,
               struct fit_answer *ret_answer)
{
	struct network_address inner = innermost(address);
	const char *kind = fit_kind(address);
	bool special;

	*ret_answer = (struct fit_answer){0};
	if (listed(q, NETWORK_DENY, address, q->port, false) ||
	    listed(q, NETWORK_DENY, &inner, q->port, false))
		return unfit(ret_answer, NETWORK_REASON_DENIED, "an address in deny");
	if (q->name && strcmp(q->name, DESTINATION_HOST) == 0)
		return is_host(address) ||
		       unfit(ret_answer, NETWORK_REASON_PRIVATE, "not the host");
	if (is_own(q, address) || is_own(q, &inner)) {
		special = true;
		kind = "this machine";
	} else if (is_metadata(address) || is_metadata(&inner)) {
		special = true;
		kind = "a metadata service";
	} else {
		special = false;
	}
	if (!kind)
		return true;
	if (!q->name && listed(q, NETWORK_PRIVATE, address, 0, special))
		return true;
	if (q->name && !special && name_is_private(q))
		return true;
	return unfit(ret_answer, NETWORK_REASON_PRIVATE, kind);
}

bool fit_all(const struct fit_question *q, const struct network_address *addresses, size_t n,
             struct fit_answer *ret_answer)
{
	*ret_answer = (struct fit_answer){.reason = NETWORK_REASON_UNRESOLVED};
	for (size_t i = 0; i < n; i++)
		if (!fit_check(q, &addresses[i], ret_answer)) {
			ret_answer->which = i;
			return false;
		}
	return n > 0;
}
