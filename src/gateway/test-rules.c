#include "gateway/test-rules.h"

#include <errno.h>

/* Lists, name, port -> verdict, the rule that decides, the one that would without it. */
static const struct row {
	const char *allow, *ask, *deny, *name;
	uint16_t port;
	const char *verdict, *rule, *runner_up, *reason;
} rows[] = {
	/* exact names and ports */
	{"github.com", "", "", "github.com", 443, "allow", "allow github.com", "", ""},
	{"github.com", "", "", "github.com", 80, "allow", "allow github.com", "", ""},
	{"github.com", "", "", "github.com", 22, "none", "", "", "port"},
	{"github.com", "", "", "github.com", 8443, "none", "", "", "port"},
	{"github.com:22", "", "", "github.com", 22, "allow", "allow github.com:22", "", ""},
	{"github.com:22", "", "", "github.com", 443, "none", "", "", "port"},
	{"github.com:*", "", "", "github.com", 1, "allow", "allow github.com:*", "", ""},
	{"github.com:*", "", "", "github.com", 65535, "allow", "allow github.com:*", "", ""},
	{"github.com", "", "", "gitlab.com", 443, "none", "", "", "not-allowed"},
	{"github.com", "", "", "www.github.com", 443, "none", "", "", "not-allowed"},
	{"github.com", "", "", "github.com.evil.test", 443, "none", "", "", "not-allowed"},
	{"github.com", "", "", "evilgithub.com", 443, "none", "", "", "not-allowed"},
	{"github.com", "", "", "github.co", 443, "none", "", "", "not-allowed"},
	{"GitHub.COM.", "", "", "github.com", 443, "allow", "allow github.com", "", ""},
	{"", "", "", "github.com", 443, "none", "", "", "not-allowed"},
	/* wildcards */
	{"*.wild.test", "", "", "a.wild.test", 443, "allow", "allow *.wild.test", "", ""},
	{"*.wild.test", "", "", "a.b.c.wild.test", 80, "allow", "allow *.wild.test", "", ""},
	{"*.wild.test", "", "", "wild.test", 443, "none", "", "", "not-allowed"},
	{"*.wild.test", "", "", "evilwild.test", 443, "none", "", "", "not-allowed"},
	{"*.wild.test", "", "", "a.wild.test.evil.test", 443, "none", "", "", "not-allowed"},
	{"*.wild.test", "", "", "a.wild.test", 22, "none", "", "", "port"},
	{"*.wild.test:22", "", "", "a.wild.test", 22, "allow", "allow *.wild.test:22", "", ""},
	{"*.wild.test:*", "", "", "a.wild.test", 5432, "allow", "allow *.wild.test:*", "", ""},
	{"wild.test *.wild.test", "", "", "wild.test", 443, "allow", "allow wild.test", "", ""},
	{"*", "", "", "any.name", 443, "allow", "allow *", "", ""},
	{"*", "", "", "any.name", 25, "none", "", "", "port"},
	{"*:*", "", "", "any.name", 25, "allow", "allow *:*", "", ""},
	{"*", "", "", "single", 443, "allow", "allow *", "", ""},
	/* ask */
	{"", "*", "", "any.name", 443, "ask", "ask *", "", ""},
	{"", "*", "", "any.name", 25, "none", "", "", "port"},
	{"github.com", "*", "", "github.com", 443, "allow", "allow github.com", "ask *", ""},
	{"github.com", "*", "", "gitlab.com", 443, "ask", "ask *", "", ""},
	{"github.com", "*", "", "github.com", 22, "none", "", "", "port"},
	{"github.com", "*:*", "", "github.com", 22, "ask", "ask *:*", "", ""},
	{"*.corp.example", "prod.corp.example", "", "prod.corp.example", 443, "ask",
         "ask prod.corp.example", "allow *.corp.example", ""},
	{"*.corp.example", "prod.corp.example", "", "dev.corp.example", 443, "allow",
         "allow *.corp.example", "", ""},
	{"prod.corp.example", "*.corp.example", "", "prod.corp.example", 443, "allow",
         "allow prod.corp.example", "ask *.corp.example", ""},
	{"*.a.b.example", "*.b.example", "", "x.a.b.example", 443, "allow", "allow *.a.b.example",
         "ask *.b.example", ""},
	{"*.b.example", "*.a.b.example", "", "x.a.b.example", 443, "ask", "ask *.a.b.example",
         "allow *.b.example", ""},
	{"*.b.example", "*.com", "", "x.com", 443, "ask", "ask *.com", "", ""},
	/* a tie is ask; the order of lists does not matter */
	{"x.test", "x.test", "", "x.test", 443, "ask", "ask x.test", "allow x.test", ""},
	{"*", "*", "", "x.test", 443, "ask", "ask *", "allow *", ""},
	{"*.x.test", "*.x.test", "", "a.x.test", 443, "ask", "ask *.x.test", "allow *.x.test", ""},
	/* ports: a number before none before any */
	{"x.test:443", "x.test", "", "x.test", 443, "allow", "allow x.test:443", "ask x.test", ""},
	{"x.test", "x.test:443", "", "x.test", 443, "ask", "ask x.test:443", "allow x.test", ""},
	{"x.test", "x.test:*", "", "x.test", 443, "allow", "allow x.test", "ask x.test:*", ""},
	{"x.test", "x.test:*", "", "x.test", 22, "ask", "ask x.test:*", "", ""},
	{"x.test:*", "x.test", "", "x.test", 443, "ask", "ask x.test", "allow x.test:*", ""},
	{"x.test:*", "*:443", "", "x.test", 443, "allow", "allow x.test:*", "ask *:443", ""},
	{"*.x.test:443", "a.x.test:*", "", "a.x.test", 443, "ask", "ask a.x.test:*",
         "allow *.x.test:443", ""},
	/* deny goes before all, whatever is more specific */
	{"x.test:443", "", "x.test", "x.test", 443, "deny", "deny x.test", "allow x.test:443",
         "denied"},
	{"a.x.test", "", "*.x.test", "a.x.test", 443, "deny", "deny *.x.test", "allow a.x.test",
         "denied"},
	{"*", "", "*.pastebin.com", "a.pastebin.com", 443, "deny", "deny *.pastebin.com", "allow *",
         "denied"},
	{"*", "", "*.pastebin.com", "pastebin.com", 443, "allow", "allow *", "", ""},
	{"x.test", "", "x.test:22", "x.test", 443, "allow", "allow x.test", "", ""},
	{"x.test:*", "", "x.test:22", "x.test", 22, "deny", "deny x.test:22", "allow x.test:*",
         "denied"},
	{"", "", "x.test", "x.test", 7, "deny", "deny x.test", "", "denied"},
	{"", "", "*", "x.test", 7, "deny", "deny *", "", "denied"},
	{"x.test", "*", "* x.test", "x.test", 443, "deny", "deny x.test", "deny *", "denied"},
	{"x.test", "x.test", "x.test", "x.test", 443, "deny", "deny x.test", "ask x.test",
         "denied"},
	{"", "*", "*.com", "x.com", 443, "deny", "deny *.com", "ask *", "denied"},
	/* the host itself */
	{"host.nacre:6379", "", "", "host.nacre", 6379, "allow", "allow host.nacre:6379", "", ""},
	{"host.nacre:6379", "*:*", "", "host.nacre", 80, "none", "", "", "port"},
	{"*", "*", "", "host.nacre", 443, "none", "", "", "not-allowed"},
	{"*:*", "*:*", "", "host.nacre", 6379, "none", "", "", "not-allowed"},
	{"", "*.nacre:*", "", "host.nacre", 6379, "none", "", "", "not-allowed"},
	{"host.nacre:6379", "", "*.nacre", "host.nacre", 6379, "deny", "deny *.nacre",
         "allow host.nacre:6379", "denied"},
	{"host.nacre:6379", "", "host.nacre", "host.nacre", 6379, "deny", "deny host.nacre",
         "allow host.nacre:6379", "denied"},
	{"*:*", "", "", "a.host.nacre", 6379, "allow", "allow *:*", "", ""},
	/* addresses match no name, names no address */
	{"10.1.2.3:443", "", "", "x.test", 443, "none", "", "", "not-allowed"},
	{"0.0.0.0/0:*", "", "", "x.test", 443, "none", "", "", "not-allowed"},
};

static void expect_rule(const struct network_rules *rules, struct network_ref ref,
                        const char *wanted)
{
	char text[DESTINATION_TEXT_SIZE], shown[DESTINATION_TEXT_SIZE + 16] = "";
	const struct network_rule *rule = network_rule_at(rules, ref);

	if (rule) {
		destination_format(&rule->to, ref.list, text);
		snprintf(shown, sizeof(shown), "%s %s", network_list_word(ref.list), text);
	}
	assert_string_equal(shown, wanted);
}

static struct network_rules rules_of(struct arena *arena, const char *allow, const char *ask,
                                     const char *deny)
{
	return (struct network_rules){
		.lists = {
			[NETWORK_ALLOW] = test_list(arena, NETWORK_ALLOW, allow),
			[NETWORK_ASK] = test_list(arena, NETWORK_ASK, ask),
			[NETWORK_DENY] = test_list(arena, NETWORK_DENY, deny),
		}};
}

static void the_most_specific_rule_decides(void **state)
{
	assert_true(array_size(rows) >= 60);
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct row *row = &rows[i];
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct network_rules rules = rules_of(arena, row->allow, row->ask, row->deny);
		struct network_verdict v = network_judge(&rules, row->name, row->port);

		print_message("# row %zu: %s:%u\n", i, row->name, row->port);
		assert_string_equal(network_verdict_word(v.kind), row->verdict);
		assert_string_equal(network_reason_word(v.reason), row->reason);
		expect_rule(&rules, v.rule, row->rule);
		expect_rule(&rules, v.runner_up, row->runner_up);
	}
}

static void a_look_up_has_the_best_verdict_of_any_port(void **state)
{
	static const struct {
		const char *allow, *ask, *deny, *name, *verdict;
	} names[] = {
		{"x.test", "", "", "x.test", "allow"},
		{"x.test:22", "", "", "x.test", "allow"},
		{"x.test:*", "", "", "x.test", "allow"},
		{"x.test", "", "", "y.test", "none"},
		{"", "*", "", "y.test", "ask"},
		{"", "*:25", "", "y.test", "ask"},
		{"x.test", "*", "", "x.test", "allow"},
		{"*.corp.example", "prod.corp.example", "", "prod.corp.example", "ask"},
		{"*.corp.example:*", "prod.corp.example", "", "prod.corp.example", "allow"},
		{"x.test", "x.test:22", "", "x.test", "allow"},
		{"x.test:22", "x.test", "", "x.test", "allow"},
		{"x.test", "x.test", "", "x.test", "ask"},
		{"x.test", "", "x.test", "x.test", "deny"},
		{"x.test", "", "x.test:443", "x.test", "allow"}, /* 80 is left */
		{"x.test:443", "", "x.test:443", "x.test", "deny"},
		{"x.test:443", "*", "x.test:443", "x.test", "ask"},
		{"*", "*", "", "host.nacre", "none"},
		{"host.nacre:1", "*", "", "host.nacre", "allow"},
		{"", "", "", "x.test", "none"},
	};

	for (size_t i = 0; i < array_size(names); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct network_rules rules =
			rules_of(arena, names[i].allow, names[i].ask, names[i].deny);
		struct network_verdict v = network_judge_name(&rules, names[i].name);

		print_message("# row %zu: %s\n", i, names[i].name);
		assert_string_equal(network_verdict_word(v.kind), names[i].verdict);
		if (v.kind == NETWORK_VERDICT_NONE)
			assert_int_equal(v.reason, NETWORK_REASON_NOT_ALLOWED);
	}
}

static void a_literal_needs_a_rule_for_addresses(void **state)
{
	static const struct {
		const char *allow, *ask, *deny, *address;
		uint16_t port;
		const char *verdict, *rule, *reason;
	} literals[] = {
		{"*:*", "*:*", "", "93.184.216.34", 443, "none", "", "address"},
		{"10.1.2.3:5432", "*", "", "10.1.2.3", 5432, "allow", "allow 10.1.2.3:5432", ""},
		{"10.1.2.3:5432", "*", "", "10.1.2.3", 5433, "none", "", "port"},
		{"10.1.2.3:5432", "*", "", "10.1.2.4", 5432, "none", "", "address"},
		{"10.1.0.0/16:*", "", "", "10.1.255.255", 1, "allow", "allow 10.1.0.0/16:*", ""},
		{"10.1.0.0/16:*", "", "", "10.2.0.0", 1, "none", "", "address"},
		{"10.1.0.0/16:*", "10.1.2.0/24:*", "", "10.1.2.9", 1, "ask", "ask 10.1.2.0/24:*",
	         ""},
		{"10.1.2.9:*", "10.1.2.0/24:22", "", "10.1.2.9", 22, "allow", "allow 10.1.2.9:*",
	         ""},
		{"10.1.2.9:22", "", "10.0.0.0/8:*", "10.1.2.9", 22, "deny", "deny 10.0.0.0/8:*",
	         "denied"},
		{"[fd12::5]:443", "", "", "fd12::5", 443, "allow", "allow [fd12::5]:443", ""},
		{"[fd12::/16]:*", "", "", "fd12:ffff::1", 9, "allow", "allow [fd12::/16]:*", ""},
		{"10.1.2.3:5432", "", "", "::ffff:10.1.2.3", 5432, "none", "", "address"},
	};

	for (size_t i = 0; i < array_size(literals); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct network_rules rules =
			rules_of(arena, literals[i].allow, literals[i].ask, literals[i].deny);
		struct network_address a;
		struct network_verdict v;

		print_message("# row %zu: %s\n", i, literals[i].address);
		assert_true(network_address_parse(literals[i].address, strlen(literals[i].address),
		                                  &a));
		v = network_judge_address(&rules, &a, literals[i].port);
		assert_string_equal(network_verdict_word(v.kind), literals[i].verdict);
		assert_string_equal(network_reason_word(v.reason), literals[i].reason);
		expect_rule(&rules, v.rule, literals[i].rule);
	}
}

static void rules_travel_as_bytes(void **state)
{
	static const struct network_publish publish[] = {{8080, 80}, {0, 3000}};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer bytes = {0};
	struct network_rules rules = rules_of(arena, "x.test 10.0.0.0/8:*", "*", "y.test"), copy;
	struct network_verdict v;

	rules.publish = publish;
	rules.publish_count = 2;
	rules.via.port = 3128;
	strcpy(rules.via.host, "proxy.test");
	assert_int_equal(network_rules_pack(&rules, &bytes, NULL), 0);
	assert_int_equal(network_rules_unpack(bytes.data, bytes.len, arena, &copy, NULL), 0);
	v = network_judge(&copy, "x.test", 443);
	expect_rule(&copy, v.rule, "allow x.test");
	assert_string_equal(network_rule_at(&copy, v.rule)->file, "test");
	assert_int_equal(network_rule_at(&copy, v.rule)->line, 1);
	assert_null(network_rule_at(&copy, v.rule)->set);
	assert_int_equal(copy.publish_count, 2);
	assert_int_equal(copy.publish[1].box, 3000);
	assert_string_equal(copy.via.host, "proxy.test");
}

/* Every cut and every flipped byte is an error or other rules, never a crash. */
static void bytes_that_are_no_rules_are_refused(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(64 << 20);
	scoped(buffer_donep) struct buffer bytes = {0};
	struct network_rules rules = rules_of(arena, "x.test", "*", "10.0.0.0/8:*"), copy;

	assert_int_equal(network_rules_pack(&rules, &bytes, NULL), 0);
	for (size_t n = 0; n < bytes.len; n++)
		assert_true(network_rules_unpack(bytes.data, n, arena, &copy, NULL) < 0);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= (char)0xff;
		if (network_rules_unpack(bytes.data, bytes.len, arena, &copy, NULL) == 0)
			network_judge(&copy, "x.test", 443);
		bytes.data[i] ^= (char)0xff;
	}
	assert_int_equal(network_rules_unpack("", 0, arena, &copy, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_specific_rule_decides),
		cmocka_unit_test(a_look_up_has_the_best_verdict_of_any_port),
		cmocka_unit_test(a_literal_needs_a_rule_for_addresses),
		cmocka_unit_test(rules_travel_as_bytes),
		cmocka_unit_test(bytes_that_are_no_rules_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
