#include "base/test-support.h"

#include <string.h>
#include "shell/script.h"

static unsigned sed(const char *text)
{
	return shell_script_sed((struct shell_text){text, strlen(text)});
}

static unsigned awk(const char *text)
{
	return shell_script_awk((struct shell_text){text, strlen(text)});
}

static void plain_sed_scripts_do_nothing_else(void **state)
{
	static const char *const scripts[] = {
		"s/a/b/",      "s/write/e/g",        "1,3p",        "$!d",      "/we/d",
		"s,/e,/w,gI",  "/[/]e/s/x/y/;5q",    "y/abc/wer/",  "{p;d}",    "",
		"a\\\nw file", "/a/,/b/{s/x/y/;p;}", ":e;N;$!be;p", "2q5",      "\\,w,p",
		"# w x\np",    "s/a\\/w b/c/",       "0~3d",        "s/a/b/2p",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		assert_int_equal(sed(scripts[i]), SHELL_SCRIPT_NOTHING);
}

static void sed_commands_that_run_write_and_read_are_seen(void **state)
{
	assert_int_equal(sed("e"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("1e ls"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("s/a/b/e"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("s/a/b/gew out"), SHELL_SCRIPT_RUN | SHELL_SCRIPT_WRITE);
	assert_int_equal(sed("s|a|b|w out"), SHELL_SCRIPT_WRITE);
	assert_int_equal(sed("/x/w out"), SHELL_SCRIPT_WRITE);
	assert_int_equal(sed("p;W out"), SHELL_SCRIPT_WRITE);
	assert_int_equal(sed(":x w out"), SHELL_SCRIPT_WRITE);
	assert_int_equal(sed("b x w out"), SHELL_SCRIPT_WRITE);
	assert_int_equal(sed("v 4.2 e id"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("r in"), SHELL_SCRIPT_READ);
	assert_int_equal(sed("{p;R in\n}"), SHELL_SCRIPT_READ);
	assert_int_equal(sed("s/[/]/x/e"), SHELL_SCRIPT_RUN);
}

static void what_the_sed_reader_does_not_understand_can_do_all(void **state)
{
	unsigned all = SHELL_SCRIPT_RUN | SHELL_SCRIPT_WRITE | SHELL_SCRIPT_READ;

	assert_int_equal(sed("s/a"), all);
	assert_int_equal(sed("k"), all);
	assert_int_equal(sed("/abc"), all);
	assert_int_equal(sed("s/a/b\nc/"), all); /* an open line */
	assert_int_equal(sed("a x\\\\\ne id"), all);
	assert_int_equal(sed("s/[[:alpha:]/x/"), all);
}

static void brackets_of_sed_end_where_sed_ends_them(void **state)
{
	assert_int_equal(sed("s/[\\]/id/e;s/]/y/"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("{s/[\\]/id/e}s/]/y/"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("s/[]/e]/y/;s/[^]/w]/y/"), SHELL_SCRIPT_NOTHING);
	assert_int_equal(sed("s/[[:space:]/e]/y/"), SHELL_SCRIPT_NOTHING);
	assert_int_equal(sed("s/[[.].]/e]/y/"), SHELL_SCRIPT_NOTHING);
	assert_int_equal(sed("s/[[:space:]]/y/e"), SHELL_SCRIPT_RUN);
	assert_int_equal(sed("s[a[id[e"), SHELL_SCRIPT_RUN);
}

static void awk_programs_that_run_or_write_are_seen(void **state)
{
	assert_int_equal(awk("{print $1}"), SHELL_SCRIPT_NOTHING);
	assert_int_equal(awk("$1 || $2 {print \"a|b > c\"} # | x"), SHELL_SCRIPT_NOTHING);
	assert_true(awk("BEGIN{system(\"ls\")}") & SHELL_SCRIPT_RUN);
	assert_true(awk("{print | \"sh\"}") & SHELL_SCRIPT_RUN);
	assert_true(awk("BEGIN{\"id\" | getline x}") & SHELL_SCRIPT_RUN);
	assert_true(awk("BEGIN{f=\"system\"; @f(\"id\")}") & SHELL_SCRIPT_RUN);
	assert_true(awk("{print > \"out\"}") & SHELL_SCRIPT_WRITE);
	assert_true(awk("BEGIN{getline x < \"f\"}") & SHELL_SCRIPT_READ);
	assert_true(awk("@load \"x\"") & SHELL_SCRIPT_LOAD);
	assert_true(awk("BEGIN{s=\"/inet/tcp/0/h/1\"}") & SHELL_SCRIPT_NET);
	assert_true(awk("BEGIN{ARGV[1]=\"f\"}") & SHELL_SCRIPT_FILES);
	assert_int_equal(awk("$1 >= 3"), SHELL_SCRIPT_NOTHING);
	assert_true(awk("BEGIN{x=1system(\"id\")}") & SHELL_SCRIPT_RUN);
	assert_true(awk("BEGIN{x=0x1system(\"id\")}") & SHELL_SCRIPT_RUN);
}

static void a_regular_expression_of_awk_hides_nothing(void **state)
{
	static const char *const hidden[] = {
		"/\"/{system(\"id\")}",
		"/#/{system(\"id\")}",
		"/[\"]/{system(\"id\")}",
		"/\"/{x++ / \"/\" system(\"id\")}",
		"{if(1)/\"/;system(\"id\")}",
		"{print /#/ system(\"id\")}",
		"{x=(1)/2;y=\"/\";system(\"id\")}",
		"{x=a[1]/\"/\" system(\"id\")}",
		"{x=5./\"/\" system(\"id\")}",
		"{x=1/-/\"/ system(\"id\")}",
		"/[\\]/{system(\"id\")}/]/",
		"/[/]\"/{system(\"id\")}",
		"{length /#/ system(\"id\")}",
		"{x++ /[\"]/ * system(\"id\")}",
	};
	static const char *const plain[] = {
		"/a|b/",
		"/a > b/{print \"x\"}",
		"{print ($1+$2)/2 \"x|y\"}",
		"!/\"#\"/{n++}END{print n/NR}",
		"$1 ~ /system/ && /[^\"]|x/",
		"{if (/a|b/) print; else print /c|d/ ? 1 : 2}",
		"{gsub(/[][|]/, \"\"); print 1e3/2, 0x1f/3}",
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (!(awk(hidden[i]) & SHELL_SCRIPT_RUN))
			fail_msg("%s", hidden[i]);
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (awk(plain[i]) != SHELL_SCRIPT_NOTHING)
			fail_msg("%s: %u", plain[i], awk(plain[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sed_scripts_do_nothing_else),
		cmocka_unit_test(sed_commands_that_run_write_and_read_are_seen),
		cmocka_unit_test(what_the_sed_reader_does_not_understand_can_do_all),
		cmocka_unit_test(brackets_of_sed_end_where_sed_ends_them),
		cmocka_unit_test(a_regular_expression_of_awk_hides_nothing),
		cmocka_unit_test(awk_programs_that_run_or_write_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
