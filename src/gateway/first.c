/*
 * The judge looks at all bytes from the first one each time some come, in one piece: most clients
 * say enough in their first segment, and nothing is copied then.
 */
#include "gateway/first.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "gateway/head.h"
#include "gateway/hello.h"

enum {
	RECORD_CHANGE = 20,
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
	RECORD_DATA = 23,
	CLIENT_HELLO = 1,
};

#define RECORD_HEAD 5
/* Longer hellos no server takes: such a length is the noise of an encrypted message, which a client
 * of TLS 1.2 may send in a record of the same type. */
#define HELLO_LENGTH_MAX 0x20200
/* Early data that servers pass over; most stop at 16 KiB. */
#define SKIPPED_MAX ((size_t)128 << 10)

const char *first_protocol_word(enum first_protocol protocol)
{
	static const char *const words[] = {
		[FIRST_OTHER] = "other",
		[FIRST_TLS] = "tls",
		[FIRST_HTTP] = "http",
		[FIRST_SSH] = "ssh",
	};

	return words[protocol];
}

void first_init(struct first *f, const char *name, bool literal, uint16_t port)
{
	*f = (struct first){.name = name, .literal = literal, .port = port};
}

void first_done(struct first *f)
{
	free(f->kept);
	f->kept = NULL;
	f->kept_len = f->kept_size = 0;
}

static enum first_state refuse(struct first *f, enum network_reason reason)
{
	f->reason = reason;
	return FIRST_REFUSE;
}

static void note_seen(struct first *f, const char *text, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(f->seen) - 1; i++)
		f->seen[used++] = text[i] > ' ' && text[i] < 127 ? text[i] : '?';
	f->seen[used] = '\0';
}

static enum first_state judge_hello(struct first *f, const struct hello *h)
{
	f->ech |= h->ech;
	if (f->literal)
		return FIRST_PASS;
	if (!h->named)
		return f->port == 443 ? refuse(f, NETWORK_REASON_SNI) : FIRST_PASS;
	if (strcmp(h->name, f->name) == 0)
		return FIRST_PASS;
	note_seen(f, h->name, strlen(h->name));
	return refuse(f, NETWORK_REASON_SNI);
}

static bool keep(struct first *f, const void *bytes, size_t n)
{
	if (n > f->kept_size - f->kept_len) {
		size_t size = f->kept_size ? f->kept_size : 512;
		uint8_t *grown;

		while (size < f->kept_len + n)
			size *= 2;
		grown = realloc(f->kept, size);
		if (!grown)
			return false;
		f->kept = grown;
		f->kept_size = size;
	}
	memcpy(f->kept + f->kept_len, bytes, n);
	f->kept_len += n;
	return true;
}

/* A handshake record behind the first hello; its bytes so far are kept. */
static enum first_state judge_second(struct first *f)
{
	const uint8_t *m = f->kept + RECORD_HEAD;
	enum hello_state state;
	struct hello h;

	/* The length lies in another record if this one is too small; no honest client does that.
	 */
	if (f->kept_len > RECORD_HEAD && m[0] != CLIENT_HELLO)
		return FIRST_PASS;
	if (f->kept_len >= RECORD_HEAD + 4 && (f->kept[3] || f->kept[4] >= 4) &&
	    (m[1] << 16 | m[2] << 8 | m[3]) > HELLO_LENGTH_MAX)
		return FIRST_PASS;
	state = hello_read(f->kept, f->kept_len, &h);
	if (state == HELLO_MORE)
		return FIRST_UNDECIDED;
	return state == HELLO_BROKEN ? refuse(f, NETWORK_REASON_SNI) : judge_hello(f, &h);
}

/* What comes behind the first hello, record by record. */
static enum first_state feed_after(struct first *f, const uint8_t *b, size_t n)
{
	enum first_state state = FIRST_UNDECIDED;

	while (n > 0 && state == FIRST_UNDECIDED) {
		size_t taken = n;

		if (f->skip > 0) {
			taken = n < f->skip ? n : f->skip;
			f->skip -= taken;
		} else if (f->kept_len > 0 && f->kept[0] == RECORD_HANDSHAKE) {
			/* A byte at a time until it is known to be a hello: what it is must not
			 * depend on how much has come. */
			taken = f->kept_len < RECORD_HEAD + 4 ? 1
			        : n < FIRST_MAX - f->kept_len ? n
			                                      : FIRST_MAX - f->kept_len;
			if (taken == 0 || !keep(f, b, taken))
				return refuse(f, NETWORK_REASON_LIMIT);
			state = judge_second(f);
		} else {
			taken = 1;
			if (!keep(f, b, 1))
				return refuse(f, NETWORK_REASON_LIMIT);
			if (f->kept[0] < RECORD_CHANGE || f->kept[0] > RECORD_DATA ||
			    (f->kept[0] == RECORD_DATA && !f->early))
				return FIRST_PASS;
			if (f->kept[0] != RECORD_HANDSHAKE && f->kept_len == RECORD_HEAD) {
				f->skip = (size_t)(f->kept[3] << 8 | f->kept[4]);
				f->skipped += f->skip + RECORD_HEAD;
				f->kept_len = 0;
				if (f->skipped > SKIPPED_MAX)
					return FIRST_PASS;
			}
		}
		b += taken;
		n -= taken;
	}
	return state;
}

static enum first_state judge_tls(struct first *f, const uint8_t *b, size_t n)
{
	enum first_state state;
	struct hello h;

	f->protocol = FIRST_TLS;
	switch (hello_read(b, n, &h)) {
	case HELLO_MORE:
		return FIRST_UNDECIDED;
	case HELLO_BROKEN:
		return refuse(f, NETWORK_REASON_SNI);
	case HELLO_DONE:
		break;
	}
	state = judge_hello(f, &h);
	if (state == FIRST_REFUSE || f->literal)
		return state;
	f->after = true;
	f->early = h.early;
	f->hello_size = h.size;
	return FIRST_UNDECIDED;
}

static enum first_state judge_request(struct first *f, const struct request_head *h)
{
	f->protocol = FIRST_HTTP;
	if (h->connect)
		return refuse(f, NETWORK_REASON_PROXY);
	if (h->authority && !request_head_names(h->authority, h->authority_len, f->name)) {
		note_seen(f, h->authority, h->authority_len);
		return refuse(f, NETWORK_REASON_PROXY);
	}
	if (h->two) /* its host comes later, where nobody looks */
		return f->port == 80 && !f->literal ? refuse(f, NETWORK_REASON_HOST) : FIRST_PASS;
	if (h->hosts > 1)
		return refuse(f, NETWORK_REASON_HOST);
	if (h->hosts == 0 || f->literal || request_head_names(h->host, h->host_len, f->name))
		return FIRST_PASS;
	note_seen(f, h->host, h->host_len);
	return refuse(f, NETWORK_REASON_HOST);
}

/*
 * A line or a block in front of what a client says, which some servers take from proxies (the PROXY
 * protocol). What is behind it would not be looked at.
 */
static enum first_state judge_preface(struct first *f, const char *b, size_t n)
{
	static const char block[12] = "\r\n\r\n\0\r\nQUIT\n", line[6] = "PROXY ";
	size_t least = n < sizeof(block) ? n : sizeof(block);

	if (memcmp(b, block, least) == 0)
		return n < sizeof(block) ? FIRST_UNDECIDED : refuse(f, NETWORK_REASON_PROXY);
	if (n >= sizeof(line) && memcmp(b, line, sizeof(line)) == 0)
		return refuse(f, NETWORK_REASON_PROXY);
	return FIRST_PASS;
}

static enum first_state judge_text(struct first *f, const char *b, size_t n)
{
	struct request_head h;
	enum first_state state = judge_preface(f, b, n);

	if (state != FIRST_PASS)
		return state;
	switch (request_head_read(b, n, &h)) {
	case REQUEST_HEAD_MORE:
		return FIRST_UNDECIDED;
	case REQUEST_HEAD_BROKEN:
		f->protocol = FIRST_HTTP;
		return refuse(f, NETWORK_REASON_HOST);
	case REQUEST_HEAD_DONE:
		return judge_request(f, &h);
	case REQUEST_HEAD_OTHER:
		break;
	}
	if (n >= 4 && memcmp(b, "SSH-", 4) == 0)
		f->protocol = FIRST_SSH;
	return FIRST_PASS;
}

/* 5, how many methods, the methods. */
static enum first_state judge_socks5(struct first *f, const uint8_t *b, size_t n)
{
	if (n > 1 && b[1] == 0)
		return FIRST_PASS;
	return n < 2 || n < 2U + b[1] ? FIRST_UNDECIDED : refuse(f, NETWORK_REASON_PROXY);
}

/* 4, connect or bind, a port, an address, a user with a NUL. */
static enum first_state judge_socks4(struct first *f, const uint8_t *b, size_t n)
{
	if (n > 1 && b[1] != 1 && b[1] != 2)
		return FIRST_PASS;
	if (n < 9 || !memchr(b + 8, 0, n - 8))
		return FIRST_UNDECIDED;
	return refuse(f, NETWORK_REASON_PROXY);
}

/* A record that is no hello. A server that skips it would read the hello behind it. */
static enum first_state judge_record(struct first *f, const uint8_t *b, size_t n)
{
	if (f->port != 443) {
		if (n > 1 && b[1] != 3)
			return FIRST_PASS;
		if (n < 3)
			return FIRST_UNDECIDED;
		if (b[2] > 4)
			return FIRST_PASS;
	}
	f->protocol = FIRST_TLS;
	return refuse(f, NETWORK_REASON_SNI);
}

/* PostgreSQL's requests for TLS and GSS, of which a client may send one after the other. The hello
 * comes behind them, and large services choose the database by its name. How many bytes they have,
 * also if the last one is not complete. */
static size_t skip_requests(const uint8_t *b, size_t n)
{
	static const uint8_t request[7] = {0, 0, 0, 8, 0x04, 0xd2, 0x16};
	size_t at = 0;

	while (at < n && at < 16) {
		size_t left = n - at < 8 ? n - at : 8;

		if (memcmp(b + at, request, left < 7 ? left : 7) != 0 ||
		    (left == 8 && b[at + 7] != 0x2f && b[at + 7] != 0x30))
			break;
		at += left;
	}
	return at;
}

static enum first_state judge(struct first *f, const uint8_t *b, size_t n)
{
	size_t requests = skip_requests(b, n);

	if (requests == n)
		return FIRST_UNDECIDED;
	if (requests > 0) {
		enum first_state state = b[requests] == RECORD_HANDSHAKE
		                                 ? judge_tls(f, b + requests, n - requests)
		                                 : FIRST_PASS;

		f->hello_size += requests;
		return state;
	}
	if (b[0] == RECORD_HANDSHAKE) {
		if (n == 1)
			return FIRST_UNDECIDED;
		if (b[1] == 3 || f->port == 443)
			return judge_tls(f, b, n);
		return FIRST_PASS;
	}
	if (b[0] == RECORD_CHANGE || b[0] == RECORD_ALERT || b[0] == RECORD_DATA)
		return judge_record(f, b, n);
	if (b[0] >= 0x80 && f->port == 443) { /* a hello of SSL 2 */
		f->protocol = FIRST_TLS;
		return refuse(f, NETWORK_REASON_SNI);
	}
	if (b[0] == 5)
		return judge_socks5(f, b, n);
	if (b[0] == 4)
		return judge_socks4(f, b, n);
	return judge_text(f, (const char *)b, n);
}

/* All that has come so far, from the first byte on. */
static enum first_state feed_first(struct first *f, const uint8_t *bytes, size_t n)
{
	size_t room = FIRST_MAX - f->kept_len, taken = n < room ? n : room, before = f->kept_len;
	enum first_state state;

	if (before > 0 && !keep(f, bytes, taken))
		return refuse(f, NETWORK_REASON_LIMIT);
	state = before > 0 ? judge(f, f->kept, f->kept_len) : judge(f, bytes, taken);
	if (state != FIRST_UNDECIDED)
		return state;
	if (f->after) { /* the rest is another matter */
		taken = f->hello_size - before;
		f->kept_len = 0;
		return feed_after(f, bytes + taken, n - taken);
	}
	if (taken < n || (before == 0 && !keep(f, bytes, taken)) || f->kept_len == FIRST_MAX)
		return refuse(f, NETWORK_REASON_LIMIT);
	return FIRST_UNDECIDED;
}

enum first_state first_feed(struct first *f, const void *bytes, size_t n)
{
	if (f->state != FIRST_UNDECIDED || n == 0)
		return f->state;
	f->state = f->after ? feed_after(f, bytes, n) : feed_first(f, bytes, n);
	if (f->state != FIRST_UNDECIDED)
		first_done(f);
	return f->state;
}

/* Some servers take the end for the end of the head as well. */
enum first_state first_end(struct first *f)
{
	static const char end[] = "\r\n\r\n";

	if (f->state != FIRST_UNDECIDED)
		return f->state;
	if (f->kept_len == 0 || f->after)
		f->state = FIRST_PASS;
	else if (!keep(f, end, sizeof(end) - 1))
		f->state = refuse(f, NETWORK_REASON_LIMIT);
	else
		f->state = judge(f, f->kept, f->kept_len);
	/* What is still no hello and no head will never be one. */
	if (f->state == FIRST_UNDECIDED)
		f->state = FIRST_PASS;
	first_done(f);
	return f->state;
}

enum first_protocol first_guess(const void *bytes, size_t n, uint16_t port)
{
	const uint8_t *b = bytes;
	struct request_head h;

	if (port == 22)
		return FIRST_SSH;
	if (n == 0)
		return FIRST_OTHER;
	if (b[0] == RECORD_HANDSHAKE && (n < 2 || b[1] == 3))
		return FIRST_TLS;
	switch (request_head_read(bytes, n, &h)) {
	case REQUEST_HEAD_DONE:
	case REQUEST_HEAD_BROKEN:
		return FIRST_HTTP;
	case REQUEST_HEAD_MORE: /* a head of several segments is one, too */
		return memmem(bytes, n, " HTTP/", 6) ? FIRST_HTTP : FIRST_OTHER;
	case REQUEST_HEAD_OTHER:
		break;
	}
	return n >= 4 && memcmp(bytes, "SSH-", 4) == 0 ? FIRST_SSH : FIRST_OTHER;
}
