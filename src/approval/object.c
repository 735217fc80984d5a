/*
 * A number of an inode may be given again as soon as it is free, so that a directory which was
 * removed and made anew can have the same. The time of its birth tells them apart, and where the
 * file system does not keep that, the generation, which is in the handle that servers of NFS use.
 */
#include "approval/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"

#define INPUT_MAX ((size_t)64 << 20)

static const char *const part_names[OBJECT_PART_MAX] = {
	[OBJECT_ARGV] = "the words of the command",
	[OBJECT_ENVIRONMENT] = "the environment",
	[OBJECT_INPUT] = "the standard input",
	[OBJECT_WORKSPACE] = "the workspace (another directory bears its name)",
	[OBJECT_CWD] = "the working directory (another directory bears its name)",
	[OBJECT_FILES] = "a file",
	[OBJECT_TERMS] = "the profile or its box",
};

/* The length in front keeps "a" "bc" apart from "ab" "c". */
static void put(struct buffer *b, const void *bytes, size_t n)
{
	uint64_t len = n;

	buffer_append(b, &len, sizeof(len));
	buffer_append(b, bytes, n);
}

int object_digest_strings(const char *const *strings, struct digest *ret)
{
	scoped(buffer_donep) struct buffer b = {.max = SIZE_MAX};

	for (; strings && *strings; strings++)
		put(&b, *strings, strlen(*strings));
	if (buffer_error(&b) < 0)
		return buffer_error(&b);
	digest_make(b.data ? b.data : "", b.len, ret);
	return 0;
}

static int64_t ns_of(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000 + t->tv_nsec;
}

int object_look(int at, const char *path, int flags, struct statx *ret)
{
	if (statx(at, path, flags | AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS | STATX_BTIME, ret) <
	    0)
		return -errno;
	return 0;
}

void object_fill(const struct statx *st, struct object_file *f)
{
	f->device = makedev(st->stx_dev_major, st->stx_dev_minor);
	f->inode = st->stx_ino;
	f->size = st->stx_size;
	f->born_ns = st->stx_mask & STATX_BTIME ? ns_of(&st->stx_btime) : 0;
	f->modified_ns = ns_of(&st->stx_mtime);
	f->changed_ns = ns_of(&st->stx_ctime);
}

int object_open(int at, const char *path)
{
	scoped(fd_closep) int fd = openat(at, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(&fd) : -EINVAL;
}

/* Nobody in a box can write to these. */
static bool is_systems(const struct statx *st)
{
	return st->stx_uid == 0 && geteuid() != 0 && !(st->stx_mode & 022);
}

/* The times alone do not do: who has had a file mapped, since before it was looked at, can write to
 * it and change none of them. */
int object_fill_content(int at, const char *path, const struct statx *st, struct object_file *f)
{
	scoped(buffer_donep) struct buffer text = {.max = OBJECT_CONTENT_MAX};
	scoped(fd_closep) int fd = -1;
	int r;

	f->content = (struct digest){0};
	if (st->stx_size > OBJECT_CONTENT_MAX || is_systems(st))
		return 0;
	fd = object_open(at, path);
	/* Data, or somebody else's program that can only be executed. */
	if (fd == -EACCES && (st->stx_uid != geteuid() || !(st->stx_mode & 0111)))
		return 0;
	r = fd < 0 ? fd : fd_read_all(fd, &text);
	if (r < 0)
		return r;
	digest_make(text.data ? text.data : "", text.len, &f->content);
	return 0;
}

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200 /* Linux 6.5: a handle to compare, also where none can be opened */
#endif

/* Where there is no handle, nothing is put in: then there is none later, either. */
static void put_handle(struct buffer *b, int fd)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.handle.handle_bytes = MAX_HANDLE_SZ};
	int mount, r = name_to_handle_at(fd, "", &u.handle, &mount, AT_EMPTY_PATH | AT_HANDLE_FID);

	if (r < 0) {
		u.handle.handle_bytes = MAX_HANDLE_SZ;
		r = name_to_handle_at(fd, "", &u.handle, &mount, AT_EMPTY_PATH);
	}
	if (r == 0 && u.handle.handle_bytes <= MAX_HANDLE_SZ)
		put(b, u.room, sizeof(struct file_handle) + u.handle.handle_bytes);
}

/* A directory is the same whatever is in it: only what nobody can set counts. */
static int digest_directory(int fd, const char *path, struct digest *ret)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct object_file f = {0};
	struct statx st;
	uint64_t numbers[3];
	int r = object_look(fd, "", AT_EMPTY_PATH, &st);

	if (r < 0)
		return r;
	if (!S_ISDIR(st.stx_mode))
		return -ENOTDIR;
	object_fill(&st, &f);
	numbers[0] = f.device;
	numbers[1] = f.inode;
	numbers[2] = (uint64_t)f.born_ns;
	buffer_append(&b, numbers, sizeof(numbers));
	put_handle(&b, fd);
	put(&b, path, strlen(path));
	if (buffer_error(&b) < 0)
		return buffer_error(&b);
	digest_make(b.data, b.len, ret);
	return 0;
}

/* Text for standard input comes as a memory file that nobody can change any more. */
static int digest_text(int fd, size_t n, struct buffer *b)
{
	struct digest inner;
	void *bytes = NULL;

	if (n > INPUT_MAX)
		return -E2BIG;
	if (n > 0)
		bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	digest_make(bytes ? bytes : "", n, &inner);
	if (bytes)
		(void)munmap(bytes, n);
	buffer_append(b, &inner, sizeof(inner));
	return 0;
}

static bool is_null(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 1 && st->stx_rdev_minor == 3;
}

bool object_input_is_empty(int fd)
{
	struct statx st;

	return object_look(fd, "", AT_EMPTY_PATH, &st) == 0 && is_null(&st);
}

/* Of a pipe it is only known that it is one. */
static int digest_input(int fd, struct digest *ret)
{
	scoped(buffer_donep) struct buffer b = {0};
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS), r = 0;
	struct object_file f = {0};
	struct statx st;

	if (fd < 0 || object_look(fd, "", AT_EMPTY_PATH, &st) < 0)
		return -EBADF;
	object_fill(&st, &f);
	if (S_ISREG(st.stx_mode) && seals >= 0 && (seals & F_SEAL_WRITE) && (seals & F_SEAL_GROW) &&
	    (seals & F_SEAL_SHRINK)) {
		buffer_puts(&b, "text");
		r = digest_text(fd, f.size, &b);
	} else if (S_ISREG(st.stx_mode)) {
		f.path = NULL;
		buffer_puts(&b, "file");
		buffer_append(&b, &f, sizeof(f));
	} else if (is_null(&st)) {
		buffer_puts(&b, "null");
	} else {
		buffer_puts(&b, "stream");
	}
	if (r == 0)
		r = buffer_error(&b);
	if (r == 0)
		digest_make(b.data, b.len, ret);
	return r;
}

static int digest_files(const struct approval_object *o, struct digest *ret)
{
	scoped(buffer_donep) struct buffer b = {0};

	for (size_t i = 0; i < o->file_count; i++) {
		const struct object_file *f = &o->files[i];
		const uint64_t numbers[] = {f->device,
		                            f->inode,
		                            f->size,
		                            (uint64_t)f->born_ns,
		                            (uint64_t)f->modified_ns,
		                            (uint64_t)f->changed_ns};

		put(&b, f->path, strlen(f->path));
		buffer_append(&b, numbers, sizeof(numbers));
		buffer_append(&b, &f->content, sizeof(f->content));
	}
	if (o->names != OBJECT_NAMES_KNOWN) {
		buffer_putc(&b, (char)o->names);
		buffer_append(&b, &o->tree, sizeof(o->tree));
	}
	if (buffer_error(&b) < 0)
		return buffer_error(&b);
	digest_make(b.data ? b.data : "", b.len, ret);
	return 0;
}

int object_make(const struct object_subject *s, struct arena *arena, struct approval_object *ret,
                struct error *err)
{
	struct approval_object o = {0};
	enum object_part part = OBJECT_FILES;
	int r = object_gather(s, arena, &o);

	if (r == -E2BIG)
		return error_set(err, ERROR_LIMIT, E2BIG,
		                 "it names more than %d files or %d MiB of them, or has too many "
		                 "words to look for",
		                 OBJECT_FILES_MAX, (int)(OBJECT_CONTENTS_MAX >> 20));
	if (r == 0)
		r = digest_files(&o, &o.parts[OBJECT_FILES]);
	if (r == 0)
		r = object_digest_strings(s->argv, &o.parts[part = OBJECT_ARGV]);
	if (r == 0)
		r = object_digest_strings(s->envp, &o.parts[part = OBJECT_ENVIRONMENT]);
	if (r == 0)
		r = object_digest_strings(s->terms, &o.parts[part = OBJECT_TERMS]);
	if (r == 0)
		r = digest_input(s->input_fd, &o.parts[part = OBJECT_INPUT]);
	if (r == 0)
		r = digest_directory(s->workspace_fd, s->workspace,
		                     &o.parts[part = OBJECT_WORKSPACE]);
	if (r == 0)
		r = digest_directory(s->cwd_fd, s->cwd, &o.parts[part = OBJECT_CWD]);
	if (r < 0)
		return error_set(err, ERROR_SYSTEM, -r, "%s cannot be approved: %s",
		                 part_names[part], strerrordesc_np(-r));
	*ret = o;
	return 0;
}

static bool same_file(const struct object_file *a, const struct object_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->born_ns == b->born_ns && a->modified_ns == b->modified_ns &&
	       a->changed_ns == b->changed_ns &&
	       memcmp(&a->content, &b->content, sizeof(a->content)) == 0;
}

/* The first file that one of both does not have, or has otherwise. */
static const char *changed_file(const struct approval_object *was,
                                const struct approval_object *now)
{
	size_t i = 0;

	for (; i < was->file_count && i < now->file_count; i++) {
		if (strcmp(was->files[i].path, now->files[i].path) != 0 ||
		    !same_file(&was->files[i], &now->files[i]))
			return was->files[i].path;
	}
	return i < was->file_count   ? was->files[i].path
	       : i < now->file_count ? now->files[i].path
	                             : "";
}

int object_compare(const struct approval_object *was, const struct approval_object *now,
                   struct error *err)
{
	for (int i = 0; i < OBJECT_PART_MAX; i++) {
		if (memcmp(&was->parts[i], &now->parts[i], sizeof(was->parts[i])) == 0)
			continue;
		if (i == OBJECT_FILES && *changed_file(was, now))
			return error_set(err, ERROR_INPUT, ESTALE,
			                 "'%.140s' is not what it was when this was approved",
			                 changed_file(was, now));
		if (i == OBJECT_FILES)
			return error_set(err, ERROR_INPUT, ESTALE,
			                 "a file of the workspace is not what it was when this was "
			                 "approved, and any of them could run");
		return error_set(err, ERROR_INPUT, ESTALE,
		                 "what was approved is not what is to run: %s differs",
		                 part_names[i]);
	}
	return 0;
}

void object_digest(const struct approval_object *o, struct digest *ret)
{
	digest_make(o->parts, sizeof(o->parts), ret);
}

int object_file_look(const char *path, struct object_file *ret)
{
	struct object_file f = {.path = path};
	struct statx st;
	int r = object_look(AT_FDCWD, path, 0, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.stx_mode))
		return -EINVAL;
	object_fill(&st, &f);
	r = object_fill_content(AT_FDCWD, path, &st, &f);
	if (r < 0)
		return r;
	*ret = f;
	return 0;
}

bool object_file_same(const struct object_file *was)
{
	struct object_file now;

	return object_file_look(was->path, &now) == 0 && same_file(was, &now);
}
