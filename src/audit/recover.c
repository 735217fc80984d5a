/*
 * The log is not as the head says, or there is no head: a writer was killed, the machine went down,
 * or somebody has been at the files. Under the lock of the writers.
 *
 * What follows the chain is kept, from the place of the head if the file still reaches that far and
 * the machine has not been down, else from the beginning of the file. What does not is cut off: a
 * part of a record that nobody was promised. Each cut is marked by a break record with its cause:
 *
 *	interrupted   a writer was killed in the middle of a record behind the place of the head
 *	crashed       the machine went down, and lost what was not synced
 *	damaged       anything else: whole lines that do not follow, records of before the place
 *missing
 *
 * The numbers go on behind those that are missing, so that the gap stays visible for good.
 */
#include "audit/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/recent.h"
#include "audit/scan.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

/* What was found, and what it means. */
struct finding {
	enum audit_cause cause;
	bool marked; /* there is something to be said */
	uint64_t dropped;
	uint64_t records;  /* that were read again */
	uint64_t expected; /* number of the last record that there should be */
	char text[160];
};

static int put_break(struct audit *a, struct audit_link *link, const struct finding *f,
                     struct error *err)
{
	char more[400];
	uint64_t gap = f->expected > link->seq ? f->expected - link->seq : 0;

	snprintf(more, sizeof(more),
	         ",\"cause\":\"%s\",\"text\":\"%s\",\"dropped_bytes\":%" PRIu64
	         ",\"lost_records\":%" PRIu64,
	         audit_cause_name(f->cause), f->text, f->dropped, gap);
	link->seq += gap;
	return log_put_own(a, link, AUDIT_BREAK, more, err);
}

/* Walks along the current file from PLACE on, and cuts off what does not follow. */
static int keep_whole(struct audit *a, struct head_place *place, struct finding *f,
                      struct error *err)
{
	bool fresh = place->size == 0 && place->link.seq == 0;
	struct scan_end end;
	struct stat st;
	uint64_t cut;
	int r = scan_chain(a->log_fd, place->size, &place->link, fresh, &end, err);

	if (r < 0)
		return r;
	if (fstat(a->log_fd, &st) < 0)
		return error_sys(err, errno, "audit log");
	cut = (uint64_t)st.st_size - end.size;
	if (cut > 0 && ftruncate(a->log_fd, (off_t)end.size) < 0)
		return error_sys(err, errno, "audit log");
	if (cut > 0) {
		f->marked = true;
		f->dropped += cut;
		f->cause = end.whole_line ? AUDIT_DAMAGED : AUDIT_INTERRUPTED;
		snprintf(f->text, sizeof(f->text), "%s",
		         end.whole_line ? "lines that do not belong here were cut off"
		                        : "a record that was not written to its end was cut off");
	}
	f->records = end.records;
	place->size = end.size;
	place->link = end.link;
	if (end.opened_ms > 0)
		place->opened_ms = end.opened_ms;
	return 0;
}

/* Without a head, or without its file: the newest file that there is. */
static int recover_newest(struct audit *a, struct head_place *place, struct finding *f,
                          struct error *err)
{
	scoped(freep) uint64_t *numbers = NULL;
	uint64_t expected = place->link.seq;
	struct statx st;
	size_t count = 0;
	int r = files_list(a->dir_fd, &numbers, &count, err);

	if (r < 0)
		return r;
	f->marked = count > 0 || place->file > 0;
	f->cause = AUDIT_DAMAGED;
	f->expected = expected;
	if (count == 0) {
		fd_close(take_fd(&a->log_fd)); /* nobody sees it any more */
		*place = (struct head_place){.file = place->file, .link = place->link};
		snprintf(f->text, sizeof(f->text), "the files of the log are gone");
		return 0;
	}
	*place = (struct head_place){.file = numbers[count - 1]};
	f->cause = AUDIT_INTERRUPTED;
	r = files_open(a, place->file, &st, err);
	if (r == 0)
		r = keep_whole(a, place, f, err);
	if (r == 0)
		r = recent_restore(a, place, err);
	if (r < 0)
		return r;
	/* A first start that was cut off leaves one file with at most its first record. */
	f->marked =
		expected > 0 || place->file > 1 || f->records > 1 || f->cause != AUDIT_INTERRUPTED;
	f->cause = AUDIT_DAMAGED;
	snprintf(f->text, sizeof(f->text), "%s",
	         expected > 0 ? "the current file of the log is gone"
	                      : "the head of the log is gone");
	return r;
}

/* Of a file behind the end of the chain nobody was promised anything, or the head on the disk would
 * know it (sync_log()): it was begun when the machine went down. */
static int drop_begun(struct audit *a, uint64_t number, uint64_t bytes, struct finding *f,
                      struct error *err)
{
	char name[FILES_NAME_MAX];

	files_name(number, name);
	if (unlinkat(a->dir_fd, name, 0) < 0)
		return error_sys(err, errno, "%s", name);
	f->dropped += bytes;
	if (bytes > 0 && !f->marked) {
		f->marked = true;
		snprintf(f->text, sizeof(f->text), "a file that was only begun was removed");
	}
	return 0;
}

/* The head that is on the disk may be of before the last files were begun. */
static int go_on(struct audit *a, struct head_place *place, struct finding *f, struct error *err)
{
	struct head_place next = {.file = place->file + 1, .link = place->link};
	struct scan_end end;
	struct statx st;
	int r = place->link.seq > 0 ? files_open(a, next.file, &st, NULL) : -ENOENT;

	if (r < 0)
		return files_open(a, place->file, &st, err);
	r = scan_chain(a->log_fd, 0, &next.link, false, &end, err);
	if (r < 0)
		return r;
	if (end.records == 0) {
		r = drop_begun(a, next.file, st.stx_size, f, err);
		return r < 0 ? r : files_open(a, place->file, &st, err);
	}
	r = keep_whole(a, &next, f, err);
	*place = next;
	return r < 0 ? r : go_on(a, place, f, err);
}

/* Whether the file reaches to where the head says, with nothing of before it gone. */
static int recover_tail(struct audit *a, struct head_place *place, bool same_boot,
                        struct finding *f, struct error *err)
{
	struct head_place start = {.file = place->file, .opened_ms = place->opened_ms};
	uint64_t promised = sync_reached(a->head);
	struct statx st;
	int r = files_open(a, place->file, &st, err);

	if (r < 0)
		return r;
	if (same_boot && st.stx_size > place->size)
		return keep_whole(a, place, f, err);
	r = keep_whole(a, &start, f, err);
	if (r < 0)
		return r;
	if (start.size == 0 && place->file > 1) {
		/* Not even its first record is there: the chain ends in the file before, which was
		 * synced when this one was begun. */
		start = (struct head_place){.file = place->file - 1};
		r = files_open(a, start.file, &st, NULL);
		if (r == 0)
			r = keep_whole(a, &start, f, err);
		if (r < 0)
			return recover_newest(a, place, f, err);
	}
	if (!same_boot)
		r = go_on(a, &start, f, err);
	if (r == 0 && !same_boot)
		r = recent_restore(a, &start, err);
	if (r < 0)
		return r;
	f->expected = place->link.seq;
	if (start.link.seq < place->link.seq) {
		f->marked = true;
		f->cause = same_boot || start.link.seq < promised ? AUDIT_DAMAGED : AUDIT_CRASHED;
		snprintf(f->text, sizeof(f->text), "%s",
		         f->cause == AUDIT_CRASHED
		                 ? "the machine went down before these records were on the disk"
		                 : "records that had been written are gone");
	} else if (!same_boot && f->marked) {
		f->cause = AUDIT_CRASHED; /* a disk may keep any part of what it was not told to
		                             keep */
	} else if (start.link.seq == place->link.seq &&
	           memcmp(start.link.hash, place->link.hash, AUDIT_HASH_BYTES) != 0) {
		f->marked = true;
		f->cause = AUDIT_DAMAGED;
		snprintf(f->text, sizeof(f->text), "the last record was replaced");
	}
	*place = start;
	return 0;
}

int recover(struct audit *a, struct head_place *ret_place, struct error *err)
{
	struct head_place place = {0};
	struct finding f = {0};
	bool same_boot = false;
	struct statx st;
	int r = head_fill(a->head);

	if (r < 0)
		return error_sys(err, -r, "head of the audit log");
	if (head_read(a->head, &place, &same_boot) && place.file > 0 &&
	    files_open(a, place.file, &st, NULL) == 0)
		r = recover_tail(a, &place, same_boot, &f, err);
	else
		r = recover_newest(a, &place, &f, err);
	if (r < 0)
		return r;
	/* What is whole is on the disk from now on, or the promise for it would be void. */
	if (a->log_fd >= 0 && fdatasync(a->log_fd) < 0)
		return error_sys(err, errno, "audit log");
	r = recent_forget(a);
	if (r == 0)
		r = sync_set(a->head, place.size > 0 ? place.link.seq : 0);
	if (r < 0)
		return error_sys(err, -r, "head of the audit log");
	if (place.size == 0) {
		if (place.file > 0 && a->log_fd >= 0 && a->log_file == place.file)
			place.file--; /* an empty file is begun once more */
		r = files_next(a, &place, err);
	}
	buffer_clear(&a->lines);
	if (r == 0 && f.marked)
		r = put_break(a, &place.link, &f, err);
	if (r == 0 && f.marked)
		r = log_put_own(a, &place.link, AUDIT_CHECKPOINT, "", err);
	if (r == 0)
		r = log_write(a, &place, err);
	if (r < 0)
		return r;
	/* The disk has to know this start of the machine before anything is kept beside the log. */
	r = head_sync(a->head);
	if (r < 0)
		return error_sys(err, -r, "head of the audit log");
	if (!same_boot)
		files_clean(a);
	*ret_place = place;
	return 0;
}
