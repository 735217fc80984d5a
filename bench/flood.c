/*
 * Writes BYTES of text lines to standard output, 64 KiB at a time, as fast as it is read.
 *
 *     flood BYTES
 */
#include "harness.h"

#define BLOCK 65536

int main(int argc, char **argv)
{
	static char block[BLOCK];
	static const char line[] = "src/output/capture.c:117: the quick brown fox, 0123456789\n";
	size_t left, n;
	ssize_t done;

	if (argc != 2)
		give_up("usage: flood BYTES", 0);
	for (size_t i = 0; i < BLOCK; i++)
		block[i] = line[i % (sizeof(line) - 1)];
	for (left = number_argument(argv[1]); left > 0; left -= (size_t)done) {
		n = left < BLOCK ? left : BLOCK;
		done = write(STDOUT_FILENO, block, n);
		if (done < 0)
			give_up("write", errno);
	}
	return 0;
}
