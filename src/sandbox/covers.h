#pragma once
/*
 * Covers: what of the host a box has, and what is held or hidden in it, told instead of done: for
 * an executor that makes the tree by other means.
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

/* In the order in which they have to be made: directories before what lies in them, what hides
 * last. A negative return of VISIT ends it, and is returned. System directories are not told. */
typedef int sandbox_cover_visit(void *context, const struct sandbox_cover *cover);
int sandbox_plan_covers(const struct sandbox_plan *p, sandbox_cover_visit *visit, void *context);
