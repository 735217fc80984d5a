#pragma once
/*
 * Trust: opening a file of which nobody but its user, or root, can have made the content.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

/* Opens a regular file for reading. The file and every directory and link on the way to it belong
 * to UID or to root, and nobody else can write them; a directory like /tmp, where only owners
 * rename, is fine, and so is the user's private group. None of the directories is the one that
 * OUTSIDE_FD has open (-1: any may be): there commands write with our user's name. Returns a
 * descriptor, -ENOENT if there is no such file, or another negative errno with the words. */
int trust_open(const char *path, uid_t uid, int outside_fd, struct error *err);

/* Whether nobody but UID is in this group: it has the user's name, nobody else is a member of it,
 * and it is nobody else's first group. With umask 002 such a group can write the user's files. Root
 * has none. */
bool trust_group(uid_t uid, gid_t gid);
/* For tests: the same by the texts of /etc/passwd and /etc/group. */
bool trust_group_is_private(const char *users, const char *groups, uid_t uid, gid_t gid);
