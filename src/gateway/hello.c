/*
 * Records are walked first, and only when all bytes of the hello are there they are put together
 * and read. A hello ends with its last record: bytes behind it in the same record are refused,
 * since servers disagree about them.
 */
#include "gateway/hello.h"

#include <string.h>
#include "gateway/first.h"

enum {
	RECORD_HANDSHAKE = 22,
	CLIENT_HELLO = 1,
	EXTENSION_NAME = 0,
	EXTENSION_EARLY = 42,
	EXTENSION_ECH = 0xfe0d,
	EXTENSION_ESNI = 0xffce, /* what came before it */
	RECORD_MAX = 16384,
};

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static size_t get(struct reader *r, size_t bytes)
{
	size_t value = 0;

	if (r->broken || (size_t)(r->end - r->at) < bytes) {
		r->broken = true;
		return 0;
	}
	while (bytes-- > 0)
		value = value << 8 | *r->at++;
	return value;
}

static struct reader part(struct reader *r, size_t n)
{
	struct reader p = {.at = r->at, .end = r->at};

	if (r->broken || (size_t)(r->end - r->at) < n) {
		r->broken = true;
		return p;
	}
	r->at += n;
	p.end = r->at;
	return p;
}

/* One name of the type host_name, and nothing else. */
static bool read_name(struct reader r, struct hello *h)
{
	struct network_address address;
	struct reader list = part(&r, get(&r, 2)), name;
	size_t type = get(&list, 1), n;

	name = part(&list, get(&list, 2));
	n = (size_t)(name.end - name.at);
	if (r.broken || list.broken || r.at != r.end || list.at != list.end || type != 0 ||
	    h->named)
		return false;
	h->named = true;
	if (destination_canonical((const char *)name.at, n, h->name))
		return true;
	/* No name; but some programs send the address that they connect to. */
	if (!network_address_parse((const char *)name.at, n, &address))
		return false;
	network_address_format(&address, h->name);
	return true;
}

static bool read_extensions(struct reader r, struct hello *h)
{
	while (r.at != r.end) {
		size_t type = get(&r, 2);
		struct reader e = part(&r, get(&r, 2));

		if (r.broken || (type == EXTENSION_NAME && !read_name(e, h)))
			return false;
		if (type == EXTENSION_ECH || type == EXTENSION_ESNI)
			h->ech = true;
		if (type == EXTENSION_EARLY)
			h->early = true;
	}
	return true;
}

/* The body of the message. */
static bool read_body(struct reader r, struct hello *h)
{
	struct reader extensions;

	part(&r, 2 + 32);              /* version, random */
	part(&r, get(&r, 1));          /* session */
	part(&r, get(&r, 2));          /* ciphers */
	part(&r, get(&r, 1));          /* compression */
	if (r.broken || r.at == r.end) /* before TLS 1.0 there were no extensions */
		return !r.broken;
	extensions = part(&r, get(&r, 2));
	return !r.broken && r.at == r.end && read_extensions(extensions, h);
}

enum hello_state hello_read(const uint8_t *bytes, size_t n, struct hello *ret_hello)
{
	uint8_t message[FIRST_MAX];
	size_t at = 0, len = 0, need = 4, have, record;

	*ret_hello = (struct hello){0};
	while (len < need) {
		const uint8_t *r = bytes + at;
		size_t left = n - at;

		if ((left > 0 && r[0] != RECORD_HANDSHAKE) || (left > 1 && r[1] != 3))
			return HELLO_BROKEN;
		if (left < 5)
			return HELLO_MORE;
		record = (size_t)(r[3] << 8 | r[4]);
		if (record == 0 || record > RECORD_MAX || len + record > sizeof(message))
			return HELLO_BROKEN;
		have = left - 5 < record ? left - 5 : record;
		memcpy(message + len, r + 5, have);
		len += have;
		if (len > 0 && message[0] != CLIENT_HELLO)
			return HELLO_BROKEN;
		if (len >= 4)
			need = 4 + (size_t)(message[1] << 16 | message[2] << 8 | message[3]);
		if (need > sizeof(message))
			return HELLO_BROKEN;
		if (have < record)
			return HELLO_MORE;
		at += 5 + record;
	}
	if (len != need ||
	    !read_body((struct reader){message + 4, message + len, false}, ret_hello))
		return HELLO_BROKEN;
	ret_hello->size = at;
	return HELLO_DONE;
}
