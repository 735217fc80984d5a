#pragma once
/*
 * File descriptors: closing, whole reads and writes, whole small files.
 */
#include <stddef.h>
#include <sys/types.h>
#include "base/cleanup.h"

struct buffer;
struct error;

void fd_close(int fd); /* -1 is fine; errno is kept */
DEFINE_CLEANUP(int, fd_close);

/* Both loop over short transfers and EINTR: 0, or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t n);
/* Reads to the end of the file; the buffer's limit holds (-E2BIG). */
int fd_read_all(int fd, struct buffer *into);

/* A small file, such as those of /proc, as text: at most SIZE - 1 bytes, and a NUL also on failure.
 * Returns how many bytes, or a negative errno. The kernel gives a long list a page at a time, so
 * one read would not be enough. */
ssize_t fd_read_text(int dir_fd, const char *path, char *text, size_t size);

int fd_set_nonblocking(int fd);

/* The lowest descriptors that nobody owns are dangerous: a file opened as number 2 receives error
 * messages. Fills 0, 1 and 2 with /dev/null where they are closed. */
int fd_fill_standard(void);

/* Points 0, 1 and 2 to /dev/null. */
void fd_null_standard(void);

/* Closes every descriptor from 3 up but these; -1 in the list is passed over. */
void fd_close_except(const int *keep, size_t count);

/* Opens a file for reading, or a negative errno. What is no regular file is refused without
 * waiting: in a directory that a command can reach it may be a FIFO by now. */
int fd_open_regular(int dir_fd, const char *name);

/* Opens a directory that commands may have changed while they run. A link is not followed. If its
 * mode lacks one of the owner's RIGHTS (0500, 0700), they are added. RET_BEFORE (may be NULL) gets
 * its mode from before that, or 0 if nothing was changed. */
int fd_open_locked(int at, const char *name, mode_t rights, mode_t *ret_before);

/* Opens a directory that is ours and that nobody else can write to; -EPERM: somebody can, and could
 * plant whatever we believe. */
int fd_open_private(int at, const char *path);

/* Locks it for us alone. Others are waited for, a second at the most (-EBUSY): everybody holds it
 * for the blink of an eye, and one that was stopped in that must not stop all. */
int fd_lock(int fd);

/* Replaces the file NAME in the directory by these bytes: readers see the old file or the new one,
 * never a part. Leaves nothing behind on failure. */
int fd_replace_file(int dir_fd, const char *name, const void *bytes, size_t n);
/* The same when the machine goes down, at any moment; it is on the disk then. */
int fd_replace_file_synced(int dir_fd, const char *name, const void *bytes, size_t n);
