#pragma once
/*
 * Refs: the commits that a repository's names lead to, and the record of whose they are.
 *
 * A command can write every ref. So what a person brought in, and what a command did, is told apart
 * by when it appeared: what changed while no command ran is the person's. The record in nacre's own
 * state has both: ids that are trusted, with all of their history, and ids that commands left.
 *
 *	<state>/refs/<digest of the workspace's path>	the ids: "+" or "-", and the digits
 *	<state>/refs/<digest>.use			locked by each command; whether one runs,
 *							what the refs looked like at the end of the
 *							last one, and the workspace's path
 *
 * A workspace may contain others, and a command there can write the repositories of all. So a
 * command marks its workspace even if that is no repository, and a record asks the directories
 * above for their marks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "protect/objects.h"

#define REFS_MAX 8192

/* gitrefs.c. Each id that a name of the repository has; names of branches first. Not 0: there are
 * too many, or they cannot be read. */
typedef int git_refs_visit(void *context, const struct git_id *id);
int git_refs_read(int git_fd, git_refs_visit *visit, void *context);
/* Numbers for what the names look like. Git replaces the file of a ref, so its directory changes,
 * and a brief look sees that; one that was written in place only the whole look sees. 0: it is not
 * known, or something has changed just now. */
struct git_look {
	uint64_t brief, whole;
};
void git_refs_look(int git_fd, bool whole, struct git_look *ret_look);
/* The commit that a file like HEAD leads to: "ref: NAME", or the digits. */
bool git_ref_follow(int git_fd, const char *text, size_t n, struct git_id *ret_id);

struct history;
struct refs;
/* Before a command, and after all of it has ended; in one process. STATE must exist. NULL: there is
 * no record, and nothing is trusted. */
struct refs *refs_begin(const char *state, const char *workspace);
struct refs *refs_end(struct refs *r); /* NULL is fine; returns NULL */
/* What is trusted in the repository of the workspace; NULL: nothing. It stays the record's own. */
struct history *refs_history(struct refs *r);
/* Removes records of workspaces that are no more. */
void refs_sweep(const char *state);
