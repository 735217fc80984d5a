#pragma once
/*
 * Escape: where a terminal control sequence ends, and the little of it that moves text in a line.
 *
 * Follows ECMA-48: CSI with parameters, strings (OSC, DCS, PM, APC, SOS) up to ST, OSC also up to
 * BEL, charset selections and other two-byte forms, each also by the 8-bit introducer written in
 * UTF-8. A string ends at a newline at the latest: a title that is never closed must not hide what
 * follows.
 */
#include <stdbool.h>
#include <stddef.h>

enum escape_state {
	ESCAPE_WHOLE,
	ESCAPE_BROKEN, /* ended by something that does not belong to it, which is not counted in */
	ESCAPE_CUT,    /* the bytes end before the sequence does */
};

struct escape {
	size_t len; /* at least 1 */
	enum escape_state state;
	char final;      /* of a whole CSI without private marks, else 0 */
	unsigned number; /* its first parameter, at most 65535; 0: none */
};

/* Whether a sequence begins at the start of N > 0 bytes: ESC, or U+0080 to U+009F as UTF-8. */
bool escape_begins(const char *bytes, size_t n);

/* The sequence at the start of the bytes, where escape_begins() is true. */
struct escape escape_scan(const char *bytes, size_t n);
