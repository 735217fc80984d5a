#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

unsigned suggest_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][SUGGEST_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2], *spare;
	size_t n = strlen(a), m = strlen(b);

	if (n > SUGGEST_MAX || m > SUGGEST_MAX)
		return limit + 1;
	for (size_t j = 0; j <= m; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m] > limit ? limit + 1 : last[m];
}

bool suggest_is_near(const char *written, const char *known, unsigned *best)
{
	size_t n = strlen(known);
	unsigned allowed = n <= 3 ? 1 : n <= 7 ? 2 : 3, distance;

	distance = suggest_distance(written, known, allowed);
	if (distance > allowed || distance >= *best)
		return false;
	*best = distance;
	return true;
}

/* Words for the same thing that no count of slips brings together. A word may have several: the
 * table tells which one exists there. */
static const struct {
	const char *written, *meant;
} synonyms[] = {
	{"ask-timeout", "approval-timeout"},
	{"wait-approval", "approval-timeout"},
	{"why", "reason"},
	{"default_why", "default_reason"},
	{"instead", "use"},
	{"recommended", "use"},
	{"running", "jobs"},
	{"parallel", "jobs"},
	{"full", "strict"},
	{"ask_ms", "approval_timeout_ms"},
};

static bool is_synonym(const char *written, const char *name)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (strcmp(synonyms[i].written, written) == 0 &&
		    strcmp(synonyms[i].meant, name) == 0)
			return true;
	return false;
}

const char *suggest_from(const char *written, const void *table, size_t count, size_t size)
{
	const char *found = NULL;
	unsigned best = SUGGEST_NONE;

	for (size_t i = 0; i < count; i++) {
		const char *name = *(const char *const *)((const char *)table + i * size);

		if (!name)
			break;
		if (is_synonym(written, name))
			return name;
		if (suggest_is_near(written, name, &best))
			found = name;
	}
	return found;
}

const char *suggest_words(const char *name, char into[SUGGEST_WORDS_MAX])
{
	into[0] = '\0';
	if (name)
		snprintf(into, SUGGEST_WORDS_MAX, ", did you mean '%.*s'?", SUGGEST_MAX, name);
	return into;
}
