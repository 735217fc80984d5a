#pragma once
/*
 * View: the text of one stream in a size that its caller can read.
 *
 * Made from what a capture has kept. Limits are in characters or bytes of the cleaned text and are
 * exact: a view is as long as its limit allows, never cut inside of a character or of an escape
 * sequence that is kept. What the caller does not see is counted, and a notice says where it lies.
 *
 * Characters and bytes that the capture let go were never cleaned, so they count as they came; for
 * a stream of plain text shown and left out add up to its exact total.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct capture_limits;
struct capture_snapshot;
struct error;

enum view_style {
	VIEW_ALL,        /* all that was kept; LIMIT bytes are asked of the capture */
	VIEW_EDGES,      /* more than LIMIT bytes: the first EDGE and the last EDGE bytes */
	VIEW_TAIL_CHARS, /* the last LIMIT characters */
	VIEW_BYTES,      /* the first LIMIT bytes */
	VIEW_HALVES,     /* LIMIT characters, half from the start and half from the end */
	VIEW_SALIENT, /* LIMIT bytes: beginning, end, and from the middle the lines that matter */
	VIEW_AUTO,    /* VIEW_SALIENT where the caller wants one text, else VIEW_HALVES; as that */
	VIEW_STYLE_MAX
};

struct view_limits {
	enum view_style style;
	size_t limit;      /* 0: the default of the style */
	uint64_t lines;    /* VIEW_SALIENT only: at most so many; 0: any number */
	size_t edge;       /* VIEW_EDGES only; 0: the default; at most half the limit */
	bool keep_escapes; /* see clean.h */
	bool show_controls;
};

/* Where the whole output lies, for the notices. */
struct view_file {
	const char *name;       /* NULL: it was not kept */
	const char *why_not;    /* then the reason, or NULL */
	uint64_t dropped_bytes; /* of the middle, missing in the file because of its cap */
	uint64_t lost_bytes;    /* missing in the file because they could not be written */
	/* How lines are read by their numbers, A-B: the words before and behind; NULL: they are
	 * not. Only for styles that leave lines out. */
	const char *call_before, *call_behind;
};

struct view {
	char *text; /* valid UTF-8, ends with a NUL that does not count; styles that show both ends
	             * have the notice as a line between them; of binary output it is the notice */
	size_t len;
	char *notice;   /* one sentence for the caller, or NULL: the text is all there is */
	bool truncated; /* not all of the output is in the text */
	bool binary;
	const char *type;     /* of binary output, a constant; else NULL */
	uint64_t total_bytes; /* of the raw stream */
	uint64_t shown_bytes; /* of the cleaned output in the text; the notice does not count */
	uint64_t shown_chars;
	uint64_t omitted_bytes;
	uint64_t omitted_chars;
	uint64_t total_lines, shown_lines; /* VIEW_SALIENT only, when it is truncated */
	uint64_t replaced;                 /* invalid sequences among what was cleaned */
};

/* What a capture must keep so that a view within these limits is complete, up to 2 MiB in all.
 * Output that is mostly escape sequences may still leave less text than the limit allows. */
struct capture_limits view_capture_limits(const struct view_limits *given);

/* So many bytes of plain text, which lie in the head of such a capture, are shown whole by a view
 * within these limits. */
size_t view_surely_shown(const struct view_limits *given);

/* So many bytes from the beginning of the cleaned text are in every view within these limits,
 * whatever follows them. 0: a view may show only the end. */
size_t view_sure_beginning(const struct view_limits *given);

size_t view_limit(const struct view_limits *given); /* or the default of the style */

/* FILE may be NULL: the whole was not kept. The caller owns what is in *ret_view and releases it
 * with view_done(). */
int view_make(const struct capture_snapshot *snapshot, const struct view_limits *given,
              const struct view_file *file, struct view *ret_view, struct error *err);
void view_done(struct view *v); /* leaves an empty view */
static inline void view_donep(struct view *v)
{
	view_done(v);
}
