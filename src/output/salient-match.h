#pragma once
/*
 * Which lines of the output of tools matter. The patterns are data: data/salient.tsv.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum salient_kind {
	SALIENT_NONE, /* no pattern matches */
	SALIENT_NOISE,
	SALIENT_ROUTINE,
	SALIENT_WARNING,
	SALIENT_TRACE,
	SALIENT_SUMMARY,
	SALIENT_FAIL,
	SALIENT_ERROR,
	SALIENT_CAUSE,
};

#define SALIENT_LOOK_MAX   1024 /* bytes from the beginning of a line that are looked at */
#define SALIENT_WEIGHT_MAX 100

struct salient_verdict {
	enum salient_kind kind;
	uint8_t weight;        /* 0: the line has no place of its own */
	uint8_t before, after; /* lines around it that belong to it */
	uint16_t rule;         /* its number, below SALIENT_RULES_MAX */
};

#define SALIENT_RULES_MAX 1024

/* A line as it came, without its newline. Scratch has room for SALIENT_LOOK_MAX bytes; *ret_text is
 * the text that was looked at, in it or in the line: escape sequences and text that was written
 * over are gone. Time is linear in the line. */
struct salient_verdict salient_match(const char *line, size_t n, char *scratch,
                                     const char **ret_text, size_t *ret_n);

/* What two lines that differ in numbers only have in common. */
uint32_t salient_shape(const char *text, size_t n);
