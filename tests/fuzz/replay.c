/*
 * Replay: feed every file of a corpus to a fuzz target, without libFuzzer.
 *
 * Every input that once broke a parser, or that taught the fuzzer something, is a plain test this
 * way, with any compiler and under any sanitizer. A corpus that is missing or empty is a failure:
 * it would prove nothing. The name of each input is printed before it runs, so a crash names its
 * file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void dir_closep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The copy has exactly the size of the file, so that a sanitizer sees a read past its end. */
static int read_input(int dir_fd, const char *name, uint8_t **ret_bytes, size_t *ret_size)
{
	scoped(freep) uint8_t *bytes = NULL;
	scoped(fd_closep) int fd = -1;
	size_t have = 0, size;
	struct stat st;

	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	size = (size_t)st.st_size;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	while (have < size) {
		ssize_t n = read(fd, bytes + have, size - have);

		if (n == 0)
			return -EIO; /* the file shrank under us */
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			have += (size_t)n;
	}
	*ret_bytes = take_ptr(&bytes);
	*ret_size = size;
	return 0;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	scoped(dir_closep) DIR *dir = NULL;
	struct dirent **entries = NULL;
	int count, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: replay CORPUS\n");
		return 2;
	}
	dir = opendir(argv[1]);
	count = dir ? scandir(argv[1], &entries, not_hidden, alphasort) : -1;
	if (count <= 0) {
		printf("1..1\nnot ok 1 - %s holds no input\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		scoped(freep) uint8_t *bytes = NULL;
		size_t size = 0;
		int r;

		printf("# %s\n", entries[i]->d_name);
		fflush(stdout);
		r = read_input(dirfd(dir), entries[i]->d_name, &bytes, &size);
		if (r < 0) {
			printf("# cannot read %s: %s\n", entries[i]->d_name, strerror(-r));
			failed++;
		} else {
			LLVMFuzzerTestOneInput(bytes, size);
		}
		free(entries[i]);
	}
	free(entries);
	printf("%sok 1 - replays the %d inputs of the corpus\n1..1\n", failed ? "not " : "", count);
	return failed ? 1 : 0;
}
