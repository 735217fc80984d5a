/*
 * The file is treated as that of the tokens is: it is read whole or not at all, only if it is
 * private to the user, and writers take a lock and replace it. It has digests only, so who reads it
 * cannot log in. Servers of one state directory share it; the cookie has the port of its server in
 * its name, and the key is kept by the page of that port.
 */
#include "serve/logins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/id.h"
#include "http/text.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/secret.h"

#define FILE_NAME      "logins.json"
#define FILE_BYTES_MAX ((size_t)1 << 20)

static void forget(struct logins *l)
{
	free(l->list);
	l->list = NULL;
	l->count = 0;
	l->inode = 0;
	l->changed = (struct timespec){0};
}

void logins_done(struct logins *l)
{
	forget(l);
	explicit_bzero(l->codes, sizeof(l->codes));
}

static bool holds(const struct login *l)
{
	return clock_wall_ms() < l->expires_ms;
}

/* Reading */

static bool read_digest(const char *digits, struct digest *ret)
{
	return strlen(digits) == 2 * sizeof(ret->bytes) &&
	       hex_read(digits, ret->bytes, sizeof(ret->bytes));
}

static bool read_one(json_t *object, struct login *ret)
{
	const char *id, *principal, *cookie, *key, *token;
	json_int_t created, expires;

	if (json_unpack(object, "{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "id", &id, "principal",
	                &principal, "cookie", &cookie, "key", &key, "token", &token, "created_ms",
	                &created, "expires_ms", &expires) < 0 ||
	    strlen(id) >= sizeof(ret->id) || !*id ||
	    (*principal && !principal_name_is_valid(principal)))
		return false;
	*ret = (struct login){.created_ms = created, .expires_ms = expires};
	strcpy(ret->id, id);
	strcpy(ret->principal, principal);
	return read_digest(cookie, &ret->cookie) && read_digest(key, &ret->key) &&
	       read_digest(token, &ret->token);
}

static int read_file(int fd, struct logins *l, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_BYTES_MAX};
	scoped(json_decrefp) json_t *root = NULL;
	json_t *list;
	size_t n;
	int r = fd_read_all(fd, &text);

	if (r < 0)
		return error_sys(err, -r, "logins");
	r = json_read(buffer_str(&text), text.len, FILE_BYTES_MAX, "logins", &root, err);
	if (r < 0)
		return r;
	list = json_object_get(root, "logins");
	n = json_array_size(list);
	if (!json_is_array(list) || n > LOGINS_MAX)
		return error_set(err, ERROR_SYSTEM, EBADMSG, "logins: not a list of logins");
	l->list = calloc(n + 1, sizeof(*l->list));
	if (!l->list)
		return error_nomem(err);
	for (; l->count < n; l->count++)
		if (!read_one(json_array_get(list, l->count), &l->list[l->count]))
			return error_set(err, ERROR_SYSTEM, EBADMSG,
			                 "logins: entry %zu is damaged; remove the file to log in "
			                 "anew",
			                 l->count + 1);
	return 0;
}

int logins_refresh(struct logins *l, int state_fd, bool *ret_changed, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	struct stat st = {0};
	int r = 0;

	if (ret_changed)
		*ret_changed = false;
	if (fstatat(state_fd, FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
		return error_sys(err, errno, "logins");
	if (st.st_ino == l->inode && st.st_ctim.tv_sec == l->changed.tv_sec &&
	    st.st_ctim.tv_nsec == l->changed.tv_nsec)
		return 0;
	if (ret_changed)
		*ret_changed = true;
	forget(l);
	if (!st.st_ino)
		return 0;
	fd = fd_open_regular(state_fd, FILE_NAME);
	if (fd < 0 || fstat(fd, &st) < 0)
		r = error_sys(err, fd < 0 ? -fd : errno, "logins");
	else if (st.st_uid != geteuid() || (st.st_mode & 077))
		r = error_set(err, ERROR_SYSTEM, EPERM,
		              "logins: the file must be private to the user (0600)");
	else
		r = read_file(fd, l, err);
	if (r < 0)
		forget(l);
	l->inode = st.st_ino; /* a bad one is not read again with each request */
	l->changed = st.st_ctim;
	return r;
}

/* Writing */

static void put_digest(struct json_writer *w, const char *key, const struct digest *d)
{
	char hex[2 * DIGEST_BYTES + 1];

	hex_write(d->bytes, sizeof(d->bytes), hex);
	json_member_string(w, key, hex);
}

static void put_one(struct json_writer *w, const struct login *l)
{
	json_object_begin(w);
	json_member_string(w, "id", l->id);
	json_member_string(w, "principal", l->principal);
	put_digest(w, "cookie", &l->cookie);
	put_digest(w, "key", &l->key);
	put_digest(w, "token", &l->token);
	json_member_int(w, "created_ms", l->created_ms);
	json_member_int(w, "expires_ms", l->expires_ms);
	json_object_end(w);
}

/* All that hold but the one named WITHOUT; of too many the oldest one goes. */
static int write_file(int state_fd, const struct logins *l, const char *without,
                      const struct login *added, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_BYTES_MAX};
	struct json_writer w = {.out = &text};
	size_t left = 0, skip;
	int r;

	for (size_t i = 0; i < l->count; i++)
		left += holds(&l->list[i]);
	skip = added && left >= LOGINS_MAX ? left - LOGINS_MAX + 1 : 0;
	json_object_begin(&w);
	json_member_array(&w, "logins");
	for (size_t i = 0; i < l->count; i++) {
		if (!holds(&l->list[i]) || (without && strcmp(l->list[i].id, without) == 0))
			continue;
		if (skip > 0)
			skip--;
		else
			put_one(&w, &l->list[i]);
	}
	if (added)
		put_one(&w, added);
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(&text, '\n');
	r = buffer_error(&text);
	if (r == 0)
		r = fd_replace_file(state_fd, FILE_NAME, text.data, text.len);
	return r < 0 ? error_sys(err, -r, "logins") : 0;
}

static int lock(int state_fd, struct error *err)
{
	scoped(fd_closep) int fd =
		openat(state_fd, "logins.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_lock(fd);

	return r < 0 ? error_sys(err, -r, "logins") : take_fd(&fd);
}

int logins_begin(struct logins *l, int state_fd, const char *principal, const struct digest *token,
                 struct login *ret_login, struct login_secrets *ret_secrets, struct error *err)
{
	scoped(fd_closep) int held = lock(state_fd, err);
	struct login added = {.created_ms = clock_wall_ms()};
	struct login_secrets secrets;
	int r = held < 0 ? held : id_new("cl-", added.id, sizeof(added.id));

	if (r == 0)
		r = secret_text(32, secrets.cookie, err);
	if (r == 0)
		r = secret_text(32, secrets.key, err);
	if (r == 0)
		r = logins_refresh(l, state_fd, NULL, err);
	if (r < 0)
		return r;
	snprintf(added.principal, sizeof(added.principal), "%s", principal);
	digest_make(secrets.cookie, strlen(secrets.cookie), &added.cookie);
	digest_make(secrets.key, strlen(secrets.key), &added.key);
	if (token)
		added.token = *token;
	added.expires_ms = added.created_ms + (int64_t)LOGIN_SECONDS * 1000;
	r = write_file(state_fd, l, NULL, &added, err);
	if (r == 0)
		r = logins_refresh(l, state_fd, NULL, err);
	if (r < 0)
		return r;
	*ret_login = added;
	*ret_secrets = secrets;
	return 0;
}

int logins_end(struct logins *l, int state_fd, const char *id, struct error *err)
{
	scoped(fd_closep) int held = lock(state_fd, err);
	int r = held < 0 ? held : logins_refresh(l, state_fd, NULL, err);

	if (r < 0)
		return r;
	if (!logins_by_id(l, id))
		return error_set(err, ERROR_INPUT, ENOENT, "there is no login '%.40s'", id);
	r = write_file(state_fd, l, id, NULL, err);
	return r == 0 ? logins_refresh(l, state_fd, NULL, err) : r;
}

/* Looking */

const struct login *logins_find(const struct logins *l, const char *cookie, const char *key)
{
	const struct login *found = NULL;
	struct digest cookie_digest, key_digest;

	digest_make(cookie, strlen(cookie), &cookie_digest);
	digest_make(key, strlen(key), &key_digest);
	for (size_t i = 0; i < l->count; i++) {
		const struct login *one = &l->list[i];
		bool same = http_same_bytes(&cookie_digest, &one->cookie, sizeof(cookie_digest));

		if (http_same_bytes(&key_digest, &one->key, sizeof(key_digest)) && same)
			found = one;
	}
	return found && holds(found) ? found : NULL;
}

const struct login *logins_by_id(const struct logins *l, const char *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i].id, id) == 0)
			return holds(&l->list[i]) ? &l->list[i] : NULL;
	return NULL;
}

/* Codes */

int logins_make_code(struct logins *l, const struct principal *who, int64_t now_ms,
                     char ret_code[LOGIN_CODE_SIZE], struct error *err)
{
	struct login_code *oldest = l->codes;
	int r = secret_text(16, ret_code, err);

	if (r < 0)
		return r;
	for (size_t i = 1; i < array_size(l->codes); i++)
		if (l->codes[i].until_ms < oldest->until_ms)
			oldest = &l->codes[i];
	*oldest = (struct login_code){.token = who->digest, .until_ms = now_ms + LOGIN_CODE_MS};
	snprintf(oldest->principal, sizeof(oldest->principal), "%s", who->name);
	digest_make(ret_code, strlen(ret_code), &oldest->digest);
	return 0;
}

bool logins_take_code(struct logins *l, const char *code, int64_t now_ms,
                      struct login_code *ret_code)
{
	struct login_code *found = NULL;
	struct digest digest;

	digest_make(code, strlen(code), &digest);
	for (size_t i = 0; i < array_size(l->codes); i++)
		if (http_same_bytes(&digest, &l->codes[i].digest, sizeof(digest)))
			found = &l->codes[i];
	if (!found || found->until_ms <= now_ms)
		return false;
	*ret_code = *found;
	explicit_bzero(found, sizeof(*found));
	return true;
}
