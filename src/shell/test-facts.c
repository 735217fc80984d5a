#include "shell/test-facts.h"

/* What runs */

static void every_branch_is_listed(void **state)
{
	expect("a; b && c || d | e & f", "static: a; b; c; d; e; f");
	expect("if a; then b; elif c; then d; else e; fi", "static: a; b; c; d; e");
	expect("while a; do b; done; until c; do d; done", "static: a; b; c; d");
	expect("for x in 1 2; do a; done; for ((;;)); do b; done", "static: a; b");
	expect("case x in a) a;; b|c) b;& *) c;; esac", "static: a; b; c");
	expect("{ a; (b; c); }; ! d; time e; coproc f; select x in 1; do g; done",
	       "static: a; b; c; d; e; f; g");
	expect("", "static");
	expect("# only a comment", "static");
}

static void substitutions_are_listed_wherever_they_stand(void **state)
{
	expect("echo $(a) `b` \"$(c)\"", "dynamic: echo * * ?; a; b; c");
	expect("x=$(a) y[1]=$(b) z=($(c))", "dynamic: [x=?] [y[1]=?] [z=?]; a; b; c");
	expect("echo ${x:-$(a)} ${x/$(b)/$(c)}", "dynamic: echo * *; a; b; c");
	expect("[[ -n $(a) && $(b) == c* ]]", "static: a; b");
	expect("case $(a) in $(b)) c;; esac", "static: a; b; c");
	expect("for x in $(a); do b; done", "static: a; b");
	expect("cat <(a) >(b)", "dynamic: cat ? ?; a; b");
	expect("cat <<E\n$(a) ${x:-`b`}\nE\n", "static: cat {<<}; a; b");
	expect("cat <<'E'\n$(a)\nE\n", "static: cat {<<}");
	expect("cat <<< \"$(a)\" > \"$(b)\"", "dynamic: cat {<<<} {>}; a; b");
	expect("export X=$(a) Y=`b`", "dynamic: export ?X= ?Y=; a; b");
	expect("alias x=$(a)", "dynamic: alias ?x=; a");
	expect("export() { :; }; export X=$(a)", "dynamic: :; export ?X=; a");
	expect("declare -a q=($(a) [1]=$(b))", "dynamic: declare -a ?q=; a; b");
}

static void backticks_in_double_quotes_lose_the_backslash_of_a_quote(void **state)
{
	expect("echo \"`a \\\"b c\\\"`\"", "dynamic: echo ?; a b c");
	expect("echo \"`a \\\\\\\"b`\"", "dynamic: echo ?; a \"b");
	expect("echo \"`a \\\"\\`b \\\\\\\"c d\\\\\\\"\\`\\\"`\"", "dynamic: echo ?; a ?; b c d");
	expect("echo `a \\\"b c`", "dynamic: echo *; a \"b c");
	expect("cat <<E\n`a \\\"b c\\\"`\nE\n", "static: cat {<<}; a \"b c\"");
}

static void here_documents_end_where_bash_ends_them(void **state)
{
	expect("cat <<$x\n$(a)\n$x\nb", "static: cat {<<}; a; b");
	expect("cat <<E$$.$1\n$(a)\nE$$.$1\nb", "static: cat {<<}; a; b");
	expect("cat <<'E'$x\n$(a)\nE$x\nb", "static: cat {<<}; b");
	expect("echo $(cat <<E\n$(a)\nE) b; c", "dynamic: echo * b; cat {<<}; a; c");
	expect("echo \"$( (cat <<-'E'\n\t$(a)\n\tE))\"; b", "dynamic: echo ?; cat {<<-}; b");
	expect("echo $(cat <<A <<B\n$(a)\nA\n$(b)\nB); c",
	       "dynamic: echo *; cat {<<} {<<}; a; b; c");
}

static void a_sequence_has_no_quotes_or_expansions(void **state)
{
	expect("echo {1..$n}", "dynamic: echo *{1..");
	expect("echo {1..$n}{a,b}", "dynamic: echo *{1.. *{1..");
	expect("echo {\"a\"..c} {1..\\3} {1..\\,}", "static: echo {a..c} {1..3} {1..,}");
	expect("for i in {1..$(a)}; do b; done", "static: a; b");
}

static void extended_patterns_are_read_behind_the_line_that_switches_them_on(void **state)
{
	expect("shopt -s extglob\nls !(a) x@(b|'c d')y", "dynamic: shopt -s extglob; ls * *x");
	expect("shopt -s extglob\nfor i in +(a|$(b)); do c; done",
	       "static: shopt -s extglob; b; c");
	expect("shopt -s extglob\ncase x in !(a)|?(b)) c;; esac", "static: shopt -s extglob; c");
	expect("shopt -s extglob\nx `a @(b)`", "dynamic: shopt -s extglob; x *; a *");
	expect("shopt -s extglob\n! (a)", "static: shopt -s extglob; a");
	expect("shopt -s extglob\n@(a|b) c", "opaque: shopt -s extglob; * c");
	expect("shopt -s extglob; ls !(a)", "error");
	expect("ls !(a)", "error");
	expect_opaque("shopt -s extglob\n!(a)", "set:extglob");
	expect("shopt -s extglob\necho @({a,b})", "unsupported");
	expect("a && shopt -s extglob\nls !(a)", "unsupported");
	expect("shopt -s extglob\nshopt -u extglob\nls !(a)", "unsupported");
	expect_opaque("eval 'shopt -s extglob'\n!(a)", "set:extglob");
	expect_opaque("eval 'shopt -s extglob'\n[[ !(-n a) ]]", "set:extglob");
	expect_opaque("sh -c 'shopt -s extglob\nls !(a)'", "shell-dialect");
}

static void places_are_told_from_the_outside_in(void **state)
{
	expect_via("a", "a", "");
	expect_via("x | (a)", "a", "pipe/subshell");
	expect_via("{ a & }", "a", "group/bg");
	expect_via("f() { if a; then :; fi; }", "a", "func:f/if");
	expect_via("echo $(a)", "a", "cmdsub");
	expect_via("cat <<E\n$(a)\nE\n", "a", "heredoc/cmdsub");
	expect_via("env nice a", "a", "wrapper:env/wrapper:nice");
	expect_via("find . -exec a {} \\;", "a", "find:-exec");
	expect_via("find . -fprint -exec -exec a \\;", "a", "find:-exec");
	expect_via("find . -name -exec -o -newerXY -exec -ok a \\;", "a", "find:-exec");
	expect_via("sh -c 'eval a'", "a", "shell-c/eval");
	expect_via("trap a EXIT", "a", "trap");
	expect_via("for x in 1; do :; done > f", "", "compound");
	expect_via("bash <<< a", "a", "stdin-script");
	expect_via("bash <<< 'a'\\", "a", "stdin-script");
	expect_via("sh -sc b <<< a", "a", "stdin-script");
	expect_via("flock -u f a", "a", "wrapper:flock");
}

static void redirections_and_assignments_belong_to_their_command(void **state)
{
	expect("A=1 B=$x c >f 2>&1", "dynamic: [A=1] [B=?] c {>} {>&}");
	expect("a |& b", "static: a {>&}; b");
	expect("{ a; } >f", "static: a; {>}");
	expect(">f", "static: {>}");
	expect("a >& f", "static: a {&>}");
	expect("a < <(b)", "static: a {<}; b"); /* data of a pipe of the shell's own */
	expect("a > >(b)", "dynamic: a {>}; b");
}

/* Wrappers */

static void wrappers_show_the_command_inside(void **state)
{
	expect("timeout -k 1 5 nice -n5 env A=1 a b",
	       "static: timeout -k 1 5 nice -n5 env A=1 a b; nice -n5 env A=1 a b; env A=1 a b; "
	       "[A=1] a b");
	expect("env -u X --chdir=/ a", "static: env -u X --chdir=/ a; a");
	expect("env -", "static: env -");
	expect("env - a", "static: env - a; a");
	expect("command -v a", "static: command -v a");
	expect("sudo -u x A=1 a", "static: sudo -u x A=1 a; [A=1] a");
	expect("su x -c 'a; b'", "static: su x -c a; b; a; b");
	expect("flock f -c a", "static: flock f -c a; /bin/sh -c a; a");
	expect("flock 9", "static: flock 9");
	expect("chrt -p 1", "static: chrt -p 1");
	expect("setarch x86_64 -R a", "static: setarch x86_64 -R a; a");
	expect("watch -n 1 a b", "static: watch -n 1 a b; sh -c a b; a b");
	expect("watch -x a b", "static: watch -x a b; a b");
	expect("/usr/bin/time -f %e a", "static: /usr/bin/time -f %e a; a");
	expect("/lib64/ld-linux-x86-64.so.2 /bin/a b",
	       "static: /lib64/ld-linux-x86-64.so.2 /bin/a b; /bin/a b");
	expect("nice -n \"$N\" a", "dynamic: nice -n ? a; a");
	expect("jobs -x a b", "static: jobs -x a b; a b");
	expect("jobs -xx -l -- a b", "static: jobs -xx -l -- a b; a b");
	expect("jobs -l %1", "static: jobs -l %1");
	expect("busybox sh -c a", "static: busybox sh -c a; sh -c a; a");
	expect("valgrind --leak-check=full a", "static: valgrind --leak-check=full a; a");
	expect("runuser -u x -- a -b", "static: runuser -u x -- a -b; a -b");
	expect("logsave -a f b c", "static: logsave -a f b c; b c");
	expect("systemd-inhibit --what=idle a", "static: systemd-inhibit --what=idle a; a");
	expect("gosu x a b", "static: gosu x a b; a b");
	expect("eatmydata -- a", "static: eatmydata -- a; a");
	expect("gdb --args a b", "static: gdb --args a b; a b");
	expect("gdb -batch -ex bt a", "static: gdb -batch -ex bt a");
	expect("gdb -batch -ex run -ex bt --args a b",
	       "static: gdb -batch -ex run -ex bt --args a b; a b");
}

static void env_splits_a_string_into_words(void **state)
{
	expect("env -S 'A=1 a \"b c\" d\\_e'",
	       "static: env -S A=1 a \"b c\" d\\_e; [A=1] a b c d e");
	expect("env -S'-i a' b", "static: env -S-i a b; a b");
	expect("env --split-string='a # b'", "static: env --split-string=a # b; a");
	expect("env -S '\\_a\\cb'", "static: env -S \\_a\\cb; a");
	expect("env -S '\\cb' a", "static: env -S \\cb a; a");
	expect("env -S \"a '' 'b\\n'\"", "static: env -S a '' 'b\\n'; a  b\\n");
	expect_opaque("env -S 'a ${X}'", "wrapper-dynamic");
	expect_opaque("env -S \"$x\"", "wrapper-dynamic");
	expect_opaque("env -S 'a \"b'", "wrapper-dynamic");
}

static void options_of_bash_that_change_no_reading_are_taken(void **state)
{
	expect("bash -eo pipefail -O extglob +O nullglob -c a",
	       "static: bash -eo pipefail -O extglob +O nullglob -c a; a");
	expect_opaque("bash -O extglob -c '!(a)'", "set:extglob");
	expect_opaque("bash -O extglob -c 'a @(b)'", "code-unreadable");
	expect_opaque("bash -O nocaseglob -c 'a B*'", "set:nocaseglob");
	expect_opaque("bash +o braceexpand -c a", "wrapper-option:bash");
	expect_opaque("bash -o \"$x\" -c a", "wrapper-option:bash");
}

static void an_unlisted_option_hides_the_command(void **state)
{
	expect_opaque("nice --unknown a", "wrapper-option:nice");
	expect_opaque("env --argv0=x a", "wrapper-option:env");
	expect_opaque("rlwrap -a b c", "wrapper-option:rlwrap");
	expect_opaque("xargs --what a", "wrapper-option:xargs");
	expect_opaque("eatmydata -x a", "wrapper-option:eatmydata");
	expect_opaque("choom a -n 5 b", "wrapper-dynamic"); /* which runs a b */
	expect("choom -p 5", "static: choom -p 5");
	expect_opaque("bash -Z -c a", "wrapper-option:bash");
	expect("rlwrap b c", "static: rlwrap b c; b c");
}

static void an_unknown_word_before_the_command_hides_it(void **state)
{
	static const char *const lines[] = {
		"env $x",
		"env \"$x\" a",
		"nice -n$N a",
		"timeout $t a",
		"timeout \"$t\" a",
		"sudo $x",
		"nice $x a",
		"xargs \"$x\"",
		"xargs -I \"$x\" a",
		"command \"$x\"",
		"env -u $x a",
		"find $x -name a",
		"find . \"$x\" a \\;",
		"find . \"$x\" -exec -exec a \\;",
		"find . -name $x -exec a \\;",
		"find . -exec a $x \\;",
		"strace -o \"$x\" a | b; find * -exec",
		"parallel a ::: b",
		NULL,
	};

	for (size_t i = 0; lines[i]; i++)
		assert_int_equal(read_facts(lines[i])->status, SHELL_FACTS_OPAQUE);
	expect_opaque("env A=$x a", "dynamic-command");
	expect_known("find \"$x\" -name '*.c' -delete");
	expect_known("find src/*.c -newer b");
	expect_known("env A=\"$x\" a");
	expect_known("d=src; find $d -name b");
}

static void xargs_and_find_build_words(void **state)
{
	expect("xargs -I{} -l2 a {}", "dynamic: xargs -I{} -l2 a {}; a ? *");
	expect("xargs -I{} --max-a 1 a b", "dynamic: xargs -I{} --max-a 1 a b; a b *");
	expect("xargs --max-a 1 -i a {}", "dynamic: xargs --max-a 1 -i a {}; a ?");
	expect("xargs", "dynamic: xargs; echo *");
	expect("xargs -n1 a b", "dynamic: xargs -n1 a b; a b *");
	expect("xargs -I{} a x{}y", "dynamic: xargs -I{} a x{}y; a ?x");
	expect("xargs -i a {}", "dynamic: xargs -i a {}; a ?");
	expect("find . -exec a {} \\; -okdir b x{} +",
	       "dynamic: find . -exec a {} ; -okdir b x{} +; a ?");
	expect("find . -exec a {} +", "dynamic: find . -exec a {} +; a *");
	expect("find . -exec a", "static: find . -exec a");
	expect_opaque("find . -exec sh -c 'a {}' \\;", "shell-c-dynamic");
	expect_opaque("find . -exec {} \\;", "dynamic-command");
	expect_opaque("xargs sh -c", "shell-c-dynamic");
	expect_opaque("xargs bash", "script-dynamic");
	expect_opaque("xargs env", "wrapper-dynamic");
	expect_opaque("xargs -I% %", "dynamic-command");
}

/* Nested code */

static void code_in_words_is_read(void **state)
{
	expect("bash -ec 'a; b'", "static: bash -ec a; b; a; b");
	expect("bash -c -e 'a'", "static: bash -c -e a; a");
	expect("bash -o pipefail -c 'a | b'", "static: bash -o pipefail -c a | b; a; b");
	expect("eval a b", "static: eval a b; a b");
	expect("eval -- 'a; b' c", "static: eval -- a; b c; a; b c");
	expect("trap 'a' INT", "static: trap a INT; a");
	expect("trap - INT; trap '' INT; trap INT; trap 2 3; trap -p",
	       "static: trap - INT; trap  INT; trap INT; trap 2 3; trap -p");
	expect("bash -c", "static: bash -c");
	expect("bash --version", "static: bash --version");
	expect("bash <<'E'\na\nE\n", "static: bash {<<}; a");
	expect("sh -s x <<< 'a'", "static: sh -s x {<<<}; a");
}

static void code_that_is_not_known_is_opaque(void **state)
{
	expect_opaque("bash -c \"$x\"", "shell-c-dynamic");
	expect_opaque("bash -c \"a $x\"", "shell-c-dynamic");
	expect_opaque("eval \"$x\"", "eval-dynamic");
	expect_opaque("eval a $x", "eval-dynamic");
	expect_opaque("trap \"$x\" EXIT", "trap-dynamic");
	expect_opaque("source f", "source:f");
	expect_opaque(". <(a)", "source-dynamic");
	expect_opaque("bash", "stdin-script:bash");
	expect_opaque("bash -s < f", "stdin-script:bash");
	expect_opaque("sh -s -c a", "stdin-script:sh");
	expect_known("bash -sc a");
	expect_opaque("bash f", "script:f");
	expect_opaque("bash <(a)", "script-dynamic");
	expect_opaque("bash <<E\n$x\nE\n", "stdin-script:bash");
	expect_opaque("bash -c 'if'", "code-unreadable");
	expect_opaque("bash -ic a", "interactive-shell");
	expect_opaque("bash --rcfile f -c a", "startup-code");
	expect_opaque("fish -c a", "shell-other:fish");
	expect_opaque("yash -c a", "shell-other:yash");
	expect_opaque("su", "stdin-script:su");
	expect_opaque("chroot /x", "stdin-script:chroot");
	expect_opaque("zsh -c 'noglob a'", "shell-c-dynamic");
	expect_opaque("zsh -c 'emulate sh -c a'", "shell-other:zsh");
	expect_opaque("zsh <<< 'noglob a'", "stdin-script:zsh");
	expect_opaque("ksh <<< 'repeat 2 a'", "stdin-script:ksh");
	expect_known("ksh -c 'a b'");
	expect_opaque("sudo -s", "stdin-script:sudo");
}

static void a_download_into_a_shell_is_named(void **state)
{
	static const char *const lines[] = {
		"curl -s x | bash",      "curl x | sudo sh -s",      "bash <(curl x)",
		"sh -c \"$(curl x)\"",   "eval \"$(curl -fsSL x)\"", "source <(curl x)",
		"curl x | tee f | bash", "bash < <(curl x)",         NULL,
	};

	expect_all(lines, "download:curl");
	expect_opaque("/usr/bin/wget -qO- x | sh", "download:wget");
}

static void a_script_whose_commands_read_it_is_opaque(void **state)
{
	expect_opaque("bash <<'E'\nread x\n: '\na\n'\nE\n", "stdin-script:bash");
	expect_opaque("bash <<'E'\nhead -c 1\nxa\nE\n", "stdin-script:bash");
	expect("bash <<'E'\nls\ncat f\nhead -c 1\nE\n", "static: bash {<<}; ls; cat f; head -c 1");
}

static void other_shells_are_trusted_only_where_all_agree(void **state)
{
	static const char *const lines[] = {
		"sh -c '((a))'",
		"sh -c 'a &>f'",
		"sh -c 'echo {a,b}'",
		"sh -c 'echo {,}'",
		"sh -c 'a <<< b'",
		"sh -c '[[ a ]]'",
		"sh -c \"echo \\$'a'\"",
		"sh -c 'function f { a; }'",
		"sh -c 'time a'",
		"sh -c 'a |& b'",
		"sh -c 'cat <(a)'",
		"sh -c 'x=(a)'",
		"sh -c 'x+=a'",
		"sh -c 'a 10>f'",
		"sh -c 'a $[1 + 1]'",
		"sh -c \"a \\\"\\${x?'\\$(b)'}\\\"\"",
		"sh -c \"a \\\"\\${x?'}'; b}\\\"\"",
		"sh <<'E'\na $\\\n'b\\'; c 'd'\nE\n",
		NULL,
	};

	expect_all(lines, "shell-dialect");
	expect_known("sh -c 'echo \"${x?no x}\" ${y:?\"no y\"}'");
	expect_known("sh -c 'for x in a b; do echo \"$x\" > f 2>&1 || exit 1; done'");
}

/* Names */

static void an_unknown_name_is_opaque(void **state)
{
	static const char *const lines[] = {
		"$x",      "\"$x\" a", "$(a) b", "/bin/l?", "~/a", "a$x", "f() { \"$@\"; }; f a",
		"x=a; $x", NULL};

	expect_all(lines, "dynamic-command");
}

static enum shell_kind kind_of(const char *line, size_t at)
{
	struct shell_facts *f = read_facts(line);

	assert_true(at < f->command_count);
	return f->commands[at].kind;
}

static void kinds_follow_the_order_of_lookup(void **state)
{
	assert_int_equal(kind_of("ls", 0), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("cd x", 0), SHELL_KIND_BUILTIN);
	assert_int_equal(kind_of("f() { :; }; f", 1), SHELL_KIND_FUNCTION);
	assert_int_equal(kind_of("f; f() { :; }", 0), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("(f() { :; }); f", 1), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("false && f() { :; }; f", 2), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("f() { :; }; command f", 2), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("f() { :; }; bash -c f", 2), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("env echo", 1), SHELL_KIND_EXTERNAL);
	assert_int_equal(kind_of("command echo", 1), SHELL_KIND_BUILTIN);
	assert_int_equal(kind_of("$x", 0), SHELL_KIND_DYNAMIC);
	assert_int_equal(kind_of("x=1", 0), SHELL_KIND_NONE);
}

static void functions_stand_in_for_builtins_only_while_they_surely_exist(void **state)
{
	expect("eval() { a; }; eval x", "static: a; eval x");
	expect_opaque("eval() { :; }; eval a; unset -f eval", "function-unset");
	expect_opaque("exec() { :; }; exec a; set -o posix", "function-unset");
	expect("(eval() { :; }); eval a", "static: :; eval a; a");
}

/* Limits */

static struct shell_facts *repeated(const char *before, const char *what, const char *after,
                                    size_t n)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct shell_facts *facts = NULL;

	buffer_puts(&b, before);
	for (size_t i = 0; i < n; i++)
		buffer_puts(&b, what);
	buffer_puts(&b, after);
	arena_reset(arena);
	assert_int_equal(shell_facts_read(arena, buffer_str(&b), b.len, &as_bash, &facts), 0);
	return facts;
}

static void beyond_the_limits_the_answer_is_opaque(void **state)
{
	assert_int_equal(repeated("", "env ", "ls", 50)->status, SHELL_FACTS_STATIC);
	assert_int_equal(repeated("", "env ", "ls", 5000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("", "eval ", "ls", 5000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("", "a;", "", 5000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("find . ", "-exec a \\; ", "", 5000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("", "x", "", 70000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("env -S '", "-S ", "ls'", 2000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("((a", "[a", "))", 5000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("xargs ", "xargs ", "ls", 3000)->status, SHELL_FACTS_OPAQUE);
}

/* What nesting multiplies has a budget that grows with the text, so that its cost does not. */
static void nesting_within_the_budget_is_read(void **state)
{
	assert_int_equal(repeated("", "eval ", "ls", 30)->status, SHELL_FACTS_STATIC);
	assert_int_equal(repeated("", "eval ", "ls", 100)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("", "nice ", "ls", 60)->status, SHELL_FACTS_STATIC);
	assert_int_equal(repeated("", "nice ", "ls", 300)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("ls ", "{", "", 40)->status, SHELL_FACTS_STATIC);
	assert_int_equal(repeated("ls ", "{", "", 4000)->status, SHELL_FACTS_OPAQUE);
	assert_int_equal(repeated("", "eval ls;", "", 1000)->status, SHELL_FACTS_STATIC);
}

/* Each result of braces has the substitutions of its word, whose braces do the same. */
static void braces_around_substitutions_have_an_end(void **state)
{
	assert_int_equal(read_facts("ls {1..20}$(ls {1..20})")->status, SHELL_FACTS_DYNAMIC);
	for (size_t n = 2; n < 6; n++) {
		scoped(buffer_donep) struct buffer line = {0};

		for (size_t i = 0; i < n; i++)
			buffer_puts(&line, i ? "$(ls {1..1000}" : "ls {1..1000}");
		for (size_t i = 1; i < n; i++)
			buffer_putc(&line, ')');
		assert_int_equal(read_facts(buffer_str(&line))->status, SHELL_FACTS_OPAQUE);
	}
	assert_int_equal(repeated("ls {1..1000}'", "a", "'", 60000)->status, SHELL_FACTS_OPAQUE);
}

static void many_names_are_kept_apart(void **state)
{
	scoped(buffer_donep) struct buffer line = {0};
	struct shell_facts *f;
	char effect[32];

	for (int i = 0; i < 400; i++)
		buffer_printf(&line, "export v%d=%d; ", i, i);
	for (int i = 0; i < 400; i++)
		buffer_printf(&line, "((v%d)); ", i);
	f = read_facts(buffer_str(&line));
	assert_int_equal(f->status, SHELL_FACTS_STATIC);
	assert_int_equal(f->effect_count, 400);
	for (int i = 0; i < 400; i++) {
		snprintf(effect, sizeof(effect), "set:v%d", i);
		assert_string_equal(f->effects[i].text, effect);
	}
	buffer_puts(&line, "v399=$x");
	assert_int_equal(read_facts(buffer_str(&line))->status, SHELL_FACTS_OPAQUE);
}

static void a_small_arena_is_an_error_and_not_a_wrong_answer(void **state)
{
	struct shell_facts *facts = NULL;
	scoped(arena_freep) struct arena *small = arena_new(16384);
	char line[8192];

	memset(line, 'a', sizeof(line));
	for (size_t i = 1; i < sizeof(line); i += 2)
		line[i] = ';';
	assert_int_equal(shell_facts_read(small, line, sizeof(line), NULL, &facts), -12);
	assert_null(facts);
}

/* What a command does */

static bool is_done(const struct shell_facts *f, const char *effect, const char *by)
{
	assert_true(f->command_count > 0);
	for (size_t i = 0; i < f->commands[0].does_count; i++)
		if (strcmp(f->commands[0].does[i].effect, effect) == 0 &&
		    strcmp(f->commands[0].does[i].by, by) == 0)
			return true;
	return false;
}

static bool does(const char *line, const char *effect, const char *by)
{
	return is_done(read_facts(line), effect, by);
}

static void options_are_compared_with_what_is_known_of_them(void **state)
{
	assert_true(does("sed -i s/a/b/ f", "write", "-i"));
	assert_true(does("sed -ni.bak p f", "write", "-i"));
	assert_true(does("sed --in-pl=x p f", "write", "--in-place"));
	assert_false(does("sed -n p f", "write", "-i"));
	assert_false(does("sed -- -i f", "write", "-i"));
	assert_true(does("sed 's/a/b/e' f", "exec", "e"));
	assert_true(does("sed -n -e p -e 'w out' f", "write", "w"));
	assert_false(does("sed s/e/w/ f", "exec", "e"));
	assert_true(does("sort -uo f g", "write", "-o"));
	assert_true(does("sort --output=f g", "write", "--output"));
	assert_true(does("find . -delete", "write", "-delete"));
	assert_true(does("tar xzf a.tgz", "write", "-x"));
	assert_true(does("tar -xzf a.tgz", "write", "-x"));
	assert_true(does("tar -I cmd -tf a", "exec", "-I"));
	assert_true(does("awk 'BEGIN{system(\"a\")}'", "exec", "system("));
	assert_true(does("gawk '{print > \"f\"}'", "write", ">"));
	assert_true(does("awk -F : 'BEGIN{system(\"a\")}'", "exec", "system("));
	assert_true(does("awk -v a=b --assign c=d 'BEGIN{system(\"a\")}'", "exec", "system("));
	assert_true(does("awk -e 1 -e 'END{system(\"a\")}'", "exec", "system("));
	assert_true(does("awk --source='END{system(\"a\")}'", "exec", "system("));
	assert_true(does("awk -W posix -- 'END{system(\"a\")}'", "exec", "system("));
	assert_true(does("awk $x '{print}'", "exec", "system("));
	assert_false(does("awk -F '|' '{print $1}' f", "exec", "|\""));
	assert_false(does("awk -F'|' -v x='a>b' '{print $1}' f", "write", ">"));
	assert_true(does("find -- . -delete", "write", "-delete"));
	assert_true(does("curl -o f x", "write", "-o"));
	assert_true(does("curl x", "network", "always"));
	assert_true(does("curl -d @f x", "read-outside", "-d"));
	assert_false(does("curl -d f x", "read-outside", "-d"));
	assert_true(does("ssh -oProxyCommand=a h", "exec", "-o"));
	assert_true(does("ssh -o 'proxycommand a' h", "exec", "-o"));
	assert_true(does("ssh -o ' LocalCommand = a' h", "exec", "-o"));
	assert_true(does("ssh -o \"Pr$x\" h", "exec", "-o"));
	assert_false(does("ssh -o Port=1 h", "exec", "-o"));
	assert_false(does("ssh -o ProxyCommandX=a h", "exec", "-o"));
	assert_false(does("ssh -o ProxyCommand h", "exec", "-o"));
	assert_true(does("git -c core.pager=a log", "exec", "core.pager"));
	assert_true(does("git -C d push", "network", "push"));
	assert_true(does("git log --output=f", "write", "--output"));
	assert_false(does("git log", "write", "--output"));
	assert_true(does("GIT_PAGER=a git log", "exec", "GIT_PAGER"));
	assert_true(does("dd if=a of=b", "write", "of="));
	assert_true(does("cat", "hang", "no operand"));
	assert_false(does("cat f", "hang", "no operand"));
	assert_true(does("uniq a b", "write", "operand"));
	assert_false(does("uniq a", "write", "operand"));
	assert_true(does("date -s x", "priv", "-s"));
	assert_true(does("rg --pre a b", "exec", "--pre"));
	assert_true(does("awk -S '{print}' f", "safe", "-S"));
	assert_true(does("/usr/bin/find . -fprint f", "write", "-fprint"));
}

/* Behind more options than are kept, one that matters may stand. */
static void no_number_of_options_hides_another(void **state)
{
	assert_true(is_done(repeated("sort ", "-T a ", "-o x", 300), "write", "-o"));
	assert_false(is_done(repeated("sort ", "-T a ", "b", 20), "write", "-o"));
	assert_true(is_done(repeated("git ", "-c a.b=c ", "-c core.pager=x log", 300), "exec",
	                    "core.pager"));
	assert_true(is_done(repeated("git -c filter.", "a", ".clean=x log", 300), "exec",
	                    "filter.*.clean"));
	assert_true(is_done(repeated("find ", "a ", "-delete", 300), "write", "-delete"));
}

static void an_unknown_word_leaves_a_command_open(void **state)
{
	assert_true(read_facts("sort \"$x\"")->commands[0].open);
	assert_false(read_facts("sort -- \"$x\"")->commands[0].open);
	assert_false(read_facts("sort a\"$x\"")->commands[0].open);
	assert_false(read_facts("sort a")->commands[0].open);
	assert_true(read_facts("no-such-command a$x")->commands[0].open);
	assert_true(read_facts("rm *")->commands[0].open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_branch_is_listed),
		cmocka_unit_test(substitutions_are_listed_wherever_they_stand),
		cmocka_unit_test(backticks_in_double_quotes_lose_the_backslash_of_a_quote),
		cmocka_unit_test(here_documents_end_where_bash_ends_them),
		cmocka_unit_test(a_sequence_has_no_quotes_or_expansions),
		cmocka_unit_test(extended_patterns_are_read_behind_the_line_that_switches_them_on),
		cmocka_unit_test(places_are_told_from_the_outside_in),
		cmocka_unit_test(redirections_and_assignments_belong_to_their_command),
		cmocka_unit_test(wrappers_show_the_command_inside),
		cmocka_unit_test(env_splits_a_string_into_words),
		cmocka_unit_test(options_of_bash_that_change_no_reading_are_taken),
		cmocka_unit_test(an_unlisted_option_hides_the_command),
		cmocka_unit_test(an_unknown_word_before_the_command_hides_it),
		cmocka_unit_test(xargs_and_find_build_words),
		cmocka_unit_test(code_in_words_is_read),
		cmocka_unit_test(code_that_is_not_known_is_opaque),
		cmocka_unit_test(a_download_into_a_shell_is_named),
		cmocka_unit_test(a_script_whose_commands_read_it_is_opaque),
		cmocka_unit_test(other_shells_are_trusted_only_where_all_agree),
		cmocka_unit_test(an_unknown_name_is_opaque),
		cmocka_unit_test(kinds_follow_the_order_of_lookup),
		cmocka_unit_test(functions_stand_in_for_builtins_only_while_they_surely_exist),
		cmocka_unit_test(beyond_the_limits_the_answer_is_opaque),
		cmocka_unit_test(nesting_within_the_budget_is_read),
		cmocka_unit_test(braces_around_substitutions_have_an_end),
		cmocka_unit_test(many_names_are_kept_apart),
		cmocka_unit_test(a_small_arena_is_an_error_and_not_a_wrong_answer),
		cmocka_unit_test(options_are_compared_with_what_is_known_of_them),
		cmocka_unit_test(no_number_of_options_hides_another),
		cmocka_unit_test(an_unknown_word_leaves_a_command_open),
	};

	return cmocka_run_group_tests(tests, make_arena, free_arena);
}
