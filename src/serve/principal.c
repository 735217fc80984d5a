/*
 * The file of tokens, read and written.
 *
 * A server trusts the file only if its user owns it and nobody else can read it. It is read whole
 * or not at all: if one entry is damaged, nobody has a valid token until the file is mended.
 * Writers take a lock and replace the file, so a reader sees the old list or the new one. Digests
 * are compared in constant time, and all of them, so the time of an answer says nothing about a
 * token.
 */
#include "serve/principal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "http/text.h"
#include "json/read.h"
#include "json/write.h"
#include "serve/secret.h"

#define FILE_NAME      "tokens.json"
#define FILE_BYTES_MAX ((size_t)4 << 20)
#define TOKEN_PREFIX   "nacre_"
#define SECRET_BYTES   32

bool principal_name_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return n > 0 && n <= PRINCIPAL_NAME_MAX && !name[n];
}

void principals_done(struct principals *p)
{
	arena_free(p->arena);
	*p = (struct principals){0};
}

static int read_digest(const char *hex, struct digest *ret)
{
	if (!hex || strlen(hex) != 2 * sizeof(ret->bytes) ||
	    !hex_read(hex, ret->bytes, sizeof(ret->bytes)))
		return -EINVAL;
	return 0;
}

/* null: no restriction. */
static int read_list(struct arena *arena, json_t *value, const char *const **ret)
{
	const char **list;

	if (json_is_null(value))
		return 0;
	if (!json_is_array(value))
		return -EINVAL;
	list = arena_new_array(arena, const char *, json_array_size(value) + 1);
	for (size_t i = 0; list && i < json_array_size(value); i++) {
		const char *text = json_string_value(json_array_get(value, i));

		if (!text)
			return -EINVAL;
		list[i] = arena_strdup(arena, text);
		if (!list[i])
			return -ENOMEM;
	}
	*ret = list;
	return list ? 0 : -ENOMEM;
}

static int read_one(struct arena *arena, json_t *object, struct principal *ret)
{
	const char *name, *digest;
	json_t *profiles, *workspaces;
	int approve, audit, person = 0, r;
	json_int_t created;

	/* In a file of an older nacre nobody has a person. */
	if (json_unpack(object, "{s:s, s:s, s:o, s:o, s:b, s:b, s?b, s:I}", "name", &name, "digest",
	                &digest, "profiles", &profiles, "workspaces", &workspaces, "approve",
	                &approve, "audit", &audit, "person", &person, "created_ms", &created) < 0)
		return -EINVAL;
	if (!principal_name_is_valid(name) || read_digest(digest, &ret->digest) < 0)
		return -EINVAL;
	ret->name = arena_strdup(arena, name);
	ret->approve = approve;
	ret->audit = audit;
	ret->person = person;
	ret->created_ms = created;
	r = read_list(arena, profiles, &ret->profiles);
	if (r == 0)
		r = read_list(arena, workspaces, &ret->workspaces);
	return r == 0 && !ret->name ? -ENOMEM : r;
}

static int read_file(int fd, struct principals *p, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_BYTES_MAX};
	scoped(json_decrefp) json_t *root = NULL;
	json_t *list;
	size_t n;
	int r;

	r = fd_read_all(fd, &text);
	if (r < 0)
		return error_sys(err, -r, "tokens");
	r = json_read(buffer_str(&text), text.len, FILE_BYTES_MAX, "tokens", &root, err);
	if (r < 0)
		return r;
	list = json_object_get(root, "tokens");
	n = json_array_size(list);
	if (!json_is_array(list) || n > PRINCIPALS_MAX)
		return error_set(err, ERROR_SYSTEM, EBADMSG, "tokens: not a list of tokens");
	p->arena = arena_new(8 * FILE_BYTES_MAX);
	p->list = p->arena ? arena_new_array(p->arena, struct principal, n + 1) : NULL;
	if (!p->list)
		return error_nomem(err);
	for (; p->count < n; p->count++) {
		r = read_one(p->arena, json_array_get(list, p->count), &p->list[p->count]);
		if (r < 0)
			return error_set(err, ERROR_SYSTEM, -r, "tokens: entry %zu is damaged",
			                 p->count + 1);
	}
	return 0;
}

int principals_refresh(struct principals *p, int state_fd, bool *ret_changed, struct error *err)
{
	struct principals fresh = {0};
	scoped(fd_closep) int fd = -1;
	struct stat st = {0};
	int r = 0;

	if (ret_changed)
		*ret_changed = false;
	if (fstatat(state_fd, FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
		return error_sys(err, errno, "tokens");
	if (st.st_ino == p->inode && st.st_ctim.tv_sec == p->changed.tv_sec &&
	    st.st_ctim.tv_nsec == p->changed.tv_nsec)
		return 0;
	if (ret_changed)
		*ret_changed = true;
	if (st.st_ino) {
		fd = fd_open_regular(state_fd, FILE_NAME);
		if (fd < 0 || fstat(fd, &st) < 0)
			r = error_sys(err, fd < 0 ? -fd : errno, "tokens");
		else if (st.st_uid != geteuid() || (st.st_mode & 077))
			r = error_set(err, ERROR_SYSTEM, EPERM,
			              "tokens: the file must be private to the user (0600)");
		else
			r = read_file(fd, &fresh, err);
	}
	principals_done(p);
	if (r < 0) {
		principals_done(&fresh);
		return r;
	}
	*p = fresh;
	p->inode = st.st_ino;
	p->changed = st.st_ctim;
	return 0;
}

const struct principal *principals_by_token(const struct principals *p, const char *token)
{
	const struct principal *found = NULL;
	struct digest digest;

	digest_make(token, strlen(token), &digest);
	for (size_t i = 0; i < p->count; i++)
		if (http_same_bytes(&digest, &p->list[i].digest, sizeof(digest)))
			found = &p->list[i];
	return found;
}

const struct principal *principals_by_name(const struct principals *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->list[i].name, name) == 0)
			return &p->list[i];
	return NULL;
}

bool principal_has_person(const struct principal *p)
{
	return p->person || p->approve;
}

bool principal_may_use(const struct principal *p, const char *profile)
{
	if (!p->profiles)
		return true;
	for (const char *const *name = p->profiles; *name; name++)
		if (strcmp(*name, profile) == 0)
			return true;
	return false;
}

static void put_one(struct json_writer *w, const struct principal *p)
{
	char hex[2 * sizeof(p->digest.bytes) + 1];

	hex_write(p->digest.bytes, sizeof(p->digest.bytes), hex);
	json_object_begin(w);
	json_member_string(w, "name", p->name);
	json_member_string(w, "digest", hex);
	json_member_strings(w, "profiles", p->profiles);
	json_member_strings(w, "workspaces", p->workspaces);
	json_member_bool(w, "approve", p->approve);
	json_member_bool(w, "audit", p->audit);
	json_member_bool(w, "person", p->person);
	json_member_int(w, "created_ms", p->created_ms);
	json_object_end(w);
}

/* All of P but the one at WITHOUT, and then ADDED (may be NULL). */
static int write_file(int state_fd, const struct principals *p, size_t without,
                      const struct principal *added, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = FILE_BYTES_MAX};
	struct json_writer w = {.out = &text};
	int r;

	json_object_begin(&w);
	json_member_array(&w, "tokens");
	for (size_t i = 0; i < p->count; i++)
		if (i != without)
			put_one(&w, &p->list[i]);
	if (added)
		put_one(&w, added);
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(&text, '\n');
	r = buffer_error(&text);
	if (r == 0)
		r = fd_replace_file(state_fd, FILE_NAME, text.data, text.len);
	return r < 0 ? error_sys(err, -r, "tokens") : 0;
}

/* Two who change the file at the same time must not undo each other's change. */
static int lock(int state_fd, struct error *err)
{
	scoped(fd_closep) int fd =
		openat(state_fd, "tokens.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_sys(err, errno, "tokens");
	return take_fd(&fd);
}

static int make_token(char ret_token[PRINCIPAL_TOKEN_MAX], struct error *err)
{
	memcpy(ret_token, TOKEN_PREFIX, sizeof(TOKEN_PREFIX) - 1);
	return secret_text(SECRET_BYTES, ret_token + sizeof(TOKEN_PREFIX) - 1, err);
}

int principals_create(int state_fd, const struct principal *who,
                      char ret_token[PRINCIPAL_TOKEN_MAX], struct error *err)
{
	scoped(principals_donep) struct principals p = {0};
	scoped(fd_closep) int held = lock(state_fd, err);
	struct principal added = *who;
	int r;

	if (held < 0)
		return held;
	if (!principal_name_is_valid(who->name))
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "a name has 1 to %d letters, digits, '-' and '_'",
		                 PRINCIPAL_NAME_MAX);
	r = principals_refresh(&p, state_fd, NULL, err);
	if (r < 0)
		return r;
	if (principals_by_name(&p, who->name))
		return error_set(err, ERROR_INPUT, EEXIST, "there is a token '%s' already",
		                 who->name);
	if (p.count == PRINCIPALS_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "there are too many tokens");
	r = make_token(ret_token, err);
	if (r < 0)
		return r;
	digest_make(ret_token, strlen(ret_token), &added.digest);
	added.created_ms = clock_wall_ms();
	return write_file(state_fd, &p, SIZE_MAX, &added, err);
}

int principals_revoke(int state_fd, const char *name, struct error *err)
{
	scoped(principals_donep) struct principals p = {0};
	scoped(fd_closep) int held = lock(state_fd, err);
	const struct principal *found;
	int r;

	if (held < 0)
		return held;
	r = principals_refresh(&p, state_fd, NULL, err);
	if (r < 0)
		return r;
	found = principals_by_name(&p, name);
	if (!found)
		return error_set(err, ERROR_INPUT, ENOENT, "there is no token '%.60s'", name);
	return write_file(state_fd, &p, (size_t)(found - p.list), NULL, err);
}

int principals_begin(int state_fd, bool *ret_made, struct error *err)
{
	scoped(principals_donep) struct principals p = {0};
	char token[PRINCIPAL_TOKEN_MAX + 1];
	int r;

	*ret_made = false;
	r = principals_refresh(&p, state_fd, NULL, err);
	if (r < 0 || p.count > 0)
		return r;
	r = principals_create(state_fd, &(struct principal){.name = "default"}, token, err);
	if (r == -EEXIST) /* another server was quicker */
		return 0;
	if (r < 0)
		return r;
	strcat(token, "\n");
	r = fd_replace_file(state_fd, "token", token, strlen(token));
	*ret_made = r == 0;
	return r < 0 ? error_sys(err, -r, "file for the token") : 0;
}
