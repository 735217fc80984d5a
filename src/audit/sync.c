/*
 * Whoever finds nobody syncing does it, for all records that are written by then, and publishes the
 * number of the last one; everybody else sleeps until that number is reached. So many callers in
 * many processes share one fdatasync(), and nobody needs a server or a thread for it.
 *
 * A turn is one sync. Who comes while one is under way belongs to the next: at the end those of
 * this turn are woken, all, and of the next one caller, who leads it. Which turn a sleeper belongs
 * to is told by one bit of the futex, even and odd turns taking turns.
 *
 * Where turns are shared, a leader begins when it has yielded its processor once. Where others wait
 * for that processor they run first, and those who are about to write a record come along; where
 * there is none nobody is waited for, and nothing stands still. Waiting by the clock knows neither:
 * it was tried, in vain. A caller by itself does not step back for those who have nothing to sync.
 *
 * All this is words in the head's file (wait.h): hints, but for the number that is synced. A leader
 * that is killed leaves that as it was, and the kernel gives its lock back; the sleepers find that
 * out by themselves. One that was stopped keeps the lock: then each syncs for itself.
 */
#include "audit/inside.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/recent.h"
#include "audit/wait.h"
#include "base/clock.h"
#include "base/error.h"

#define LOOK_NS       10000000 /* whoever syncs may have been killed */
#define PATIENCE_MS   1000     /* or stopped */
#define COMPANY_TURNS 8

/* Written with the lock of who syncs, but for the last. */
struct progress {
	uint64_t synced;     /* the last record that is known to be on the disk */
	uint32_t turn;       /* the futex: odd while a sync is under way */
	uint32_t check;      /* of the number that is synced; 0: an older nacre wrote it */
	uint64_t covered;    /* the last record of the sync under way, or of the last one */
	uint32_t company;    /* so many turns more are taken to be shared */
	uint32_t waiting[2]; /* somebody sleeps for an even, for an odd turn */
};

#define TURN_AT (HEAD_SYNC_AT + (int)offsetof(struct progress, turn))
#define OURS    offsetof(struct progress, waiting)

/* A read beside a write may see a part of it, and a part of a number is another number: this one
 * is believed only with its check. */
static struct progress read_progress(struct head *h)
{
	struct progress p;

	if (pread(head_words(h)->fd, &p, sizeof(p), HEAD_SYNC_AT) != (ssize_t)sizeof(p))
		return (struct progress){0};
	if (p.check != 0 && p.check != (uint32_t)~p.synced)
		p.synced = 0; /* who has a record to sync looks again */
	return p;
}

static int write_progress(struct head *h, struct progress *p)
{
	p->check = (uint32_t)~p->synced;
	errno = ENOSPC;
	return pwrite(head_words(h)->fd, p, OURS, HEAD_SYNC_AT) == (ssize_t)OURS ? 0 : -errno;
}

uint64_t sync_reached(struct head *h)
{
	return read_progress(h).synced;
}

bool audit_is_synced(const struct audit *a, uint64_t seq)
{
	return a->head && sync_reached(a->head) >= seq;
}

int sync_set(struct head *h, uint64_t seq)
{
	struct progress p = read_progress(h);

	p.synced = p.covered = seq;
	return write_progress(h, &p);
}

int sync_log(struct audit *a, struct error *err)
{
	int r;

	if (fdatasync(a->log_fd) < 0)
		return error_sys(err, errno, "audit log");
	/* Whoever began this file may have been killed before it had synced a head that knows it:
	 * a recovery would then look for the end in the file before. */
	r = head_sync(a->head);
	return r < 0 ? error_sys(err, -r, "head of the audit log") : 0;
}

static int waiting_at(uint32_t which)
{
	return HEAD_SYNC_AT + (int)(OURS + which * sizeof(uint32_t));
}

/* Which of the two a record belongs to. */
static uint32_t turn_of(const struct progress *p, uint64_t seq)
{
	uint32_t now = p->turn / 2;

	return ((p->turn & 1) && seq > p->covered ? now + 1 : now) & 1;
}

/* Sleeps until the turn of this record has ended, or it falls to us to lead it. False: it took too
 * long. */
static bool follow(struct head *h, const struct progress *p, uint64_t seq)
{
	struct wait_page *words = head_words(h);
	uint32_t which = turn_of(p, seq);

	if (!p->waiting[which]) {
		/* A leader looks at this when its turn has ended: either it sees us, or we its end.
		 */
		wait_write(words, waiting_at(which), 1);
		if (wait_read(words, TURN_AT) != p->turn)
			return true;
	}
	return wait_sleep(words, TURN_AT, p->turn, 1U << which, LOOK_NS);
}

/* Has the file open that the last record is in; what is in the files before was synced when it was
 * begun. */
static int find_end(struct audit *a, struct head_place *ret_place, struct error *err)
{
	bool same_boot, known;
	struct statx st;
	int r;

	if (head_read(a->head, ret_place, &same_boot) &&
	    files_open(a, ret_place->file, &st, NULL) == 0)
		return 0;
	/* Somebody is writing it, or has just begun the next file. */
	r = log_lock(a, err);
	if (r < 0)
		return r;
	known = head_read(a->head, ret_place, &same_boot) &&
	        files_open(a, ret_place->file, &st, NULL) == 0;
	head_unlock(a->head);
	return known ? 0 : error_set(err, ERROR_SYSTEM, ESTALE, "the audit log was removed");
}

static void wake(struct head *h, uint32_t which, bool died)
{
	struct wait_page *words = head_words(h);
	struct progress p = read_progress(h);

	if (died || p.waiting[which]) {
		wait_write(words, waiting_at(which), 0);
		(void)wait_wake(words, TURN_AT, died ? WAIT_ANY : 1U << which, INT_MAX);
	}
	if (!died && p.waiting[!which])
		(void)wait_wake(words, TURN_AT, 1U << !which, 1);
}

/* For all that is written by then; gives the lock of who syncs back. */
static int sync_for_all(struct audit *a, struct progress *p, struct error *err)
{
	struct head_place place;
	bool died = p->turn & 1;
	uint32_t which = (p->turn + died) / 2 & 1;
	int r, told;

	if (p->company > 0)
		(void)sched_yield();
	r = find_end(a, &place, err);
	if (r < 0) {
		head_end_sync(a->head);
		return r;
	}
	p->turn += died ? 2 : 1;
	p->covered = place.link.seq;
	(void)write_progress(a->head, p);
	r = recent_sync(a, &place, err);
	if (r == 0)
		p->synced = place.link.seq;
	if (wait_read(head_words(a->head), waiting_at(which)))
		p->company = COMPANY_TURNS;
	else if (p->company > 0) /* anything can stand there */
		p->company = p->company > COMPANY_TURNS ? 0 : p->company - 1;
	p->turn++;
	told = write_progress(a->head, p);
	head_end_sync(a->head);
	/* Behind the lock: the first who comes back leads the next turn while we are still waking
	 * the others. */
	wake(a->head, which, died);
	return r == 0 && told < 0 ? error_sys(err, -told, "head of the audit log") : r;
}

/* Whoever has the lock does not come back, or nobody can have it. */
static int sync_alone(struct audit *a, struct error *err)
{
	struct head_place place;
	int r = find_end(a, &place, err);

	return r < 0 ? r : sync_log(a, err);
}

int audit_sync(struct audit *a, uint64_t seq, struct error *err)
{
	int64_t deadline = clock_now_ms() + PATIENCE_MS;
	struct progress p;
	bool late = false; /* whoever leads has not woken us */
	int r;

	if (!a->head)
		return error_set(err, ERROR_SYSTEM, ESTALE, "the audit log was removed");
	for (;;) {
		p = read_progress(a->head);
		if (p.synced >= seq)
			return 0;
		/* While another leads, its lock need not be tried. */
		r = late || !(p.turn & 1) ? head_try_sync(a->head) : -EWOULDBLOCK;
		if (r == 0) {
			p = read_progress(a->head);
			if (p.synced >= seq) {
				head_end_sync(a->head);
				return 0;
			}
			return sync_for_all(a, &p, err);
		}
		if (r != -EWOULDBLOCK || (late && clock_now_ms() > deadline))
			return sync_alone(a, err);
		late = !follow(a->head, &p, seq);
	}
}
