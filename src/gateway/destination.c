/*
 * An entry is split into host and port first, then the host is told apart: a star, an address, a
 * range, a name. Every message says what to write instead, since an operator reads it in an editor.
 */
#include "gateway/destination.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "gateway/punycode.h"

#define SHOWN 80 /* bytes of an entry in a message */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* What getaddrinfo() takes for a number: decimal, octal or 0x and hexadecimal digits. */
static bool is_number(const char *label, size_t n)
{
	bool hex = n >= 2 && label[0] == '0' && label[1] == 'x';

	for (size_t i = hex ? 2 : 0; i < n; i++)
		if (!is_digit(label[i]) && !(hex && label[i] >= 'a' && label[i] <= 'f'))
			return false;
	return true;
}

static bool is_label(const char *label, size_t n)
{
	if (n == 0 || n > 63 || label[0] == '-' || label[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'z') &&
		    label[i] != '-' && label[i] != '_')
			return false;
	return true;
}

/* The name in lower case, label by label; *RET_NUMBER: its last label is a number. */
static bool canonical(const char *text, size_t n, char into[DESTINATION_NAME_SIZE],
                      bool *ret_number)
{
	size_t start = 0;

	if (n > 0 && text[n - 1] == '.')
		n--;
	if (n == 0 || n >= DESTINATION_NAME_SIZE)
		return false;
	for (size_t i = 0; i < n; i++)
		into[i] = lower(text[i]);
	into[n] = '\0';
	for (size_t i = 0; i <= n; i++) {
		if (i < n && into[i] != '.')
			continue;
		if (!is_label(into + start, i - start))
			return false;
		*ret_number = is_number(into + start, i - start);
		start = i + 1;
	}
	return true;
}

bool destination_canonical(const char *text, size_t n, char into[DESTINATION_NAME_SIZE])
{
	bool number;

	return canonical(text, n, into, &number) && !number;
}

bool destination_is_localhost(const char *name)
{
	size_t n = strlen(name);

	return strcmp(name, "localhost") == 0 ||
	       (n > 10 && strcmp(name + n - 10, ".localhost") == 0);
}

struct parser {
	const char *text;
	enum network_list list;
	struct error *err;
	const char *host; /* without the port, without brackets */
	size_t host_len;
	bool bracket, has_port;
	struct destination *d;
};

#define FAIL(p, format, ...)                                                                       \
	error_set((p)->err, ERROR_INPUT, EINVAL, "'%.*s' " format, SHOWN,                          \
	          (p)->text __VA_OPT__(, ) __VA_ARGS__)

static int check_bytes(struct parser *p)
{
	char form[DESTINATION_TEXT_SIZE];
	size_t n = strlen(p->text);

	if (n == 0)
		return error_set(p->err, ERROR_INPUT, EINVAL, "an empty text names no host");
	for (size_t i = 0; i < n; i++) {
		if (p->text[i] > ' ' && p->text[i] < 127)
			continue;
		if ((unsigned char)p->text[i] < 128)
			return FAIL(p, "has a blank or a control character in it");
		if (punycode_name(p->text, strcspn(p->text, ":"), form, sizeof(form)))
			return FAIL(p, "has letters outside of ASCII: write '%.*s%.*s'", SHOWN,
			            form, 6, strchrnul(p->text, ':'));
		return FAIL(p, "has characters that no name has");
	}
	if (strstr(p->text, "://"))
		return FAIL(p, "is a URL: write the name alone, or NAME:PORT");
	return 0;
}

static int parse_port(struct parser *p, const char *text)
{
	int32_t port = 0;

	p->has_port = true;
	if (strcmp(text, "*") == 0) {
		p->d->port = DESTINATION_PORT_ANY;
		return 0;
	}
	for (const char *c = text; *c; c++) {
		if (!is_digit(*c) || c - text > 4)
			port = 65536;
		port = port > 65535 ? port : port * 10 + (*c - '0');
	}
	if (*text == '0' || port == 0 || port > 65535)
		return FAIL(p, "has no port after the colon: write a number up to 65535, or '*'");
	p->d->port = port;
	return 0;
}

/* Which colon, if any, stands before a port: an IPv6 address without brackets has only its own. */
static int split(struct parser *p)
{
	const char *colon = strchr(p->text, ':'), *close;

	p->host = p->text;
	p->host_len = strlen(p->text);
	if (p->text[0] == '[') {
		close = strchr(p->text, ']');
		if (!close)
			return FAIL(p, "lacks a closing bracket");
		p->bracket = true;
		p->host++;
		p->host_len = (size_t)(close - p->host);
		if (close[1] == '\0')
			return 0;
		return close[1] == ':' ? parse_port(p, close + 2)
		                       : FAIL(p, "has more than a port after the bracket");
	}
	if (!colon || strchr(colon + 1, ':'))
		return 0;
	p->host_len = (size_t)(colon - p->text);
	return parse_port(p, colon + 1);
}

static bool is_loopback(const struct network_address *a)
{
	static const struct network_address one = {.family = 6, .bytes = {[15] = 1}};

	return (a->family == 4 && a->bytes[0] == 127) || network_address_equal(a, &one);
}

static int check_address(struct parser *p)
{
	static const struct network_address mapped = {.family = 6, .bytes = {[10] = 0xff, 0xff}};
	const struct network_address *a = &p->d->address;

	if (a->family == 6 && network_address_within(a, &mapped, 96))
		return FAIL(p, "is an IPv4 address in disguise: write it as IPv4");
	if (is_loopback(a) && p->list != NETWORK_DENY)
		return FAIL(p,
		            "is the loopback of the box itself and needs no rule; for a service of "
		            "the host write '%s:PORT' in allow",
		            DESTINATION_HOST);
	if (p->list == NETWORK_PRIVATE)
		return p->has_port ? FAIL(p, "has a port: entries of private have none") : 0;
	if (a->family == 6 && !p->bracket)
		return FAIL(p, "needs brackets and a port: write '[%.*s]:PORT'", SHOWN, p->text);
	if (!p->has_port)
		return FAIL(p, "is an address without a port: write '%.*s:PORT', or ':*' for all",
		            SHOWN, p->text);
	return 0;
}

static int parse_range(struct parser *p, const char *slash)
{
	size_t n = (size_t)(slash - p->host), digits = p->host_len - n - 1;
	struct network_address *a = &p->d->address;
	unsigned int bits = 0, most;

	if (!network_address_parse(p->host, n, a))
		return FAIL(p, "has a slash, and is not a range of addresses: a rule names hosts "
		               "and ports, no paths");
	most = a->family == 4 ? 32 : 128;
	for (size_t i = 1; i <= digits && bits <= most; i++)
		bits = is_digit(slash[i]) ? bits * 10 + (unsigned int)(slash[i] - '0') : 1000;
	if (digits == 0 || digits > 3 || bits > most || (slash[1] == '0' && digits > 1))
		return FAIL(p, "has no length after the slash: a number up to %u", most);
	for (unsigned int i = bits; i < most; i++)
		if (a->bytes[i / 8] & 0x80 >> i % 8)
			return FAIL(p, "has bits set after the first %u: clear them", bits);
	p->d->kind = DESTINATION_RANGE;
	p->d->bits = (uint8_t)bits;
	return check_address(p);
}

static int check_star(struct parser *p)
{
	const char *rest = p->host + 2;
	size_t n = p->host_len - 2;
	bool number = false;

	if (p->host[1] != '.' || !canonical(rest, n, p->d->name, &number) || number)
		return FAIL(p, "has a star at a wrong place: write '*.NAME' or '*'");
	p->d->kind = DESTINATION_SUFFIX;
	if (destination_is_localhost(p->d->name))
		return FAIL(p, "is the box's own and needs no rule");
	if (!strchr(p->d->name, '.') && (p->list == NETWORK_ALLOW || p->list == NETWORK_PRIVATE))
		return FAIL(p, "is too wide for %s: two labels or more must follow the star",
		            p->list == NETWORK_ALLOW ? "allow" : "private");
	return 0;
}

static int parse_star(struct parser *p)
{
	if (p->host_len > 1)
		return check_star(p);
	if (p->list == NETWORK_PRIVATE)
		return FAIL(p, "is too wide for private: name the hosts");
	p->d->kind = DESTINATION_ANY;
	return 0;
}

static int check_host(struct parser *p)
{
	if (p->list == NETWORK_DENY)
		return 0;
	if (p->list == NETWORK_PRIVATE)
		return FAIL(p, "needs no entry in private");
	if (p->list != NETWORK_ALLOW || p->d->port <= 0)
		return FAIL(p, "is the host itself: write '%s:PORT' in allow, with one port",
		            DESTINATION_HOST);
	return 0;
}

static int parse_name(struct parser *p)
{
	bool number = false;

	if (memchr(p->host, '*', p->host_len))
		return FAIL(p, "has a star at a wrong place: write '*.NAME' or '*'");
	if (!canonical(p->host, p->host_len, p->d->name, &number))
		return FAIL(p, "is not a name: labels of letters, digits, '-' and '_', up to 63 "
		               "each and 253 in all");
	if (number)
		return FAIL(p, "is a number, which programs take for an address: write the address "
		               "as 10.1.2.3:PORT");
	p->d->kind = DESTINATION_NAME;
	if (destination_is_localhost(p->d->name))
		return FAIL(p,
		            "is the box's own and needs no rule; for a service of the host write "
		            "'%s:PORT' in allow",
		            DESTINATION_HOST);
	return strcmp(p->d->name, DESTINATION_HOST) == 0 ? check_host(p) : 0;
}

static int parse_host(struct parser *p)
{
	const char *slash = memchr(p->host, '/', p->host_len);
	int r;

	if (slash)
		return parse_range(p, slash);
	if (network_address_parse(p->host, p->host_len, &p->d->address)) {
		p->d->kind = DESTINATION_ADDRESS;
		p->d->bits = p->d->address.family == 4 ? 32 : 128;
		return check_address(p);
	}
	if (p->bracket)
		return FAIL(p, "has no IPv6 address in its brackets");
	r = p->host_len > 0 && p->host[0] == '*' ? parse_star(p) : parse_name(p);
	if (r == 0 && p->list == NETWORK_PRIVATE && p->has_port)
		return FAIL(p, "has a port: entries of private have none");
	return r;
}

int destination_parse(const char *text, enum network_list list, struct destination *ret_destination,
                      struct error *err)
{
	bool every = list == NETWORK_DENY || list == NETWORK_PRIVATE;
	struct destination d = {.port = every ? DESTINATION_PORT_ANY : DESTINATION_PORT_USUAL};
	struct parser p = {.text = text, .list = list, .err = err, .d = &d};
	int r = check_bytes(&p);

	if (r == 0)
		r = split(&p);
	if (r == 0)
		r = parse_host(&p);
	if (r == 0)
		*ret_destination = d;
	return r;
}

void destination_format(const struct destination *d, enum network_list list,
                        char into[DESTINATION_TEXT_SIZE])
{
	bool number = d->kind == DESTINATION_ADDRESS || d->kind == DESTINATION_RANGE;
	bool every = list == NETWORK_PRIVATE || (list == NETWORK_DENY && !number);
	char address[NETWORK_ADDRESS_SIZE] = "", bits[8] = "", port[8] = "";
	const char *open = "", *close = "";

	if (number)
		network_address_format(&d->address, address);
	if (d->kind == DESTINATION_RANGE)
		snprintf(bits, sizeof(bits), "/%u", d->bits);
	if (number && d->address.family == 6 && list != NETWORK_PRIVATE) {
		open = "[";
		close = "]";
	}
	if (d->port > 0)
		snprintf(port, sizeof(port), ":%u", (unsigned int)d->port % 65536);
	else if (d->port == DESTINATION_PORT_ANY && !every)
		snprintf(port, sizeof(port), ":*");
	snprintf(into, DESTINATION_TEXT_SIZE, "%s%s%s%s%s%s%s",
	         d->kind == DESTINATION_ANY      ? "*"
	         : d->kind == DESTINATION_SUFFIX ? "*."
	                                         : "",
	         d->name, open, address, bits, close, port);
}

bool destination_equal(const struct destination *a, const struct destination *b)
{
	return a->kind == b->kind && a->port == b->port && a->bits == b->bits &&
	       strcmp(a->name, b->name) == 0 && a->address.family == b->address.family &&
	       memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes)) == 0;
}

static bool covers_port(const struct destination *d, uint16_t port)
{
	if (port == 0 || d->port == DESTINATION_PORT_ANY)
		return true;
	return d->port == DESTINATION_PORT_USUAL ? port == 80 || port == 443 : d->port == port;
}

static bool covers_name(const struct destination *d, const char *name)
{
	size_t n = strlen(name), m = strlen(d->name);

	switch (d->kind) {
	case DESTINATION_NAME:
		return strcmp(name, d->name) == 0;
	case DESTINATION_SUFFIX:
		return n > m + 1 && name[n - m - 1] == '.' && strcmp(name + n - m, d->name) == 0;
	case DESTINATION_ANY:
		return true;
	case DESTINATION_ADDRESS:
	case DESTINATION_RANGE:
		break;
	}
	return false;
}

bool destination_covers_name(const struct destination *d, const char *name, uint16_t port)
{
	return covers_port(d, port) && covers_name(d, name);
}

bool destination_covers_address(const struct destination *d, const struct network_address *a,
                                uint16_t port)
{
	return (d->kind == DESTINATION_ADDRESS || d->kind == DESTINATION_RANGE) &&
	       covers_port(d, port) && network_address_within(a, &d->address, d->bits);
}

static bool port_within(int32_t inner, int32_t outer)
{
	if (outer == DESTINATION_PORT_ANY || inner == outer)
		return true;
	return outer == DESTINATION_PORT_USUAL && (inner == 80 || inner == 443);
}

bool destination_within(const struct destination *inner, const struct destination *outer)
{
	if (!port_within(inner->port, outer->port))
		return false;
	switch (inner->kind) {
	case DESTINATION_NAME:
		/* No pattern means the host itself. */
		if (strcmp(inner->name, DESTINATION_HOST) == 0 && outer->kind != DESTINATION_NAME)
			return false;
		return covers_name(outer, inner->name);
	case DESTINATION_SUFFIX:
		return outer->kind == DESTINATION_ANY ||
		       (outer->kind == DESTINATION_SUFFIX &&
		        (strcmp(inner->name, outer->name) == 0 || covers_name(outer, inner->name)));
	case DESTINATION_ANY:
		return outer->kind == DESTINATION_ANY;
	case DESTINATION_ADDRESS:
	case DESTINATION_RANGE:
		break;
	}
	return (outer->kind == DESTINATION_ADDRESS || outer->kind == DESTINATION_RANGE) &&
	       inner->bits >= outer->bits &&
	       network_address_within(&inner->address, &outer->address, outer->bits);
}
