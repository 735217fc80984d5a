#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
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

static int value_of(char c)
{
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

int base64_decode(const char *text, size_t n, struct buffer *into)
{
	size_t padding = n >= 1 && text[n - 1] == '=';

	padding += padding && n >= 2 && text[n - 2] == '=';
	if (n % 4 != 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 4) {
		size_t missing = i + 4 == n ? padding : 0;
		uint32_t x = 0;

		for (size_t k = 0; k < 4; k++) {
			int v = k >= 4 - missing ? 0 : value_of(text[i + k]);

			if (v < 0)
				return -EINVAL;
			x = x << 6 | (uint32_t)v;
		}
		if (x & ((1U << 8 * missing) - 1)) /* one spelling for each */
			return -EINVAL;
		for (size_t k = 0; k < 3 - missing; k++)
			buffer_putc(into, (char)(x >> (16 - 8 * k)));
	}
	return buffer_error(into);
}
