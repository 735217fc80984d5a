#include "http/gate.h"

#include <string.h>
#include <strings.h>
#include "base/cleanup.h"
#include "http/text.h"

#define LENGTH_DIGITS_MAX 15

/* Fields that decide something: twice they could mean two things. */
static const char *const single[] = {
	"authorization",  "content-length", "content-type",
	"expect",         "host",           "last-event-id",
	"mcp-method",     "mcp-name",       "mcp-protocol-version",
	"mcp-session-id", "origin",         "transfer-encoding",
};

struct gate {
	const struct http_head *head;
	const struct http_field *seen[array_size(single)];
	const char *why;
};

static int refuse(struct gate *g, int status, const char *why)
{
	g->why = why;
	return status;
}

static bool is_name(const struct http_field *f, const char *name)
{
	return f->name_len == strlen(name) && strncasecmp(f->name, name, f->name_len) == 0;
}

static const struct http_field *get(const struct gate *g, const char *name)
{
	for (size_t i = 0; i < array_size(single); i++)
		if (strcmp(single[i], name) == 0)
			return g->seen[i];
	return NULL;
}

static int check_field(struct gate *g, const struct http_field *f)
{
	if (f->name_len == 0)
		return refuse(g, 400, "a header has no name");
	for (size_t i = 0; i < f->name_len; i++)
		if (!http_is_token(f->name[i]))
			return refuse(g, 400, "the name of a header has an odd character");
	for (size_t i = 0; i < f->value_len; i++) {
		unsigned char c = (unsigned char)f->value[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return refuse(g, 400, "the value of a header has a control character");
	}
	for (size_t i = 0; i < array_size(single); i++) {
		if (!is_name(f, single[i]))
			continue;
		if (g->seen[i])
			return refuse(g, 400, "a header that may be there once is there twice");
		g->seen[i] = f;
	}
	return 0;
}

static int check_fields(struct gate *g)
{
	int status = 0;

	if (g->head->field_count > HTTP_FIELDS_MAX)
		return refuse(g, 431, "there are too many headers");
	for (size_t i = 0; i < g->head->field_count && status == 0; i++)
		status = check_field(g, &g->head->fields[i]);
	return status;
}

/* One way to tell where the body ends, and a number that everybody reads alike. */
static int check_framing(struct gate *g, struct http_facts *facts)
{
	const struct http_field *length = get(g, "content-length"),
				*coding = get(g, "transfer-encoding"), *expect = get(g, "expect");

	if (length && coding)
		return refuse(g, 400, "Content-Length and Transfer-Encoding exclude each other");
	if (coding && (coding->value_len != 7 || strncasecmp(coding->value, "chunked", 7) != 0))
		return refuse(g, 400, "the only transfer coding is 'chunked'");
	facts->chunked = coding != NULL;
	facts->has_length = length != NULL;
	if (length && (length->value_len == 0 || length->value_len > LENGTH_DIGITS_MAX))
		return refuse(g, 400, "Content-Length is not a number of this world");
	for (size_t i = 0; length && i < length->value_len; i++) {
		char c = length->value[i];

		if (c < '0' || c > '9')
			return refuse(g, 400, "Content-Length is not a plain number");
		facts->length = facts->length * 10 + (uint64_t)(c - '0');
	}
	if (expect &&
	    (expect->value_len != 12 || strncasecmp(expect->value, "100-continue", 12) != 0))
		return refuse(g, 417, "nothing but 100-continue can be expected");
	return 0;
}

/* Path and query; with an authority in front only if it is the Host's. */
static int check_target(struct gate *g, struct http_facts *facts)
{
	const struct http_field *host = get(g, "host");
	const char *t = g->head->target, *end;

	if (!host)
		return refuse(g, 400, "Host is missing");
	if (!http_host_is_valid(host->value, host->value_len))
		return refuse(g, 400, "Host is no name or address with an optional port");
	for (const char *p = t; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f || *p == '#')
			return refuse(g, 400, "the request target has an odd character");
	if (strncasecmp(t, "http://", 7) == 0) {
		t += 7;
		end = t + strcspn(t, "/?");
		if ((size_t)(end - t) != host->value_len ||
		    strncasecmp(t, host->value, host->value_len) != 0)
			return refuse(g, 400, "the request target names another host than Host");
		t = end;
	}
	if (*t != '/')
		return refuse(g, 400, "the request target must be a path");
	end = t + strcspn(t, "?");
	facts->path = t;
	facts->path_len = (size_t)(end - t);
	facts->query = *end ? end + 1 : end;
	return 0;
}

int http_gate(const struct http_head *h, struct http_facts *ret_facts, const char **ret_why)
{
	struct gate g = {.head = h, .why = ""};
	struct http_facts facts = {0};
	int status = 0;

	if (strcmp(h->version, "HTTP/1.1") != 0)
		status = refuse(&g, 505, "the protocol is HTTP/1.1");
	for (const char *p = h->method; *p && status == 0; p++)
		if (*p < 'A' || *p > 'Z')
			status = refuse(&g, 400, "the method is odd");
	if (status == 0)
		status = check_fields(&g);
	if (status == 0)
		status = check_framing(&g, &facts);
	if (status == 0)
		status = check_target(&g, &facts);
	*ret_why = g.why;
	if (status == 0)
		*ret_facts = facts;
	return status;
}
