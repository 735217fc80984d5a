#include "base/utf8.h"

#include "base/cleanup.h"

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

bool utf8_is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x0000, 0x001f},   {0x007f, 0x00a0},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
		{0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
		{0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
		{0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},
		{0x3000, 0x3000},   {0x3164, 0x3164},   {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
		{0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
	};

	for (size_t i = 0; i < array_size(hidden) && c >= hidden[i].first; i++)
		if (c <= hidden[i].last)
			return true;
	return false;
}
