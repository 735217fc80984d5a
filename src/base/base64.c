#include "base/base64.h"

#include <stdint.h>
#include "base/buffer.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *bytes, size_t n, struct buffer *into)
{
	const uint8_t *b = bytes;
	char four[4];

	for (size_t i = 0; i < n; i += 3) {
		uint32_t x = (uint32_t)b[i] << 16;

		if (i + 1 < n)
			x |= (uint32_t)b[i + 1] << 8;
		if (i + 2 < n)
			x |= b[i + 2];
		for (int k = 0; k < 4; k++)
			four[k] = letters[x >> (18 - 6 * k) & 63];
		if (i + 2 >= n)
			four[3] = '=';
		if (i + 1 >= n)
			four[2] = '=';
		buffer_append(into, four, sizeof(four));
	}
}
