/*
 * A query is read once, front to back, without following any pointer: what would need one is
 * refused. An answer repeats the question byte for byte, as resolvers that mix cases want it.
 */
#include "gateway/dns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	TYPE_A = 1,
	TYPE_PTR = 12,
	TYPE_AAAA = 28,
	TYPE_OPT = 41,
	CLASS_IN = 1,
	HEADER = 12,
	OPTION_ERROR = 15, /* extended error, RFC 8914 */
	ERROR_FILTERED = 17,
};

static uint16_t number(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

/* The name at *AT as text; *RET_CLEAN: no byte of it would end or split it elsewhere. False: it is
 * cut, too long, or has a pointer in it. */
static bool read_name(const uint8_t *bytes, size_t n, size_t *at, char text[DESTINATION_NAME_SIZE],
                      bool *ret_clean)
{
	size_t used = 0, len;

	*ret_clean = true;
	for (;;) {
		if (*at >= n)
			return false;
		len = bytes[(*at)++];
		if (len == 0)
			break;
		if (len > 63 || len > n - *at || used + len + 1 >= DESTINATION_NAME_SIZE)
			return false;
		if (used)
			text[used++] = '.';
		for (size_t i = 0; i < len; i++) {
			uint8_t c = bytes[(*at)++];

			*ret_clean &= c != 0 && c != '.' && c <= 126;
			text[used++] = (char)c;
		}
	}
	text[used] = '\0';
	return true;
}

/* Records behind the question: one OPT of version 0 at most is what we know. */
static bool read_additional(const uint8_t *bytes, size_t n, size_t at, unsigned int count,
                            struct dns_query *q)
{
	char name[DESTINATION_NAME_SIZE];
	bool clean;
	uint16_t type, length;

	for (; count > 0; count--) {
		if (!read_name(bytes, n, &at, name, &clean) || n - at < 10)
			return false;
		type = number(bytes + at);
		length = number(bytes + at + 8);
		if (type == TYPE_OPT) {
			if (q->edns || name[0] || bytes[at + 5] != 0)
				return false;
			q->edns = true;
			q->size = number(bytes + at + 2);
		}
		at += 10;
		if (length > n - at)
			return false;
		at += length;
	}
	return true;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 4.3.2.1.in-addr.arpa */
static bool read_pointer4(const char *name, struct network_address *ret_address)
{
	unsigned int part[4];
	char text[DESTINATION_NAME_SIZE];
	int end = 0;

	if (sscanf(name, "%3u.%3u.%3u.%3u.in-addr.arpa%n", &part[3], &part[2], &part[1], &part[0],
	           &end) != 4 ||
	    end == 0 || name[end])
		return false;
	snprintf(text, sizeof(text), "%u.%u.%u.%u", part[0], part[1], part[2], part[3]);
	return network_address_parse(text, strlen(text), ret_address);
}

/* 32 digits, the last one first. */
static bool read_pointer6(const char *name, struct network_address *ret_address)
{
	struct network_address a = {.family = 6};
	int digit;

	if (strlen(name) != 64 + 8 || strcmp(name + 64, "ip6.arpa") != 0)
		return false;
	for (size_t i = 0; i < 32; i++) {
		digit = digit_of(name[2 * i]);
		if (digit < 0 || name[2 * i + 1] != '.')
			return false;
		a.bytes[15 - i / 2] |= (uint8_t)(i % 2 ? digit << 4 : digit);
	}
	*ret_address = a;
	return true;
}

static bool is_loopback(const struct network_address *a)
{
	static const struct network_address one = {.family = 6, .bytes = {[15] = 1}};

	return (a->family == 4 && a->bytes[0] == 127) || network_address_equal(a, &one);
}

static void classify(struct dns_query *q)
{
	if (destination_is_localhost(q->name)) {
		q->ask = DNS_ASK_LOCALHOST;
	} else if (q->type == TYPE_PTR && q->class == CLASS_IN) {
		if (read_pointer4(q->name, &q->pointer) || read_pointer6(q->name, &q->pointer))
			q->ask = is_loopback(&q->pointer) ? DNS_ASK_LOCALHOST : DNS_ASK_POINTER;
		else
			q->ask = DNS_ASK_OTHER;
	} else {
		q->ask =
			q->type == TYPE_A && q->class == CLASS_IN ? DNS_ASK_ADDRESS : DNS_ASK_OTHER;
	}
}

static void refuse(struct dns_query *q, enum dns_rcode rcode)
{
	q->ask = DNS_ASK_REFUSED;
	q->rcode = rcode;
	q->name[0] = '\0';
}

void dns_read(const uint8_t *bytes, size_t n, struct dns_query *ret_query)
{
	struct dns_query *q = ret_query;
	char name[DESTINATION_NAME_SIZE];
	size_t at = HEADER;
	bool clean;

	*q = (struct dns_query){.size = 512};
	if (n < HEADER || n > DNS_QUERY_MAX || bytes[2] & 0x80)
		return;
	q->id = number(bytes);
	q->recursion = bytes[2] & 1;
	if (bytes[2] & 0x78) {
		refuse(q, DNS_NOTIMP);
		return;
	}
	if (number(bytes + 4) != 1 || number(bytes + 6) || number(bytes + 8) ||
	    !read_name(bytes, n, &at, name, &clean) || n - at < 4) {
		refuse(q, DNS_FORMERR);
		return;
	}
	q->type = number(bytes + at);
	q->class = number(bytes + at + 2);
	at += 4;
	if (!read_additional(bytes, n, at, number(bytes + 10), q)) {
		refuse(q, DNS_FORMERR);
		return;
	}
	q->question_size = (uint16_t)(at - HEADER);
	memcpy(q->question, bytes + HEADER, q->question_size);
	if (!clean || !destination_canonical(name, strlen(name), q->name)) {
		refuse(q, DNS_NXDOMAIN);
		return;
	}
	classify(q);
}

int dns_tcp_size(const uint8_t *bytes, size_t n)
{
	int length;

	if (n < 2)
		return 0;
	length = number(bytes);
	if (length > DNS_QUERY_MAX)
		return -EMSGSIZE;
	return n < (size_t)length + 2 ? 0 : length + 2;
}

struct writer {
	uint8_t *at, *end;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
	if (n > (size_t)(w->end - w->at))
		return; /* cannot be: the longest answer has 800 bytes */
	memcpy(w->at, bytes, n);
	w->at += n;
}

static void put_number(struct writer *w, unsigned int value)
{
	const uint8_t b[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	put(w, b, sizeof(b));
}

/* The header and the question; ANSWERS is 0 or 1. */
static struct writer begin(const struct dns_query *q, enum dns_rcode rcode, unsigned int answers,
                           uint8_t *into, size_t size)
{
	struct writer w = {.at = into, .end = into + size};

	put_number(&w, q->id);
	/* An answer, authoritative, recursion available: nobody needs to look further. */
	put_number(&w, 0x8480U | (q->recursion ? 0x100U : 0) | (unsigned int)rcode);
	put_number(&w, q->question_size ? 1 : 0);
	put_number(&w, answers);
	put_number(&w, 0);
	put_number(&w, q->edns);
	put(&w, q->question, q->question_size);
	return w;
}

static size_t finish(const struct dns_query *q, struct writer *w, const uint8_t *start,
                     const char *filtered)
{
	size_t text = filtered ? strlen(filtered) : 0;

	if (q->edns) {
		put(w, "", 1);
		put_number(w, TYPE_OPT);
		put_number(w, DNS_ANSWER_MAX);
		put_number(w, 0);
		put_number(w, 0);
		put_number(w, filtered ? 6 + (unsigned int)text : 0);
		if (filtered) {
			put_number(w, OPTION_ERROR);
			put_number(w, 2 + (unsigned int)text);
			put_number(w, ERROR_FILTERED);
			put(w, filtered, text);
		}
	}
	return (size_t)(w->at - start);
}

static void put_record(struct writer *w, unsigned int type, const void *data, size_t n)
{
	put_number(w, 0xc000U | HEADER); /* the name of the question */
	put_number(w, type);
	put_number(w, CLASS_IN);
	put_number(w, 0);
	put_number(w, DNS_TTL);
	put_number(w, (unsigned int)n);
	put(w, data, n);
}

size_t dns_write_address(const struct dns_query *q, const struct network_address *address,
                         uint8_t *into, size_t size)
{
	struct writer w = begin(q, DNS_NOERROR, 1, into, size);

	put_record(&w, address->family == 4 ? TYPE_A : TYPE_AAAA, address->bytes,
	           address->family == 4 ? 4 : 16);
	return finish(q, &w, into, NULL);
}

size_t dns_write_localhost(const struct dns_query *q, uint8_t *into, size_t size)
{
	static const struct network_address one = {.family = 6, .bytes = {[15] = 1}};
	const struct network_address home = network_address_v4(0x7f000001);

	if (q->class == CLASS_IN && q->type == TYPE_A)
		return dns_write_address(q, &home, into, size);
	if (q->class == CLASS_IN && q->type == TYPE_AAAA)
		return dns_write_address(q, &one, into, size);
	if (q->class == CLASS_IN && q->type == TYPE_PTR && q->pointer.family)
		return dns_write_pointer(q, "localhost", into, size);
	return dns_write_no_data(q, into, size);
}

size_t dns_write_no_data(const struct dns_query *q, uint8_t *into, size_t size)
{
	struct writer w = begin(q, DNS_NOERROR, 0, into, size);

	return finish(q, &w, into, NULL);
}

size_t dns_write_pointer(const struct dns_query *q, const char *name, uint8_t *into, size_t size)
{
	struct writer w = begin(q, DNS_NOERROR, 1, into, size);
	uint8_t wire[DESTINATION_NAME_SIZE + 2];
	size_t used = 0, len;

	for (const char *p = name; *p && used + 64 < sizeof(wire); p += len + (p[len] == '.')) {
		len = strcspn(p, ".");
		if (len == 0 || len > 63)
			break;
		wire[used++] = (uint8_t)len;
		memcpy(wire + used, p, len);
		used += len;
	}
	wire[used++] = 0;
	put_record(&w, TYPE_PTR, wire, used);
	return finish(q, &w, into, NULL);
}

size_t dns_write_error(const struct dns_query *q, enum dns_rcode rcode, bool filtered,
                       uint8_t *into, size_t size)
{
	struct writer w = begin(q, rcode, 0, into, size);

	return finish(q, &w, into,
	              filtered ? "refused by nacre: no rule of the profile allows this name"
	                       : NULL);
}
