#pragma once
/*
 * Logins: pages in browsers that may use a server, as whom, and until when.
 *
 *	<state>/logins.json   name, principal, digests of both halves; mode 0600
 *
 * A login has two halves: a cookie, which a browser sends to every port of this host, and a key,
 * which only the page of this port can read. Neither is worth anything without the other. A login
 * is bound to the token of its principal: when that is revoked, or made anew, it is over.
 *
 * A code is what a link has: it makes one login, within two minutes. Codes live in memory only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "base/digest.h"
#include "serve/principal.h"

struct error;

#define LOGIN_ID_MAX      24
#define LOGIN_SECRET_SIZE 44 /* 256 bits as letters, and a NUL */
#define LOGIN_CODE_SIZE   23 /* 128 bits */
#define LOGINS_MAX        256
#define LOGIN_CODES_MAX   32
#define LOGIN_SECONDS     43200
#define LOGIN_CODE_MS     120000

struct login {
	char id[LOGIN_ID_MAX];
	char principal[PRINCIPAL_NAME_MAX + 1]; /* "": who runs nacre */
	struct digest cookie, key;
	struct digest token;            /* of the principal; nothing: it has none */
	int64_t created_ms, expires_ms; /* wall clock */
};

struct logins {
	struct login *list;
	size_t count;
	ino_t inode; /* of the file that was read; 0: there was none */
	struct timespec changed;
	struct login_code {
		struct digest digest;
		char principal[PRINCIPAL_NAME_MAX + 1];
		struct digest token;
		int64_t until_ms; /* monotonic; 0: none */
	} codes[LOGIN_CODES_MAX];
};

struct login_secrets {
	char cookie[LOGIN_SECRET_SIZE], key[LOGIN_SECRET_SIZE];
};

void logins_done(struct logins *l);

/* Reads the file if it has changed since. One that cannot be trusted is an error, and nobody is
 * logged in. *ret_changed may be NULL. */
int logins_refresh(struct logins *l, int state_fd, bool *ret_changed, struct error *err);

/* A code for this principal. With too many the oldest one is worthless from now on. */
int logins_make_code(struct logins *l, const struct principal *who, int64_t now_ms,
                     char ret_code[LOGIN_CODE_SIZE], struct error *err);
/* Uses up a code: false if there is no such one, or not any more. */
bool logins_take_code(struct logins *l, const char *code, int64_t now_ms,
                      struct login_code *ret_code);

/* TOKEN: see struct login. *RET_LOGIN is a copy. */
int logins_begin(struct logins *l, int state_fd, const char *principal, const struct digest *token,
                 struct login *ret_login, struct login_secrets *ret_secrets, struct error *err);

/* NULL: nobody. Takes the same time for all. */
const struct login *logins_find(const struct logins *l, const char *cookie, const char *key);
const struct login *logins_by_id(const struct logins *l, const char *id); /* that holds; or NULL */

int logins_end(struct logins *l, int state_fd, const char *id, struct error *err); /* -ENOENT */
