/*
 * What undo changes has a new change time, and the undo of a command before it would take that for
 * somebody else's work. So undo notes each inode with the change time that it has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "change/inside.h"

#define NAME         "ledger"
#define RECORDS_MAX  ((size_t)1 << 16)
#define RECORDS_KEPT (RECORDS_MAX / 2)

struct record {
	uint64_t inode;
	int64_t changed_ns;
};

struct change_ledger {
	size_t count;
	struct record records[RECORDS_MAX];
};

static int compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->changed_ns < y->changed_ns ? -1 : x->changed_ns > y->changed_ns;
}

/* The last records of the file. */
static size_t read_records(int dir, struct record *into, size_t most)
{
	scoped(fd_closep) int fd = fd_open_regular(dir, NAME);
	struct stat st;
	size_t have, skipped;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	have = (size_t)st.st_size / sizeof(*into);
	skipped = have > most ? have - most : 0;
	n = pread(fd, into, (have - skipped) * sizeof(*into), (off_t)(skipped * sizeof(*into)));
	return n > 0 ? (size_t)n / sizeof(*into) : 0;
}

struct change_ledger *change_ledger_read(int dir)
{
	struct change_ledger *l = dir < 0 ? NULL : malloc(sizeof(*l));

	if (!l)
		return NULL;
	l->count = read_records(dir, l->records, RECORDS_MAX);
	qsort(l->records, l->count, sizeof(l->records[0]), compare);
	return l;
}

void change_ledger_free(struct change_ledger *l)
{
	free(l);
}

bool change_ledger_has(const struct change_ledger *l, uint64_t inode, int64_t changed_ns)
{
	const struct record key = {inode, changed_ns};

	return l && bsearch(&key, l->records, l->count, sizeof(key), compare);
}

static void make_shorter(int dir)
{
	struct record *kept = malloc(RECORDS_KEPT * sizeof(*kept));
	size_t n = kept ? read_records(dir, kept, RECORDS_KEPT) : 0;

	if (n > 0)
		(void)fd_replace_file(dir, NAME, kept, n * sizeof(*kept));
	free(kept);
}

/* One that cannot be noted makes the undo of an older command refuse, which is the safe side. */
void change_ledger_note(const struct change_place *at, const struct change_list *l)
{
	scoped(fd_closep) int fd = -1;
	struct change_walk w;
	struct stat st;

	if (at->ledger < 0)
		return;
	fd = openat(at->ledger, NAME, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (size_t)st.st_size >= RECORDS_MAX * sizeof(struct record)) {
		make_shorter(at->ledger);
		fd_close(take_fd(&fd));
		fd = openat(at->ledger, NAME, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	}
	change_walk_init(&w, at->directory);
	for (size_t i = 0; fd >= 0 && i < l->count; i++) {
		const char *name;
		int dir = l->items[i].chosen ? change_walk_above(&w, l->items[i].path, &name) : -1;
		struct record r;

		if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		r = (struct record){st.st_ino, change_ns(st.st_ctim)};
		if (fd_write_all(fd, &r, sizeof(r)) < 0)
			break;
	}
	change_walk_done(&w);
}
