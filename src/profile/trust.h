#pragma once
/*
 * Trust: opening a file of which nobody but its user, or root, can have made the content.
 */
#include <stddef.h>
#include <sys/types.h>

struct error;

/* Opens a regular file for reading. The file and every directory and link on the way to it belong
 * to UID or to root, and nobody else can write them; a directory like /tmp, where only owners
 * rename, is fine. None of the directories is the one that OUTSIDE_FD has open (-1: any may be):
 * there commands write with our user's name. Returns a descriptor, -ENOENT if there is no such
 * file, or another negative errno with the words. */
int trust_open(const char *path, uid_t uid, int outside_fd, struct error *err);
