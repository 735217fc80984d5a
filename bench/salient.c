/*
 * How fast a long output is looked through: bench/salient.c FILE [MEBIBYTES].
 *
 * The file is repeated in memory until it is that long, and fed in pieces as a keeper reads them.
 * Beside it, in the same run: copying the same bytes, and counting their lines.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "output/capture.h"
#include "output/count.h"
#include "output/salient.h"

#define PIECE 65536

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(const char *what, size_t n, double took, double base)
{
	printf("%-28s %8.0f MB/s", what, (double)n / 1e6 / took);
	if (base > 0)
		printf("   %.1f times the time of memcpy", took / base);
	putchar('\n');
}

int main(int argc, char **argv)
{
	size_t n = (size_t)(argc > 2 ? atoi(argv[2]) : 256) << 20, len;
	scoped(freep) char *text = malloc(n);
	scoped(buffer_donep) struct buffer blob = {0};
	static char copy[PIECE];
	struct count count = {0};
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	double copying, start;

	if (!f || !text)
		return 1;
	len = fread(text, 1, n, f);
	fclose(f);
	if (len == 0)
		return 1;
	for (size_t at = len; at < n; at += len)
		memcpy(text + at, text, len < n - at ? len : n - at);

	start = now();
	for (size_t at = 0; at < n; at += PIECE) {
		memcpy(copy, text + at, PIECE);
		__asm__ volatile("" ::"r"(copy) : "memory");
	}
	copying = now() - start;
	tell("memcpy", n, copying, 0);
	start = now();
	count_bytes(text, n, &count);
	tell("count lines", n, now() - start, copying);
	for (int filter = 0; filter < 2; filter++) {
		const struct capture_limits limits = {
			.head = 125000, .tail = 125000, .middle = filter ? 120000 : 0};
		scoped(capture_freep) struct capture *c = NULL;

		if (capture_new(&limits, &c, NULL) < 0)
			return 1;
		start = now();
		for (size_t at = 0; at < n; at += PIECE)
			capture_append(c, text + at, PIECE);
		tell(filter ? "capture with lines" : "capture", n, now() - start, copying);
		capture_put_middle(c, &blob);
	}
	printf("%zu bytes of lines that matter, of %llu lines\n", blob.len,
	       (unsigned long long)count.newlines);
	return 0;
}
