/*
 * The record of whose refs are whose; refs.h draws its files.
 *
 * Locks are on bytes of <digest>.use that do not exist: MUTEX for whoever reads and writes the
 * record, RUN, shared, for as long as a command runs. The first byte of the file says whether one
 * may be running: where it does and nobody has the lock, a keeper was killed before it could see
 * what its command left. Then, as during other commands, what is new is not a person's.
 */
#include "protect/refs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/number.h"
#include "protect/history.h"

#define DIRECTORY    "refs"
#define USE          ".use"
#define NAME_SIZE    33 /* digits of a name, and the end */
#define HEADER       36 /* bytes: the flag, two looks, and the end of the line */
#define IDS_MAX      16384
#define TABLE        (4 * IDS_MAX)
#define RECORDS_MAX  1024
#define LIST_MAX     ((size_t)IDS_MAX * (2 * GIT_ID_MAX + 2))
#define MUTEX        ((off_t)1 << 20)
#define RUN          (MUTEX + 1)
#define FORGOTTEN_MS ((int64_t)30 * 24 * 3600 * 1000)
#define CLOSED       '0'
#define OPEN         '1'
#define FULL         'x' /* ids of commands were lost: nothing new is trusted any more */
#define NO_GIT       1   /* a look: there is no repository */

struct refs {
	int directory, use, git; /* git -1: there is no repository */
	char name[NAME_SIZE];
	char workspace[PATH_MAX];
	struct git_look look; /* of the beginning */
	struct history *history;
	bool asked; /* for the history */
};

struct list {
	struct git_id *ids;
	bool *trusted;
	size_t count;
	uint32_t *table; /* by id: its index, plus 1 */
	bool trust, changed, full;
};

static void name_of(const char *path, char into[NAME_SIZE])
{
	struct digest d;

	digest_make(path, strlen(path), &d);
	hex_write(d.bytes, (NAME_SIZE - 1) / 2, into);
}

static void list_done(struct list *l)
{
	free(l->ids);
	free(l->trusted);
	free(l->table);
}

static int list_add(void *context, const struct git_id *id)
{
	struct list *l = context;
	uint32_t at;

	memcpy(&at, id->bytes, sizeof(at));
	for (at %= TABLE; l->table[at]; at = (at + 1) % TABLE)
		if (git_id_is(&l->ids[l->table[at] - 1], id))
			return 0;
	if (l->count == IDS_MAX) {
		l->full = true;
		return 0;
	}
	l->ids[l->count] = *id;
	l->trusted[l->count++] = l->trust;
	l->table[at] = (uint32_t)l->count;
	l->changed = true;
	return 0;
}

static int list_read(const struct refs *r, struct list *l)
{
	scoped(buffer_donep) struct buffer text = {.max = LIST_MAX};
	scoped(fd_closep) int fd = fd_open_regular(r->directory, r->name);
	int code = fd < 0 ? (fd == -ENOENT ? 0 : fd) : fd_read_all(fd, &text);

	*l = (struct list){.ids = calloc(IDS_MAX, sizeof(*l->ids)),
	                   .trusted = calloc(IDS_MAX, sizeof(*l->trusted)),
	                   .table = calloc(TABLE, sizeof(*l->table))};
	if (!l->ids || !l->trusted || !l->table)
		return -ENOMEM;
	for (const char *line = buffer_str(&text); code == 0 && *line;) {
		size_t n = strcspn(line, "\n");
		struct git_id id;

		l->trust = *line == '+';
		if (!git_id_read(line + 1, n > 0 ? n - 1 : 0, &id))
			return -EBADMSG;
		(void)list_add(l, &id);
		line += n + (line[n] == '\n');
	}
	l->changed = false;
	return code;
}

static int list_write(const struct refs *r, const struct list *l)
{
	scoped(buffer_donep) struct buffer text = {.max = LIST_MAX};

	for (size_t i = 0; i < l->count; i++) {
		char digits[2 * GIT_ID_MAX + 1];

		git_id_write(&l->ids[i], digits);
		buffer_printf(&text, "%c%s\n", l->trusted[i] ? '+' : '-', digits);
	}
	if (buffer_error(&text) < 0)
		return -ENOMEM;
	return fd_replace_file(r->directory, r->name, buffer_str(&text), text.len);
}

/* Takes the ids that the refs have now and the record has not. 1: there was no room for all. */
static int take_new(const struct refs *r, bool trust)
{
	struct list l;
	int code = list_read(r, &l);

	l.trust = trust;
	if (code == 0)
		code = git_refs_read(r->git, list_add, &l);
	if (code == 0 && l.changed)
		code = list_write(r, &l);
	if (code == 0 && l.full)
		code = 1;
	list_done(&l);
	return code;
}

static int lock(int fd, short type, off_t byte)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int r;

	do
		r = fcntl(fd, F_OFD_SETLKW, &l);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* Other commands, or nobody knows. */
static bool is_in_use(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = RUN, .l_len = 1};

	return fcntl(fd, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

/* The flag and the looks; false: there are none yet. */
static bool header_read(int fd, char *ret_flag, struct git_look *ret_look)
{
	char text[HEADER + 1] = "";

	if (pread(fd, text, HEADER, 0) != HEADER || text[HEADER - 1] != '\n')
		return false;
	*ret_flag = text[0];
	text[HEADER - 1] = '\0';
	ret_look->brief = strtoull(text + 2, NULL, 16);
	ret_look->whole = strtoull(text + 19, NULL, 16);
	return true;
}

static int header_write(const struct refs *r, char flag, const struct git_look *look, bool whole)
{
	char text[HEADER + PATH_MAX + 2];
	int n = snprintf(text, sizeof(text), "%c %016llx %016llx\n%s\n", flag,
	                 (unsigned long long)look->brief, (unsigned long long)look->whole,
	                 r->workspace);
	size_t bytes = whole ? (size_t)n : HEADER;

	return pwrite(r->use, text, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

/* Whether commands ran in a directory above since SINCE (0: ever). */
static bool is_below_others(const struct refs *r, int64_t since_ns)
{
	char path[PATH_MAX], name[NAME_SIZE + sizeof(USE)];
	char *slash;

	snprintf(path, sizeof(path), "%s", r->workspace);
	while ((slash = strrchr(path, '/')) && path[1]) {
		scoped(fd_closep) int fd = -1;
		struct stat st;
		struct git_look look;
		char flag;

		slash[slash == path] = '\0';
		name_of(path, name);
		strcat(name, USE);
		fd = fd_open_regular(r->directory, name);
		if (fd == -ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st) < 0 || !header_read(fd, &flag, &look) ||
		    flag != CLOSED ||
		    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec >= since_ns)
			return true;
	}
	return false;
}

static struct git_look look_at(const struct refs *r, bool whole)
{
	struct git_look look = {NO_GIT, NO_GIT};

	if (r->git >= 0)
		git_refs_look(r->git, whole, &look);
	return look;
}

/* Whether a repository was seen here, and nobody knows any more whose its ids were. */
static bool is_list_lost(const struct refs *r, const struct git_look *look)
{
	struct stat st;

	return look->brief != NO_GIT &&
	       fstatat(r->directory, r->name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/* With the mutex. */
static int begin(struct refs *r)
{
	char flag = CLOSED;
	struct git_look was = {NO_GIT, NO_GIT};
	bool known = header_read(r->use, &flag, &was), trust;
	int64_t since = 0;
	struct stat st;
	int code = 0;

	if (fstat(r->use, &st) < 0)
		return -errno;
	if (known)
		since = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	r->look = look_at(r, false);
	if (r->git >= 0 && (!known || r->look.brief == 0 || r->look.brief != was.brief)) {
		trust = flag == CLOSED && !is_list_lost(r, &was) && !is_in_use(r->use) &&
		        !is_below_others(r, since);
		r->look = look_at(r, true);
		code = take_new(r, trust);
	} else {
		r->look = was; /* what was written in place since is not a person's way */
	}
	/* What could not be recorded now must not be new, and trusted, next time. */
	if (code > 0 || code == -E2BIG)
		flag = FULL;
	if (header_write(r, flag == FULL ? FULL : OPEN, &r->look, !known) < 0)
		return -EIO;
	return code < 0 ? code : 0;
}

static bool is_crowded(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	if (!dir) {
		fd_close(fd);
		return true;
	}
	while (count <= 2 * RECORDS_MAX && readdir(dir))
		count++;
	closedir(dir);
	return count > 2 * RECORDS_MAX;
}

static int open_all(struct refs *r, const char *state)
{
	scoped(fd_closep) int state_fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	scoped(fd_closep) int workspace_fd =
		open(r->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char use[NAME_SIZE + sizeof(USE)];
	struct stat st;

	/* A directory that goes with its process would trust everything, each time. */
	if (fstat(state_fd, &st) < 0 || st.st_mode & S_ISVTX)
		return -ENOENT;
	if (workspace_fd < 0 || (mkdirat(state_fd, DIRECTORY, 0700) < 0 && errno != EEXIST))
		return -errno;
	r->directory = openat(state_fd, DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	name_of(r->workspace, r->name);
	snprintf(use, sizeof(use), "%s" USE, r->name);
	r->use = openat(r->directory, use, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (r->use < 0 && errno == ENOENT && !is_crowded(r->directory))
		r->use = openat(r->directory, use, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->use < 0)
		return -errno;
	/* A link could lead to a repository that others write. */
	r->git = openat(workspace_fd, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return 0;
}

static struct refs *refs_free(struct refs *r)
{
	history_free(r->history);
	fd_close(r->directory);
	fd_close(r->use);
	fd_close(r->git);
	free(r);
	return NULL;
}

struct refs *refs_begin(const char *state, const char *workspace)
{
	struct refs *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return NULL;
	r->directory = r->use = r->git = -1;
	snprintf(r->workspace, sizeof(r->workspace), "%s", workspace);
	code = open_all(r, state);
	if (code == 0)
		code = lock(r->use, F_WRLCK, MUTEX);
	if (code == 0)
		code = begin(r);
	if (code == 0)
		code = lock(r->use, F_RDLCK, RUN);
	if (code < 0)
		return refs_free(r);
	(void)lock(r->use, F_UNLCK, MUTEX);
	return r;
}

/* A repository that the command has made is all its own. */
static void find_new_repository(struct refs *r)
{
	scoped(fd_closep) int workspace_fd =
		open(r->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (r->git < 0 && workspace_fd >= 0)
		r->git =
			openat(workspace_fd, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

struct refs *refs_end(struct refs *r)
{
	struct git_look look, was;
	char flag = OPEN;
	int code = 0;

	if (!r)
		return NULL;
	/* Without the record the flag stays, and nothing that is new will be trusted. */
	if (lock(r->use, F_WRLCK, MUTEX) < 0 || !header_read(r->use, &flag, &was))
		return refs_free(r);
	find_new_repository(r);
	look = look_at(r, true);
	if (r->git >= 0 && (look.whole == 0 || look.whole != r->look.whole))
		code = take_new(r, false);
	if (code > 0)
		flag = FULL;
	if (code >= 0)
		(void)header_write(r,
		                   flag == FULL        ? FULL
		                   : is_in_use(r->use) ? OPEN
		                                       : CLOSED,
		                   &look, false);
	return refs_free(r);
}

static int note_size(void *context, const struct git_id *id)
{
	*(size_t *)context = id->n;
	return 1; /* one is enough */
}

struct history *refs_history(struct refs *r)
{
	struct list l;
	size_t count = 0, n = 0;

	if (!r || r->asked || r->git < 0)
		return r ? r->history : NULL;
	r->asked = true;
	if (list_read(r, &l) == 0) {
		/* A repository that was made anew may have ids of another size. */
		(void)git_refs_read(r->git, note_size, &n);
		for (size_t i = 0; i < l.count; i++)
			if (l.trusted[i] && l.ids[i].n == n)
				l.ids[count++] = l.ids[i];
		(void)history_new(r->git, l.ids, count, &r->history);
	}
	list_done(&l);
	return r->history;
}

/* Its workspace is gone, and nobody has used it for long. */
static bool is_forgotten(int fd)
{
	char text[HEADER + PATH_MAX + 2] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	struct stat st, there;

	if (n <= HEADER || fstat(fd, &st) < 0 ||
	    clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 < FORGOTTEN_MS)
		return false;
	text[HEADER + strcspn(text + HEADER, "\n")] = '\0';
	return lstat(text + HEADER, &there) < 0 && (errno == ENOENT || errno == ENOTDIR) &&
	       !is_in_use(fd);
}

void refs_sweep(const char *state)
{
	scoped(fd_closep) int state_fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(state_fd, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir)
		fd_close(fd);
	while (dir && (d = readdir(dir))) {
		char name[NAME_SIZE];
		scoped(fd_closep) int use = -1;

		if (strlen(d->d_name) != NAME_SIZE - 1 + strlen(USE) ||
		    strcmp(d->d_name + NAME_SIZE - 1, USE) != 0)
			continue;
		use = fd_open_regular(fd, d->d_name);
		if (use < 0 || !is_forgotten(use))
			continue;
		snprintf(name, sizeof(name), "%.*s", NAME_SIZE - 1, d->d_name);
		(void)unlinkat(fd, name, 0);
		(void)unlinkat(fd, d->d_name, 0);
	}
	if (dir)
		closedir(dir);
}
