#include "gateway/test-rules.h"

#include "gateway/fit.h"

static struct network_address address(const char *text)
{
	struct network_address a = {0};

	assert_true(network_address_parse(text, strlen(text), &a));
	return a;
}

/* The first and the last address of a range, and what stands before and behind it. */
static const struct {
	const char *before, *first, *last, *behind, *what;
} ranges[] = {
	{NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", "this machine"},
	{"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private"},
	{"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", "shared"},
	{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback"},
	{"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local"},
	{"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private"},
	{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "protocol"},
	{"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private"},
	{"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "benchmark"},
	{"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL, "multicast"},
	{NULL, "240.0.0.0", "255.255.255.255", NULL, "reserved"},
	{NULL, "::", "::", NULL, "this machine"},
	{NULL, "::1", "::1", NULL, "loopback"},
	{NULL, "::2", "::255.255.255.255", NULL, "IPv4 in IPv6"},
	{NULL, "::ffff:0.0.0.0", "::ffff:255.255.255.255", NULL, "IPv4 in IPv6"},
	{NULL, "::1:0:0:0", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", NULL, "reserved"},
	{NULL, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL, "local NAT64"},
	{NULL, "64:ff9b:2::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::", "reserved"},
	{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:1::", "Teredo"},
	{"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "reserved"},
	{NULL, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "private"},
	{NULL, "fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "reserved"},
	{NULL, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "link-local"},
	{NULL, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "site-local"},
	{NULL, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "multicast"},
	/* by the address in them */
	{"64:ff9b::9.255.255.255", "64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255",
         "64:ff9b::11.0.0.0", "private"},
	{"64:ff9b::126.255.255.255", "64:ff9b::127.0.0.0", "64:ff9b::127.255.255.255",
         "64:ff9b::128.0.0.0", "loopback"},
	{"2002:9ff:ffff::1", "2002:a00::", "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2002:b00::", "private"},
	{"2002:a9fd:ffff::1", "2002:a9fe::", "2002:a9fe:ffff:ffff::1", "2002:a9ff::", "link-local"},
};

static void the_ends_of_every_range_are_unfit(void **state)
{
	struct network_rules none = {0};
	struct fit_question q = {.rules = &none, .name = "x.test", .port = 443};
	struct fit_answer answer;

	for (size_t i = 0; i < array_size(ranges); i++) {
		const char *inside[] = {ranges[i].first, ranges[i].last};
		const char *outside[] = {ranges[i].before, ranges[i].behind};

		for (int j = 0; j < 2; j++) {
			struct network_address a = address(inside[j]);

			print_message("# %s\n", inside[j]);
			assert_string_equal(fit_kind(&a), ranges[i].what);
			assert_false(fit_check(&q, &a, &answer));
			assert_int_equal(answer.reason, NETWORK_REASON_PRIVATE);
			assert_non_null(answer.what);
			if (!outside[j])
				continue;
			a = address(outside[j]);
			print_message("# beside: %s\n", outside[j]);
			assert_null(fit_kind(&a));
			assert_true(fit_check(&q, &a, &answer));
		}
	}
}

static struct network_rules with(struct arena *arena, const char *private, const char *deny)
{
	return (struct network_rules){
		.lists = {[NETWORK_PRIVATE] = test_list(arena, NETWORK_PRIVATE, private),
	                  [NETWORK_DENY] = test_list(arena, NETWORK_DENY, deny)}};
}

/* NAME is NULL for a literal. */
static const struct lift {
	const char *private, *name, *address;
	bool fit;
} lifts[] = {
	{"db.test", "db.test", "10.0.0.7", true},
	{"db.test", "x.test", "10.0.0.7", false},
	{"*.corp.test", "db.corp.test", "fd12::5", true},
	{"*.corp.test", "corp.test", "fd12::5", false},
	{"db.test", "db.test", "64:ff9b::10.0.0.7", true},
	{"db.test", NULL, "10.0.0.7", false},
	{"10.0.0.7", NULL, "10.0.0.7", true},
	{"10.0.0.0/8", NULL, "10.0.0.7", true},
	{"10.0.0.0/8", NULL, "192.168.0.1", false},
	{"10.0.0.0/8 10.0.0.7", "x.test", "10.0.0.7",
         false}, /* a stranger's name could lead there */
	/* metadata needs the literal */
	{"db.test", "db.test", "169.254.169.254", false},
	{"db.test", "db.test", "169.254.170.2", false},
	{"db.test", "db.test", "100.100.100.200", false},
	{"db.test", "db.test", "168.63.129.16", false},
	{"db.test", "db.test", "fd00:ec2::254", false},
	{"db.test", "db.test", "fd20:ce::254", false},
	{"db.test", "db.test", "64:ff9b::169.254.169.254", false},
	{"db.test", "db.test", "::ffff:169.254.169.254", false},
	{"169.254.0.0/16", NULL, "169.254.169.254", false},
	{"169.254.169.254", NULL, "169.254.169.254", true},
	{"169.254.169.254", "x.test", "169.254.169.254", false},
	{"fd00:ec2::254", NULL, "fd00:ec2::254", true},
	/* so do the machine's own addresses: 203.0.113.9, 10.9.9.9, 2001:db8::9 */
	{"", "x.test", "203.0.113.9", false},
	{"", "x.test", "203.0.113.8", true},
	{"x.test", "x.test", "203.0.113.9", false},
	{"x.test", "x.test", "10.9.9.9", false},
	{"x.test", "x.test", "2001:db8::9", false},
	{"x.test", "x.test", "::ffff:203.0.113.9", false},
	{"", "x.test", "64:ff9b::203.0.113.9", false},
	{"", "x.test", "2002:cb00:7109::1", false},
	{"203.0.113.9", NULL, "203.0.113.9", true},
	{"203.0.113.0/24", NULL, "203.0.113.9", false},
	/* and its loopback, which is host.nacre alone */
	{"x.test", "x.test", "127.0.0.1", false},
	{"x.test", "x.test", "0.0.0.0", false},
	{"x.test", "x.test", "::", false},
	{"x.test", "x.test", "::1", false},
	{"x.test", "x.test", "::ffff:127.0.0.1", false},
	{"x.test", "x.test", "::127.0.0.1", false},
	{"x.test", "x.test", "64:ff9b::127.0.0.1", false},
	{"", "host.nacre", "127.0.0.1", true},
	{"", "host.nacre", "::1", true},
	{"", "host.nacre", "127.0.0.2", false},
	{"", "host.nacre", "10.0.0.7", false},
	{"", "host.nacre", "93.184.216.34", false},
};

static void only_private_lifts_and_not_everything(void **state)
{
	struct network_address own[] = {address("203.0.113.9"), address("10.9.9.9"),
	                                address("2001:db8::9")};

	for (size_t i = 0; i < array_size(lifts); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
		struct network_rules rules = with(arena, lifts[i].private, "");
		struct fit_question q = {.rules = &rules,
		                         .name = lifts[i].name,
		                         .port = 443,
		                         .own = own,
		                         .own_count = array_size(own)};
		struct network_address a = address(lifts[i].address);
		struct fit_answer answer;

		print_message("# row %zu: %s\n", i, lifts[i].address);
		assert_int_equal(fit_check(&q, &a, &answer), lifts[i].fit);
		assert_int_equal(answer.reason == NETWORK_REASON_NONE, lifts[i].fit);
	}
}

static void a_denied_address_is_denied_to_names_too(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct network_rules rules = with(arena, "x.test", "203.0.113.0/24:* 10.0.0.7:22");
	struct fit_question q = {.rules = &rules, .name = "x.test", .port = 443};
	struct fit_answer answer;
	struct network_address a = address("203.0.113.9");

	assert_false(fit_check(&q, &a, &answer));
	assert_int_equal(answer.reason, NETWORK_REASON_DENIED);
	a = address("64:ff9b::203.0.113.9");
	assert_false(fit_check(&q, &a, &answer));
	a = address("10.0.0.7");
	assert_true(fit_check(&q, &a, &answer));
	q.port = 22;
	assert_false(fit_check(&q, &a, &answer));
}

static void one_unfit_address_spoils_the_answer(void **state)
{
	struct network_rules none = {0};
	struct fit_question q = {.rules = &none, .name = "x.test", .port = 443};
	struct network_address all[] = {address("93.184.216.34"), address("10.0.0.7")};
	struct fit_answer answer;

	assert_true(fit_all(&q, all, 1, &answer));
	assert_int_equal(answer.reason, NETWORK_REASON_NONE);
	assert_false(fit_all(&q, all, 2, &answer));
	assert_int_equal(answer.which, 1);
	assert_string_equal(answer.what, "private");
	assert_false(fit_all(&q, all, 0, &answer));
	assert_int_equal(answer.reason, NETWORK_REASON_UNRESOLVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ends_of_every_range_are_unfit),
		cmocka_unit_test(only_private_lifts_and_not_everything),
		cmocka_unit_test(a_denied_address_is_denied_to_names_too),
		cmocka_unit_test(one_unfit_address_spoils_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
