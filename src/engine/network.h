#pragma once
/*
 * What the network by name has refused, in the result: a list for programs, sentences for readers.
 */
#include <stddef.h>
#include <stdint.h>

struct json_writer;
struct keeper_network_report;

struct network_refusal {
	char name[256]; /* or an address */
	unsigned port;  /* 0: a look-up */
	uint64_t count;
	char reason[24]; /* "not-allowed" ... */
	char rule[272];  /* that decided; empty: none */
	char what[80];   /* more about it; empty: nothing */
};

/* The next one of a report's list: where the one after it begins, or NULL: there is none. */
const char *network_refusal_next(const char *list, struct network_refusal *ret_refusal);

/* One sentence, and what to do. PROFILE is the name of the command's profile. */
void network_refusal_text(const struct network_refusal *r, const char *profile, char *into,
                          size_t size);

/* The member "network"; null: there was none by name. */
void network_put(struct json_writer *w, const struct keeper_network_report *report);
