#include "gateway/via.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/base64.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/rules.h"
#include "gateway/url.h"

static int hex_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* USER:PASSWORD of a URL, whose odd bytes are written as %XX. */
static bool read_secret(const char *text, size_t n, struct via *v)
{
	scoped(buffer_donep) struct buffer plain = {0}, coded = {0};

	for (size_t i = 0; i < n; i++) {
		int high = text[i] == '%' && i + 2 < n ? hex_value(text[i + 1]) : -1;
		int low = high >= 0 ? hex_value(text[i + 2]) : -1;

		buffer_putc(&plain, low >= 0 ? (char)(high * 16 + low) : text[i]);
		i += low >= 0 ? 2 : 0;
	}
	if (n > 0 && !memchr(text, ':', n))
		buffer_putc(&plain, ':');
	base64_encode(plain.data, plain.len, &coded);
	if (buffer_error(&plain) < 0 || buffer_error(&coded) < 0 || coded.len >= sizeof(v->secret))
		return false;
	snprintf(v->secret, sizeof(v->secret), "%s", buffer_str(&coded));
	return true;
}

/* [http://][USER:PASSWORD@]HOST[:PORT][/] */
static const char *read_url(const char *text, struct via *v)
{
	const char *scheme = strstr(text, "://"), *at;
	struct url_host h;
	size_t n;

	if (scheme && (scheme - text != 4 || strncasecmp(text, "http", 4) != 0))
		return "the proxy of the environment is not an http:// one";
	text = scheme ? scheme + 3 : text;
	n = strcspn(text, "/?#");
	if (text[n] && strcmp(text + n, "/") != 0)
		return "the proxy of the environment is no http://HOST:PORT";
	at = memrchr(text, '@', n);
	if (at && !read_secret(text, (size_t)(at - text), v))
		return "user and password of the proxy of the environment are too long";
	n -= at ? (size_t)(at + 1 - text) : 0;
	text = at ? at + 1 : text;
	if (!url_authority(text, n, &h))
		return "the proxy of the environment is no http://HOST:PORT";
	snprintf(v->host, sizeof(v->host), "%s",
	         strcmp(h.name, "localhost") == 0 ? "127.0.0.1" : h.name);
	v->port = h.written ? h.port : 80;
	return v->port ? NULL : "the proxy of the environment has no port";
}

void via_read(const struct network_rules *rules, char *(*get)(const char *name),
              struct via *ret_via)
{
	static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy"};
	const char *url = NULL, *direct = NULL;

	memset(ret_via, 0, sizeof(*ret_via));
	if (!rules->via.environment) {
		ret_via->port = rules->via.port;
		memcpy(ret_via->host, rules->via.host, sizeof(ret_via->host));
		return;
	}
	for (size_t i = 0; i < array_size(names) && (!url || !*url); i++)
		url = get(names[i]);
	if (!url || !*url)
		return;
	direct = get("no_proxy");
	if (!direct)
		direct = get("NO_PROXY");
	ret_via->broken = read_url(url, ret_via);
	if (direct && strlen(direct) >= sizeof(ret_via->direct))
		ret_via->broken = "no_proxy is too long";
	else if (direct)
		snprintf(ret_via->direct, sizeof(ret_via->direct), "%s", direct);
}

/* Whether an entry of no_proxy is NAME or above it: `x.test`, `.x.test`, `*.x.test`, each with a
 * port or without; `*`. */
static bool is_direct(const char *entry, size_t n, const char *name, uint16_t port)
{
	const char *colon = memchr(entry, ':', n);
	size_t len = strlen(name);

	if (n == 1 && *entry == '*')
		return true;
	if (colon && strtoul(colon + 1, NULL, 10) != port)
		return false;
	n = colon ? (size_t)(colon - entry) : n;
	if (n > 1 && entry[0] == '*' && entry[1] == '.')
		entry++, n--;
	if (n > 0 && entry[0] == '.')
		entry++, n--;
	return n > 0 && n <= len && strncasecmp(name + len - n, entry, n) == 0 &&
	       (n == len || name[len - n - 1] == '.');
}

bool via_takes(const struct via *v, const struct network_rules *rules, const char *name,
               uint16_t port)
{
	const struct network_rule_list *private = &rules->lists[NETWORK_PRIVATE];

	if ((!v->port && !v->broken) || strcmp(name, DESTINATION_HOST) == 0)
		return false;
	for (size_t i = 0; i < private->count; i++)
		if (destination_covers_name(&private->rules[i].to, name, 0))
			return false;
	for (const char *at = v->direct; *at;) {
		size_t n = strcspn(at, ", \t");

		if (is_direct(at, n, name, port))
			return false;
		at += n + (at[n] != '\0');
	}
	return true;
}
