#pragma once
/*
 * SHA-1, by which most git repositories name their objects. For nothing else: who can choose both
 * of two contents can make them collide.
 */
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

struct sha1 {
	uint32_t state[5];
	uint64_t bytes;
	uint8_t block[64];
};

void sha1_begin(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *bytes, size_t n);
void sha1_end(struct sha1 *s, uint8_t into[SHA1_BYTES]);
