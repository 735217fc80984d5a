#pragma once
/*
 * Network: the lists of sandbox.network inside of this room: the built-in sets, and how the lists
 * are shown.
 */
#include <stdbool.h>
#include <stddef.h>

struct binder;
struct buffer;
struct json_writer;
struct key;
struct profile;

/* One member of a built-in set. */
struct network_member {
	const char *entry;  /* as it would be written in a list */
	const char *source; /* "FILE:LINE", or "public npm registry": where the name comes from */
};

/* network-sets.c: the members of @packages or @forges, as NAME says. -ENOENT: neither. */
int network_set_members(struct binder *b, const char *name,
                        const struct network_member **ret_members, size_t *ret_count);
const char *network_set_name(size_t index); /* NULL: there are no more */
/* Hosts of the remotes of the repository in the workspace. An agent can add remotes, so a person is
 * asked about these in any case. */
int network_set_remotes(struct binder *b, const struct network_member **ret_members,
                        size_t *ret_count);
/* Whether the source of a member is such a remote. */
bool network_source_is_remote(const char *source);
/* Whether the source is a file of the machine that a command of this profile can write. */
bool network_source_is_open(const struct binder *b, const char *source);

/* network-show.c */
void profile_network_put(const struct key *key, const struct profile *p, struct json_writer *w);
void profile_network_write(const struct profile *p, struct json_writer *w);
void profile_network_print(const struct profile *p, bool names, struct buffer *out);
