#pragma once
/*
 * Objects: what a git repository remembers, read from files that commands can write. So an object
 * is believed only if its content has the hash by which it was asked for. For the files of this
 * room, and its tests.
 *
 * Packs, deltas, loose objects and alternates are read, with SHA-1 or SHA-256. Replacements, grafts
 * and other ways to tell git a different story are not. Everything is bounded; an object that
 * cannot be read within the bounds is as good as missing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct buffer;
struct git_text;

enum git_kind {
	GIT_COMMIT = 1, /* as packs number them */
	GIT_TREE = 2,
	GIT_BLOB = 3,
	GIT_TAG = 4,
};

#define GIT_ID_MAX     32
#define GIT_OBJECT_MAX ((size_t)2 << 20)

struct git_id {
	uint8_t n; /* bytes: 20 or 32; 0: none */
	uint8_t bytes[GIT_ID_MAX];
};

bool git_id_is(const struct git_id *a, const struct git_id *b);
/* From 40 or 64 digits. */
bool git_id_read(const char *digits, size_t n, struct git_id *ret_id);
void git_id_write(const struct git_id *id, char into[2 * GIT_ID_MAX + 1]);
/* The name of this content, in ID_BYTES bytes. */
void git_id_of(enum git_kind kind, const void *bytes, size_t n, size_t id_bytes,
               struct git_id *ret_id);

/* gitobject.c: bytes only. 0, or a negative errno. */
int git_inflate(const struct git_text *packed, size_t max, struct buffer *into);
/* What is in the file of a loose object. */
int git_loose_parse(const struct git_text *packed, enum git_kind *ret_kind, struct buffer *into);
int git_delta_apply(const struct git_text *base, const struct git_text *delta, struct buffer *into);
/* The next id after WORD at the beginning of a line of a commit or tag, as "parent ". *AT is where
 * the search begins, and goes on. */
bool git_header_next(const struct git_text *object, const char *word, size_t id_bytes, size_t *at,
                     struct git_id *ret_id);
/* The entry of a tree. NAME has N bytes. */
bool git_tree_find(const struct git_text *tree, const char *name, size_t n, size_t id_bytes,
                   unsigned *ret_mode, struct git_id *ret_id);

/* gitstore.c: where they are kept. GIT_FD: the repository's directory; it stays the caller's. */
struct git_store;
int git_store_new(int git_fd, struct git_store **ret_store);
struct git_store *git_store_free(struct git_store *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct git_store *, git_store_free);
/* A commit, tree or tag; the content replaces what is in INTO. */
int git_store_read(struct git_store *s, const struct git_id *id, enum git_kind *ret_kind,
                   struct buffer *into);
