#pragma once
/*
 * Digest: 32 bytes that stand for any number of bytes. The one place that knows which hash is used.
 */
#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32

struct digest {
	uint8_t bytes[DIGEST_BYTES];
};

void digest_make(const void *bytes, size_t n, struct digest *ret);
