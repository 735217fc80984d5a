#pragma once
/*
 * What the test programs share: cmocka behind the headers it wants, bytes that look random and are
 * the same in every run, a directory that goes away, and waiting that ends.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"

/* What no event of healthy code takes, with a sanitizer, on a machine that is as busy as this one
 * is now: a minute for each process that wants one of its processors, 20 at the most. */
#define TEST_PATIENCE_MS test_patience_ms()
static inline int test_patience_ms(void)
{
	double wanted = 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *file = fopen("/proc/loadavg", "re");

	if (file) {
		if (fscanf(file, "%lf", &wanted) != 1)
			wanted = 0;
		fclose(file);
	}
	wanted /= processors > 0 ? (double)processors : 1;
	return (int)(60000 * (wanted < 1 ? 1 : wanted > 20 ? 20 : wanted));
}

/* xorshift64; *SEED must not be 0. */
static inline uint64_t test_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Fails the test when nothing comes. */
static inline void test_wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, TEST_PATIENCE_MS), 1);
}

static inline void test_directory_make(char path[64])
{
	snprintf(path, 64, "/tmp/nacre-test-XXXXXX");
	assert_non_null(mkdtemp(path));
}

/* The same in memory, if there is such a place: for tests that make thousands of files or syncs,
 * and that do not ask what a disk does. */
static inline void test_memory_directory_make(char path[64])
{
	snprintf(path, 64, "/dev/shm/nacre-test-XXXXXX");
	if (!mkdtemp(path))
		test_directory_make(path);
}

static inline int test_remove_entry(const char *path, const struct stat *st, int type,
                                    struct FTW *at)
{
	return remove(path);
}

static inline void test_file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A keeper that nobody waits for any more may still write its last words there. */
static inline void test_directory_remove(const char *path)
{
	int left = TEST_PATIENCE_MS;

	while (nftw(path, test_remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0 && left > 0) {
		(void)poll(NULL, 0, 20);
		left -= 20;
	}
	assert_int_not_equal(access(path, F_OK), 0);
}

/* How many files a directory holds, or, of /proc/<pid>/fd, how many descriptors are open. */
static inline int test_count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int count = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)))
		count += d->d_name[0] != '.' || (d->d_name[1] && d->d_name[1] != '.');
	closedir(dir);
	return count;
}

static inline int test_open_fds(void)
{
	return test_count_entries("/proc/self/fd");
}

/* TEXT with the first OLD, which must be there, replaced by NEW. */
static inline void test_replace(const char *text, const char *old, const char *new,
                                struct buffer *into)
{
	const char *at = strstr(text, old);

	assert_non_null(at);
	buffer_append(into, text, (size_t)(at - text));
	buffer_puts(into, new);
	buffer_puts(into, at + strlen(old));
}
