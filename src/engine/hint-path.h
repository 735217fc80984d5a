#pragma once
/*
 * The path that a line of output complains of, and what the sandbox does with such a path.
 *
 * Nothing here asks the file system: the answer would tell the command what lies outside of its
 * sandbox. A path is compared with what the profile lists, letter by letter.
 */
#include <stdbool.h>
#include <stddef.h>

struct hint_facts;

#define HINT_PATH_MAX 128

enum hint_path {
	HINT_PATH_NONE,
	HINT_PATH_PROTECTED, /* in sandbox.protected */
	HINT_PATH_AROUND,    /* a directory with something of sandbox.protected in it */
	HINT_PATH_SECRET,    /* in sandbox.secrets */
	HINT_PATH_WORKSPACE, /* in the workspace */
	HINT_PATH_HIDDEN,    /* in no sandbox, unless a policy grants it */
	HINT_PATH_OUTSIDE,   /* not in the workspace, and not for temporary files */
	HINT_PATH_TEMPORARY, /* in the private space for temporary files, home included */
	HINT_PATH_TMP,       /* the same, without home */
	HINT_PATH_UNSHARED,  /* the same, with home, and not granted */
	HINT_PATH_KINDS,
};

/* Looks for the first path in the line that is of this kind, and says what to call it: the entry of
 * the profile, or the path as it stands in the line, which is then short and plain ASCII. */
bool hint_path_find(const struct hint_facts *f, enum hint_path kind, const char *line, size_t n,
                    char ret_path[HINT_PATH_MAX]);
