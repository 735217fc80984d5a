#include "shell/usage.h"

#include <stdio.h>
#include <string.h>
#include "base/name.h"

const struct usage_command *usage_find(const char *name, const char *sub)
{
	char both[64];
	int n = sub ? snprintf(both, sizeof(both), "%s %s", name, sub) : 0;

	if (sub && (n < 0 || (size_t)n >= sizeof(both)))
		return NULL;
	if (sub)
		name = both;
	for (uint32_t at = name_hash(name);; at++) {
		uint16_t slot = usage_slots.slots[at & usage_slots.mask];

		if (!slot)
			return NULL;
		if (name_is(usage_commands[slot - 1].name, name))
			return &usage_commands[slot - 1];
	}
}

const struct usage_option *usage_option_find(const struct usage_command *u, const char *name,
                                             size_t n)
{
	size_t from = 0, to = u ? u->count : 0;

	while (from < to) {
		size_t half = from + (to - from) / 2;
		const char *other = u->options[half].name;
		int order = strncmp(other, name, n);

		if (order == 0 && !other[n])
			return &u->options[half];
		if (order < 0)
			from = half + 1;
		else
			to = half;
	}
	return NULL;
}
