#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"

/* Reads digits at *TEXT and moves it behind them. */
static int take_digits(const char **text, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	*text = p;
	*ret_value = value;
	return 0;
}

int number_parse_u64(const char *text, uint64_t *ret_value)
{
	uint64_t value;
	int r = take_digits(&text, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int number_parse_duration_ms(const char *text, int64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {{"ms", 1},      {"s", 1000},    {"m", 60000},
	             {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
	uint64_t whole, thousandths = 0, total, scale = 100;
	int r;

	r = take_digits(&text, &whole);
	if (r < 0)
		return r;
	if (*text == '.') {
		text++;
		if (*text < '0' || *text > '9')
			return -EINVAL;
		for (; *text >= '0' && *text <= '9'; text++, scale /= 10)
			thousandths += (uint64_t)(*text - '0') * scale;
	}
	if (!*text && whole == 0 && thousandths == 0) {
		*ret_ms = 0;
		return 0;
	}
	for (size_t i = 0; i < array_size(units); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(whole, units[i].ms, &total) ||
		    __builtin_add_overflow(total, thousandths * units[i].ms / 1000, &total) ||
		    total > INT64_MAX)
			return -ERANGE;
		*ret_ms = (int64_t)total;
		return 0;
	}
	return -EINVAL;
}

int number_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t value;
	int r, shift = 0;

	r = take_digits(&text, &value);
	if (r < 0)
		return r;
	if (*text) {
		unit = strchr(units, *text);
		if (!unit || (text[1] && strcmp(text + 1, "iB") != 0))
			return -EINVAL;
		shift = 10 * (int)(unit - units + 1);
	}
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = value << shift;
	return 0;
}

void number_format_duration(int64_t ms, char into[32])
{
	if (ms < 1000)
		snprintf(into, 32, "%" PRId64 "ms", ms);
	else if (ms < 60000 && ms % 1000 < 100)
		snprintf(into, 32, "%" PRId64 "s", ms / 1000);
	else if (ms < 60000)
		snprintf(into, 32, "%" PRId64 ".%" PRId64 "s", ms / 1000, ms % 1000 / 100);
	else if (ms < 3600000)
		snprintf(into, 32, "%" PRId64 "m %" PRId64 "s", ms / 60000, ms / 1000 % 60);
	else
		snprintf(into, 32, "%" PRId64 "h %" PRId64 "m", ms / 3600000, ms / 60000 % 60);
}

void number_format_bytes(uint64_t bytes, char into[32])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint64_t unit = 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(into, 32, "%" PRIu64 " bytes", bytes);
		return;
	}
	while (i + 1 < array_size(units) && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	snprintf(into, 32, "%" PRIu64 ".%" PRIu64 " %s", bytes / unit, (bytes % unit) * 10 / unit,
	         units[i]);
}
