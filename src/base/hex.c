#include "base/hex.h"

void hex_write(const void *bytes, size_t n, char *into)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < n; i++) {
		into[2 * i] = digits[from[i] >> 4];
		into[2 * i + 1] = digits[from[i] & 15];
	}
	into[2 * n] = '\0';
}

bool hex_read(const char *digits, void *into, size_t n)
{
	/* One more than the digit: a verifier of the audit log reads two hashes of each line. */
	static const unsigned char values[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	};
	unsigned char *bytes = into;

	for (size_t i = 0; i < n; i++) {
		unsigned high = values[(unsigned char)digits[2 * i]];
		unsigned low = high == 0 ? 0 : values[(unsigned char)digits[2 * i + 1]];

		if (low == 0)
			return false;
		bytes[i] = (unsigned char)((high - 1) << 4 | (low - 1));
	}
	return true;
}
