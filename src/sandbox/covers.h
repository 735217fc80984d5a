#pragma once
/*
 * Covers: a list of the host paths that a box has, and of what is held or hidden in them. For a
 * container engine, which makes the tree by other means.
 */
struct sandbox_plan;

enum sandbox_cover_kind {
	SANDBOX_COVER_WRITABLE,  /* a file or directory of the host, at its own path */
	SANDBOX_COVER_READONLY,  /* the same, also on a part of one above: it stays as it is */
	SANDBOX_COVER_PINNED,    /* a directory on itself: it cannot be renamed */
	SANDBOX_COVER_FILE,      /* an empty file stands in its place */
	SANDBOX_COVER_DIRECTORY, /* an empty directory */
};

struct sandbox_cover {
	const char *path; /* absolute, canonical */
	enum sandbox_cover_kind kind;
};

/* In the order in which they must be made: a directory before its contents, hiding covers last. A
 * negative return of VISIT ends the walk and is returned. System directories are left out. */
typedef int sandbox_cover_visit(void *context, const struct sandbox_cover *cover);
int sandbox_plan_covers(const struct sandbox_plan *p, sandbox_cover_visit *visit, void *context);
