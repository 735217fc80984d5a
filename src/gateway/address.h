#pragma once
/*
 * Address: an IPv4 or IPv6 address as plain bytes, in network order. No sockets here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETWORK_ADDRESS_SIZE 46 /* of the text, with its NUL */

struct network_address {
	uint8_t family; /* 4 or 6; 0: none */
	uint8_t bytes[16];
};

/* Strict: dotted quad without leading zeros, or IPv6 as RFC 4291 has it, without brackets or zone.
 */
bool network_address_parse(const char *text, size_t n, struct network_address *ret_address);
void network_address_format(const struct network_address *a, char into[NETWORK_ADDRESS_SIZE]);
struct network_address network_address_v4(uint32_t host_order);
bool network_address_equal(const struct network_address *a, const struct network_address *b);
/* Whether the first BITS bits are the same; false for different families. */
bool network_address_within(const struct network_address *a, const struct network_address *net,
                            unsigned int bits);
