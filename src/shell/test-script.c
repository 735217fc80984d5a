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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sed_scripts_do_nothing_else),
		cmocka_unit_test(sed_commands_that_run_write_and_read_are_seen),
		cmocka_unit_test(what_the_sed_reader_does_not_understand_can_do_all),
		cmocka_unit_test(awk_programs_that_run_or_write_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
