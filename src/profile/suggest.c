/*
 * "Did you mean": the distance between words counts a swap of neighbours as one slip, as fingers
 * do.
 */
#include <string.h>
#include "profile/keys.h"

#define WORD_MAX 40

unsigned key_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2], *spare;
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
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

bool key_is_near(const char *written, const char *known, unsigned *best)
{
	size_t n = strlen(known);
	unsigned allowed = n <= 3 ? 1 : n <= 7 ? 2 : 3, distance;

	distance = key_distance(written, known, allowed);
	if (distance > allowed || distance >= *best)
		return false;
	*best = distance;
	return true;
}

const char *key_suggest(const struct key *table, const char *name)
{
	const char *found = NULL;
	unsigned best = ~0U;

	for (; table->name; table++)
		if (key_is_near(name, table->name, &best))
			found = table->name;
	return found;
}

const char *key_suggest_choice(const struct key_choice *choices, const char *name)
{
	const char *found = NULL;
	unsigned best = ~0U;

	for (; choices->name; choices++)
		if (key_is_near(name, choices->name, &best))
			found = choices->name;
	return found;
}
