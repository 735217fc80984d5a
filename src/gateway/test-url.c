#include "base/cleanup.h"
#include "base/test-support.h"
#include "gateway/url.h"

static void hosts_are_found_in_urls(void **state)
{
	static const struct {
		const char *text, *entry;
	} rows[] = {
		{"https://x.test/path", "x.test"},
		{"see http://X.Test:8080/a?b", "x.test:8080"},
		{"https://me:secret@x.test/", "x.test"},
		{"https://a@b@x.test/", "x.test"},
		{"sparse+https://index.test/", "index.test"},
		{"postgres://u:p@db.test/base", "db.test:5432"},
		{"ssh://git@x.test/a.git", "x.test:22"},
		{"ssh://git@x.test:2222/a.git", "x.test:2222"},
		{"http://10.1.2.3:81/", "10.1.2.3:81"},
		{"http://10.1.2.3/", "10.1.2.3:80"},
		{"https://[fd12::5]:4443/", "[fd12::5]:4443"},
		{"registry=https://x.test", "x.test"},
		{"\"https://x.test\"", "x.test"},
		{"https://x.test:443", "x.test"},
		{"https://${HOST}/ https://y.test", "y.test"},
		{"unknown://x.test/", "x.test"},
		{"://x.test", NULL},
		{"https://", NULL},
		{"https://127.1/", NULL},
		{"https://x.test:0/", NULL},
		{"https://x.test:70000/", NULL},
		{"https://x..test/", NULL},
		{"no url", NULL},
		{"", NULL},
	};
	char entry[DESTINATION_TEXT_SIZE];

	for (size_t i = 0; i < array_size(rows); i++) {
		struct url_host h;
		size_t n = url_find(rows[i].text, strlen(rows[i].text), &h);

		print_message("# %s\n", rows[i].text);
		assert_int_equal(n > 0, rows[i].entry != NULL);
		if (!rows[i].entry)
			continue;
		assert_true(url_entry(&h, entry));
		assert_string_equal(entry, rows[i].entry);
	}
}

static void a_remote_is_a_url_or_a_host_with_a_path(void **state)
{
	static const struct {
		const char *text, *entry;
	} rows[] = {
		{"git@github.com:a/b.git", "github.com:22"},
		{"github.com:a/b", "github.com:22"},
		{"me@x.test", "x.test:22"},
		{"x.test", "x.test:22"},
		{"https://x.test/a.git", "x.test"},
		{"git://x.test/a", "x.test:9418"},
		{"../other", NULL},
		{"/srv/git/a.git", NULL},
		{"dir/a:b", NULL},
		{"-oProxyCommand=x", NULL},
		{"file:///srv/a.git", NULL},
		{"", NULL},
	};
	char entry[DESTINATION_TEXT_SIZE];

	for (size_t i = 0; i < array_size(rows); i++) {
		struct url_host h;

		print_message("# %s\n", rows[i].text);
		assert_int_equal(url_remote(rows[i].text, &h), rows[i].entry != NULL);
		if (!rows[i].entry)
			continue;
		assert_true(url_entry(&h, entry));
		assert_string_equal(entry, rows[i].entry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_found_in_urls),
		cmocka_unit_test(a_remote_is_a_url_or_a_host_with_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
