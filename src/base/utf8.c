#include "base/utf8.h"

#include <stdbool.h>

/* Bytes that the first byte asks for (0: cannot begin a character) and the range of the second. */
static size_t wanted(unsigned char first, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef) {
		if (first == 0xe0)
			*low = 0xa0; /* overlong below */
		if (first == 0xed)
			*high = 0x9f; /* surrogates above */
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		if (first == 0xf0)
			*low = 0x90;
		if (first == 0xf4)
			*high = 0x8f; /* past U+10FFFF */
		return 4;
	}
	return 0;
}

/* How many of the bytes fit together from the start; *ret_want is how many a whole one needs. */
static size_t fitting(const unsigned char *b, size_t n, size_t *ret_want)
{
	unsigned char low, high;
	size_t want, i;

	want = n ? wanted(b[0], &low, &high) : 0;
	*ret_want = want;
	if (!want)
		return 0;
	for (i = 1; i < want && i < n; i++) {
		if (b[i] < low || b[i] > high)
			break;
		low = 0x80;
		high = 0xbf;
	}
	return i;
}

size_t utf8_char(const char *bytes, size_t n, uint32_t *ret_code)
{
	const unsigned char *b = (const unsigned char *)bytes;
	static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t want, i;
	uint32_t code;

	if (fitting(b, n, &want) != want || !want)
		return 0;
	if (ret_code) {
		code = b[0] & mask[want];
		for (i = 1; i < want; i++)
			code = code << 6 | (b[i] & 0x3f);
		*ret_code = code;
	}
	return want;
}

size_t utf8_bad(const char *bytes, size_t n)
{
	size_t want, fit = fitting((const unsigned char *)bytes, n, &want);

	return fit ? fit : 1;
}

int utf8_is_cut(const char *bytes, size_t n)
{
	size_t want, fit = fitting((const unsigned char *)bytes, n, &want);

	return fit == n && fit < want;
}

size_t utf8_valid_prefix(const char *bytes, size_t n)
{
	size_t i = 0, len;

	while (i < n) {
		len = utf8_char(bytes + i, n - i, NULL);
		if (!len)
			break;
		i += len;
	}
	return i;
}
