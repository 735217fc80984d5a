#include "base/cleanup.h"
#include "base/test-support.h"
#include "gateway/rules.h"
#include "gateway/via.h"

static const char *https_proxy, *http_proxy, *no_proxy;

static char *get(const char *name)
{
	const char *value = strcmp(name, "https_proxy") == 0  ? https_proxy
	                    : strcmp(name, "http_proxy") == 0 ? http_proxy
	                    : strcmp(name, "no_proxy") == 0   ? no_proxy
	                                                      : NULL;

	return (char *)(uintptr_t)value;
}

static char *get_nothing(const char *name)
{
	fail_msg("the environment was asked for %s", name);
	return NULL;
}

static struct via read_environment(const char *https, const char *http, const char *direct)
{
	const struct network_rules rules = {.via.environment = true};
	struct via v;

	https_proxy = https;
	http_proxy = http;
	no_proxy = direct;
	via_read(&rules, get, &v);
	return v;
}

static void the_environment_counts_only_where_the_rules_say_so(void **state)
{
	struct network_rules rules = {.via = {.port = 3128, .host = "p.test"}};
	struct via v;

	(void)state;
	via_read(&rules, get_nothing, &v);
	assert_int_equal(v.port, 3128);
	assert_string_equal(v.host, "p.test");
	assert_true(via_takes(&v, &rules, "x.test", 443));
	rules.via.port = 0;
	via_read(&rules, get_nothing, &v);
	assert_false(via_takes(&v, &rules, "x.test", 443));
}

static void proxies_are_read(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
		const char *secret;
	} rows[] = {
		{"http://p.test:3128", "p.test", 3128, ""},
		{"http://p.test:3128/", "p.test", 3128, ""},
		{"HTTP://P.test", "p.test", 80, ""},
		{"p.test:8080", "p.test", 8080, ""},
		{"http://10.0.0.1:3128", "10.0.0.1", 3128, ""},
		{"http://localhost:3128", "127.0.0.1", 3128, ""},
		{"http://user:pass@p.test:1", "p.test", 1, "dXNlcjpwYXNz"},
		{"http://user@p.test:1", "p.test", 1, "dXNlcjo="},
		{"http://u:a%40b%2@p.test:1", "p.test", 1, "dTphQGIlMg=="},
		{"http://u:a@b@p.test:1", "p.test", 1, "dTphQGI="},
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct via v = read_environment(rows[i].text, NULL, NULL);

		assert_null(v.broken);
		assert_string_equal(v.host, rows[i].host);
		assert_int_equal(v.port, rows[i].port);
		assert_string_equal(v.secret, rows[i].secret);
	}
}

static void what_cannot_be_used_closes_the_way(void **state)
{
	static const char *const rows[] = {
		"https://p.test:1",   "socks5://p.test:1", "http://",
		"http://p.test:1/x",  "http://a b:1",      "http://127.1:80",
		"http://p.test:99999"};
	const struct network_rules rules = {.via.environment = true};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct via v = read_environment(rows[i], "http://other.test:1", NULL);

		assert_non_null(v.broken);
		assert_true(via_takes(&v, &rules, "x.test", 443));
	}
}

static void without_a_variable_there_is_no_proxy(void **state)
{
	const struct network_rules rules = {.via.environment = true};
	struct via v = read_environment("", NULL, NULL);

	(void)state;
	assert_false(via_takes(&v, &rules, "x.test", 443));
	v = read_environment(NULL, "http://p.test:1", NULL);
	assert_true(via_takes(&v, &rules, "x.test", 443));
}

static void names_of_no_proxy_go_directly(void **state)
{
	static const struct {
		const char *list, *name;
		bool up;
	} rows[] = {
		{"x.test", "x.test", false},
		{"x.test", "a.x.test", false},
		{"x.test", "ax.test", true},
		{".x.test", "a.x.test", false},
		{"*.x.test", "a.x.test", false},
		{"a.test, X.TEST", "x.test", false},
		{"a.test,,x.test:443", "x.test", false},
		{"x.test:80", "x.test", true},
		{"x.test.", "x.test", true},
		{"*", "x.test", false},
		{"10.0.0.0/8,localhost,127.0.0.1", "x.test", true},
		{".", "x.test", true},
		{"", "x.test", true},
	};
	const struct network_rules rules = {.via.environment = true};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct via v = read_environment("http://p.test:1", NULL, rows[i].list);

		if (via_takes(&v, &rules, rows[i].name, 443) != rows[i].up)
			fail_msg("%s, %s", rows[i].list, rows[i].name);
		assert_false(via_takes(&v, &rules, DESTINATION_HOST, 443));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_counts_only_where_the_rules_say_so),
		cmocka_unit_test(proxies_are_read),
		cmocka_unit_test(what_cannot_be_used_closes_the_way),
		cmocka_unit_test(without_a_variable_there_is_no_proxy),
		cmocka_unit_test(names_of_no_proxy_go_directly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
