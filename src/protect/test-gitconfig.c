#include "base/test-support.h"

#include "base/cleanup.h"
#include "protect/git.h"

static int put(void *context, const struct git_key *key)
{
	struct buffer *into = context;

	buffer_printf(into, "%s%s%s.%s", key->section, *key->name ? "." : "", key->name, key->key);
	if (key->value)
		buffer_printf(into, "=%s", key->value);
	buffer_putc(into, '|');
	return 0;
}

static void expect(const char *text, const char *wanted)
{
	scoped(buffer_donep) struct buffer all = {0};
	size_t n = strlen(text);
	char *exact = malloc(n + 1); /* what is read behind the end would be seen */

	assert_non_null(exact);
	memcpy(exact, text, n);
	assert_int_equal(git_config_parse(exact, n, put, &all), 0);
	free(exact);
	assert_string_equal(buffer_str(&all), wanted);
}

/* As `git config --list` shows them. */
static void keys_are_read_as_git_reads_them(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"[core]\n\thooksPath = a/b\n", "core.hookspath=a/b|"},
		{"[core]hooksPath=a", "core.hookspath=a|"},
		{"[core] a\n[core] b = 1", "core.a|core.b=1|"},
		{"\xef\xbb\xbf[a]b=c", "a.b=c|"},
		{"[a]\r\n\tb = c\r\n", "a.b=c|"},
		{"[A \"B c\"]\n\tD-e = F\n", "a.B c.d-e=F|"},
		{"[a \"x\\\"]\\\\\"] b = c", "a.x\"]\\.b=c|"},
		{"[a.B] c = d", "a.b.c=d|"},
		{"[a]\nb = x\\\ny\n", "a.b=xy|"},
		{"[a]\nb = x \\\n  y\n", "a.b=x   y|"},
		{"[a]\nb = \\t\\n\\b\\\\\\\"\n", "a.b=\t\n\b\\\"|"},
		{"[a]\nb = \"x # y\" z # w\n", "a.b=x # y z|"},
		{"[a]\nb = x\"y\"z  \t\n", "a.b=xyz|"},
		{"[a]\nb = \" x \"  ; w\n", "a.b= x |"},
		{"[a]\nb = x \"\"\n", "a.b=x |"},
		{"[a]\nb = x \\\n;\n", "a.b=x |"},
		{"[a]\nb =\nc = \"\"\n", "a.b=|a.c=|"},
		{"# [x]\n; y = z\n[a] # c\nb = c;d\n", "a.b=c|"},
		{"[a]\nb = c\\", "a.b=c|"},
		{"[a][b][c] d = e", "c.d=e|"},
		/* as newer versions have it, and as older ones do */
		{"[a]\nb = x\ty\n", "a.b=x\ty|a.b=x y|"},
	};

	for (size_t i = 0; i < array_size(cases); i++)
		expect(cases[i][0], cases[i][1]);
}

static void what_is_behind_an_error_is_read(void **state)
{
	expect("[a\n[core] b = c\n", "core.b=c|");
	expect("[a \"x\n[core] b = c\n", "core.b=c|");
	expect("[a \"x\" y]\n[core] b = c\n", "core.b=c|");
	expect("[core]\n$ = 1\nb = c\n", "core.b=c|");
	expect("[core]\nx y z\nb = c\n", "core.b=c|");
	expect("[core]\nx = \"open\nb = c\n", "core.x=open|core.b=c|");
	expect("[core]\nx = \\q\nb = c\n", "core.x=q|core.b=c|");
}

static int stop(void *context, const struct git_key *key)
{
	++*(int *)context;
	return -7;
}

static void a_visit_ends_it(void **state)
{
	int count = 0;

	assert_int_equal(git_config_parse("[a]\nb\nc\n", 8, stop, &count), -7);
	assert_int_equal(count, 1);
}

/* Whatever the bytes, it ends, and reads nothing behind them. */
static void any_bytes_are_read_to_their_end(void **state)
{
	static const char letters[] = "[]\"\\\n\r =#;.abC \t";
	scoped(buffer_donep) struct buffer all = {0};
	uint64_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		size_t n = test_random(&seed) % 40;
		char *text = malloc(n + 1);

		assert_non_null(text);
		for (size_t j = 0; j < n; j++)
			text[j] = i % 3 ? letters[test_random(&seed) % (sizeof(letters) - 1)]
			                : (char)test_random(&seed);
		buffer_clear(&all);
		assert_int_equal(git_config_parse(text, n, put, &all), 0);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_read_as_git_reads_them),
		cmocka_unit_test(what_is_behind_an_error_is_read),
		cmocka_unit_test(a_visit_ends_it),
		cmocka_unit_test(any_bytes_are_read_to_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
