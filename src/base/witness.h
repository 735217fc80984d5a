#pragma once
/*
 * Witnesses: what some paths are now, so that it can be asked later whether they still are that.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;
struct witnesses; /* lives in an arena */

struct witnesses *witnesses_new(struct arena *arena); /* NULL: no memory */
void witnesses_reset(struct witnesses *w);            /* forgets all; NULL is fine */
/* Notes what PATH is now; CONTENT: also when it was changed last. Nothing if W is NULL. A NULL
 * path, and one past the limit, makes witnesses_hold() false for good. PATH must live as long as W.
 */
void witness_add(struct witnesses *w, const char *path, bool content);
/* Whether each path still is what it was. */
bool witnesses_hold(struct witnesses *w);

/* Which file this is: the number of a file that is gone is soon another's. */
struct file_identity {
	dev_t device;
	ino_t inode;
	int64_t born_ns;
};
int file_identify(int fd, struct file_identity *ret_identity); /* 0, or a negative errno */
