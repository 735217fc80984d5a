#include "profile/value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "profile/keys.h"

uint64_t value_load(const struct key *key, const void *base)
{
	const char *at = (const char *)base + key->offset;
	uint64_t wide;
	uint32_t narrow;

	if (key->width == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	if (key->width == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	assert(key->width == 1);
	return (unsigned char)*at;
}

void value_store(const struct key *key, void *base, uint64_t value)
{
	char *at = (char *)base + key->offset;
	uint32_t narrow = (uint32_t)value;

	if (key->width == sizeof(value)) {
		memcpy(at, &value, sizeof(value));
	} else if (key->width == sizeof(narrow)) {
		memcpy(at, &narrow, sizeof(narrow));
	} else {
		assert(key->width == 1);
		*(bool *)at = value != 0;
	}
}

void value_format_number(const struct key *key, uint64_t value, char into[32])
{
	static const char units[] = " KMGT";
	bool time = key->type == KEY_DURATION || (key->type == KEY_SECONDS && key->divisor <= 1);
	int unit = 0;

	if (time && value % 1000) {
		snprintf(into, 32, "%" PRIu64 "ms", value);
	} else if (time) {
		snprintf(into, 32, "%" PRIu64 "s", value / 1000);
	} else if (key->type == KEY_SIZE) {
		while (value && value % 1024 == 0 && unit < 4) {
			value /= 1024;
			unit++;
		}
		snprintf(into, 32, "%" PRIu64 "%.*s", value, unit > 0, units + unit);
	} else {
		snprintf(into, 32, "%" PRIu64, value);
	}
}
