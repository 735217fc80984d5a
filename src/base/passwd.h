#pragma once
/*
 * Passwd: the users of the system and their home directories, from /etc/passwd.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buffer;

#define PASSWD_MAX ((size_t)1 << 20)

struct passwd_user {
	const char *name; /* up to the next colon */
	uid_t uid;
	char home[PATH_MAX];
};

/* The text of the list. 0, also where there is no list that could be read by anybody. */
int passwd_read(struct buffer *text);
/* The next user of that text with a home directory; *line is moved behind. */
bool passwd_next(const char **line, struct passwd_user *ret);
/* The real path of a home directory, which need not exist. False: it is none. */
bool passwd_home_resolve(const char *path, char into[PATH_MAX]);
/* The same for the user with this name, of N bytes. False: there is none. */
bool passwd_home_of_name(const char *name, size_t n, char into[PATH_MAX]);
