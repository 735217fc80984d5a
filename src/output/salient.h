#pragma once
/*
 * Salient: of a stream of any length the lines that matter, in memory that is settled before.
 *
 * Bytes come in any pieces. Lines are numbered from 1 on; each is judged by salient-match.h, and
 * the best of them stay, with lines around them, up to a number of bytes. Of lines that are equal
 * but for numbers the first few stay and the others are counted; of equal worth the earlier stays.
 * Time is linear in the stream.
 *
 * What stays travels as a blob of bytes: numbers as they lie in memory, since writer and reader are
 * one binary. A reader checks every length.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct buffer;
struct salient; /* opaque */

#define SALIENT_TEXT_MAX 400 /* bytes of one line that stay */
#define SALIENT_KEPT_MAX ((size_t)256 << 10)

/* Keeps at most KEPT bytes of lines, and of these at most SALIENT_KEPT_MAX. NULL: no memory. */
struct salient *salient_new(size_t kept);
struct salient *salient_free(struct salient *s);
DEFINE_CLEANUP(struct salient *, salient_free);

/* Never fails. */
void salient_feed(struct salient *s, const char *bytes, size_t n);

/* The stream has ended for now: appends the blob, lines in their order. A line that has no end yet
 * counts as it is; more may be fed after it. */
void salient_put(const struct salient *s, struct buffer *into);

/* One line of a blob. */
struct salient_line {
	uint64_t number;  /* from 1 on */
	uint64_t similar; /* lines after it that differ in numbers only and did not stay */
	uint32_t len;     /* of the text, without its newline */
	uint32_t cut;     /* bytes of the line that are not in the text */
	uint32_t weight;  /* up to SALIENT_WEIGHT_MAX */
	const char *text; /* as it came but for escape sequences; not checked for UTF-8 */
};

/* Reads the line at *AT, and moves it behind that. False: there is no more, or it is no blob. */
bool salient_next(const char **at, const char *end, struct salient_line *ret_line);
