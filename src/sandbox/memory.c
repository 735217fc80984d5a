/*
 * Two rounds. The first adds up the resident pages of all, which is a read of one line each and
 * counts shared pages too often. Only if that is too much, the second asks for the proportional
 * share of each, for which the kernel walks all page tables.
 */
#include "sandbox/memory.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>
#include "base/fd.h"
#include "sandbox/family.h"
#include "sandbox/unseen.h"

#define KILLS_MAX 64 /* at a time */

static uint64_t resident(pid_t pid)
{
	char text[FAMILY_TEXT_MAX], *end;

	if (family_read_proc(pid, "statm", text) < 0)
		return 0;
	(void)strtoull(text, &end, 10);
	return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The sum of "KEY:  N kB" for the keys. */
static uint64_t add_keys(const char *text, const char *const *keys)
{
	uint64_t sum = 0;

	for (; *keys; keys++) {
		const char *at = strstr(text, *keys);

		if (at)
			sum += strtoull(at + strlen(*keys), NULL, 10) * 1024;
	}
	return sum;
}

static uint64_t share(pid_t pid)
{
	static const char *const shares[] = {"\nPss_Anon:", "\nPss_Shmem:", "\nSwapPss:", NULL};
	static const char *const whole[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", NULL};
	char text[FAMILY_TEXT_MAX];

	if (family_read_proc(pid, "smaps_rollup", text) == 0 && strstr(text, "\nPss_Anon:"))
		return add_keys(text, shares);
	/* One that may not be looked into is taken for the only user of its pages. */
	return family_read_proc(pid, "status", text) == 0 ? add_keys(text, whole) : 0;
}

/* The sum, and what each has. */
static uint64_t add_up(const struct family *t, uint64_t (*of)(pid_t), uint64_t bytes[FAMILY_MAX])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->count; i++)
		sum += bytes[i] = of(t->pids[i]);
	return sum;
}

int memory_of_tree(pid_t root, uint64_t enough, struct memory_use *ret_use)
{
	uint64_t bytes[FAMILY_MAX];
	struct family t;
	int r = family_read(root, &t);

	if (r < 0)
		return r;
	ret_use->tasks = t.tasks;
	ret_use->bytes = add_up(&t, resident, bytes);
	if (ret_use->bytes > enough)
		ret_use->bytes = add_up(&t, share, bytes);
	return 0;
}

static bool has(const struct family *t, pid_t pid)
{
	for (size_t i = 1; i < t->count; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

/* A number may have gone to a stranger since it was read. It is held first and looked for again: if
 * it is in the tree then, what is held is that process or one that is dead. */
static int kill_inside(pid_t root, const pid_t *pids, size_t count)
{
	int held[KILLS_MAX], killed = 0;
	struct family t = {.count = 0};

	for (size_t i = 0; i < count; i++)
		held[i] = pidfd_open(pids[i], 0);
	if (family_read(root, &t) < 0)
		t.count = 0;
	for (size_t i = 0; i < count; i++) {
		if (held[i] >= 0 && has(&t, pids[i]) &&
		    pidfd_send_signal(held[i], SIGKILL, NULL, 0) == 0)
			killed++;
		fd_close(held[i]);
	}
	return killed;
}

static int by_bytes(const void *a, const void *b, void *context)
{
	const size_t *x = a, *y = b;
	const uint64_t *bytes = context;

	return bytes[*x] < bytes[*y] ? -1 : bytes[*x] > bytes[*y];
}

/* The descendants, those with the fewest bytes first. */
static void put_in_order(const struct family *t, uint64_t bytes[FAMILY_MAX],
                         size_t order[FAMILY_MAX])
{
	for (size_t i = 1; i < t->count; i++)
		order[i - 1] = i;
	qsort_r(order, t->count - 1, sizeof(order[0]), by_bytes, bytes);
}

/* The largest go, as many as it takes: many small ones grow faster than one at a time goes. The
 * shares are asked for in the order of their size, and only until the limit is reached, since that
 * takes long in a crowd: those that come then are too much. */
static int kill_excess(pid_t root, const struct family *t, const size_t order[FAMILY_MAX],
                       uint64_t limit, uint64_t *ret_bytes)
{
	pid_t chosen[KILLS_MAX];
	size_t kept = 0, count = 0;
	uint64_t sum = share(root), one = 0;

	for (; kept < t->count - 1; kept++) {
		one = share(t->pids[order[kept]]);
		if (sum + one > limit)
			break;
		sum += one;
	}
	*ret_bytes = kept < t->count - 1 ? sum + one : sum;
	for (size_t i = t->count - 1; i > kept && count < KILLS_MAX; i--)
		chosen[count++] = t->pids[order[i - 1]];
	return count > 0 ? kill_inside(root, chosen, count) : 0;
}

/* Those with the most of HELD go, until what is left has no more of BYTES than the limit: many that
 * have little are too much, too. */
static int kill_holders(pid_t root, const struct family *t, uint64_t held[FAMILY_MAX],
                        uint64_t bytes, uint64_t limit)
{
	pid_t chosen[KILLS_MAX];
	size_t order[FAMILY_MAX], count = 0;
	uint64_t total = 0, left;

	put_in_order(t, held, order);
	for (size_t i = 1; i < t->count; i++)
		total += held[i];
	left = total;
	for (size_t i = t->count - 1; i > 0 && count < KILLS_MAX; i--) {
		if ((double)bytes * (double)left <= (double)limit * (double)total && count > 0)
			break;
		chosen[count++] = t->pids[order[i - 1]];
		left -= held[order[i - 1]];
	}
	return kill_inside(root, chosen, count);
}

int memory_relieve(pid_t root, uint64_t limit, struct unseen *before, struct memory_use *ret_use)
{
	uint64_t bytes[FAMILY_MAX], unseen;
	size_t order[FAMILY_MAX];
	struct family t;
	int r = family_read(root, &t);

	if (r < 0)
		return r;
	ret_use->tasks = t.tasks;
	ret_use->bytes = add_up(&t, resident, bytes);
	put_in_order(&t, bytes, order);
	r = ret_use->bytes > limit ? kill_excess(root, &t, order, limit, &ret_use->bytes) : 0;
	if (ret_use->bytes > limit || t.count < 2 || !before)
		return r;
	unseen = unseen_of(t.pids, t.count, before, limit, bytes);
	if (unseen <= limit)
		return 0;
	ret_use->bytes = unseen;
	return kill_holders(root, &t, bytes, unseen, limit);
}
