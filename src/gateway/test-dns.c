#include "base/cleanup.h"
#include "base/test-support.h"
#include "gateway/dns.h"

#include <errno.h>

struct message {
	uint8_t bytes[2048];
	size_t n;
};

static void put(struct message *m, const void *bytes, size_t n)
{
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

/* One question for the name, whose labels are divided by dots. */
static struct message query(const char *name, uint16_t type)
{
	struct message m = {0};
	const uint8_t tail[] = {0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1};

	put(&m, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
	for (const char *p = name; *p; p += strcspn(p, "."), p += *p == '.') {
		uint8_t len = (uint8_t)strcspn(p, ".");

		put(&m, &len, 1);
		put(&m, p, len);
	}
	put(&m, tail, sizeof(tail));
	return m;
}

static struct message with_edns(struct message m)
{
	m.bytes[11]++;
	put(&m, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
	return m;
}

static struct dns_query reading(const struct message *m)
{
	struct dns_query q;

	dns_read(m->bytes, m->n, &q);
	return q;
}

static void a_query_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
		enum dns_ask ask;
	} rows[] = {
		{"x.test", 1, DNS_ASK_ADDRESS},
		{"X.Test", 1, DNS_ASK_ADDRESS},
		{"x.test", 28, DNS_ASK_OTHER},
		{"x.test", 65, DNS_ASK_OTHER},
		{"x.test", 64, DNS_ASK_OTHER},
		{"x.test", 16, DNS_ASK_OTHER},
		{"x.test", 15, DNS_ASK_OTHER},
		{"_sip._tcp.x.test", 33, DNS_ASK_OTHER},
		{"x.test", 255, DNS_ASK_OTHER},
		{"localhost", 1, DNS_ASK_LOCALHOST},
		{"a.LocalHost", 28, DNS_ASK_LOCALHOST},
		{"7.2.18.198.in-addr.arpa", 12, DNS_ASK_POINTER},
		{"1.0.0.127.in-addr.arpa", 12, DNS_ASK_LOCALHOST},
		{"256.2.18.198.in-addr.arpa", 12, DNS_ASK_OTHER},
		{"2.18.198.in-addr.arpa", 12, DNS_ASK_OTHER},
		{"x.in-addr.arpa", 12, DNS_ASK_OTHER},
		{"7.2.18.198.in-addr.arpa", 1, DNS_ASK_ADDRESS},
		{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", 12,
	         DNS_ASK_LOCALHOST},
		{"2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", 12,
	         DNS_ASK_POINTER},
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct message m = query(rows[i].name, rows[i].type);
		struct dns_query q = reading(&m);

		print_message("# %s %u\n", rows[i].name, rows[i].type);
		assert_int_equal(q.ask, rows[i].ask);
		assert_int_equal(q.id, 0x1234);
		assert_int_equal(q.type, rows[i].type);
		assert_false(q.edns);
	}
}

static void expect_refused(const struct message *m, enum dns_rcode rcode)
{
	struct dns_query q = reading(m);
	uint8_t answer[DNS_ANSWER_MAX];
	size_t n;

	assert_int_equal(q.ask, DNS_ASK_REFUSED);
	assert_int_equal(q.rcode, rcode);
	assert_string_equal(q.name, "");
	n = dns_write_error(&q, q.rcode, false, answer, sizeof(answer));
	assert_true(n >= 12);
	assert_int_equal(answer[3] & 15, rcode);
	assert_int_equal(answer[7], 0);
}

static void what_others_would_read_differently_is_refused(void **state)
{
	static const char *const numbers[] = {"127.0.0.1", "0x7f000001", "127.1", "x.0x7f", "1"};
	struct message m = query("x.test", 1);

	m.bytes[5] = 2; /* two questions */
	put(&m, "\1y\0\0\1\0\1", 7);
	expect_refused(&m, DNS_FORMERR);
	m = query("x.test", 1);
	m.bytes[5] = 0;
	expect_refused(&m, DNS_FORMERR);
	m = query("x.test", 1);
	m.bytes[7] = 1; /* an answer in a query */
	expect_refused(&m, DNS_FORMERR);
	m = query("x.test", 1);
	m.bytes[12] = 0xc0; /* a pointer, at itself */
	m.bytes[13] = 12;
	expect_refused(&m, DNS_FORMERR);
	m = query("x.test", 1);
	m.bytes[12] = 0x41;
	expect_refused(&m, DNS_FORMERR);
	m = query("x.test", 1);
	m.bytes[2] |= 0x28; /* an update */
	expect_refused(&m, DNS_NOTIMP);
	m = query("evil.allowed", 1);
	m.bytes[17] = 0; /* NUL and dot inside of one label, as "evil.\0" and "evil..." */
	m.bytes[12] = 12;
	m.bytes[17] = '.';
	expect_refused(&m, DNS_NXDOMAIN);
	m.bytes[17] = 0;
	expect_refused(&m, DNS_NXDOMAIN);
	m.bytes[17] = 0x80;
	expect_refused(&m, DNS_NXDOMAIN);
	m.bytes[17] = 127;
	expect_refused(&m, DNS_NXDOMAIN);
	m = query("", 2);
	expect_refused(&m, DNS_NXDOMAIN);
	m = query("a b.test", 1);
	expect_refused(&m, DNS_NXDOMAIN);
	for (size_t i = 0; i < array_size(numbers); i++) {
		m = query(numbers[i], 1);
		expect_refused(&m, DNS_NXDOMAIN);
	}
}

static void what_is_no_query_has_no_answer(void **state)
{
	struct message m = query("x.test", 1), whole = m;
	struct dns_query q;

	m.bytes[2] |= 0x80; /* an answer: two servers would talk for ever */
	q = reading(&m);
	assert_int_equal(q.ask, DNS_ASK_NOTHING);
	for (size_t n = 0; n < whole.n; n++) {
		dns_read(whole.bytes, n, &q);
		assert_int_equal(q.ask, n < 12 ? DNS_ASK_NOTHING : DNS_ASK_REFUSED);
	}
	whole.n = DNS_QUERY_MAX + 1;
	q = reading(&whole);
	assert_int_equal(q.ask, DNS_ASK_NOTHING);
}

static void a_long_name_is_read_to_its_end_and_no_further(void **state)
{
	char name[300] = "";
	struct message m;
	struct dns_query q;

	for (int i = 0; i < 126; i++)
		strcat(name, "a.");
	strcat(name, "a"); /* 253 */
	m = query(name, 1);
	q = reading(&m);
	assert_int_equal(q.ask, DNS_ASK_ADDRESS);
	assert_string_equal(q.name, name);
	strcat(name, ".a");
	m = query(name, 1);
	expect_refused(&m, DNS_FORMERR);
}

static void an_address_is_answered_with_the_question(void **state)
{
	struct message m = query("X.tEst", 1);
	struct dns_query q = reading(&m);
	struct network_address fake = network_address_v4(0xc6120203);
	uint8_t answer[DNS_ANSWER_MAX];
	size_t n = dns_write_address(&q, &fake, answer, sizeof(answer));

	assert_int_equal(n, m.n + 16);
	assert_memory_equal(answer, "\x12\x34\x85\x80\0\1\0\1\0\0\0\0", 12);
	assert_memory_equal(answer + 12, m.bytes + 12, m.n - 12);
	assert_memory_equal(answer + m.n, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\2\3", 16);
	n = dns_write_no_data(&q, answer, sizeof(answer));
	assert_int_equal(n, m.n);
	assert_int_equal(answer[3] & 15, DNS_NOERROR);
}

static void a_refused_name_says_that_it_was_filtered(void **state)
{
	struct message m = query("x.test", 1);
	struct dns_query q = reading(&m);
	uint8_t answer[DNS_ANSWER_MAX];
	size_t n = dns_write_error(&q, DNS_NXDOMAIN, true, answer, sizeof(answer));

	assert_int_equal(n, m.n); /* nothing for who does not know EDNS */
	m = with_edns(m);
	q = reading(&m);
	assert_true(q.edns);
	assert_int_equal(q.size, 1232);
	n = dns_write_error(&q, DNS_NXDOMAIN, true, answer, sizeof(answer));
	assert_int_equal(answer[3] & 15, DNS_NXDOMAIN);
	assert_int_equal(answer[11], 1);
	assert_non_null(memmem(answer, n, "\0\x0f", 2));
	assert_non_null(memmem(answer, n, "\0\x11refused by nacre", 18));
	n = dns_write_error(&q, DNS_SERVFAIL, false, answer, sizeof(answer));
	assert_int_equal(n, m.n);
	assert_int_equal(answer[3] & 15, DNS_SERVFAIL);
}

static void edns_is_read_once_and_in_version_0(void **state)
{
	struct message m = with_edns(with_edns(query("x.test", 1)));

	expect_refused(&m, DNS_FORMERR);
	m = with_edns(query("x.test", 1));
	m.bytes[m.n - 5] = 1; /* its version */
	expect_refused(&m, DNS_FORMERR);
	m = with_edns(query("x.test", 1));
	m.bytes[m.n - 1] = 9; /* more data than there is */
	expect_refused(&m, DNS_FORMERR);
}

static void localhost_is_the_boxs_own(void **state)
{
	struct message m = query("localhost", 1);
	struct dns_query q = reading(&m);
	uint8_t answer[DNS_ANSWER_MAX];
	size_t n = dns_write_localhost(&q, answer, sizeof(answer));

	assert_memory_equal(answer + n - 4, "\x7f\0\0\1", 4);
	m = query("x.localhost", 28);
	q = reading(&m);
	n = dns_write_localhost(&q, answer, sizeof(answer));
	assert_memory_equal(answer + n - 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	m = query("localhost", 16);
	q = reading(&m);
	n = dns_write_localhost(&q, answer, sizeof(answer));
	assert_int_equal(answer[7], 0);
	m = query("1.0.0.127.in-addr.arpa", 12);
	q = reading(&m);
	n = dns_write_localhost(&q, answer, sizeof(answer));
	assert_memory_equal(answer + n - 11, "\x09localhost", 11);
}

static void a_pointer_leads_back_to_the_name(void **state)
{
	struct message m = query("7.2.18.198.in-addr.arpa", 12);
	struct dns_query q = reading(&m);
	struct network_address fake = network_address_v4(0xc6120207);
	uint8_t answer[DNS_ANSWER_MAX];
	size_t n;

	assert_true(network_address_equal(&q.pointer, &fake));
	n = dns_write_pointer(&q, "files.x.test", answer, sizeof(answer));
	assert_memory_equal(answer + n - 14, "\5files\1x\4test", 14);
}

static void a_stream_is_cut_into_messages(void **state)
{
	uint8_t bytes[] = {0, 3, 'a', 'b', 'c', 9};

	assert_int_equal(dns_tcp_size(bytes, 0), 0);
	assert_int_equal(dns_tcp_size(bytes, 1), 0);
	assert_int_equal(dns_tcp_size(bytes, 4), 0);
	assert_int_equal(dns_tcp_size(bytes, 5), 5);
	assert_int_equal(dns_tcp_size(bytes, 6), 5);
	bytes[0] = 0xff;
	assert_int_equal(dns_tcp_size(bytes, 2), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_told_apart),
		cmocka_unit_test(what_others_would_read_differently_is_refused),
		cmocka_unit_test(what_is_no_query_has_no_answer),
		cmocka_unit_test(a_long_name_is_read_to_its_end_and_no_further),
		cmocka_unit_test(an_address_is_answered_with_the_question),
		cmocka_unit_test(a_refused_name_says_that_it_was_filtered),
		cmocka_unit_test(edns_is_read_once_and_in_version_0),
		cmocka_unit_test(localhost_is_the_boxs_own),
		cmocka_unit_test(a_pointer_leads_back_to_the_name),
		cmocka_unit_test(a_stream_is_cut_into_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
