#include "protect/sha1.h"

#include <string.h>

static uint32_t turned(uint32_t word, int by)
{
	return word << by | word >> (32 - by);
}

static void mix(struct sha1 *s, const uint8_t block[64])
{
	uint32_t a = s->state[0], b = s->state[1], c = s->state[2], d = s->state[3],
		 e = s->state[4], w[80];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		w[i] = turned(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		uint32_t f = i < 20   ? (b & c) | (~b & d)
		             : i < 40 ? b ^ c ^ d
		             : i < 60 ? (b & c) | (b & d) | (c & d)
		                      : b ^ c ^ d;
		uint32_t k = i < 20   ? 0x5a827999
		             : i < 40 ? 0x6ed9eba1
		             : i < 60 ? 0x8f1bbcdc
		                      : 0xca62c1d6;
		uint32_t next = turned(a, 5) + f + e + k + w[i];

		e = d;
		d = c;
		c = turned(b, 30);
		b = a;
		a = next;
	}
	s->state[0] += a;
	s->state[1] += b;
	s->state[2] += c;
	s->state[3] += d;
	s->state[4] += e;
}

void sha1_begin(struct sha1 *s)
{
	*s = (struct sha1){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

void sha1_add(struct sha1 *s, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n > 0) {
		size_t at = s->bytes % 64, part = n < 64 - at ? n : 64 - at;

		memcpy(s->block + at, from, part);
		s->bytes += part;
		from += part;
		n -= part;
		if (at + part == 64)
			mix(s, s->block);
	}
}

void sha1_end(struct sha1 *s, uint8_t into[SHA1_BYTES])
{
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = s->bytes * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha1_add(s, padding, 1 + (119 - s->bytes % 64) % 64);
	sha1_add(s, length, sizeof(length));
	for (int i = 0; i < SHA1_BYTES; i++)
		into[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
