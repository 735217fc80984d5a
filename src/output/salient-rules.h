#pragma once
/*
 * The table data/salient.tsv as tools/gen-salient has made it: rules in its order, and one
 * automaton that finds the keys of all of them. Only for salient-match.c.
 */
#include <stddef.h>
#include <stdint.h>
#include "output/salient-match.h"

struct salient_rule {
	const char *pattern;
	enum salient_kind kind;
	uint8_t weight, before, after;
};

enum { SALIENT_KEY_ESCAPE, SALIENT_KEY_RETURN, SALIENT_KEY_FIRST }; /* the first two are marks */

extern const struct salient_rule salient_rules[];
extern const size_t salient_rule_count, salient_key_count;
extern const uint16_t salient_key_rules[], salient_key_first[]; /* of each key, ascending */
extern const uint8_t salient_classes[];                         /* of bytes; 0: in no key */
/* A state is the index of its row; those from salient_first_end on end keys. */
extern const uint16_t salient_steps[];
extern const uint16_t salient_found[], salient_found_first[];
extern const unsigned salient_width, salient_first_end;
