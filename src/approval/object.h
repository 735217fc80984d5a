#pragma once
/*
 * Object: what exactly is approved, as digests of its parts.
 *
 * Made twice, by the same code: where a person is asked, and in the keeper just before the command
 * runs. Equal digests mean that the same words run in the same directory, with the same environment
 * and input, and that the files which the words name are the same ones, unchanged.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/digest.h"
#include "policy/grants.h"

struct arena;
struct error;
struct policy_answer;
struct shell_facts;

#define OBJECT_FILES_MAX    1024
#define OBJECT_CONTENT_MAX  ((size_t)4 << 20)  /* of a file whose content counts */
#define OBJECT_CONTENTS_MAX ((size_t)64 << 20) /* of all of them together */

enum object_part {
	OBJECT_ARGV,
	OBJECT_ENVIRONMENT,
	OBJECT_INPUT,
	OBJECT_WORKSPACE,
	OBJECT_CWD,
	OBJECT_FILES,
	OBJECT_TERMS, /* the profile, and what its box is like */
	OBJECT_PART_MAX,
};

/* A file as it was; the path is as it was looked for. */
struct object_file {
	const char *path;
	uint64_t device, inode, size;
	int64_t born_ns, modified_ns, changed_ns; /* born: 0 where the file system does not say */
	struct digest content; /* nothing: it is too large, or nobody in a box can write it */
};

/* Whether all files that decide have a name. */
enum object_names {
	OBJECT_NAMES_KNOWN,
	OBJECT_NAMES_TREE,    /* not all: every file of the workspace is bound */
	OBJECT_NAMES_UNKNOWN, /* not all, and there are too many files */
	OBJECT_NAMES_MAX,
};

struct approval_object {
	struct digest parts[OBJECT_PART_MAX];
	/* The programs among the files, for grants, and all files, to tell which has changed. */
	const struct object_file *programs, *files;
	size_t program_count, file_count;
	enum object_names names;
	size_t tree_files; /* of TREE: how many */
	struct digest tree;
};

struct object_subject {
	const char *const *argv; /* what is executed */
	const char *const *envp; /* all of it */
	int input_fd;            /* standard input: empty, a sealed memory file, or a stream */
	int workspace_fd, cwd_fd;
	const char *workspace, *cwd; /* absolute paths */
	const struct shell_facts *facts;
	const struct policy_answer *answer;
	const char *const *terms;
};

/* Memory of the object is in the arena. -E2BIG: it names too many files. */
int object_make(const struct object_subject *s, struct arena *arena, struct approval_object *ret,
                struct error *err);

/* 0: both are the same; -ESTALE: NOW is not what WAS was, and the error names what differs. */
int object_compare(const struct approval_object *was, const struct approval_object *now,
                   struct error *err);

/* Whether nothing can be read from it: /dev/null. */
bool object_input_is_empty(int fd);

/* Of strings, each for itself. */
int object_digest_strings(const char *const *strings, struct digest *ret);

/* One digest for all of it. */
void object_digest(const struct approval_object *o, struct digest *ret);

/* A regular file as it is now. */
int object_file_look(const char *path, struct object_file *ret);
/* Whether the file is still there, and as it was. */
bool object_file_same(const struct object_file *was);
