#include "approval/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "approval/inside.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/id.h"
#include "json/read.h"

int approval_open_private(int at, const char *name, bool make)
{
	if (make && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fd_open_private(at, name); /* whoever else could write there could give consent */
}

int approval_read_private(int dir_fd, const char *name, struct buffer *into)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, name);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return fd_read_all(fd, into);
}

int desk_open(const char *state, bool make, struct error *err)
{
	scoped(fd_closep) int state_fd = approval_open_private(AT_FDCWD, state, false);
	int fd = state_fd < 0 ? state_fd : approval_open_private(state_fd, "approvals", make);

	if (fd == -EPERM)
		return error_set(err, ERROR_INPUT, EPERM,
		                 "the directory of approvals is not private to this user");
	if (fd < 0)
		return error_set(err, ERROR_SYSTEM, -fd, "approvals: %s", strerrordesc_np(-fd));
	return fd;
}

void desk_name(const char *id, const char *end, char into[DESK_NAME_SIZE])
{
	snprintf(into, DESK_NAME_SIZE, "%.*s.%s", APPROVAL_ID_MAX, id, end);
}

/* The name by what is asked, and by whom. */
void desk_key(const struct approval *a, char into[DESK_NAME_SIZE])
{
	scoped(buffer_donep) struct buffer b = {0};
	struct digest digest;

	object_digest(&a->object, &digest);
	buffer_append(&b, &digest, sizeof(digest));
	buffer_puts(&b, a->principal);
	buffer_putc(&b, '\0');
	buffer_puts(&b, a->session ? a->session : "");
	digest_make(buffer_str(&b), b.len, &digest);
	memcpy(into, "k-", 2);
	hex_write(digest.bytes, 16, into + 2);
}

/* Writes a new file and brings it to the disk. */
int desk_write_new(int desk, const char *name, const struct buffer *text)
{
	scoped(fd_closep) int fd =
		openat(desk, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text->data, text->len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(desk, name, 0);
	return r;
}

/* Reading */

static int take_answer(const char *bytes, size_t n, struct arena *arena, struct approval *a)
{
	scoped(json_decrefp) json_t *root = NULL;
	const char *answer, *by, *why = NULL;
	json_int_t at;

	if (json_read(bytes, n, DESK_ANSWER_MAX, "answer", &root, NULL) < 0 ||
	    json_unpack(root, "{s:s, s:s, s?s, s:I}", "answer", &answer, "by", &by, "why", &why,
	                "at_ms", &at) < 0 ||
	    approval_answer_read(answer, &a->answer) < 0)
		return -EINVAL;
	a->by = arena_strdup(arena, by);
	a->why = arena_strdup(arena, why);
	a->answered_ms = at;
	return !a->by || (why && !a->why) ? -ENOMEM : 0;
}

/* How it stands: nothing in the approval's own file says so. */
static int read_answer(int desk, struct arena *arena, struct approval *a)
{
	scoped(buffer_donep) struct buffer text = {.max = DESK_ANSWER_MAX};
	bool late = clock_wall_ms() >= a->expires_ms, used;
	char name[DESK_NAME_SIZE];
	struct stat st;
	int r;

	a->by = "";
	desk_name(a->id, "answer", name);
	r = approval_read_private(desk, name, &text);
	if (r == -ENOENT) {
		a->state = late ? APPROVAL_EXPIRED : APPROVAL_OPEN;
		return 0;
	}
	desk_name(a->id, "used", name);
	used = fstatat(desk, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (r == 0)
		r = take_answer(buffer_str(&text), text.len, arena, a);
	if (r < 0)
		return r;
	a->told = used && a->answer == APPROVAL_DENY;
	a->state = a->answer == APPROVAL_DENY ? APPROVAL_REFUSED
	           : used                     ? APPROVAL_USED
	           : late                     ? APPROVAL_EXPIRED
	                                      : APPROVAL_GIVEN;
	return 0;
}

int desk_damaged(struct error *err, int r)
{
	if (r == -ENOMEM)
		return error_nomem(err);
	if (r == -ENOENT)
		return error_set(err, ERROR_INPUT, ENOENT, "there is no such approval");
	return error_set(err, ERROR_SYSTEM, -r, "the approval cannot be read: %s",
	                 strerrordesc_np(-r));
}

static int read_name(int desk, const char *name, struct arena *arena, struct approval *ret,
                     struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = APPROVAL_BYTES_MAX};
	struct approval a;
	int r = approval_read_private(desk, name, &text);

	if (r < 0)
		return desk_damaged(err, r);
	r = approval_read(buffer_str(&text), text.len, arena, &a, err);
	if (r < 0)
		return r;
	r = read_answer(desk, arena, &a);
	if (r < 0)
		return desk_damaged(err, r);
	*ret = a;
	return 0;
}

int desk_read(int desk, const char *id, struct arena *arena, struct approval *ret,
              struct error *err)
{
	char whole[APPROVAL_ID_MAX], name[DESK_NAME_SIZE];
	struct approval a;
	int r;

	if (approval_id_read(id, whole) < 0)
		return desk_damaged(err, -ENOENT);
	desk_name(whole, "json", name);
	r = read_name(desk, name, arena, &a, err);
	if (r < 0)
		return r;
	if (strcmp(a.id, whole) != 0)
		return desk_damaged(err, -EINVAL);
	*ret = a;
	return 0;
}

bool desk_same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether the same request has to do with it: it waits for it, runs by it, or is told a no. */
static bool is_of_use(const struct approval *a)
{
	return a->state == APPROVAL_OPEN || a->state == APPROVAL_GIVEN ||
	       (a->state == APPROVAL_REFUSED && !a->told && clock_wall_ms() < a->expires_ms);
}

int desk_find(int desk, const struct approval *like, struct arena *arena, struct approval *ret,
              struct error *err)
{
	char key[DESK_NAME_SIZE];
	struct approval a = {0};
	int r;

	desk_key(like, key);
	r = read_name(desk, key, arena, &a, err);
	if (r < 0)
		return r;
	if (!is_of_use(&a) || object_compare(&a.object, &like->object, NULL) < 0 ||
	    !desk_same_text(a.principal, like->principal) ||
	    !desk_same_text(a.session, like->session))
		return desk_damaged(err, -ENOENT);
	*ret = a;
	return 0;
}

/* The other name; whatever had it is answered, or somebody asked the same in the same moment. */
static void link_key(int desk, const struct approval *a, const char *name)
{
	char key[DESK_NAME_SIZE], temporary[DESK_NAME_SIZE];

	desk_key(a, key);
	snprintf(temporary, sizeof(temporary), ".%.*s.key", APPROVAL_ID_MAX, a->id);
	if (linkat(desk, name, desk, temporary, 0) == 0) {
		(void)renameat(desk, temporary, desk, key);
		(void)unlinkat(desk, temporary, 0);
	}
}

int desk_put(int desk, struct approval *a, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = APPROVAL_BYTES_MAX};
	char random[3 + ID_RANDOM_CHARS + 1], name[DESK_NAME_SIZE], temporary[DESK_NAME_SIZE];
	int r = desk_make_room(desk, a->principal, err);

	if (r < 0)
		return r;
	r = id_new("ap-", random, sizeof(random));
	if (r < 0)
		return error_sys(err, -r, "random numbers for an approval");
	snprintf(a->id, sizeof(a->id), "%.*s", APPROVAL_ID_MAX - 1, random);
	a->state = APPROVAL_OPEN;
	a->by = "";
	r = approval_write(a, &text);
	if (r < 0)
		return r == -E2BIG ? error_set(err, ERROR_LIMIT, E2BIG,
		                               "it is too long to be shown to a person")
		                   : error_set(err, ERROR_SYSTEM, -r, "out of memory");
	desk_name(a->id, "json", name);
	snprintf(temporary, sizeof(temporary), ".%.*s.new", APPROVAL_ID_MAX, a->id);
	r = desk_write_new(desk, temporary, &text);
	if (r == 0 && renameat(desk, temporary, desk, name) < 0) {
		r = -errno;
		(void)unlinkat(desk, temporary, 0);
	}
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "the approval cannot be kept: %s",
		                 strerrordesc_np(-r));
	link_key(desk, a, name);
	return 0;
}

int desk_watch(int desk)
{
	scoped(fd_closep) int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", desk);
	if (inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO | IN_DELETE) < 0)
		return -errno;
	return take_fd(&fd);
}

void desk_watch_drain(int watch)
{
	char events[4096];

	while (watch >= 0 && read(watch, events, sizeof(events)) > 0)
		;
}
