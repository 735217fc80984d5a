/*
 * Commits are visited tips first, then by generation. A question is about one path, and what the
 * first part of a path is changes rarely: for each first part the different entries are kept, so a
 * second question about .vscode reads no commit again.
 */
#include "protect/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "protect/git.h"

#define COMMITS_MAX ((size_t)1 << 16)
#define TABLE       (2 * COMMITS_MAX)
#define PARTS_MAX   32
#define ENTRIES_MAX 1024
#define WAIT_MS     2000 /* for all questions */
#define OWN_MAX     1000 /* commits of a command between a commit and the history */
#define MODE_TREE   040000u

struct commit {
	struct git_id id, tree;
	bool is_read; /* the tree is known, if it can be read, and the parents follow */
};

struct entry {
	unsigned mode; /* 0: nothing is there */
	struct git_id id;
};

struct part { /* the first one of some paths */
	char name[NAME_MAX + 1];
	size_t done; /* commits that were looked at */
	struct git_id last_tree;
	struct entry *entries;
	size_t count;
};

struct history {
	struct git_store *store;
	struct commit *commits;
	size_t count, capacity;
	uint32_t *table; /* by id: the index of a commit, plus 1 */
	struct part parts[PARTS_MAX];
	size_t part_count;
	size_t id_bytes;
	int64_t left_ms;
	bool is_unreadable; /* a directory that the last question led to */
	struct buffer text;
};

static uint32_t *slot_of(const struct history *h, const struct git_id *id)
{
	uint32_t at;

	memcpy(&at, id->bytes, sizeof(at));
	for (at %= TABLE; h->table[at]; at = (at + 1) % TABLE)
		if (git_id_is(&h->commits[h->table[at] - 1].id, id))
			break;
	return &h->table[at];
}

static void add_commit(struct history *h, const struct git_id *id)
{
	uint32_t *slot = slot_of(h, id);

	if (*slot || id->n != h->id_bytes || h->count == COMMITS_MAX)
		return;
	if (h->count == h->capacity) {
		size_t wanted = h->capacity ? 2 * h->capacity : 256;
		struct commit *larger = reallocarray(h->commits, wanted, sizeof(*larger));

		if (!larger)
			return;
		h->commits = larger;
		h->capacity = wanted;
	}
	h->commits[h->count++] = (struct commit){.id = *id};
	*slot = (uint32_t)h->count;
}

int history_new(int git_fd, const struct git_id *tips, size_t count, struct history **ret_history)
{
	scoped(history_freep) struct history *h = calloc(1, sizeof(*h));
	int r;

	if (!h || count == 0)
		return h ? -ENOENT : -ENOMEM;
	h->left_ms = WAIT_MS;
	h->id_bytes = tips[0].n;
	h->text.max = GIT_OBJECT_MAX + 64;
	h->table = calloc(TABLE, sizeof(*h->table));
	r = h->table ? git_store_new(git_fd, &h->store) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++)
		add_commit(h, &tips[i]);
	if (r == 0)
		*ret_history = take_ptr(&h);
	return r;
}

struct history *history_free(struct history *h)
{
	if (!h)
		return NULL;
	git_store_free(h->store);
	for (size_t i = 0; i < h->part_count; i++)
		free(h->parts[i].entries);
	buffer_done(&h->text);
	free(h->commits);
	free(h->table);
	free(h);
	return NULL;
}

size_t history_id_bytes(const struct history *h)
{
	return h->id_bytes;
}

static bool read_into(struct history *h, const struct git_id *id, enum git_kind *ret_kind,
                      struct git_text *ret_text)
{
	if (git_store_read(h->store, id, ret_kind, &h->text) < 0)
		return false;
	*ret_text = (struct git_text){buffer_str(&h->text), h->text.len};
	return true;
}

/* A commit's tree; its parents, or what a tag is about, are visited later. */
static void read_commit(struct history *h, size_t index)
{
	struct git_id id = h->commits[index].id, tree = {0}, next;
	struct git_text text;
	enum git_kind kind;
	size_t at = 0;

	h->commits[index].is_read = true;
	if (!read_into(h, &id, &kind, &text))
		return;
	if (kind == GIT_COMMIT && git_header_next(&text, "tree ", h->id_bytes, &at, &tree))
		h->commits[index].tree = tree;
	if (kind == GIT_COMMIT || kind == GIT_TAG)
		while (git_header_next(&text, kind == GIT_TAG ? "object " : "parent ", h->id_bytes,
		                       &at, &next))
			add_commit(h, &next);
}

static bool is_time_left(struct history *h, int64_t since)
{
	return clock_now_ms() - since < h->left_ms;
}

/* What PATH is below the directory or file ENTRY. */
static struct entry descend(struct history *h, struct entry entry, const char *path)
{
	while (*path && entry.mode) {
		size_t n = strcspn(path, "/");
		struct git_text text;
		enum git_kind kind;
		struct entry below = {0};

		if (entry.mode != MODE_TREE)
			return (struct entry){0};
		if (!read_into(h, &entry.id, &kind, &text) || kind != GIT_TREE) {
			h->is_unreadable = true;
			return (struct entry){0};
		}
		if (!git_tree_find(&text, path, n, h->id_bytes, &below.mode, &below.id))
			return (struct entry){0};
		entry = below;
		path += n + (path[n] == '/');
	}
	return entry;
}

static struct part *part_of(struct history *h, const char *path)
{
	size_t n = strcspn(path, "/");
	struct part *p;

	for (size_t i = 0; i < h->part_count; i++)
		if (strlen(h->parts[i].name) == n && memcmp(h->parts[i].name, path, n) == 0)
			return &h->parts[i];
	if (h->part_count == PARTS_MAX || n == 0 || n > NAME_MAX)
		return NULL;
	p = &h->parts[h->part_count];
	*p = (struct part){.entries = calloc(ENTRIES_MAX, sizeof(*p->entries))};
	if (!p->entries)
		return NULL;
	memcpy(p->name, path, n);
	h->part_count++;
	return p;
}

/* The entry of the next commit, if it is a new one. */
static const struct entry *part_next(struct history *h, struct part *p)
{
	size_t index = p->done++;
	struct entry e;

	if (!h->commits[index].is_read)
		read_commit(h, index);
	if (h->commits[index].tree.n == 0 || git_id_is(&h->commits[index].tree, &p->last_tree))
		return NULL;
	p->last_tree = h->commits[index].tree;
	e = descend(h, (struct entry){MODE_TREE, p->last_tree}, p->name);
	for (size_t i = 0; i < p->count; i++)
		if (p->entries[i].mode == e.mode && git_id_is(&p->entries[i].id, &e.id))
			return NULL;
	if (!e.mode || p->count == ENTRIES_MAX)
		return NULL;
	p->entries[p->count] = e;
	return &p->entries[p->count++];
}

static bool is_it(struct history *h, const struct entry *e, const char *rest, unsigned mode,
                  const struct git_id *blob)
{
	struct entry found = descend(h, *e, rest);

	return found.mode == mode && git_id_is(&found.id, blob);
}

bool history_has(struct history *h, const char *path, unsigned mode, const struct git_id *blob)
{
	struct part *p = part_of(h, path);
	const char *rest = path + strcspn(path, "/");
	int64_t since = clock_now_ms();
	bool found = false;

	rest += *rest == '/';
	for (size_t i = 0; p && !found && i < p->count; i++)
		found = is_it(h, &p->entries[i], rest, mode, blob);
	while (p && !found && p->done < h->count && is_time_left(h, since)) {
		const struct entry *e = part_next(h, p);

		found = e && is_it(h, e, rest, mode, blob);
	}
	h->left_ms -= clock_now_ms() - since;
	return found;
}

static void read_all_commits(struct history *h, int64_t since)
{
	for (size_t i = 0; i < h->count && is_time_left(h, since); i++)
		if (!h->commits[i].is_read)
			read_commit(h, i);
}

/* Commits that are not in the history are a command's own. They are looked at only to find the way
 * back to it. */
bool history_lacks(struct history *h, const struct git_id *commit, const char *path)
{
	struct git_id *own = calloc(OWN_MAX, sizeof(*own));
	int64_t since = clock_now_ms();
	size_t count = 0;
	bool lacks = false;

	if (own && commit->n == h->id_bytes)
		own[count++] = *commit;
	for (size_t i = 0; i < count && !lacks && is_time_left(h, since); i++) {
		struct git_text text;
		enum git_kind kind;
		struct git_id tree;
		size_t at = 0;
		bool known = *slot_of(h, &own[i]) != 0;

		if (!known) { /* perhaps it was only not visited yet */
			read_all_commits(h, since);
			known = *slot_of(h, &own[i]) != 0;
		}
		if (!read_into(h, &own[i], &kind, &text) || kind != GIT_COMMIT ||
		    !git_header_next(&text, "tree ", h->id_bytes, &at, &tree))
			continue;
		while (!known && count < OWN_MAX &&
		       git_header_next(&text, "parent ", h->id_bytes, &at, &own[count]))
			count++;
		/* What cannot be read is not known to be absent. */
		h->is_unreadable = false;
		if (known)
			lacks = descend(h, (struct entry){MODE_TREE, tree}, path).mode == 0 &&
			        !h->is_unreadable;
	}
	free(own);
	h->left_ms -= clock_now_ms() - since;
	return lacks;
}
