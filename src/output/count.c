#include "output/count.h"

#include <string.h>

enum { LANES = 16 };
typedef signed char lanes __attribute__((vector_size(LANES)));

/* Each lane counts up to 255 hits before it would overflow. */
enum { ROUNDS = 255 };

static uint64_t lanes_sum(lanes v)
{
	unsigned char each[LANES];
	uint64_t sum = 0;

	memcpy(each, &v, sizeof(each));
	for (int i = 0; i < LANES; i++)
		sum += each[i];
	return sum;
}

static bool lanes_any(lanes v)
{
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	return half[0] | half[1];
}

void count_bytes(const void *bytes, size_t n, struct count *count)
{
	const lanes newline = (lanes){0} + '\n', last_continuation = (lanes){0} - 65; /* 0xbf */
	const signed char *p = bytes;
	uint64_t continuing = 0, newlines = 0;
	lanes nul = {0};

	count->chars += n;
	while (n >= LANES) {
		size_t rounds = n / LANES < ROUNDS ? n / LANES : ROUNDS;
		lanes lines = {0}, inner = {0}, v;

		for (size_t i = 0; i < rounds; i++, p += LANES) {
			memcpy(&v, p, sizeof(v));
			lines -= v == newline; /* a true comparison is -1 */
			inner -= v <= last_continuation;
			nul |= v == 0;
		}
		newlines += lanes_sum(lines);
		continuing += lanes_sum(inner);
		n -= rounds * LANES;
	}
	count->has_nul |= lanes_any(nul);
	for (; n; n--, p++) {
		newlines += *p == '\n';
		continuing += *p <= -65;
		count->has_nul |= !*p;
	}
	count->newlines += newlines;
	count->chars -= continuing;
}
