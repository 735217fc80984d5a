/*
 * What a line must look like to be taken for HTTP is what the most lenient server takes: empty
 * lines and blanks first, any token as method, any blank behind it. Once it is HTTP, what servers
 * read differently is refused: folded lines, bare carriage returns, names that are no tokens.
 */
#include "gateway/head.h"

#include <string.h>
#include <strings.h>
#include "gateway/address.h"
#include "http/text.h"

struct line {
	const char *at, *end; /* without its end */
	const char *next;     /* NULL: the line is not complete */
};

static struct line line_at(const char *at, const char *end)
{
	const char *feed = memchr(at, '\n', (size_t)(end - at));
	struct line l = {.at = at, .end = feed ? feed : end, .next = feed ? feed + 1 : NULL};

	if (feed && l.end > at && l.end[-1] == '\r')
		l.end--;
	return l;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static bool has_version(const char *at, const char *end)
{
	for (; end - at >= 5; at++)
		if (strncasecmp(at, "HTTP/", 5) == 0)
			return true;
	return false;
}

/* SCHEME://AUTHORITY at the start. */
static void find_authority(const char *at, const char *end, struct request_head *h)
{
	const char *p = at;

	while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
	                   (p > at && ((*p >= '0' && *p <= '9') || strchr("+-.", *p)))))
		p++;
	if (p == at || end - p < 3 || memcmp(p, "://", 3) != 0)
		return;
	h->authority = p + 3;
	for (p += 3; p < end && !is_blank(*p) && !strchr("/?#\\", *p);)
		p++;
	h->authority_len = (size_t)(p - h->authority);
}

/* The first line. REQUEST_HEAD_DONE: it is HTTP, and its headers follow. */
static enum request_head_state read_request(const char *at, const char *end, struct request_head *h,
                                            const char **ret_next)
{
	const char *method = at, *target;
	struct line l = line_at(at, end);

	while (at < l.end && http_is_token(*at))
		at++;
	if (at == l.end) /* one word is no request, but it may grow */
		return l.next ? REQUEST_HEAD_OTHER : REQUEST_HEAD_MORE;
	if (at == method || !is_blank(*at))
		return REQUEST_HEAD_OTHER;
	if (!l.next)
		return REQUEST_HEAD_MORE;
	target = skip_blanks(at, l.end);
	find_authority(target, l.end, h);
	if (!has_version(target, l.end) && !h->authority)
		return REQUEST_HEAD_OTHER;
	h->connect = at - method == 7 && strncasecmp(method, "CONNECT", 7) == 0;
	h->two = at - method == 3 && memcmp(method, "PRI", 3) == 0;
	*ret_next = l.next;
	return memchr(l.at, '\r', (size_t)(l.end - l.at)) ||
	                       memchr(l.at, '\0', (size_t)(l.end - l.at))
	               ? REQUEST_HEAD_BROKEN
	               : REQUEST_HEAD_DONE;
}

static bool read_header(const struct line *l, struct request_head *h)
{
	size_t n = (size_t)(l->end - l->at);
	const char *colon = memchr(l->at, ':', n), *stop, *value;

	if (!colon || memchr(l->at, '\r', n) || memchr(l->at, '\0', n))
		return false;
	for (stop = colon; stop > l->at && is_blank(stop[-1]);)
		stop--;
	if (stop == l->at)
		return false;
	for (const char *p = l->at; p < stop; p++) /* a folded line begins with a blank */
		if (!http_is_token(*p))
			return false;
	if (stop - l->at != 4 || strncasecmp(l->at, "Host", 4) != 0)
		return true;
	value = skip_blanks(colon + 1, l->end);
	for (stop = l->end; stop > value && is_blank(stop[-1]);)
		stop--;
	h->hosts++;
	h->host = value;
	h->host_len = (size_t)(stop - value);
	return true;
}

enum request_head_state request_head_read(const char *bytes, size_t n,
                                          struct request_head *ret_head)
{
	const char *at = bytes, *end = bytes + n;
	enum request_head_state state;

	*ret_head = (struct request_head){0};
	while (at < end && (is_blank(*at) || *at == '\n'))
		at++;
	if (at == end)
		return REQUEST_HEAD_MORE;
	state = read_request(at, end, ret_head, &at);
	if (state != REQUEST_HEAD_DONE)
		return state;
	for (;;) {
		struct line l = line_at(at, end);

		if (!l.next)
			return REQUEST_HEAD_MORE;
		if (l.at == l.end)
			return REQUEST_HEAD_DONE;
		if (!read_header(&l, ret_head))
			return REQUEST_HEAD_BROKEN;
		at = l.next;
	}
}

bool request_head_names(const char *text, size_t n, const char *name)
{
	struct network_address a, b;
	size_t host = n;

	if (n > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', n);

		if (!close || !http_host_is_valid(text, n))
			return false;
		return network_address_parse(text + 1, (size_t)(close - text) - 1, &a) &&
		       network_address_parse(name, strlen(name), &b) &&
		       network_address_equal(&a, &b);
	}
	if (!http_host_is_valid(text, n))
		return false;
	if (memchr(text, ':', n))
		host = (size_t)((const char *)memchr(text, ':', n) - text);
	if (host > 1 && text[host - 1] == '.')
		host--;
	return host == strlen(name) && strncasecmp(text, name, host) == 0;
}
