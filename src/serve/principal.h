#pragma once
/*
 * Principals: who may use a server, by which token, and what for.
 *
 *	<state>/tokens.json   name, digest of the token, rights; mode 0600
 *
 * A token is 256 random bits, so its plain digest gives nothing away. It is shown once, when it is
 * made. The file is read again whenever it has changed, so a revoked token is worthless at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/digest.h"

struct arena;
struct error;

#define PRINCIPAL_NAME_MAX  40
#define PRINCIPAL_TOKEN_MAX 64
#define PRINCIPALS_MAX      1024

struct principal {
	const char *name;            /* "": who runs nacre */
	const char *const *profiles; /* that they may use, up to NULL; NULL: all that are offered */
	const char *const *workspaces; /* directories, likewise; NULL: the server's */
	bool approve;                  /* may answer what others ask */
	bool person; /* a person sits behind its client, and may be asked through it */
	bool audit;  /* may read the log of all */
	int64_t created_ms;
	struct digest digest;
};

struct principals {
	struct arena *arena;
	struct principal *list;
	size_t count;
	ino_t inode; /* of the file that was read; 0: there was none */
	struct timespec changed;
};

void principals_done(struct principals *p);
static inline void principals_donep(struct principals *p)
{
	principals_done(p);
}

/* STATE_FD is the state directory. Reads the file if it has changed since; a missing one is an
 * empty list. A file that cannot be trusted (bad content, readable by others) is an error, and
 * nobody is known. *ret_changed may be NULL. */
int principals_refresh(struct principals *p, int state_fd, bool *ret_changed, struct error *err);

/* NULL: nobody. Takes the same time for every token. */
const struct principal *principals_by_token(const struct principals *p, const char *token);
const struct principal *principals_by_name(const struct principals *p, const char *name);

/* Letters, digits, '-' and '_', not more than PRINCIPAL_NAME_MAX. */
bool principal_name_is_valid(const char *name);
/* Whether a client of MCP may bring the answers of its person: one who approves could anyway. */
bool principal_has_person(const struct principal *p);
bool principal_may_use(const struct principal *p, const char *profile);

/* -EEXIST: there is one of that name. */
int principals_create(int state_fd, const struct principal *who,
                      char ret_token[PRINCIPAL_TOKEN_MAX], struct error *err);
int principals_revoke(int state_fd, const char *name, struct error *err); /* -ENOENT */

/* Where nobody is known yet: makes "default", and leaves its token in <state>/token (0600). Whether
 * it did. */
int principals_begin(int state_fd, bool *ret_made, struct error *err);
