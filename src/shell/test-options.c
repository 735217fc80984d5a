#include "base/test-support.h"

#include <string.h>
#include "base/cleanup.h"
#include "shell/options.h"
#include "shell/usage.h"
#include "shell/wrappers.h"

static const struct shell_option options[] = {
	{"-a", SHELL_OPTION_FLAG, 0},
	{"-b", SHELL_OPTION_FLAG, 0},
	{"-n", SHELL_OPTION_VALUE, 0},
	{"-i", SHELL_OPTION_OPTIONAL, 0},
	{"--all", SHELL_OPTION_FLAG, 0},
	{"--number", SHELL_OPTION_VALUE, 0},
	{"--number-lines", SHELL_OPTION_FLAG, 0},
	{"--in-place", SHELL_OPTION_OPTIONAL, 0},
};

static struct shell_option_grammar grammar = {options, array_size(options), false, false, false};

/* "?" is an unknown single word, "*" any number of words, "?x" an unknown word that begins with x.
 */
static size_t split(const char *text, struct shell_fact_word *words, size_t max)
{
	static char copy[256];
	size_t n = 0;
	char *save = NULL;

	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(n < max);
		words[n] =
			(struct shell_fact_word){.kind = SHELL_VALUE_KNOWN, .text = {w, strlen(w)}};
		if (*w == '?')
			words[n] = (struct shell_fact_word){.kind = SHELL_VALUE_ONE,
			                                    .text = {w + 1, strlen(w + 1)}};
		else if (*w == '*')
			words[n] =
				(struct shell_fact_word){.kind = SHELL_VALUE_MANY, .text = {"", 0}};
		n++;
	}
	return n;
}

/* What the scan sees, written out: "-a -n=5 operand ! ?". */
static void expect(const char *text, const char *seen)
{
	struct shell_fact_word words[32];
	struct shell_option_scan s;
	char out[256] = "";
	enum shell_option_event e;

	shell_option_start(&s, &grammar, words, split(text, words, array_size(words)));
	while ((e = shell_option_next(&s)) != SHELL_OPTION_END) {
		if (*out)
			strcat(out, " ");
		if (e == SHELL_OPTION_FOUND) {
			strcat(out, s.option->name);
			if (s.has_value) {
				strcat(out, "=");
				strncat(out, s.value.text.bytes, s.value.text.len);
			}
		} else if (e == SHELL_OPTION_OPERAND) {
			bool known = words[s.word].kind == SHELL_VALUE_KNOWN;

			strcat(out, known ? "" : "<");
			strncat(out, words[s.word].text.bytes, words[s.word].text.len);
			strcat(out, known ? "" : ">");
		} else {
			strcat(out, e == SHELL_OPTION_UNKNOWN ? "!" : "?");
			break;
		}
	}
	assert_string_equal(out, seen);
}

static void clusters_are_taken_apart(void **state)
{
	expect("c -ab x", "-a -b x");
	expect("c -abn5 x", "-a -b -n=5 x");
	expect("c -abn 5 x", "-a -b -n=5 x");
	expect("c -n", "!");
	expect("c -az", "-a !");
}

static void an_optional_value_is_never_the_next_word(void **state)
{
	expect("c -i x", "-i x");
	expect("c -i.bak x", "-i=.bak x");
	expect("c --in-place x", "--in-place x");
	expect("c --in-place=.bak x", "--in-place=.bak x");
}

static void long_options_may_be_shortened_while_unique(void **state)
{
	expect("c --al x", "--all x");
	expect("c --number 3", "--number=3");
	expect("c --number=3", "--number=3");
	expect("c --num 3", "!"); /* --number or --number-lines */
	expect("c --number-l", "--number-lines");
	expect("c --in=x", "--in-place=x");
	expect("c --all=x", "!");
	expect("c --nothing", "!");
}

static void options_end_at_the_first_operand_unless_permuted(void **state)
{
	expect("c x -a", "x -a");
	expect("c -a -- -b", "-a -b");
	expect("c - -a", "- -a");
	grammar.permute = true;
	expect("c x -a", "x -a");
	expect("c x -z", "x !");
	expect("c x -- -z", "x -z");
	grammar.permute = false;
}

static void an_unknown_word_makes_the_rest_uncertain(void **state)
{
	expect("c ? -a", "?");
	expect("c * -a", "?");
	expect("c ?x -a", "<x> -a"); /* begins with x: no option */
	expect("c -n ? x", "-n= x");
	expect("c -n * x", "?");
	expect("c ?-n5 x", "-n=5 x");
	expect("c ?-n x", "?"); /* the value may be empty, and then x is it */
	expect("c ?-a x", "?"); /* more letters may follow */
	expect("c ?--number= x", "--number= x");
	expect("c ?--num x", "?");
	expect("c -- ? -a", "<> -a");
}

static void numbers_are_options_where_the_command_says_so(void **state)
{
	grammar.numbers = true;
	expect("c -5 x", "-NUM x");
	expect("c --5 x", "-NUM x");
	grammar.numbers = false;
	expect("c -5 x", "!");
}

static void wrappers_are_found_by_name_and_path(void **state)
{
	for (size_t i = 0; i < shell_wrapper_count; i++) {
		assert_ptr_equal(shell_wrapper_find(shell_wrappers[i].name), &shell_wrappers[i]);
		if (i)
			assert_true(strcmp(shell_wrappers[i - 1].name, shell_wrappers[i].name) < 0);
	}
	assert_ptr_equal(shell_wrapper_find("/usr/bin/env"), shell_wrapper_find("env"));
	assert_ptr_equal(shell_wrapper_find("/lib64/ld-linux-x86-64.so.2"),
	                 shell_wrapper_find("ld.so"));
	assert_null(shell_wrapper_find("ls"));
	assert_null(shell_wrapper_find(""));
}

static void each_option_of_each_wrapper_is_found_by_its_own_name(void **state)
{
	for (size_t i = 0; i < shell_wrapper_count; i++) {
		const struct shell_option_grammar *g = &shell_wrappers[i].grammar;

		for (size_t k = 0; k < g->count; k++) {
			struct shell_fact_word words[3] = {
				{.text = {"c", 1}}, {0}, {.text = {"v", 1}}};
			struct shell_option_scan s;

			words[1].text =
				(struct shell_text){g->options[k].name, strlen(g->options[k].name)};
			shell_option_start(&s, g, words, 3);
			assert_int_equal(shell_option_next(&s), SHELL_OPTION_FOUND);
			assert_ptr_equal(s.option, &g->options[k]);
			assert_int_equal(s.has_value, g->options[k].value == SHELL_OPTION_VALUE);
		}
	}
}

static void knows_which_values_are_no_paths(void **state)
{
	const struct usage_command *grep = usage_find("grep", NULL);
	const struct usage_option *o;

	assert_non_null(grep);
	assert_true(grep->pattern);
	o = usage_option_find(grep, "-e", 2);
	assert_non_null(o);
	assert_true(o->value == SHELL_OPTION_VALUE && !o->path && o->pattern);
	o = usage_option_find(grep, "--file=x", 6);
	assert_non_null(o);
	assert_true(o->path && o->pattern);
	assert_int_equal(usage_option_find(grep, "-F", 2)->value, SHELL_OPTION_FLAG);
	/* Names that are cut short are not known, and neither is another program's option. */
	assert_null(usage_option_find(grep, "--fil", 5));
	assert_null(usage_option_find(grep, "-k", 2));
	assert_null(usage_option_find(NULL, "-k", 2));
	assert_null(usage_find("no-such-command", NULL));
	assert_non_null(usage_find("git", "commit"));
	assert_null(usage_find("git", "no-such-sub"));
	assert_null(usage_find("git",
	                       "a-sub-command-whose-name-is-longer-than-any-that-there-is-at-all"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_which_values_are_no_paths),
		cmocka_unit_test(clusters_are_taken_apart),
		cmocka_unit_test(an_optional_value_is_never_the_next_word),
		cmocka_unit_test(long_options_may_be_shortened_while_unique),
		cmocka_unit_test(options_end_at_the_first_operand_unless_permuted),
		cmocka_unit_test(an_unknown_word_makes_the_rest_uncertain),
		cmocka_unit_test(numbers_are_options_where_the_command_says_so),
		cmocka_unit_test(wrappers_are_found_by_name_and_path),
		cmocka_unit_test(each_option_of_each_wrapper_is_found_by_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
