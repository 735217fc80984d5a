#include "session/room-watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "session/room-git.h"

#define SIZE_FILE     "size"
#define LOOK_MIN_MS   50
#define LOOK_MAX_MS   1000
#define FASTEST       ((uint64_t)2 << 20) /* bytes a disk may take in a millisecond */
#define WALK_AGAIN_MS 1000                /* so old a count may be, if it was cheap */
#define WALK_SHARE    50                  /* at most one part in so many of the time is for walks */
#define CLEARING      ((uint64_t)16 << 20)
#define CLEARING_MORE 1000 /* files */

static bool is_watching(const struct room_watch *w)
{
	return w->dir > 0 && (w->max_bytes || w->max_files) && !w->full;
}

static bool read_free(const struct room_watch *w, uint64_t *bytes, uint64_t *files)
{
	struct statvfs fs;

	if (fstatvfs(w->dir, &fs) < 0)
		return false;
	*bytes = (uint64_t)fs.f_bfree * fs.f_frsize;
	*files = fs.f_ffree;
	return true;
}

static uint64_t lost(uint64_t before, uint64_t now)
{
	return before > now ? before - now : 0;
}

static bool is_over(const struct room_watch *w)
{
	return (w->max_bytes && w->bytes > w->max_bytes) ||
	       (w->max_files && w->files > w->max_files);
}

/* The parts that commands write; what was moved to "held" counts as well. */
static void walk(struct room_watch *w)
{
	static const char *const parts[] = {"tmp", "home", "shm", "held", NULL};
	static const char *const all[] = {".", NULL};
	int64_t began = clock_now_ms();
	uint64_t bytes, files;

	(void)read_free(w, &w->free_bytes, &w->free_files);
	w->walked_ms = clock_wall_ms();
	w->bytes = w->files = 0;
	for (const char *const *part = w->whole ? all : parts; *part && !is_over(w); part++) {
		room_walk(w->dir, *part, w->max_bytes ? w->max_bytes : UINT64_MAX,
		          w->max_files ? w->max_files : UINT64_MAX, &bytes, &files);
		w->bytes = bytes > UINT64_MAX - w->bytes ? UINT64_MAX : w->bytes + bytes;
		w->files += files;
	}
	w->walk_cost_ms = clock_now_ms() - began;
}

static bool is_stale(const struct room_watch *w)
{
	int64_t age = clock_wall_ms() - w->walked_ms;

	return age < 0 || (age > WALK_AGAIN_MS && age > WALK_SHARE * w->walk_cost_ms);
}

/* Up to twice what may be. */
static void walk_all(struct room_watch *w)
{
	w->max_bytes = w->limit_bytes * 2 + 1;
	w->max_files = w->limit_files * 2 + 1;
	if (!w->limit_bytes)
		w->max_bytes = 0;
	if (!w->limit_files)
		w->max_files = 0;
	walk(w);
}

static int64_t pause_of(const struct room_watch *w)
{
	uint64_t left = w->max_bytes ? lost(w->max_bytes, w->bytes) / 4 / FASTEST : LOOK_MAX_MS;

	return left < LOOK_MIN_MS ? LOOK_MIN_MS : left > LOOK_MAX_MS ? LOOK_MAX_MS : (int64_t)left;
}

/* What the last call has found. False: nobody has counted yet. */
static bool recall(struct room_watch *w)
{
	scoped(fd_closep) int fd = fd_open_regular(w->dir, SIZE_FILE);
	char text[128], *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	w->bytes = strtoull(text, &end, 10);
	w->files = strtoull(end, &end, 10);
	w->walked_ms = strtoll(end, &end, 10);
	w->walk_cost_ms = strtoll(end, NULL, 10);
	return w->walk_cost_ms >= 0;
}

static void watch_begin(struct room_watch *w, int dir, bool whole, uint64_t max_bytes,
                        uint64_t max_files, int64_t now_ms)
{
	*w = (struct room_watch){.dir = dir,
	                         .whole = whole,
	                         .max_bytes = max_bytes,
	                         .max_files = max_files,
	                         .limit_bytes = max_bytes,
	                         .limit_files = max_files};
	if (!is_watching(w) || !read_free(w, &w->free_bytes, &w->free_files))
		return;
	if (whole || !recall(w) || is_over(w) || is_stale(w))
		walk(w);
	w->was_full = is_over(w);
	if (w->was_full && max_bytes)
		w->max_bytes = w->bytes > UINT64_MAX - CLEARING
		                       ? UINT64_MAX
		                       : (w->bytes > max_bytes ? w->bytes : max_bytes) + CLEARING;
	if (w->was_full && max_files)
		w->max_files = (w->files > max_files ? w->files : max_files) + CLEARING_MORE;
	w->next_look = now_ms + pause_of(w);
}

void room_watch_begin(struct room_watch *w, int dir, uint64_t max_bytes, uint64_t max_files,
                      int64_t now_ms)
{
	watch_begin(w, dir, false, max_bytes, max_files, now_ms);
}

void room_watch_begin_whole(struct room_watch *w, int dir, uint64_t max_bytes, int64_t now_ms)
{
	watch_begin(w, dir, true, max_bytes, 0, now_ms);
}

int64_t room_watch_wait_ms(const struct room_watch *w, int64_t now_ms)
{
	return is_watching(w) ? w->next_look - now_ms : INT64_MAX;
}

void room_watch_look(struct room_watch *w, int64_t now_ms)
{
	uint64_t bytes, files;

	if (!is_watching(w) || now_ms < w->next_look)
		return;
	w->next_look = now_ms + pause_of(w);
	if (!read_free(w, &bytes, &files))
		return;
	if (bytes > w->free_bytes)
		w->free_bytes = bytes;
	if (files > w->free_files)
		w->free_files = files;
	if ((!w->max_bytes || lost(w->free_bytes, bytes) <= lost(w->max_bytes, w->bytes) / 4) &&
	    (!w->max_files || lost(w->free_files, files) <= lost(w->max_files, w->files) / 4))
		return;
	walk(w);
	w->full = is_over(w);
	w->next_look = clock_now_ms() + pause_of(w) + WALK_SHARE * w->walk_cost_ms;
}

bool room_watch_exceeds(struct room_watch *w, uint64_t bytes, uint64_t files)
{
	uint64_t free_bytes, free_files;

	if (w->dir <= 0 || (!w->max_bytes && !w->max_files) ||
	    !read_free(w, &free_bytes, &free_files))
		return false;
	/* Only a count tells whose it is that the file system has lost, and others may have freed
	 * as much meanwhile. A small count is made in any case. */
	if (w->walk_cost_ms == 0 || (bytes && w->bytes + lost(w->free_bytes, free_bytes) > bytes) ||
	    (files && w->files + lost(w->free_files, free_files) > files))
		walk(w);
	return (bytes && w->bytes > bytes) || (files && w->files > files);
}

/* In place, always as long: a new file for each call would cost more than the call's own records.
 * Commands cannot reach it, and one that reads half of two numbers counts a little too early. */
static void remember(const struct room_watch *w, uint64_t bytes, uint64_t files)
{
	scoped(fd_closep) int fd = openat(
		w->dir, SIZE_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	char text[128];
	int n = snprintf(text, sizeof(text), "%020llu %020llu %020lld %020lld\n",
	                 (unsigned long long)bytes, (unsigned long long)files,
	                 (long long)w->walked_ms, (long long)w->walk_cost_ms);

	if (fd >= 0 && pwrite(fd, text, (size_t)n, 0) != n)
		(void)unlinkat(w->dir, SIZE_FILE, 0); /* the next call counts */
}

/* What was lost since the last count may be the room's: the next call begins with it, and counts
 * itself when that is too much. */
bool room_watch_end(struct room_watch *w)
{
	uint64_t bytes = 0, files = 0;

	if (w->dir <= 0 || (!w->max_bytes && !w->max_files) || !read_free(w, &bytes, &files))
		return false;
	if (w->was_full || w->full) {
		walk_all(w);
		bytes = w->free_bytes;
		files = w->free_files;
	}
	remember(w, w->bytes + lost(w->free_bytes, bytes), w->files + lost(w->free_files, files));
	return (w->limit_bytes && w->bytes / 2 > w->limit_bytes) ||
	       (w->limit_files && w->files / 2 > w->limit_files);
}
