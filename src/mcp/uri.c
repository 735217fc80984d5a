#include "mcp/uri.h"

#include <stdio.h>
#include <string.h>
#include "base/number.h"

#define OUTPUT "nacre://output/"

/* One `name=value`, which ends at END. */
static bool read_pair(const char *text, const char *end, struct uri *u)
{
	const char *value = memchr(text, '=', (size_t)(end - text));
	size_t name = value ? (size_t)(value - text) : 0;
	char number[24];

	if (!value || end - ++value >= (int)sizeof(number))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)(end - value), value);
	if (name == 6 && strncmp(text, "offset", 6) == 0)
		return number_parse_u64(number, &u->offset) == 0;
	if (name == 6 && strncmp(text, "length", 6) == 0)
		return number_parse_u64(number, &u->length) == 0 && u->length > 0;
	return name == 6 && strncmp(text, "stream", 6) == 0 &&
	       follow_stream_parse(number, &u->stream) == 0;
}

static bool read_query(const char *text, struct uri *u)
{
	const char *end;

	while (*text) {
		end = strchrnul(text, '&');
		if (!read_pair(text, end, u))
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

void uri_read(const char *text, struct uri *ret_uri)
{
	struct uri *u = ret_uri;
	const char *id = text + strlen(OUTPUT);
	size_t n;

	*u = (struct uri){.stream = FOLLOW_BOTH};
	if (strcmp(text, "nacre://policy") == 0) {
		u->kind = URI_POLICY;
		return;
	}
	if (strcmp(text, "nacre://session") == 0) {
		u->kind = URI_SESSION;
		return;
	}
	if (strncmp(text, OUTPUT, strlen(OUTPUT)) != 0)
		return;
	n = strcspn(id, "?");
	if (n == 0 || n >= sizeof(u->id) || memchr(id, '/', n))
		return;
	memcpy(u->id, id, n);
	if (!id[n] || read_query(id + n + 1, u))
		u->kind = URI_OUTPUT;
}
