/*
 * git runs programs that its configuration names, takes aliases for commands, and reads more files
 * of configuration. A line that was decided on as "git status" must not mean something else since
 * an earlier command wrote ~/.gitconfig. So only keys that are known to run nothing may stay there;
 * a file with any other is moved out of the home. What the operator's own file had may stay.
 */
#include "session/room-git.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/id.h"
#include "protect/git.h"
#include "session/room.h"

#define CONFIG_MAX ((size_t)256 << 10)
#define SEED       "seed" /* beside the home: commands do not see it */

/* Where git looks, relative to home; those of it that are configurations. */
static const struct {
	const char *path;
	bool is_config;
} files[] = {
	{".gitconfig", true},
	{".config/git/config", true},
	{".config/git/ignore", false},
};

/* Whole sections that name no program, no file of configuration and no command. */
static const char *const sections[] = {"user", "init",     "color",  "advice",  "column", "pull",
                                       "push", "fetch",    "rebase", "rerere",  "log",    "status",
                                       "tag",  "checkout", "branch", "safe",    "stash",  "format",
                                       "gc",   "index",    "pack",   "feature", "apply",  "clone"};
/* And what they have all the same. */
static const char *const never[] = {"log.mailmap",           "log.showsignature",
                                    "format.signaturefile",  "rebase.instructionformat",
                                    "fetch.bundleuri",       "user.signingkey",
                                    "init.templatedir",      "gc.recentobjectshook",
                                    "clone.filtersubmodules"};
/* Of sections that have both kinds. */
static const char *const keys[] = {"core.autocrlf",
                                   "core.eol",
                                   "core.safecrlf",
                                   "core.filemode",
                                   "core.ignorecase",
                                   "core.quotepath",
                                   "core.abbrev",
                                   "core.whitespace",
                                   "core.symlinks",
                                   "core.precomposeunicode",
                                   "core.logallrefupdates",
                                   "core.bare",
                                   "core.repositoryformatversion",
                                   "core.preloadindex",
                                   "core.untrackedcache",
                                   "core.commentchar",
                                   "core.compression",
                                   "core.longpaths",
                                   "core.bigfilethreshold",
                                   "commit.gpgsign",
                                   "commit.verbose",
                                   "commit.status",
                                   "commit.cleanup",
                                   "merge.ff",
                                   "merge.conflictstyle",
                                   "merge.log",
                                   "merge.stat",
                                   "merge.renames",
                                   "merge.autostash",
                                   "merge.renamelimit",
                                   "merge.directoryrenames",
                                   "diff.algorithm",
                                   "diff.renames",
                                   "diff.colormoved",
                                   "diff.renamelimit",
                                   "diff.context",
                                   "diff.mnemonicprefix",
                                   "diff.noprefix",
                                   "diff.submodule",
                                   "diff.wserrorhighlight",
                                   "diff.colormovedws",
                                   "diff.interhunkcontext",
                                   "http.postbuffer",
                                   "http.version",
                                   "http.lowspeedlimit",
                                   "http.lowspeedtime",
                                   "transfer.fsckobjects",
                                   "receive.fsckobjects",
                                   "submodule.recurse",
                                   "submodule.fetchjobs",
                                   "blame.coloring",
                                   "grep.linenumber",
                                   "grep.patterntype",
                                   "mergetool.keepbackup",
                                   "difftool.prompt",
                                   "mergetool.prompt"};

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static bool is_harmless(const struct git_key *k)
{
	char both[128];

	if (snprintf(both, sizeof(both), "%s.%s", k->section, k->key) >= (int)sizeof(both))
		return false;
	if (is_in(never, array_size(never), both))
		return false;
	return is_in(keys, array_size(keys), both) ||
	       is_in(sections, array_size(sections), k->section);
}

/* One more line of a seed: all that tells a key from another. */
static void put_key(struct buffer *out, const struct git_key *k)
{
	buffer_printf(out, "%s\x1f%s\x1f%s\x1f%s\n", k->section, k->name, k->key,
	              k->value ? k->value : "");
}

struct look {
	const struct buffer *seed;
	bool harmful;
};

static int look_at_key(void *context, const struct git_key *k)
{
	struct look *l = context;
	scoped(buffer_donep) struct buffer line = {.max = CONFIG_MAX};

	if (is_harmless(k))
		return 0;
	put_key(&line, k);
	l->harmful = buffer_error(&line) < 0 || !l->seed ||
	             !memmem(buffer_str(l->seed), l->seed->len, line.data, line.len);
	return l->harmful;
}

struct keeping {
	struct buffer text;
	const struct buffer *seed;
};

/* Seeding */

struct seeding {
	struct buffer text; /* the new file */
	struct buffer known;
};

static void put_quoted(struct buffer *out, const char *value)
{
	buffer_putc(out, '"');
	for (; *value; value++)
		switch (*value) {
		case '"':
		case '\\':
			buffer_putc(out, '\\');
			buffer_putc(out, *value);
			break;
		case '\n':
			buffer_puts(out, "\\n");
			break;
		case '\t':
			buffer_puts(out, "\\t");
			break;
		default:
			buffer_putc(out, *value);
		}
	buffer_putc(out, '"');
}

/* An include, and a program or file that has a path, would be the agent's in a room. */
static bool may_be_copied(const struct git_key *k)
{
	if (strcmp(k->section, "include") == 0 || strcmp(k->section, "includeif") == 0)
		return false;
	if (is_harmless(k))
		return true;
	return k->value && !strpbrk(k->value, "/~$`\n");
}

static void write_key(struct buffer *text, const struct git_key *k)
{
	buffer_printf(text, "[%s", k->section);
	if (*k->name) {
		buffer_putc(text, ' ');
		put_quoted(text, k->name);
	}
	buffer_printf(text, "]\n\t%s", k->key);
	if (k->value) {
		buffer_puts(text, " = ");
		put_quoted(text, k->value);
	}
	buffer_putc(text, '\n');
}

static int seed_key(void *context, const struct git_key *k)
{
	struct seeding *s = context;

	if (!may_be_copied(k))
		return 0;
	write_key(&s->text, k);
	if (!is_harmless(k))
		put_key(&s->known, k);
	return 0;
}

/* Opens the directory of PATH below HOME_FD, making what is missing, and gives its last name. */
static int open_parent(int home_fd, const char *path, bool make, uid_t uid, gid_t gid,
                       const char **ret_name)
{
	int at = fcntl(home_fd, F_DUPFD_CLOEXEC, 3), next;
	char part[NAME_MAX + 1];
	const char *end;

	for (; at >= 0 && (end = strchr(path, '/')); path = end + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (make && mkdirat(at, part, 0700) == 0 && geteuid() == 0 &&
		    fchownat(at, part, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
			make = false; /* what is made in it fails, and is told */
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		next = next < 0 ? -errno : next;
		fd_close(at);
		at = next;
	}
	*ret_name = path;
	return at;
}

static int write_seeded(int home_fd, const char *path, const struct buffer *text, uid_t uid,
                        gid_t gid)
{
	const char *name;
	scoped(fd_closep) int parent = open_parent(home_fd, path, true, uid, gid, &name);
	scoped(fd_closep) int fd = -1;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return -errno;
	return fd_write_all(fd, buffer_str(text), text->len);
}

/* What cannot be read is not copied: the room begins without it. */
static int seed_file(int home_fd, const char *home, const char *path, bool is_config,
                     struct seeding *s, uid_t uid, gid_t gid)
{
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	scoped(fd_closep) int fd = -1;
	char full[PATH_MAX];
	struct stat st;

	if (snprintf(full, sizeof(full), "%s/%s", home, path) >= (int)sizeof(full))
		return 0;
	fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* many keep it elsewhere, by a link */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fd_read_all(fd, &text) < 0)
		return 0;
	if (!is_config)
		return write_seeded(home_fd, path, &text, uid, gid);
	buffer_clear(&s->text);
	if (git_config_parse(buffer_str(&text), text.len, seed_key, s) != 0 ||
	    buffer_error(&s->text) < 0)
		return 0;
	return s->text.len > 0 ? write_seeded(home_fd, path, &s->text, uid, gid) : 0;
}

int room_git_seed(int dir, const char *home, uid_t uid, gid_t gid)
{
	scoped(fd_closep) int home_fd =
		openat(dir, "home", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct seeding s = {.text = {.max = CONFIG_MAX}, .known = {.max = CONFIG_MAX}};
	int r = home_fd < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && home && i < array_size(files); i++)
		r = seed_file(home_fd, home, files[i].path, files[i].is_config, &s, uid, gid);
	if (r == 0)
		r = buffer_error(&s.known);
	if (r == 0)
		r = fd_replace_file(dir, SEED, buffer_str(&s.known), s.known.len);
	buffer_done(&s.text);
	buffer_done(&s.known);
	return r;
}

/* The look after a call */

static bool file_is_harmful(int parent, const char *name, const struct buffer *seed)
{
	scoped(buffer_donep) struct buffer text = {.max = CONFIG_MAX};
	scoped(fd_closep) int fd = -1;
	struct look l = {.seed = seed};
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	fd = fd_open_regular(parent, name);
	if (fd < 0 || fd_read_all(fd, &text) < 0)
		return true; /* a link, a FIFO, longer than any honest one, or not to be read */
	return git_config_parse(buffer_str(&text), text.len, look_at_key, &l) != 0 || l.harmful;
}

static bool move_to_held(const struct room *r, int parent, const char *name)
{
	scoped(fd_closep) int held =
		openat(r->dir, "held", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char id[ID_UUID_SIZE], aside[ID_UUID_SIZE + 32];

	if (held < 0 || id_uuid(id) < 0)
		return false;
	snprintf(aside, sizeof(aside), "%.20s-%s", *name == '.' ? name + 1 : name, id);
	if (renameat(parent, name, held, aside) == 0)
		return true;
	/* A directory changes its "..", so that it must be writable as well. */
	(void)fchmod(parent, 0700);
	fd_close(fd_open_locked(parent, name, 0700, NULL));
	return renameat(parent, name, held, aside) == 0;
}

static void name_one(char notice[ROOM_NOTICE_MAX], const char *path)
{
	size_t n = strlen(notice);

	snprintf(notice + n, ROOM_NOTICE_MAX - n, "%s~/%s", n ? ", " : "", path);
}

/* One key more for the file that takes the place of a moved one. */
static int keep_key(void *context, const struct git_key *k)
{
	struct keeping *kept = context;
	struct look l = {.seed = kept->seed};

	if (look_at_key(&l, k) == 0)
		write_key(&kept->text, k);
	return 0;
}

/* Moves the file away and leaves the keys that may stay. */
static bool replace(const struct room *r, int parent, const char *name, const struct buffer *seed)
{
	scoped(buffer_donep) struct buffer bytes = {.max = CONFIG_MAX};
	struct keeping kept = {.text = {.max = CONFIG_MAX}, .seed = seed};
	scoped(fd_closep) int from = fd_open_regular(parent, name);
	scoped(fd_closep) int fd = -1;
	struct stat st = {0};
	bool readable = from >= 0 && fstat(from, &st) == 0 && fd_read_all(from, &bytes) == 0 &&
	                git_config_parse(buffer_str(&bytes), bytes.len, keep_key, &kept) == 0;
	bool moved = move_to_held(r, parent, name);

	if (moved && readable && kept.text.len > 0 && buffer_error(&kept.text) == 0) {
		fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		            0644);
		if (fd >= 0 && (geteuid() != 0 || fchown(fd, st.st_uid, st.st_gid) == 0))
			(void)fd_write_all(fd, kept.text.data, kept.text.len);
	}
	buffer_done(&kept.text);
	return moved;
}

/* The directory that PATH is in, by plain directories only. What is none, a link perhaps, leads git
 * elsewhere, and is moved. -1: there is nothing that git could read. */
static int find_parent(const struct room *r, int home_fd, const char *path, const char **ret_name,
                       char notice[ROOM_NOTICE_MAX])
{
	int at = fcntl(home_fd, F_DUPFD_CLOEXEC, 3), next;
	const char *whole = path, *end;
	char part[NAME_MAX + 1];
	struct stat st;

	for (; at >= 0 && (end = strchr(path, '/')); path = end + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		next = fd_open_locked(at, part, 0700, NULL);
		if (next < 0 && fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode) && move_to_held(r, at, part)) {
			snprintf(part, sizeof(part), "%.*s", (int)(end - whole), whole);
			name_one(notice, part);
		}
		fd_close(at);
		at = next;
	}
	*ret_name = path;
	return at;
}

void room_hold_git(const struct room *r, char notice[ROOM_NOTICE_MAX])
{
	scoped(buffer_donep) struct buffer seed = {.max = CONFIG_MAX};
	scoped(fd_closep) int seed_fd = -1;
	scoped(fd_closep) int home_fd = -1;

	notice[0] = '\0';
	if (r->dir < 0 || r->home < 0)
		return;
	/* Locked or not: the next command can unlock it before it calls git. */
	home_fd = fd_open_locked(r->dir, "home", 0700, NULL);
	if (home_fd < 0)
		return;
	seed_fd = fd_open_regular(r->dir, SEED);
	if (seed_fd >= 0 && fd_read_all(seed_fd, &seed) < 0)
		buffer_clear(&seed);
	for (size_t i = 0; i < array_size(files); i++) {
		const char *name = NULL;
		scoped(fd_closep) int parent =
			find_parent(r, home_fd, files[i].path, &name, notice);

		if (parent >= 0 && files[i].is_config && file_is_harmful(parent, name, &seed) &&
		    replace(r, parent, name, &seed))
			name_one(notice, files[i].path);
	}
}
