#pragma once
/*
 * Store: what hangs on a profile beside its values: the memory, where each value comes from, and
 * the files that were looked for.
 */
#include <stdbool.h>
#include <sys/stat.h>
#include "base/digest.h"
#include "base/path.h"
#include "policy/grants.h"

struct arena;
struct profile_origin;

/* A file that was read, or that was not there: what it was then. */
struct profile_file {
	const char *path;
	int directory; /* what a file of the project is in: its place in the store; -1: none */
	bool exists;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed; /* ctime: nobody can set it back */
	struct profile_file *next;
};

struct profile_layer {
	const char *name; /* "built-in:bash", a path */
	struct profile_layer *next;
};

struct profile_store {
	struct arena *arena;
	struct profile_origin *origins; /* the last one first */
	struct profile_file *files;
	struct profile_layer *layers, *last_layer; /* the lowest first */
	/* From the root down to the workspace; all are ours. */
	int directories[PATH_DESCENT_MAX];
	int directory_count;
	struct digest digest; /* of the texts of all files that were read */
};
