#include "gateway/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/cleanup.h"

static const struct {
	const char *scheme;
	uint16_t port;
} schemes[] = {
	{"https", 443},     {"http", 80},          {"ssh", 22},          {"git", 9418},
	{"git+ssh", 22},    {"git+https", 443},    {"ftp", 21},          {"ftps", 990},
	{"sftp", 22},       {"wss", 443},          {"ws", 80},           {"redis", 6379},
	{"rediss", 6379},   {"postgres", 5432},    {"postgresql", 5432}, {"mysql", 3306},
	{"mongodb", 27017}, {"amqp", 5672},        {"amqps", 5671},      {"ldap", 389},
	{"ldaps", 636},     {"sparse+https", 443}, {"rsync", 873},       {"svn", 3690},
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_scheme(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
}

static bool read_port(const char *text, size_t n, struct url_host *h)
{
	unsigned int port = 0;

	if (n == 0 || n > 5)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	h->port = (uint16_t)port;
	h->written = true;
	return port > 0 && port < 65536;
}

bool url_authority(const char *text, size_t n, struct url_host *ret_host)
{
	struct url_host h = {0};
	struct network_address address;
	const char *end, *host = text;
	size_t len;

	if (n > 0 && text[0] == '[') {
		end = memchr(text, ']', n);
		host++;
		len = end ? (size_t)(end - host) : 0;
		end = end ? end + 1 : text;
	} else {
		end = memchr(text, ':', n);
		end = end ? end : text + n;
		len = (size_t)(end - text);
	}
	if (len == 0 || (end < text + n &&
	                 (*end != ':' || !read_port(end + 1, (size_t)(text + n - end) - 1, &h))))
		return false;
	if (network_address_parse(host, len, &address)) {
		network_address_format(&address, h.name);
		h.literal = true;
	} else if (host != text || !destination_canonical(host, len, h.name)) {
		return false;
	}
	*ret_host = h;
	return true;
}

/* What stands behind "://": up to where a path, a query or a quote begins. */
static size_t authority_size(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] > ' ' && text[i] < 127 &&
	       !strchr("/?#\\\"'`<>,;|(){}$^*&!", text[i]))
		i++;
	return i;
}

static uint16_t scheme_port(const char *scheme, size_t n)
{
	for (size_t i = 0; i < array_size(schemes); i++)
		if (strlen(schemes[i].scheme) == n &&
		    strncasecmp(schemes[i].scheme, scheme, n) == 0)
			return schemes[i].port;
	return 0;
}

size_t url_find(const char *text, size_t n, struct url_host *ret_host)
{
	const char *at = text, *end = text + n, *mark, *host, *scheme, *user;
	size_t size;

	for (; (mark = memmem(at, (size_t)(end - at), "://", 3)); at = mark + 3) {
		for (scheme = mark; scheme > text && is_scheme(scheme[-1]);)
			scheme--;
		host = mark + 3;
		size = authority_size(host, (size_t)(end - host));
		user = memrchr(host, '@', size);
		if (user) {
			size -= (size_t)(user + 1 - host);
			host = user + 1;
		}
		if (scheme == mark || !is_letter(*scheme) || !url_authority(host, size, ret_host))
			continue;
		if (!ret_host->written)
			ret_host->port = scheme_port(scheme, (size_t)(mark - scheme));
		return (size_t)(host + size - text);
	}
	return 0;
}

bool url_remote(const char *text, struct url_host *ret_host)
{
	size_t n = strlen(text);
	const char *colon, *host;

	if (strstr(text, "://"))
		return url_find(text, n, ret_host) > 0;
	colon = strchr(text, ':');
	/* A slash before the colon makes it a path. */
	if (text[0] == '/' || text[0] == '.' || text[0] == '-' ||
	    (strchr(text, '/') && (!colon || strchr(text, '/') < colon)))
		return false;
	n = colon ? (size_t)(colon - text) : n;
	host = memrchr(text, '@', n);
	host = host ? host + 1 : text;
	if (!url_authority(host, n - (size_t)(host - text), ret_host))
		return false;
	ret_host->port = 22;
	return true;
}

bool url_entry(const struct url_host *h, char into[DESTINATION_TEXT_SIZE])
{
	bool six = h->literal && strchr(h->name, ':');
	bool usual = !h->literal && (h->port == 80 || h->port == 443 || h->port == 0);
	char port[16] = "";
	struct destination d;

	if (!usual)
		snprintf(port, sizeof(port), ":%u", h->port ? h->port : 443U);
	snprintf(into, DESTINATION_TEXT_SIZE, "%s%s%s%s", six ? "[" : "", h->name, six ? "]" : "",
	         port);
	return destination_parse(into, NETWORK_ASK, &d, NULL) == 0;
}
