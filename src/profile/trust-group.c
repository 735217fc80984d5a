/*
 * The user and group files are read as they are: what else a machine asks for names (a directory
 * service) has no place in a static program. A group that these files do not tell all about is not
 * private.
 */
#include "profile/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"

#define DATABASE_MAX ((size_t)1 << 20)
#define FIELDS_MAX   4

struct text {
	const char *at;
	size_t n;
};

static bool is_same(struct text a, struct text b)
{
	return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

static bool is_number(struct text t, unsigned value)
{
	char number[16];
	int n = snprintf(number, sizeof(number), "%u", value);

	return is_same(t, (struct text){number, (size_t)n});
}

/* The next line's first fields, which colons part; false at the end. */
static bool next_line(const char **p, struct text fields[FIELDS_MAX])
{
	const char *line = *p, *end = line + strcspn(line, "\n");

	if (!*line)
		return false;
	for (int i = 0; i < FIELDS_MAX; i++) {
		size_t n = strcspn(line, ":\n");

		fields[i] = (struct text){line, n};
		line += n;
		line += *line == ':';
	}
	*p = end + (*end == '\n');
	return true;
}

/* "+" and "-" at the start of a line mean that there is more elsewhere. */
static bool is_elsewhere(struct text name)
{
	return name.n > 0 && (*name.at == '+' || *name.at == '-');
}

/* The user's name; with no other user whose first group it is. */
static bool find_user(const char *users, uid_t uid, gid_t gid, struct text *ret_name)
{
	struct text f[FIELDS_MAX], name = {0};

	while (next_line(&users, f)) {
		if (is_elsewhere(f[0]))
			return false;
		if (is_number(f[2], uid) && !name.n)
			name = f[0];
		else if (is_number(f[3], gid) && !is_number(f[2], uid) && !is_number(f[2], 0))
			return false;
	}
	*ret_name = name;
	return name.n > 0;
}

/* Whether nobody but NAME is in the list, which commas part. */
static bool holds_only(struct text members, struct text name)
{
	while (members.n > 0) {
		const char *comma = memchr(members.at, ',', members.n);
		size_t n = comma ? (size_t)(comma - members.at) : members.n;

		if (n > 0 && !is_same((struct text){members.at, n}, name))
			return false;
		members.at += n + (comma != NULL);
		members.n -= n + (comma != NULL);
	}
	return true;
}

bool trust_group_is_private(const char *users, const char *groups, uid_t uid, gid_t gid)
{
	struct text f[FIELDS_MAX], name;
	bool found = false;

	if (!find_user(users, uid, gid, &name))
		return false;
	while (next_line(&groups, f)) {
		if (is_elsewhere(f[0]))
			return false;
		if (!is_number(f[2], gid))
			continue;
		if (!is_same(f[0], name) || !holds_only(f[3], name))
			return false;
		found = true;
	}
	return found;
}

/* NULL: it cannot be read, or is longer than any that one person's machine has. */
static char *read_database(const char *path)
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(DATABASE_MAX + 1);
	size_t have = 0;
	ssize_t n = 1;

	while (text && n > 0 && have < DATABASE_MAX) {
		n = read(fd, text + have, DATABASE_MAX - have);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			have += (size_t)n;
	}
	if (!text || n != 0 || memchr(text, '\0', have)) {
		free(text);
		return NULL;
	}
	text[have] = '\0';
	return text;
}

bool trust_group(uid_t uid, gid_t gid)
{
	char *users, *groups;
	bool is_private;

	if (uid == 0 || gid == 0) /* root's is no person's */
		return false;
	users = read_database("/etc/passwd");
	groups = read_database("/etc/group");
	is_private = users && groups && trust_group_is_private(users, groups, uid, gid);
	free(users);
	free(groups);
	return is_private;
}
