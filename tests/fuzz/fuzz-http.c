/*
 * The head of a request and the small languages in it: any bytes. Input: lines; the request line,
 * then "Name: value".
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "http/gate.h"
#include "http/text.h"
#include "serve/mcp-names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *next(char **at, char *end, char stop)
{
	char *from = *at, *found = memchr(from, stop, (size_t)(end - from));

	if (!found)
		found = end;
	*found = '\0';
	*at = found < end ? found + 1 : end;
	return from;
}

/* What passes the gate can be read in one way only. */
static void check_passed(const struct http_head *h, const struct http_facts *f)
{
	size_t hosts = 0, lengths = 0, codings = 0;

	for (size_t i = 0; i < h->field_count; i++) {
		const struct http_field *x = &h->fields[i];

		hosts += x->name_len == 4 && strncasecmp(x->name, "host", 4) == 0;
		lengths += x->name_len == 14 && strncasecmp(x->name, "content-length", 14) == 0;
		codings += x->name_len == 17 && strncasecmp(x->name, "transfer-encoding", 17) == 0;
		for (size_t k = 0; k < x->value_len; k++)
			if ((unsigned char)x->value[k] < 0x20 && x->value[k] != '\t')
				abort();
	}
	if (hosts != 1 || lengths + codings > 1 || f->has_length != (lengths == 1) ||
	    f->chunked != (codings == 1) || f->path[0] != '/' || f->path_len > strlen(f->path))
		abort();
}

static void try_text(const char *text)
{
	static const char *const names[] = {"since", "wait", NULL};
	char value[16];
	const char *found;

	if (http_query_get(text, "since", value, sizeof(value)) == 0 &&
	    strlen(value) >= sizeof(value))
		abort();
	(void)http_query_is_known(text, names);
	(void)http_accepts(text, "text/event-stream", true);
	(void)http_accepts(text, "application/json", false);
	(void)http_is_json(text);
	found = http_bearer(text);
	if (found && (!*found || strchr(found, ' ')))
		abort();
	found = http_origin_authority(text);
	if (found && !http_host_is_valid(found, strlen(found)))
		abort();
	if (http_host_matches(text, "localhost:80") && strcasecmp(text, "localhost:80") != 0)
		abort();
	if (mcp_names_equal(text, "shell") && !strstr(text, "shell") && !strstr(text, "=?base64?"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_field fields[HTTP_FIELDS_MAX + 2];
	struct http_head h = {.fields = fields};
	scoped(freep) char *copy = malloc(size + 1);
	struct http_facts facts;
	char *at = copy, *end;
	const char *why;

	if (!copy || size > 65536)
		return 0;
	memcpy(copy, data, size);
	end = copy + size;
	*end = '\0';
	h.method = next(&at, end, ' ');
	h.target = next(&at, end, ' ');
	h.version = next(&at, end, '\n');
	while (at < end && h.field_count < HTTP_FIELDS_MAX + 2) {
		char *line = at, *stop;
		size_t n;

		stop = memchr(line, '\n', (size_t)(end - line));
		n = (size_t)((stop ? stop : end) - line);
		at = stop ? stop + 1 : end;
		line[n] = '\0';
		stop = memchr(line, ':', n);
		if (!stop)
			stop = line + n;
		fields[h.field_count++] = (struct http_field){
			.name = line,
			.name_len = (size_t)(stop - line),
			.value = stop < line + n ? stop + 1 : stop,
			.value_len = stop < line + n ? (size_t)(line + n - stop - 1) : 0};
		try_text(stop < line + n ? stop + 1 : stop);
	}
	try_text(h.target);
	if (http_gate(&h, &facts, &why) == 0)
		check_passed(&h, &facts);
	return 0;
}
