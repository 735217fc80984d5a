#include "http/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

bool http_is_token(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c && strchr("!#$%&'*+-.^_`|~", c);
}

static bool is_digits(const char *text, size_t n)
{
	if (n == 0 || n > 5)
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

static bool is_name_char(char c, bool address)
{
	if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.')
		return true;
	if (address)
		return c == ':';
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/* Where the port's colon is, or the end. */
static size_t host_end(const char *text, size_t n)
{
	size_t i = 0;

	if (n > 0 && text[0] == '[') {
		while (i < n && text[i] != ']')
			i++;
		return i < n ? i + 1 : n;
	}
	while (i < n && text[i] != ':')
		i++;
	return i;
}

bool http_host_is_valid(const char *text, size_t n)
{
	size_t end = host_end(text, n);
	bool address = n > 0 && text[0] == '[';

	if (end == 0 || end > 255)
		return false;
	if (address && (end < 4 || text[end - 1] != ']'))
		return false;
	for (size_t i = address; i < end - address; i++)
		if (!is_name_char(text[i], address))
			return false;
	return end == n || (text[end] == ':' && is_digits(text + end + 1, n - end - 1));
}

bool http_host_matches(const char *host, const char *allowed)
{
	size_t n = strlen(host), end = host_end(host, n);
	size_t m = strlen(allowed), allowed_end = host_end(allowed, m);

	if (!http_host_is_valid(host, n) || end != allowed_end ||
	    strncasecmp(host, allowed, end) != 0)
		return false;
	return allowed_end == m || strcmp(host + end, allowed + allowed_end) == 0;
}

const char *http_origin_authority(const char *origin)
{
	const char *rest = NULL;

	if (strncmp(origin, "http://", 7) == 0)
		rest = origin + 7;
	else if (strncmp(origin, "https://", 8) == 0)
		rest = origin + 8;
	return rest && http_host_is_valid(rest, strlen(rest)) ? rest : NULL;
}

const char *http_bearer(const char *authorization)
{
	const char *token;

	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	token = authorization + 7;
	while (*token == ' ')
		token++;
	for (const char *p = token; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
			return NULL;
	return *token ? token : NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The bytes of [P, END) without their escapes. No NUL: what follows are strings. */
static int decode(const char *p, const char *end, char *into, size_t size)
{
	size_t n = 0;

	for (; p < end; p++) {
		int c = (unsigned char)*p;

		if (c == '+')
			c = ' ';
		if (c == '%') {
			if (end - p < 3 || hex(p[1]) < 0 || hex(p[2]) < 0)
				return -EINVAL;
			c = hex(p[1]) * 16 + hex(p[2]);
			p += 2;
		}
		if (c == 0)
			return -EINVAL;
		if (n + 1 >= size)
			return -E2BIG;
		into[n++] = (char)c;
	}
	into[n] = '\0';
	return 0;
}

/* One "name=value" at P: where it ends, and where its value begins. */
static const char *pair_end(const char *p, const char **ret_name_end)
{
	const char *end = p + strcspn(p, "&"), *equals = memchr(p, '=', (size_t)(end - p));

	*ret_name_end = equals ? equals : end;
	return end;
}

static bool is_named(const char *p, const char *name_end, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(name_end - p) == n && memcmp(p, name, n) == 0;
}

int http_query_get(const char *query, const char *name, char *into, size_t size)
{
	const char *end, *name_end;
	int r = -ENOENT;

	for (const char *p = query; *p; p = *end ? end + 1 : end) {
		end = pair_end(p, &name_end);
		if (!is_named(p, name_end, name))
			continue;
		if (r != -ENOENT)
			return -EINVAL;
		r = decode(name_end < end ? name_end + 1 : end, end, into, size);
		if (r < 0)
			return r;
	}
	return r;
}

bool http_query_is_known(const char *query, const char *const *names)
{
	const char *end, *name_end;

	for (const char *p = query; *p; p = *end ? end + 1 : end) {
		const char *const *n = names;

		end = pair_end(p, &name_end);
		while (*n && !is_named(p, name_end, *n))
			n++;
		if (end > p && !*n)
			return false;
	}
	return true;
}

/* The next element of a list with commas: [*ret_p, *ret_end) without blanks and parameters. */
static const char *list_next(const char *p, const char **ret_p, const char **ret_end)
{
	const char *stop = p + strcspn(p, ","), *end;

	while (p < stop && (*p == ' ' || *p == '\t'))
		p++;
	end = p + strcspn(p, ",; \t");
	*ret_p = p;
	*ret_end = end < stop ? end : stop;
	return *stop ? stop + 1 : stop;
}

bool http_accepts(const char *accept, const char *type, bool wild)
{
	size_t main_len = (size_t)(strchr(type, '/') - type) + 1;
	const char *p, *end;

	while (accept && *accept) {
		size_t n;

		accept = list_next(accept, &p, &end);
		n = (size_t)(end - p);
		if (n == strlen(type) && strncasecmp(p, type, n) == 0)
			return true;
		if (!wild || n < 3 || end[-1] != '*')
			continue;
		if ((n == 3 && memcmp(p, "*/*", 3) == 0) ||
		    (n == main_len + 1 && strncasecmp(p, type, main_len) == 0))
			return true;
	}
	return false;
}

bool http_is_json(const char *content_type)
{
	const char *p = content_type;

	if (strncasecmp(p, "application/json", 16) != 0)
		return false;
	p += 16;
	while (*p == ' ' || *p == '\t')
		p++;
	if (!*p)
		return true;
	if (*p++ != ';')
		return false;
	while (*p == ' ' || *p == '\t')
		p++;
	return !*p || strcasecmp(p, "charset=utf-8") == 0 ||
	       strcasecmp(p, "charset=\"utf-8\"") == 0;
}

int http_cookie_get(const char *header, const char *name, char *into, size_t size)
{
	size_t name_len = strlen(name), n;
	bool found = false;

	for (const char *p = header; p && *p; p += n + (p[n] == ';')) {
		p += strspn(p, " \t");
		n = strcspn(p, ";");
		if (n <= name_len || p[name_len] != '=' || memcmp(p, name, name_len) != 0)
			continue;
		if (found)
			return -EINVAL;
		if (n - name_len - 1 >= size)
			return -E2BIG;
		memcpy(into, p + name_len + 1, n - name_len - 1);
		into[n - name_len - 1] = '\0';
		found = true;
	}
	return found ? 0 : -ENOENT;
}

unsigned http_port(const char *authority)
{
	const char *colon = authority ? strrchr(authority, ':') : NULL;
	unsigned port = 0;

	if (!colon || strchr(colon, ']'))
		return 0;
	for (const char *p = colon + 1; *p; p++) {
		if (*p < '0' || *p > '9' || port > 6553)
			return 0;
		port = port * 10 + (unsigned)(*p - '0');
	}
	return port;
}

bool http_same_bytes(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;
	unsigned char difference = 0;

	for (size_t i = 0; i < n; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}
