#pragma once
/*
 * JSONC: change one entry of a JSON text, and keep every other byte.
 *
 * The text may have comments, commas behind the last entry, and a byte order mark, as the settings
 * of editors and agents have. What is written follows the indentation and the line ends that are
 * there. A text that cannot be read as a whole is an error and is not changed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buffer;
struct error;

#define JSONC_BYTES_MAX ((size_t)4 << 20)
#define JSONC_DEPTH_MAX 100
#define JSONC_PATH_MAX  8

enum jsonc_kind {
	JSONC_OBJECT,
	JSONC_ARRAY,
	JSONC_STRING,
	JSONC_OTHER, /* a number, true, false, null */
};

struct jsonc_node {
	enum jsonc_kind kind;
	size_t start, end;               /* of the value, in the text */
	size_t member;                   /* where the entry begins: at its key, or at the value */
	size_t comma;                    /* the comma behind it; 0: none */
	const char *key;                 /* of a member, decoded; NULL: none */
	const char *text;                /* of a string, decoded */
	struct jsonc_node *first, *next; /* entries of an object or array */
};

/* The tree lives in the arena. A text without a value is no error: *ret_root is NULL then. */
int jsonc_read(const char *text, size_t n, struct arena *arena, struct jsonc_node **ret_root,
               struct error *err);

/* A step of a path: the member KEY of an object, or with NULL the entry INDEX of an array. */
struct jsonc_step {
	const char *key;
	size_t index;
};

/* The value at the path; NULL: there is none. */
const struct jsonc_node *jsonc_find(const struct jsonc_node *root, const struct jsonc_step *path,
                                    size_t steps);

/* Each writes the whole changed text. VALUE is JSON, indented by one blank for each level if it has
 * several lines. Objects on the way (and for append the array) are made if they are missing; what
 * is there and of another kind is an error, as is a key of the path that stands there twice. */
int jsonc_set(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
              const char *value, struct buffer *into, struct error *err);
int jsonc_append(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
                 const char *value, struct buffer *into, struct error *err);
/* Removes the entry with its comma; -ENOENT: there is none. */
int jsonc_remove(const char *text, size_t n, const struct jsonc_step *path, size_t steps,
                 struct buffer *into, struct error *err);
