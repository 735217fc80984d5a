#include "gateway/address.h"

#include <arpa/inet.h>
#include <string.h>

bool network_address_parse(const char *text, size_t n, struct network_address *ret_address)
{
	struct network_address a = {0};
	char copy[NETWORK_ADDRESS_SIZE];

	if (n == 0 || n >= sizeof(copy) || memchr(text, '\0', n))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET, copy, a.bytes) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, copy, a.bytes) == 1)
		a.family = 6;
	else
		return false;
	*ret_address = a;
	return true;
}

void network_address_format(const struct network_address *a, char into[NETWORK_ADDRESS_SIZE])
{
	into[0] = '\0';
	if (a->family == 4 || a->family == 6)
		inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, into,
		          NETWORK_ADDRESS_SIZE);
}

struct network_address network_address_v4(uint32_t host_order)
{
	return (struct network_address){.family = 4,
	                                .bytes = {(uint8_t)(host_order >> 24),
	                                          (uint8_t)(host_order >> 16),
	                                          (uint8_t)(host_order >> 8), (uint8_t)host_order}};
}

bool network_address_equal(const struct network_address *a, const struct network_address *b)
{
	return network_address_within(a, b, a->family == 4 ? 32 : 128);
}

bool network_address_within(const struct network_address *a, const struct network_address *net,
                            unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	if (a->family != net->family || bits > (a->family == 4 ? 32U : 128U) ||
	    memcmp(a->bytes, net->bytes, whole) != 0)
		return false;
	return rest == 0 || (a->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}
