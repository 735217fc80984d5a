#pragma once
/*
 * Inside: what the files of this room share.
 */
#include <jansson.h>
#include "approval/approval.h"

struct arena;
struct buffer;
struct error;
struct json_writer;

/* A directory that is ours alone; NAME is made if MAKE. A descriptor, or a negative errno. */
int approval_open_private(int at, const char *name, bool make);

void approval_put_digest(struct json_writer *w, const struct digest *d);
int approval_read_digest(const json_t *value, struct digest *ret);
void approval_put_file(struct json_writer *w, const struct object_file *f);
int approval_read_file(json_t *value, struct arena *arena, struct object_file *ret);

/* The whole of a private file, or a negative errno; -EPERM: it is not private. */
int approval_read_private(int dir_fd, const char *name, struct buffer *into);

#define DESK_NAME_SIZE  64
#define DESK_ANSWER_MAX ((size_t)16 << 10)

/* "<id>.<end>", and the name by what is asked, and by whom. */
void desk_name(const char *id, const char *end, char into[DESK_NAME_SIZE]);
void desk_key(const struct approval *a, char into[DESK_NAME_SIZE]);

/* Writes a new file and brings it to the disk. */
int desk_write_new(int desk, const char *name, const struct buffer *text);

/* Words for why an approval cannot be read. */
int desk_damaged(struct error *err, int r);
bool desk_same_text(const char *a, const char *b); /* NULL is "" */

/* Room for one more approval of this principal; what is old goes. -ENOSPC: there is none. */
int desk_make_room(int desk, const char *principal, struct error *err);

/* The grants of one session: a list. Who changes a file holds the lock of the directory. */
#define GRANTS_BYTES_MAX ((size_t)1 << 20)
int grants_read(int dir_fd, const char *name, json_t **ret_root);
int grants_write(int dir_fd, const char *name, const json_t *root);

/* The files of an object, as gather.c finds them: programs and files of *O. */
int object_gather(const struct object_subject *s, struct arena *arena, struct approval_object *o);

struct statx;
int object_look(int at, const char *path, int flags, struct statx *ret);
void object_fill(const struct statx *st, struct object_file *f); /* all but path and content */
int object_fill_content(int at, const char *path, const struct statx *st, struct object_file *f);
/* A regular file, for reading, also by a link. A descriptor, or a negative errno. */
int object_open(int at, const char *path);
