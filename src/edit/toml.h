#pragma once
/*
 * TOML: change one key of a text, or add or remove a table, and keep every other byte.
 *
 * Only as much is read as that takes: where statements begin and end, and which keys they set. A
 * text that cannot be read so far is an error and is not changed.
 */
#include <stddef.h>

struct arena;
struct buffer;
struct error;

#define TOML_BYTES_MAX ((size_t)4 << 20)
#define TOML_DEPTH_MAX 64

/* A key in a table: {"features", "hooks", NULL}; NULL ends the path. */
typedef const char *const toml_path[];

/* The text of the value; *RET NULL: the key is not set. -EEXIST: it is set twice, or in a table
 * that stands on one line. */
int toml_find(const char *text, size_t n, toml_path path, struct arena *arena,
              const char **ret_value, struct error *err);

/* Sets the key, in its table if that is there, else in a new one at the end. VALUE is TOML. */
int toml_set(const char *text, size_t n, toml_path path, const char *value, struct buffer *into,
             struct error *err);
/* Removes the line of the key. -ENOENT: there is none. */
int toml_remove(const char *text, size_t n, toml_path path, struct buffer *into, struct error *err);
/* Removes the table from its header to its last key, with one empty line in front. -ENOENT. */
int toml_remove_table(const char *text, size_t n, toml_path path, struct buffer *into,
                      struct error *err);
