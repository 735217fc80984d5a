/*
 * One log for all processes, and one lock. A chain per writer would need no lock, but then nothing
 * orders what two of them did, and the end of each chain could be cut off by itself; the lock is
 * held for one hash and one write, some ten microseconds, while a command takes a thousand.
 *
 * To append: lock; compare the head with the size of the file; write the lines at its end with one
 * call; turn the head over; unlock. A writer that is killed in between leaves a tail behind the
 * place of the head, and whoever comes next keeps of it what is whole, cuts off the rest and says
 * so in a break record (recover.c). So the log holds whole records up to the head's size at every
 * moment.
 */
#include "audit/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "audit/key.h"
#include "audit/mask.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"

#define RESERVE_BYTES ((off_t)256 << 10)

const struct audit_settings audit_settings_default = {.max_bytes = (uint64_t)16 << 20};

struct audit *audit_free(struct audit *a)
{
	if (!a)
		return NULL;
	head_free(a->head);
	mask_free(a->mask);
	fd_close(a->recent_fd);
	fd_close(a->log_fd);
	fd_close(a->dir_fd);
	buffer_done(&a->lines);
	free(a->state);
	free(a);
	return NULL;
}

/* Also for a log that somebody has removed under us. */
static int open_files(struct audit *a, struct error *err)
{
	scoped(fd_closep) int state = fd_open_private(AT_FDCWD, a->state);

	fd_close(take_fd(&a->recent_fd));
	fd_close(take_fd(&a->log_fd));
	fd_close(take_fd(&a->dir_fd));
	a->head = head_free(a->head);
	if (state < 0)
		return error_sys(err, -state, "state directory");
	a->dir_fd = fd_open_private(state, AUDIT_DIRECTORY);
	if (a->dir_fd == -ENOENT) {
		if (mkdirat(state, AUDIT_DIRECTORY, 0700) < 0 && errno != EEXIST)
			return error_sys(err, errno, "directory of the audit log");
		/* Not every filesystem takes a new name along when what bears it is synced. */
		if (fsync(state) < 0)
			return error_sys(err, errno, "state directory");
		a->dir_fd = fd_open_private(state, AUDIT_DIRECTORY);
	}
	if (a->dir_fd < 0)
		return error_sys(err, -take_fd(&a->dir_fd), "directory of the audit log");
	return head_open(a->dir_fd, &a->head, err);
}

void audit_prepare(void)
{
	(void)!sodium_init(); /* a tenth of what a record costs */
	head_prepare();
}

int audit_open(const char *state, const struct audit_settings *settings, struct audit **ret_audit,
               struct error *err)
{
	scoped(audit_freep) struct audit *a = calloc(1, sizeof(*a));
	struct head_place place;
	struct statx st;
	bool same_boot;
	int r;

	if (!a)
		return error_nomem(err);
	a->dir_fd = a->log_fd = a->recent_fd = -1;
	a->settings = settings ? *settings : audit_settings_default;
	if (!state)
		return error_set(err, ERROR_SYSTEM, ENOENT, "there is no state directory");
	if (sodium_init() < 0)
		return error_set(err, ERROR_SYSTEM, EIO, "no random numbers");
	a->state = strdup(state);
	if (!a->state)
		return error_nomem(err);
	r = mask_new(a->settings.mask, &a->mask, err);
	if (r == 0)
		r = open_files(a, err);
	a->settings.mask = NULL; /* the caller's */
	if (r < 0)
		return r;
	/* Nobody waits for us yet: the file that will most likely be the one. */
	if (head_read(a->head, &place, &same_boot) && place.file > 0)
		(void)files_open(a, place.file, &st, NULL);
	*ret_audit = take_ptr(&a);
	return 0;
}

int log_put_own(struct audit *a, struct audit_link *link, enum audit_kind kind, const char *more,
                struct error *err)
{
	scoped(buffer_donep) struct buffer body = {0};
	int r = audit_event_write(&(struct audit_event){.kind = kind}, clock_wall_ms(), NULL,
	                          &body);

	buffer_puts(&body, more);
	if (r == 0 && kind != AUDIT_BREAK) {
		r = key_sign(a->dir_fd, link->seq + 1, link->hash, &body, err);
		if (r < 0)
			return r;
	}
	audit_link_write(link, link->seq + 1, buffer_str(&body), body.len, &a->lines);
	if (buffer_error(&body) < 0 || buffer_error(&a->lines) < 0)
		return error_nomem(err);
	return 0;
}

int log_write(struct audit *a, struct head_place *place, struct error *err)
{
	size_t done = 0;
	int r;

	while (done < a->lines.len) {
		ssize_t n = pwrite(a->log_fd, a->lines.data + done, a->lines.len - done,
		                   (off_t)(place->size + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int sys = n < 0 ? errno : ENOSPC;

			/* Nobody was promised what is there of it. */
			if (ftruncate(a->log_fd, (off_t)place->size) < 0)
				return error_sys(err, sys, "audit log (and its end is torn)");
			return error_sys(err, sys, "audit log");
		}
		done += (size_t)n;
	}
	place->size += done;
	r = head_write(a->head, place);
	if (r == 0)
		return 0;
	place->size -= done;
	if (ftruncate(a->log_fd, (off_t)place->size) < 0)
		return error_sys(err, -r, "head of the audit log (and a record too many)");
	return error_sys(err, -r, "head of the audit log");
}

/* Room on the disk behind the end: when a command has filled it with its output, the next ones can
 * still be recorded, those that make room again included. Where it cannot be had nothing is lost
 * yet. */
static void reserve(struct audit *a, const struct statx *st)
{
	if (st->stx_blocks * 512 < st->stx_size + RESERVE_BYTES / 2)
		(void)fallocate(a->log_fd, FALLOC_FL_KEEP_SIZE, (off_t)st->stx_size, RESERVE_BYTES);
}

int log_lock(struct audit *a, struct error *err)
{
	int r = a->head ? 0 : open_files(a, err);

	return r < 0 ? r : head_lock(a->head, err);
}

/* With the lock, of what is there now. */
static int reopen(struct audit *a, struct error *err)
{
	int r = open_files(a, err);

	return r < 0 ? r : head_lock(a->head, err);
}

/* Where the log stands, with the current file open; under the lock. */
static int settle(struct audit *a, struct head_place *ret_place, struct error *err)
{
	struct head_place place;
	bool same_boot;
	struct statx st;

	if (!head_is_removed(a->head) && head_read(a->head, &place, &same_boot) && place.file > 0 &&
	    same_boot && files_open(a, place.file, &st, NULL) == 0 && st.stx_size == place.size) {
		reserve(a, &st);
		*ret_place = place;
		return 0;
	}
	/* Others have a new one by now, perhaps. */
	if (head_is_removed(a->head)) {
		int r = reopen(a, err);

		return r < 0 ? r : recover(a, ret_place, err);
	}
	return recover(a, ret_place, err);
}

static bool is_full(const struct audit *a, const struct head_place *place, size_t more)
{
	int64_t age = clock_wall_ms() - place->opened_ms;

	return (a->settings.max_bytes > 0 && place->size + more > a->settings.max_bytes) ||
	       (a->settings.max_age_ms > 0 && age > a->settings.max_age_ms);
}

/* The bodies one behind the other, ENDS[i] behind each. */
static int append_bodies(struct audit *a, const struct buffer *bodies, const size_t *ends,
                         size_t count, uint64_t *ret_seq, struct error *err)
{
	struct head_place place;
	size_t begin = 0;
	uint64_t seq;
	int r = settle(a, &place, err);

	if (r == 0 && is_full(a, &place, bodies->len))
		r = files_next(a, &place, err);
	if (r < 0)
		return r;
	buffer_clear(&a->lines);
	for (size_t i = 0; i < count; i++) {
		audit_link_write(&place.link, place.link.seq + 1, bodies->data + begin,
		                 ends[i] - begin, &a->lines);
		begin = ends[i];
	}
	if (buffer_error(&a->lines) < 0)
		return error_nomem(err);
	seq = place.link.seq;
	if (seq / AUDIT_EVERY != (seq - count) / AUDIT_EVERY)
		r = log_put_own(a, &place.link, AUDIT_CHECKPOINT, "", err);
	if (r == 0)
		r = log_write(a, &place, err);
	if (r == 0)
		*ret_seq = seq;
	return r;
}

#define EVENTS_MAX 8
#define BODY_BYTES 1024 /* of most events */

int audit_append(struct audit *a, const struct audit_event *events, size_t count, uint64_t *ret_seq,
                 struct error *err)
{
	scoped(buffer_donep) struct buffer bodies = {0};
	size_t ends[EVENTS_MAX];
	int r;

	if (count == 0 || count > EVENTS_MAX)
		return error_set(err, ERROR_SYSTEM, EINVAL, "too many events at once");
	(void)buffer_reserve(&bodies, BODY_BYTES);
	for (size_t i = 0; i < count; i++) {
		(void)audit_event_write(&events[i], clock_wall_ms(), a->mask, &bodies);
		ends[i] = bodies.len;
	}
	if (buffer_error(&bodies) < 0)
		return error_nomem(err);
	r = log_lock(a, err);
	if (r < 0)
		return r;
	r = append_bodies(a, &bodies, ends, count, ret_seq, err);
	head_unlock(a->head);
	return r;
}

int audit_checkpoint(struct audit *a, uint64_t *ret_seq, char ret_hash[65], struct error *err)
{
	struct head_place place;
	int r = log_lock(a, err);

	if (r < 0)
		return r;
	r = settle(a, &place, err);
	buffer_clear(&a->lines);
	if (r == 0)
		r = log_put_own(a, &place.link, AUDIT_CHECKPOINT, "", err);
	if (r == 0)
		r = log_write(a, &place, err);
	head_unlock(a->head);
	if (r < 0)
		return r;
	*ret_seq = place.link.seq;
	hex_write(place.link.hash, AUDIT_HASH_BYTES, ret_hash);
	return audit_sync(a, place.link.seq, err);
}

int audit_event(const char *state, const struct audit_settings *settings,
                const struct audit_event *event, bool durable, struct error *err)
{
	scoped(audit_freep) struct audit *a = NULL;
	uint64_t seq = 0;
	int r = audit_open(state, settings, &a, err);

	if (r < 0 || !a)
		return r;
	r = audit_append(a, event, 1, &seq, err);
	return r < 0 || !durable ? r : audit_sync(a, seq, err);
}
