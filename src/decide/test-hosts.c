#include "base/arena.h"
#include "base/test-support.h"
#include "decide/hosts.h"
#include "shell/facts.h"

static const struct {
	const char *line, *hosts;
} rows[] = {
	{"curl https://x.test/a", "x.test:443"},
	{"curl -sSfL x.test/a", "x.test:80"},
	{"curl -o out.txt x.test:8080", "x.test:8080"},
	{"curl -H 'Host: evil.test' -d a.b http://x.test", "x.test:80"},
	{"curl --silent y.test", "y.test:80"},
	{"wget -q x.test/file.tar.gz", "x.test:80"},
	{"URL=https://x.test; curl $URL/b", "x.test:443"},
	{"git clone git@git.test:a/b.git", "git.test:22"},
	{"git clone https://git.test/a dir", "git.test:443"},
	{"git push ssh://git@git.test:2222/a HEAD:main", "git.test:2222"},
	{"git fetch origin main:main", ""},
	{"ssh -p 22 me@box.test uptime", "box.test:22"},
	{"ssh box.test cat a.txt b.txt", "box.test:22"},
	{"scp a.txt me@box.test:/tmp", "box.test:22"},
	{"rsync -a src/ box.test:dst", "box.test:22"},
	{"rsync -a a.b c.d", ""},
	{"psql 'host=db.test port=5433 user=me'", "db.test:5433"},
	{"psql -h db.test", "db.test:5432"},
	{"redis-cli -h cache.test -p 6380 ping", "cache.test:6380"},
	{"nc -z x.test 25", "x.test:25"},
	{"pip install --index-url https://pip.test/simple a", "pip.test:443"},
	{"DATABASE_URL=postgres://u:p@db.test/x ./run", "db.test:5432"},
	{"curl http://localhost:3000", ""},
	{"curl http://10.1.2.3:81/", "10.1.2.3:81"},
	{"a() { curl https://x.test; }; (a | sh -c 'wget https://y.test')",
         "x.test:443 y.test:443"},
	{"curl https://x.test https://x.test/b", "x.test:443"},
	{"curl \"https://$HOST/\"", ""},
	{"echo hello.txt", ""},
	{"ls", ""},
};

static void the_hosts_of_a_line_are_seen(void **state)
{
	for (size_t i = 0; i < array_size(rows); i++) {
		scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
		scoped(buffer_donep) struct buffer all = {0};
		const struct host_seen *hosts;
		struct shell_facts *facts;
		size_t n;

		print_message("# %s\n", rows[i].line);
		assert_int_equal(
			shell_facts_read(arena, rows[i].line, strlen(rows[i].line), NULL, &facts),
			0);
		assert_int_equal(hosts_seen(arena, facts, &hosts, &n), 0);
		for (size_t k = 0; k < n; k++)
			buffer_printf(&all, "%s%s:%u", k ? " " : "", hosts[k].name, hosts[k].port);
		assert_string_equal(buffer_str(&all), rows[i].hosts);
	}
}

static void their_number_is_bounded(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	scoped(buffer_donep) struct buffer line = {0};
	const struct host_seen *hosts;
	struct shell_facts *facts;
	size_t n;

	buffer_puts(&line, "curl");
	for (int i = 0; i < HOSTS_MAX + 20; i++)
		buffer_printf(&line, " https://h%d.test", i);
	assert_int_equal(shell_facts_read(arena, line.data, line.len, NULL, &facts), 0);
	assert_int_equal(hosts_seen(arena, facts, &hosts, &n), 0);
	assert_int_equal(n, HOSTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hosts_of_a_line_are_seen),
		cmocka_unit_test(their_number_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
