#include "base/cleanup.h"
#include "base/test-support.h"
#include "gateway/first.h"
#include "gateway/hello.h"
#include "gateway/refusal.h"

struct bytes {
	uint8_t b[40000];
	size_t n;
};

static void put(struct bytes *m, const void *bytes, size_t n)
{
	memcpy(m->b + m->n, bytes, n);
	m->n += n;
}

static void put_number(struct bytes *m, size_t value, int width)
{
	while (width-- > 0)
		m->b[m->n++] = (uint8_t)(value >> 8 * width);
}

/* The handshake message alone; NAME NULL: no server name. MORE: bytes of padding. */
static struct bytes message(const char *name, size_t more, bool twice, bool ech)
{
	static const uint8_t random[32];
	struct bytes extensions = {0}, m = {0};

	for (int i = 0; name && i <= twice; i++) {
		put_number(&extensions, 0, 2);
		put_number(&extensions, strlen(name) + 5, 2);
		put_number(&extensions, strlen(name) + 3, 2);
		put_number(&extensions, 0, 1);
		put_number(&extensions, strlen(name), 2);
		put(&extensions, name, strlen(name));
	}
	if (ech) {
		put_number(&extensions, 0xfe0d, 2);
		put_number(&extensions, 1, 2);
		put_number(&extensions, 0, 1);
	}
	if (more) {
		put_number(&extensions, 21, 2);
		put_number(&extensions, more, 2);
		memset(extensions.b + extensions.n, 0, more);
		extensions.n += more;
	}
	put_number(&m, 1, 1);
	put_number(&m, 2 + 32 + 1 + 2 + 2 + 2 + 2 + extensions.n, 3);
	put_number(&m, 0x303, 2);
	put(&m, random, 32);
	put_number(&m, 0, 1);
	put_number(&m, 2, 2);
	put_number(&m, 0x1301, 2);
	put_number(&m, 1, 1);
	put_number(&m, 0, 1);
	put_number(&m, extensions.n, 2);
	put(&m, extensions.b, extensions.n);
	return m;
}

/* In records of SIZE bytes. */
static struct bytes records(struct bytes m, size_t size)
{
	struct bytes r = {0};

	for (size_t at = 0; at < m.n; at += size) {
		size_t n = m.n - at < size ? m.n - at : size;

		put_number(&r, 22, 1);
		put_number(&r, 0x301, 2);
		put_number(&r, n, 2);
		put(&r, m.b + at, n);
	}
	return r;
}

static struct bytes hello(const char *name)
{
	return records(message(name, 0, false, false), 16384);
}

/* In pieces of STEP bytes. *RET_SENT: how many were let through before the verdict. */
static enum first_state judge(struct first *f, const void *bytes, size_t n, size_t step,
                              size_t *ret_sent)
{
	enum first_state state = FIRST_UNDECIDED;
	size_t at = 0;

	for (; at < n && state == FIRST_UNDECIDED; at += step) {
		state = first_feed(f, (const char *)bytes + at, n - at < step ? n - at : step);
		if (state != FIRST_UNDECIDED)
			break;
	}
	if (ret_sent)
		*ret_sent = at < n ? at : n;
	first_done(f);
	return state;
}

/* The same verdict, however the bytes come. */
static void expect(const char *name, uint16_t port, const void *bytes, size_t n,
                   enum first_state state, enum network_reason reason, enum first_protocol protocol)
{
	static const size_t steps[] = {40000, 1, 7, 1000};

	for (size_t i = 0; i < array_size(steps); i++) {
		struct first f;

		first_init(&f, name, false, port);
		assert_int_equal(judge(&f, bytes, n, steps[i], NULL), state);
		assert_int_equal(f.reason, reason);
		assert_int_equal(f.protocol, protocol);
	}
}

static void expect_text(uint16_t port, const char *text, enum first_state state,
                        enum network_reason reason, enum first_protocol protocol)
{
	expect("x.test", port, text, strlen(text), state, reason, protocol);
}

static void a_hello_must_name_the_host(void **state)
{
	struct bytes m = hello("x.test");

	expect("x.test", 443, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	expect("x.test", 8443, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	m = hello("X.Test.");
	expect("x.test", 443, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	m = hello("evil.test");
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 5432, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = hello(NULL);
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 6379, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	m = records(message("x.test", 0, true, false), 16384); /* two names */
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = hello("10.1.2.3");
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = hello("x.test/");
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
}

static void a_hello_is_put_together_across_records(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 5, 64};

	for (size_t i = 0; i < array_size(sizes); i++) {
		struct bytes m = records(message("evil.test", 0, false, false), sizes[i]);

		expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
		m = records(message("x.test", 0, false, false), sizes[i]);
		expect("x.test", 443, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	}
}

/* A hello for x.test, and what comes behind it. */
static void expect_behind(uint16_t port, bool early, const void *more, size_t n,
                          enum first_state state, enum network_reason reason)
{
	struct bytes m = message("x.test", 0, false, false);

	if (early) { /* one more extension */
		static const uint8_t extension[] = {0, 42, 0, 0};

		put(&m, extension, sizeof(extension));
		m.b[3] += 4;
		m.b[46] += 4;
	}
	m = records(m, 16384);
	put(&m, more, n);
	expect("x.test", port, m.b, m.n, state, reason, FIRST_TLS);
}

static void a_second_hello_has_the_same_name(void **state)
{
	static const uint8_t change[] = {20, 3, 3, 0, 1, 1}, alert[] = {21, 3, 3, 0, 2, 1, 90},
			     data[] = {23, 3, 3, 0, 3, 1, 2, 3}, key[] = {22, 3, 3, 0, 1, 16},
			     noise[] = {22, 3, 3, 0, 40, 1, 200, 0, 0}, empty[] = {22, 3, 3, 0, 0};
	struct bytes good = hello("x.test"), evil = hello("evil.test"), none = hello(NULL);
	struct bytes small = records(message("evil.test", 0, false, false), 1), m = {0};
	const enum network_reason sni = NETWORK_REASON_SNI;

	expect_behind(443, false, good.b, good.n, FIRST_PASS, 0);
	expect_behind(443, false, evil.b, evil.n, FIRST_REFUSE, sni);
	expect_behind(8443, false, evil.b, evil.n, FIRST_REFUSE, sni);
	expect_behind(443, false, small.b, small.n, FIRST_REFUSE, sni);
	expect_behind(443, false, none.b, none.n, FIRST_REFUSE, sni);
	expect_behind(8443, false, none.b, none.n, FIRST_PASS, 0);
	expect_behind(443, false, empty, sizeof(empty), FIRST_REFUSE, sni);
	/* Other messages of a handshake, and the noise of encrypted ones, are none of ours. */
	expect_behind(443, false, key, sizeof(key), FIRST_PASS, 0);
	expect_behind(443, false, noise, sizeof(noise), FIRST_PASS, 0);
	expect_behind(443, false, data, sizeof(data), FIRST_PASS, 0);
	expect_behind(443, false, "\x18\x03\x03", 3, FIRST_PASS, 0);
	expect_behind(443, false, change, sizeof(change), FIRST_UNDECIDED, 0);
	/* What servers pass over: they read the hello behind it. */
	put(&m, change, sizeof(change));
	put(&m, alert, sizeof(alert));
	put(&m, evil.b, evil.n);
	expect_behind(443, false, m.b, m.n, FIRST_REFUSE, sni);
	m.n = 0;
	put(&m, data, sizeof(data));
	put(&m, change, sizeof(change));
	put(&m, evil.b, evil.n);
	expect_behind(443, true, m.b, m.n, FIRST_REFUSE, sni);
	expect_behind(443, false, m.b, m.n, FIRST_PASS, 0); /* no server passes these over */
}

/* Early data has a bound, too: then it is looked at no more. */
static void a_lot_of_early_data_passes(void **state)
{
	static uint8_t data[5 + 16384] = {23, 3, 3, 0x40, 0};
	struct bytes m = message("x.test", 0, false, false);
	static const uint8_t extension[] = {0, 42, 0, 0};
	struct first f;

	put(&m, extension, sizeof(extension));
	m.b[3] += 4;
	m.b[46] += 4;
	m = records(m, 16384);
	first_init(&f, "x.test", false, 443);
	assert_int_equal(first_feed(&f, m.b, m.n), FIRST_UNDECIDED);
	for (int i = 0; i < 7; i++)
		assert_int_equal(first_feed(&f, data, sizeof(data)), FIRST_UNDECIDED);
	assert_int_equal(first_feed(&f, data, sizeof(data)), FIRST_PASS);
	assert_null(f.kept);
}

/* Some servers take a line or a block from a proxy in front, and then any host. */
static void nothing_stands_in_front(void **state)
{
	static const char block[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11", word[] = "PROXYING is fun\r\n";
	static const uint8_t tls[] = {0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f},
			     gss[] = {0, 0, 0, 8, 4, 0xd2, 0x16, 0x30},
			     start[] = {0, 0, 0, 9, 0, 3, 0, 0, 0};
	struct bytes evil = hello("evil.test"), good = hello("x.test"), m = {0};

	expect_text(
		80,
		"PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_OTHER);
	expect("x.test", 80, block, sizeof(block) - 1, FIRST_REFUSE, NETWORK_REASON_PROXY,
	       FIRST_OTHER);
	expect_text(7000, word, FIRST_PASS, 0, FIRST_OTHER);
	put(&m, gss, sizeof(gss));
	put(&m, tls, sizeof(tls));
	expect("x.test", 5432, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_OTHER);
	put(&m, evil.b, evil.n);
	expect("x.test", 5432, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m.n = 16;
	put(&m, good.b, good.n);
	put(&m, evil.b, evil.n);
	expect("x.test", 5432, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m.n = 8; /* the server has no TLS */
	put(&m, start, sizeof(start));
	expect("x.test", 5432, m.b, m.n, FIRST_PASS, 0, FIRST_OTHER);
	expect("x.test", 5432, start, sizeof(start), FIRST_PASS, 0, FIRST_OTHER);
}

/* The byte that completes it is never sent before the verdict. */
static void the_last_byte_of_a_hello_waits_for_the_verdict(void **state)
{
	struct bytes m = hello("evil.test");
	struct first f;
	size_t sent;

	first_init(&f, "x.test", false, 443);
	judge(&f, m.b, m.n, 1, &sent);
	assert_int_equal(sent, m.n - 1);
	assert_string_equal(f.seen, "evil.test");
	assert_null(f.kept);
}

static void a_literal_has_no_name_to_compare(void **state)
{
	struct bytes m = hello("evil.test");
	struct first f;

	first_init(&f, "10.1.2.3", true, 443);
	assert_int_equal(judge(&f, m.b, m.n, m.n, NULL), FIRST_PASS);
	m = hello(NULL);
	first_init(&f, "10.1.2.3", true, 443);
	assert_int_equal(judge(&f, m.b, m.n, m.n, NULL), FIRST_PASS);
	first_init(&f, "10.1.2.3", true, 80);
	assert_int_equal(judge(&f, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, 27, NULL), FIRST_PASS);
	first_init(&f, "10.1.2.3", true, 3128);
	assert_int_equal(judge(&f, "GET http://a/ HTTP/1.1\r\n\r\n", 26, 26, NULL), FIRST_REFUSE);
	first_init(&f, "fd12::5", true, 80);
	assert_int_equal(judge(&f, "GET http://[FD12:0::5]:80/ HTTP/1.1\r\n\r\n", 39, 39, NULL),
	                 FIRST_PASS);
}

static void an_encrypted_hello_is_noted(void **state)
{
	struct bytes m = records(message("x.test", 0, false, true), 16384);
	struct first f;

	first_init(&f, "x.test", false, 443);
	assert_int_equal(judge(&f, m.b, m.n, m.n, NULL), FIRST_UNDECIDED);
	assert_true(f.ech);
}

static void other_records_come_before_no_hello(void **state)
{
	static const uint8_t change[] = {20, 3, 3, 0, 1, 1}, alert[] = {21, 3, 3, 0, 2, 1, 0},
			     data[] = {23, 3, 3, 0, 1, 1}, ssl2[] = {0x80, 46, 1, 3, 1},
			     odd[] = {22, 4, 0, 0}, binary[] = {20, 0, 0, 0};

	expect("x.test", 443, change, sizeof(change), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 8443, change, sizeof(change), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 443, alert, sizeof(alert), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 443, data, sizeof(data), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 443, ssl2, sizeof(ssl2), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 8443, ssl2, sizeof(ssl2), FIRST_PASS, 0, FIRST_OTHER);
	expect("x.test", 443, odd, sizeof(odd), FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	expect("x.test", 9000, odd, sizeof(odd), FIRST_PASS, 0, FIRST_OTHER);
	expect("x.test", 9000, binary, sizeof(binary), FIRST_PASS, 0, FIRST_OTHER);
}

static void a_broken_hello_is_refused(void **state)
{
	struct bytes whole = hello("x.test"), m;
	struct hello h;

	for (size_t n = 1; n < whole.n; n++)
		assert_int_equal(hello_read(whole.b, n, &h), HELLO_MORE);
	for (size_t i = 0; i < whole.n; i++) { /* never a crash, and never another name */
		struct first f;

		m = whole;
		m.b[i] ^= 0xff;
		first_init(&f, "x.test", false, 443);
		judge(&f, m.b, m.n, m.n, NULL);
	}
	m = message("x.test", 0, false, false);
	m.b[m.n++] = 0; /* one byte behind the hello, in the same record */
	m = records(m, 16384);
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = whole;
	m.b[5] = 2; /* a hello of a server */
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = whole;
	m.b[3] = m.b[4] = 0; /* an empty record */
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
}

static void a_long_hello_has_a_bound(void **state)
{
	struct bytes m = records(message("x.test", 12000, false, false), 16384);

	expect("x.test", 443, m.b, m.n, FIRST_UNDECIDED, 0, FIRST_TLS);
	m = records(message("x.test", 17000, false, false), 16000);
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_SNI, FIRST_TLS);
	m = records(message("x.test", 6000, false, false), 1); /* six bytes for one */
	expect("x.test", 443, m.b, m.n, FIRST_REFUSE, NETWORK_REASON_LIMIT, FIRST_TLS);
}

static const struct {
	const char *text;
	enum first_state state;
	enum network_reason reason;
	enum first_protocol protocol;
} texts[] = {
	{"GET / HTTP/1.1\r\nHost: x.test\r\n\r\n", FIRST_PASS, 0, FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: X.Test.:80\r\n\r\n", FIRST_PASS, 0, FIRST_HTTP},
	{"GET / HTTP/1.1\r\nAccept: a\r\nhOsT :\tx.test \r\n\r\n", FIRST_PASS, 0, FIRST_HTTP},
	{"GET / HTTP/1.0\r\n\r\n", FIRST_PASS, 0, FIRST_HTTP},
	{"GET http://x.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n", FIRST_PASS, 0, FIRST_HTTP},
	{"OPTIONS * HTTP/1.1\nHost: x.test\n\n", FIRST_PASS, 0, FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: x.test\r\nHost: x.test\r\n\r\n", FIRST_REFUSE,
         NETWORK_REASON_HOST, FIRST_HTTP},
	{"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{" GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"get / http/1.1\nhost: evil.test\n\n", FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: evil.test\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP},
	{"ANYTHING\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET\v/\fHTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"SSH-2.0 / HTTP/1.1\r\nHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost:\r\n evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nA: b\rHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\n\vHost: evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: x.test@evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: x.test evil.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST,
         FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost: \r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP},
	{"GET / HTTP/1.1\r\nHost\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP},
	{"GET http://evil.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n", FIRST_REFUSE,
         NETWORK_REASON_PROXY, FIRST_HTTP},
	{"GET http://x.test@evil.test/ HTTP/1.1\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_PROXY,
         FIRST_HTTP},
	{"GET http://evil.test/\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_HTTP},
	{"GET ftp://evil.test/ HTTP/1.1\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_HTTP},
	{"CONNECT evil.test:443 HTTP/1.1\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_HTTP},
	{"connect x.test:443 HTTP/1.1\r\nHost: x.test\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_PROXY,
         FIRST_HTTP},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP},
	{"EHLO me\r\n", FIRST_PASS, 0, FIRST_OTHER},
	{"PING\r\n", FIRST_PASS, 0, FIRST_OTHER},
	{"*1\r\n$4\r\nPING\r\n", FIRST_PASS, 0, FIRST_OTHER},
	{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", FIRST_PASS, 0, FIRST_SSH},
	{"{\"json\": 1}", FIRST_PASS, 0, FIRST_OTHER},
	{"\x7f\x45LF", FIRST_PASS, 0, FIRST_OTHER},
};

static void a_request_must_be_for_the_host(void **state)
{
	for (size_t i = 0; i < array_size(texts); i++) {
		print_message("# row %zu\n", i);
		expect_text(80, texts[i].text, texts[i].state, texts[i].reason, texts[i].protocol);
	}
	expect_text(2379, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FIRST_PASS, 0, FIRST_HTTP);
}

static void one_short_word_is_not_held_up(void **state)
{
	struct first f;

	first_init(&f, "x.test", false, 7000);
	assert_int_equal(first_feed(&f, "HELLO", 5), FIRST_UNDECIDED); /* it is sent on */
	assert_int_equal(first_feed(&f, "", 0), FIRST_UNDECIDED);
	assert_int_equal(first_feed(&f, " THERE\n", 7), FIRST_PASS);
	first_done(&f);
}

static void a_head_has_a_bound(void **state)
{
	static char head[40000];

	memset(head, 'a', sizeof(head));
	memcpy(head, "GET / HTTP/1.1\r\nA: ", 19);
	memcpy(head + 16000, "\r\nHost: evil.test\r\n\r\n", 21);
	expect("x.test", 80, head, 16021, FIRST_REFUSE, NETWORK_REASON_HOST, FIRST_HTTP);
	memset(head + 16000, 'a', 21);
	expect("x.test", 80, head, sizeof(head), FIRST_REFUSE, NETWORK_REASON_LIMIT, FIRST_OTHER);
	memset(head, 'a', sizeof(head)); /* a method without an end */
	expect("x.test", 80, head, sizeof(head), FIRST_REFUSE, NETWORK_REASON_LIMIT, FIRST_OTHER);
}

static void a_proxy_is_not_spoken_to(void **state)
{
	static const uint8_t socks5[] = {5, 1, 0}, hasty[] = {5, 2, 0, 2, 5, 1, 0, 3},
			     socks4[] = {4, 1, 0, 80, 1, 2, 3, 4, 'm', 'e', 0},
			     rpc[] = {5, 0, 11, 3}, database[] = {4, 0, 0, 0, 5, 0, 0, 0, 0};

	expect("x.test", 1080, socks5, 3, FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_OTHER);
	expect("x.test", 1080, hasty, 8, FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_OTHER);
	expect("x.test", 443, socks4, 11, FIRST_REFUSE, NETWORK_REASON_PROXY, FIRST_OTHER);
	expect("x.test", 135, rpc, 4, FIRST_PASS, 0, FIRST_OTHER);
	expect("x.test", 9042, database, 9, FIRST_PASS, 0, FIRST_OTHER);
}

static void a_verdict_does_not_change(void **state)
{
	struct first f;

	first_init(&f, "x.test", false, 80);
	assert_int_equal(first_feed(&f, "CONNECT a HTTP/1.1\r\n\r\n", 22), FIRST_REFUSE);
	assert_int_equal(first_feed(&f, "GET / HTTP/1.1\r\n\r\n", 18), FIRST_REFUSE);
	first_done(&f);
}

static void a_refusal_is_said_in_the_clients_language(void **state)
{
	uint8_t out[REFUSAL_MAX];
	char text[512], longest[DESTINATION_NAME_SIZE];
	size_t n;

	refusal_text(text, sizeof(text), "x.test", 443, NETWORK_REASON_NOT_ALLOWED, NULL);
	assert_string_equal(text, "nacre: x.test:443 was refused: no rule of the profile allows it "
	                          "(not-allowed)");
	assert_int_equal(refusal_write(FIRST_TLS, text, out), 7);
	assert_memory_equal(out, "\x15\x03\x03\x00\x02\x02\x31", 7);
	n = refusal_write(FIRST_HTTP, "a\r\nSet-Cookie: x", out);
	assert_memory_equal(out, "HTTP/1.1 403 Forbidden\r\n", 24);
	assert_memory_equal(out + n - 17, "a??Set-Cookie: x\n", 17);
	assert_non_null(memmem(out, n, "Content-Length: 17\r\n", 20));
	n = refusal_write(FIRST_SSH, text, out);
	assert_memory_equal(out, "SSH-2.0-nacre\r\n", 15);
	assert_int_equal((n - 15) % 8, 0);
	assert_int_equal((size_t)out[15] << 24 | out[16] << 16 | out[17] << 8 | out[18], n - 19);
	assert_int_equal(out[20], 1);
	assert_non_null(memmem(out, n, text, strlen(text)));
	assert_int_equal(refusal_write(FIRST_OTHER, text, out), 0);

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (int r = 0; r < NETWORK_REASON_MAX; r++) {
		refusal_text(text, sizeof(text), longest, 65535, (enum network_reason)r, "private");
		for (int p = FIRST_OTHER; p <= FIRST_SSH; p++)
			assert_true(refusal_write((enum first_protocol)p, text, out) <=
			            REFUSAL_MAX);
	}
}

static enum first_state ended_after(const char *text, uint16_t port)
{
	struct first f;

	first_init(&f, "x.test", false, port);
	(void)first_feed(&f, text, strlen(text));
	return first_end(&f);
}

static void the_end_of_a_client_may_end_its_head(void **state)
{
	assert_int_equal(ended_after("GET / HTTP/1.1\r\nHost: y.test\r\n", 80), FIRST_REFUSE);
	assert_int_equal(ended_after("GET / HTTP/1.1\r\nHost: y.test", 80), FIRST_REFUSE);
	assert_int_equal(ended_after("GET http://y.test/ HTTP/1.1", 80), FIRST_REFUSE);
	assert_int_equal(ended_after("CONNECT y.test:443 HTTP/1.1\r\n", 80), FIRST_REFUSE);
	assert_int_equal(ended_after("GET / HTTP/1.1\r\nHost: x.test\r\n", 80), FIRST_PASS);
	assert_int_equal(ended_after("GET / HTTP/1.1\r\nHost: x.test", 80), FIRST_PASS);
	assert_int_equal(ended_after("PING", 6379), FIRST_PASS);
	assert_int_equal(ended_after("", 80), FIRST_PASS);
}

static void the_language_of_a_client_is_guessed(void **state)
{
	struct bytes m = hello("x.test");

	assert_int_equal(first_guess(m.b, m.n, 443), FIRST_TLS);
	assert_int_equal(first_guess("", 0, 22), FIRST_SSH);
	assert_int_equal(first_guess("", 0, 443), FIRST_OTHER);
	assert_int_equal(first_guess("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, 80), FIRST_HTTP);
	assert_int_equal(first_guess("GET / HTTP/1.1\r\nHos", 19, 80), FIRST_HTTP);
	assert_int_equal(first_guess("SSH-2.0-x\r\n", 11, 2222), FIRST_SSH);
	assert_int_equal(first_guess("\0\0\0\x08", 4, 5432), FIRST_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_must_name_the_host),
		cmocka_unit_test(a_hello_is_put_together_across_records),
		cmocka_unit_test(a_second_hello_has_the_same_name),
		cmocka_unit_test(a_lot_of_early_data_passes),
		cmocka_unit_test(nothing_stands_in_front),
		cmocka_unit_test(the_last_byte_of_a_hello_waits_for_the_verdict),
		cmocka_unit_test(a_literal_has_no_name_to_compare),
		cmocka_unit_test(an_encrypted_hello_is_noted),
		cmocka_unit_test(other_records_come_before_no_hello),
		cmocka_unit_test(a_broken_hello_is_refused),
		cmocka_unit_test(a_long_hello_has_a_bound),
		cmocka_unit_test(a_request_must_be_for_the_host),
		cmocka_unit_test(one_short_word_is_not_held_up),
		cmocka_unit_test(a_head_has_a_bound),
		cmocka_unit_test(a_proxy_is_not_spoken_to),
		cmocka_unit_test(a_verdict_does_not_change),
		cmocka_unit_test(a_refusal_is_said_in_the_clients_language),
		cmocka_unit_test(the_end_of_a_client_may_end_its_head),
		cmocka_unit_test(the_language_of_a_client_is_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
