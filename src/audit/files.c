#include "audit/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/recent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/read.h"

#define PREFIX    "log."
#define FIRST_MAX 4096 /* of the first record of a file */

void files_name(uint64_t number, char into[FILES_NAME_MAX])
{
	snprintf(into, FILES_NAME_MAX, PREFIX "%06" PRIu64, number);
}

/* The number in a name; 0: it is no file of the log. */
static uint64_t number_of(const char *name)
{
	uint64_t number = 0;
	size_t n = strlen(PREFIX);
	char exact[FILES_NAME_MAX];

	if (strncmp(name, PREFIX, n) != 0 || strlen(name) < n + 6 || strlen(name) > n + 18)
		return 0;
	for (const char *at = name + n; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	files_name(number, exact);
	return strcmp(name, exact) == 0 ? number : 0; /* 7 is not 007 */
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int files_list(int dir_fd, uint64_t **ret_numbers, size_t *ret_count, struct error *err)
{
	scoped(freep) uint64_t *numbers = NULL;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0, capacity = 0;
	struct dirent *d;
	int r = 0;

	if (!dir) {
		r = error_sys(err, errno, "directory of the audit log");
		fd_close(fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		uint64_t *more, number = number_of(d->d_name);

		if (number == 0)
			continue;
		if (count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			more = realloc(numbers, capacity * sizeof(*numbers));
			if (!more) {
				r = error_nomem(err);
				break;
			}
			numbers = more;
		}
		numbers[count++] = number;
	}
	closedir(dir);
	if (r < 0)
		return r;
	if (count > 0)
		qsort(numbers, count, sizeof(*numbers), by_number);
	*ret_numbers = take_ptr(&numbers);
	*ret_count = count;
	return 0;
}

static int open_number(struct audit *a, uint64_t number, int flags)
{
	scoped(fd_closep) int fd = -1;
	char name[FILES_NAME_MAX];
	struct stat st;

	files_name(number, name);
	fd = openat(a->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd_close(a->log_fd);
	a->log_fd = take_fd(&fd);
	a->log_file = number;
	return 0;
}

/* Not fstat(): who asks for the times of a file makes the kernel keep a new one for its next write
 * (6.13). */
static int look(int fd, struct statx *ret_stat)
{
	return statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_BLOCKS | STATX_NLINK, ret_stat) == 0
	               ? 0
	               : -errno;
}

int files_open(struct audit *a, uint64_t number, struct statx *ret_stat, struct error *err)
{
	int r;

	if (a->log_fd >= 0 && a->log_file == number && look(a->log_fd, ret_stat) == 0 &&
	    ret_stat->stx_nlink > 0)
		return 0;
	r = open_number(a, number, 0);
	if (r == 0)
		r = look(a->log_fd, ret_stat);
	return r < 0 ? error_sys(err, -r, "file %" PRIu64 " of the audit log", number) : 0;
}

static void remove_old(struct audit *a, uint64_t oldest)
{
	scoped(freep) uint64_t *numbers = NULL;
	char name[FILES_NAME_MAX];
	size_t count = 0;

	if (files_list(a->dir_fd, &numbers, &count, NULL) < 0)
		return;
	for (size_t i = 0; i < count && numbers[i] < oldest; i++) {
		files_name(numbers[i], name);
		(void)unlinkat(a->dir_fd, name, 0);
	}
}

/* What the first record of the file that is open says; 0: it says nothing. */
static uint64_t oldest_before(struct audit *a)
{
	scoped(json_decrefp) json_t *record = NULL;
	struct audit_line l;
	char line[FIRST_MAX];
	ssize_t n = a->log_fd < 0 ? 0 : pread(a->log_fd, line, sizeof(line), 0);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (!end || audit_line_read(line, (size_t)(end - line), &l) || l.kind != AUDIT_OPENED ||
	    json_read(line, (size_t)(end - line), sizeof(line), "record", &record, NULL) < 0)
		return 0;
	return (uint64_t)json_integer_value(json_object_get(record, "oldest"));
}

/* The first file that stays when NUMBER is the current one. One that somebody has removed is missed
 * for good, until it would have gone by itself. */
static uint64_t oldest_kept(struct audit *a, uint64_t number)
{
	scoped(freep) uint64_t *numbers = NULL;
	uint64_t oldest = oldest_before(a);
	size_t count = 0;

	if (oldest == 0 || oldest > number)
		oldest = number;
	if (oldest == number && files_list(a->dir_fd, &numbers, &count, NULL) == 0 && count > 0 &&
	    numbers[0] < number)
		oldest = numbers[0];
	if (a->settings.keep > 0 && number > a->settings.keep && oldest < number - a->settings.keep)
		oldest = number - a->settings.keep;
	return oldest;
}

void files_clean(struct audit *a)
{
	remove_old(a, oldest_before(a));
}

int files_next(struct audit *a, struct head_place *place, struct error *err)
{
	struct head_place next = {.file = place->file + 1, .link = place->link};
	uint64_t oldest = oldest_kept(a, next.file);
	char more[96];
	int r;

	if (a->log_fd >= 0 && a->log_file == place->file && fdatasync(a->log_fd) < 0)
		return error_sys(err, errno, "audit log");
	/* What was kept ready behind its end is not needed any more. */
	if (a->log_fd >= 0 && a->log_file == place->file && place->size > 0 &&
	    ftruncate(a->log_fd, (off_t)place->size) < 0)
		return error_sys(err, errno, "audit log");
	recent_make(a);
	/* A file of this number is one that was begun and never used. */
	r = open_number(a, next.file, O_CREAT | O_TRUNC);
	if (r < 0 || fsync(a->dir_fd) < 0)
		return error_sys(err, r < 0 ? -r : errno, "next file of the audit log");
	next.opened_ms = clock_wall_ms();
	snprintf(more, sizeof(more), ",\"file\":%" PRIu64 ",\"oldest\":%" PRIu64, next.file,
	         oldest);
	buffer_clear(&a->lines);
	r = log_put_own(a, &next.link, AUDIT_OPENED, more, err);
	if (r == 0)
		r = log_write(a, &next, err);
	if (r < 0)
		return r;
	/* Whatever becomes of the machine, there is a file to go on with, and a head that knows it.
	 */
	r = fdatasync(a->log_fd) < 0 ? -errno : head_sync(a->head);
	if (r < 0)
		return error_sys(err, -r, "next file of the audit log");
	*place = next;
	remove_old(a, oldest);
	return 0;
}
