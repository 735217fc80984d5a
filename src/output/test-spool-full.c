/*
 * The spool on a file system that is really full: a tmpfs of one MiB in namespaces of our own.
 * Where these cannot be had the program exits with 77.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "output/spool.h"

enum { DISK = 1 << 20 };

static int dir_fd = -1;

static void feed(struct spool *s, char byte, size_t n)
{
	char bytes[4096];

	memset(bytes, byte, sizeof(bytes));
	for (; n; n -= sizeof(bytes))
		spool_write(s, bytes, sizeof(bytes));
}

static void what_does_not_fit_is_lost_and_counted(void **state)
{
	scoped(spool_freep) struct spool *s = NULL;
	struct spool_status st;

	assert_int_equal(spool_open(dir_fd, "out", 64 << 20, &s, NULL), 0);
	feed(s, 'a', 3 * DISK);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.first_errno, ENOSPC);
	assert_int_equal(st.lost_at, DISK);
	assert_int_equal(st.lost_bytes, 2 * DISK);
	assert_int_equal(st.size, DISK);
	assert_int_equal(unlinkat(dir_fd, "out", 0), 0);
}

static void writing_goes_on_when_there_is_room_again(void **state)
{
	scoped(spool_freep) struct spool *s = NULL;
	scoped(fd_closep) int ballast =
		openat(dir_fd, "ballast", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	scoped(fd_closep) int file = -1;
	struct spool_status st;
	char byte;

	assert_true(ballast >= 0);
	assert_int_equal(fallocate(ballast, 0, 0, DISK - 65536), 0);
	assert_int_equal(spool_open(dir_fd, "out", 64 << 20, &s, NULL), 0);
	feed(s, 'a', 2 * 65536);
	assert_int_equal(ftruncate(ballast, 0), 0);
	feed(s, 'b', DISK + 65536);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.lost_at, 65536);
	assert_in_range(st.lost_bytes, 65536, DISK + 65536);
	assert_int_equal(st.size, DISK + 3 * 65536);
	file = openat(dir_fd, "out", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(file, &byte, 1, (off_t)st.size - 1), 1);
	assert_int_equal(byte, 'b');
	assert_int_equal(unlinkat(dir_fd, "out", 0), 0);
	assert_int_equal(unlinkat(dir_fd, "ballast", 0), 0);
}

static void a_cap_below_the_size_of_the_disk_is_enough_for_any_stream(void **state)
{
	scoped(spool_freep) struct spool *s = NULL;
	struct spool_status st;

	assert_int_equal(spool_open(dir_fd, "out", DISK / 2, &s, NULL), 0);
	feed(s, 'a', 20 * DISK);
	spool_finish(s, NULL);
	spool_status(s, &st);
	assert_int_equal(st.first_errno, 0);
	assert_int_equal(st.lost_bytes, 0);
	assert_int_equal(st.dropped_bytes, 20 * DISK - DISK / 2);
	assert_int_equal(st.size, DISK / 2);
	assert_int_equal(unlinkat(dir_fd, "out", 0), 0);
}

static int write_text(const char *path, const char *text)
{
	scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Without a mapping of ourselves no file can be made in the new namespace. */
static int own_user_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	r = write_text("/proc/self/uid_map", map);
	if (r < 0)
		return r;
	r = write_text("/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_text("/proc/self/gid_map", map);
}

/* What is mounted in a namespace of our own ends with this process and is seen by no other. */
static int mount_small_disk(void)
{
	int r;

	if (unshare(CLONE_NEWNS) < 0) {
		r = own_user_namespace();
		if (r < 0)
			return r;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m") < 0)
		return -errno;
	dir_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -errno : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_lost_and_counted),
		cmocka_unit_test(writing_goes_on_when_there_is_room_again),
		cmocka_unit_test(a_cap_below_the_size_of_the_disk_is_enough_for_any_stream),
	};
	const char *must = getenv("NACRE_TEST_MUST");
	int r = mount_small_disk();

	if (r < 0) {
		printf("no tmpfs of our own can be mounted: %s\n", strerror(-r));
		return must && strstr(must, "userns") ? 1 : 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
