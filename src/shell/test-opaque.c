/* What executes data: values, names and code that are not known make a line opaque, known ones do
 * not. */
#include "shell/test-facts.h"

static void arithmetic_over_unknown_values_is_opaque(void **state)
{
	static const char *const lines[] = {
		"echo $((x))",
		"((x++))",
		"let x++",
		"let \"$x\"",
		"[[ $x -eq 0 ]]",
		"[[ 1 -lt x ]]",
		"echo ${a[x]}",
		"echo ${a[$x]}",
		"a[x]=1",
		"a=([x]=1)",
		"echo ${y:x}",
		"echo ${y:0:$x}",
		"for ((;x<1;)); do :; done",
		"echo $[x]",
		"echo $((a[0]))",
		"echo $(( $(a) ))",
		"x=$y; echo $((x))",
		"x=1; x=$y; echo $((x))",
		"(x=1); ((x))",
		"false && x=1; ((x))",
		"a || x=1 && ((x))",
		"x=1 | :; ((x))",
		"x=1; unset x; ((x))",
		"x=1; read x; ((x))",
		"x=1; sh -c 'echo $((x))'",
		"for x in a b; do ((x)); done",
		"for x in; do :; done; ((x))",
		"declare -i x=$y",
		"declare -i x; x=$y",
		"RANDOM=$x",
		"OPTIND=$x",
		"id() { :; }; echo $(( $(id -u) ))",
		"PATH=x; echo $(( $(id -u) ))",
		"declare -A m; echo ${m[$x]}; unset m",
		"x=1; x+=$y; ((x))",
		"f() { x=1; }; ((x))",
		"case a in b) x=1;; esac; ((x))",
		"x=1; f() { x=$1; }; ((x))",
		"((1 || (x=1))); ((x))",
		"echo $((x$y))",
		"x=1 y=2; echo $((x$y))",
		"((x=x))",
		"((x=y, y=1))",
		"(( (x=1) + x ))",
		"declare x=0 y=$((x))",
		"y=$((x)) eval x=0",
		"let x=1 y=$x",
		"let x=1 \"y=$x\"",
		"eval x=0 $((x))",
		": ${y:-$((x=0))}; ((x))",
		"[[ a && $((x=0)) ]]; ((x))",
		"case a in b) ;; $((x=0))) ;; esac; ((x))",
		"a <f >$((x=0)); ((x))",
		"((1/0, x=0)); ((x))",
		"y=08; ((x=y)); ((x))",
		"((x=08)); ((x))",
		"readonly x; x=1; ((x))",
		"m=(1); declare -A m; echo ${m[$x]}",
		"mapfile m; declare -A m; echo ${m[$x]}",
		"y=$((1/0)) x=0\n((x))",
		"y=$((1/0)); x=0\n((x))",
		"echo $((1/y)) $((x=0))\n((x))",
		"local x=0; ((x))",
		"{ x=0; } >f; ((x))",
		"for x in 1; do :; done >f; ((x))",
		"((x=0)) >f; ((x))",
		"declare x=0 >f; ((x))",
		"let x=0 >f; ((x))",
		"declare -A m >f; echo ${m[$x]}",
		"echo ${q?}; x=0\n((x))",
		"echo ${q:1:-9}; x=0\n((x))",
		NULL,
	};

	expect_all(lines, "eval-arith");
}

static void arithmetic_over_numbers_is_known(void **state)
{
	static const char *const lines[] = {
		"echo $((1+2*0x1f+16#ff))",
		"((x=1))",
		"x=1; echo $((x+1))",
		"i=0; while ((i<3)); do ((i++)); done",
		"for ((i=0;i<3;i++)); do echo $i; done",
		"for i in 1 2 3; do echo $((i*2)); done",
		"for i in {1..3}; do echo $((i*2)); done",
		"n=$(ls | wc -l); echo $((n+1))",
		"echo $(( $# + $? + ${#x} ))",
		"[[ $(id -u) -eq 0 ]]",
		"a=(1 2); echo ${a[0]} ${a[@]} ${a[-1]}",
		"i=1; a=(1 2); echo ${a[i]} ${a[$i]}",
		"declare -A m=([k]=v); echo ${m[k]} ${m[$x]}",
		"declare -i n=3; echo $((n))",
		"let x=1+2",
		"echo ${x:1:2} ${x: -1}",
		"echo $((RANDOM % 6))",
		"f() { local i=0; ((i++)); }",
		"x=$((1+2)); echo $((x))",
		"i=0; f() { ((i++)); }; f",
		"for i in 1 2; do :; done; ((i++))",
		"for i in $(seq 3); do ((i++)); done",
		"if x=1; then :; fi; ((x))",
		"((x=1, x++))",
		"((x=1, x++, y=x)); echo $((y))",
		"x=3; y=$((x*2/3 % 5)); echo $((y))",
		"f() { local -A m; echo ${m[$x]}; }",
		"((x=1, y=20)); echo $((x+y))",
		"let x=1 x++",
		NULL,
	};

	expect_all(lines, NULL);
}

static void names_that_are_not_written_out_are_opaque(void **state)
{
	static const char *const lines[] = {
		"read \"$x\"",
		"read 'a[$(id)]'",
		"unset \"$x\"",
		"unset 'a[$(id)]'",
		"printf -v \"$x\" a",
		"printf \"$x\"",
		"printf $x",
		"printf '-va[$(id)]'",
		"test -v \"$x\"",
		"[ -v 'a[$(id)]' ]",
		"[ $x ]",
		"[ $x = y ]",
		"[ \"$x\" \"$y\" ]",
		"[ * ]",
		"[[ -v $x ]]",
		"mapfile \"$x\"",
		"getopts a \"$x\"",
		"wait -p \"$x\"",
		"wait $x",
		"declare 'a[$(id)]=1'",
		"declare -a 'q=($(id))'",
		"declare -a q=\"$x\"",
		"q=(1); declare q=\"$x\"",
		"read -a 'x[$(id)]'",
		NULL,
	};

	expect_all(lines, "eval-subscript");
}

static void names_that_are_written_out_are_known(void **state)
{
	static const char *const lines[] = {
		"read -r a b",
		"read -p \"$x\" a",
		"read 'a[0]'",
		"unset a",
		"unset -f \"$x\"",
		"printf -v a %s \"$x\"",
		"printf '%s' \"$x\"",
		"printf -- \"$x\"",
		"printf \"a$x\"",
		"test -v a",
		"[ -n \"$x\" ]",
		"[ \"$x\" = \"$y\" ]",
		"[ -f *.c ]",
		"[[ -v a ]]",
		"[ $? -eq 0 ]",
		"[ $# -gt 1 ]",
		"x=a; [ $x = b ]",
		"for i in 1 2; do [ $i = 2 ]; done",
		"[ $(id -u) -eq 0 ]",
		"mapfile -t a < f",
		"getopts ab: o",
		"sleep 1 & wait $!",
		"sleep 1 & p=$!; wait $p",
		"declare a=\"$x\"",
		"local a=$1",
		"export A=$x",
		"[ \"$a\" = x -o \"$b\" = y ]",
		NULL,
	};

	expect_all(lines, NULL);
}

static void a_key_is_not_evaluated_only_where_the_array_is_surely_associative(void **state)
{
	expect_known("declare -A m; a ${m[$x]}");
	expect_known("f() { local -A m; a ${m[$x]}; }; f");
	expect_known("readonly -A m=([a]=1); a ${m[$x]}");
	expect_opaque("readonly -A m; a ${m[$x]}", "eval-arith");
	expect_opaque("export -A m; a ${m[$x]}", "eval-arith");
	expect_opaque("declare +A m; a ${m[$x]}", "eval-arith");
	expect_opaque("declare -Z -A m; a ${m[$x]}", "eval-arith");
	expect_opaque("f() { local m; declare -gA m; a ${m[$x]}; }; f", "eval-arith");
	expect_opaque("declare -A m; f() { local m; a ${m[$x]}; }; f", "eval-arith");
	expect_opaque("declare -A m; f() { typeset -a m; a ${m[$x]}; }; f", "eval-arith");
	expect_opaque("declare -A m; f() { a ${m[$x]}; }; m=1 f", "eval-arith");
}

static void other_ways_to_run_data_are_opaque(void **state)
{
	expect_opaque("echo ${x@P}", "prompt-expansion");
	expect_opaque("cat <<E\n${x@P}\nE\n", "prompt-expansion");
	expect_opaque("PS4='$(a)'; set -x; b", "prompt-expansion");
	expect_known("PS4='+ '; set -x; b; bash -c a");
	expect_opaque("PS4='$(a)' bash -xc b", "prompt-expansion");
	expect_known("set -x; b");
	expect_opaque("echo ${!x}", "indirect");
	expect_known("echo ${!x*} ${!x[@]}");
	expect_opaque("mapfile -C a -c 1 x", "eval-callback");
	expect_opaque("compgen -C a", "eval-callback");
	expect_opaque("compgen -W '$(a)'", "eval-wordlist");
	expect_known("compgen -W 'a b'");
	expect_opaque("declare -n r=x", "nameref");
	expect_opaque("hash -p /x a", "hash");
	expect_opaque("IFS=1; nice -n $((213)) a", "wrapper-dynamic");
	expect_opaque("nice -n $((213)) a; read 'I'FS <<< 1", "wrapper-dynamic");
	expect_opaque("let I\"F\"S=1; nice -n $((213)) a", "wrapper-dynamic");
	expect_opaque("let $'\\x49FS=1'; nice -n $((213)) a", "wrapper-dynamic");
	expect_opaque("eval let $'\\x49'\\\"\\\"FS=1; nice -n $((213)) a", "wrapper-dynamic");
	expect_opaque("[[ I'F'S=1 -eq 1 ]]; nice -n $((213)) a", "wrapper-dynamic");
	expect_opaque("for I\\\nFS in 1; do nice -n $((213)) a; done", "wrapper-dynamic");
	expect_known("IFS=1; nice -n \"$((213))\" a");
	expect_known("nice -n $((213)) a");
	expect_opaque("BASH_CMDS[a]=/x", "hash");
	expect_opaque("enable -f ./x y", "enable-file");
	expect_opaque("shopt -s expand_aliases; alias a=b\na", "alias-expansion");
	expect_opaque("set -o posix; alias a=b\na", "alias-expansion");
	expect_opaque("set -o posix\ntime -p a", "set:posix");
	expect_opaque("bash --posix -c 'time -p a'", "set:posix");
	expect_known("time -p a");
	expect_opaque("sh -c 'alias a=b\na'", "alias-expansion");
	expect_opaque("POSIXLY_CORRECT= bash -c 'alias a=b\na'", "alias-expansion");
	expect_opaque("POSIX_PEDANTIC= bash -c 'alias a=b\na'", "alias-expansion");
	expect_known("alias a=b; a");
	expect_opaque("fc -s", "history");
	expect_opaque("set -k", "set:keyword");
	expect_opaque("set +B", "set:braceexpand");
	expect_opaque("set $x", "set-dynamic");
	expect_known("set -- $x");
	expect_opaque("export \"$x\"", "set-dynamic");
	expect_opaque("a >&$x", "redirect-expansion");
	expect_opaque("a >&'$(b)'", "redirect-expansion");
	expect_known("a <<E\"\"\n${!x}\nE\n");
	expect_opaque("a <<-E\n\\\n\tE\n${!x}\n\tE\n", "indirect");
	expect_opaque("a <<-E\n\\\n\tE\n$y\n\tE\n", "dynamic-command");
	expect_opaque("a <<E\n${!x}\nE\n", "indirect");
	expect_opaque("a >&c'<(b)'", "redirect-expansion");
	expect_opaque("shopt -s nocaseglob; a B*", "set:nocaseglob");
	expect_opaque("while :; do eval a B$'\\x2a'; shopt -s nocaseglob; done", "set:nocaseglob");
	expect_known("shopt -s nocaseglob; a B");
	expect_opaque("shopt -s extglob\n!(a)", "set:extglob");
	expect_opaque("shopt -s extglob\n!\\\n(a)", "set:extglob");
	expect_opaque("eval 'shopt -s extglob'; eval '!'\"(a)\"", "set:extglob");
	expect_known("shopt -s extglob; a");
	expect_opaque("LC_ALL=zh_TW.BIG5\na \"日\\$(b)\"", "set:charset");
	expect_opaque("LANG=de_DE\nú=a b", "set:charset");
	expect_opaque("env LC_CTYPE=zh_CN.GBK bash -c 'a \"日\\$(b)\"'", "set:charset");
	expect_opaque("export LC_ALL=$x; a é", "set:charset");
	expect_opaque("read LANG; eval a $'\\xa5\\\\'", "set:charset");
	expect_opaque("LC_ALL=C.UTF-8/../x.BIG5; a é", "set:charset");
	expect_opaque("LC_ALL='LC_CTYPE=zh_TW.BIG5;C.UTF-8'; a é", "set:charset");
	expect_known("LC_ALL=C sort é; LANG=de_DE.UTF-8 LC_CTYPE=C.utf8 LC_ALL= a é");
	expect_known("LC_ALL=zh_TW.BIG5 a b; LC_MESSAGES=x a");
	expect_opaque("set +B; a {b,c}", "set:braceexpand");
	expect_opaque("a 1>&'$(b)'", "redirect-expansion");
	expect_opaque("exec {f}>o; a >&$f",
	              "redirect-expansion"); /* it may fail, and bash goes on */
	expect_known("f=3; a >&$f");
	expect_opaque("BASH_ENV=x bash -c a", "startup-code");
	expect_known("ENV=x sh -c a");
	expect_opaque("ENV=x sh -ic a", "interactive-shell");
	expect_opaque("env 'BASH_FUNC_a%%=() { b; }' bash -c a", "env-function:a");
	expect_opaque("TEXTDOMAIN=x; echo $\"a\"", "translation");
	expect_opaque("strace -o '|a' b", "wrapper-code");
	expect_opaque("gdb -ex 'shell a' b", "wrapper-code");
	expect_opaque("gdb -ex run b", "wrapper-code");
	expect_opaque("gdb -ex run -ex 'shell a' --args b", "wrapper-code");
	expect_opaque("gdb -eval-command='shell a' b", "wrapper-code");
	expect_opaque("gdb -batch -ex bt -ex 'call system(1)' b", "wrapper-code");
	expect_opaque("su -s ./x -c a", "wrapper-code");
	expect_known("su -s /bin/bash -c a");
	expect_opaque("su -s /bin/zsh -c a", "wrapper-code");
	expect_opaque("sudo -s a", "wrapper-shell:sudo");
	expect_opaque("sudo -Hi a", "wrapper-shell:sudo");
	expect_opaque("sudo --shell -- a", "wrapper-shell:sudo");
	expect_opaque("doas -s a", "wrapper-shell:doas");
	expect_opaque("a | at now", "stdin-script:at");
	expect_opaque("at -f x now", "wrapper-option:at");
	expect_opaque("at now + 1 hour", "wrapper-dynamic");
	expect_known("at -l");
	expect_opaque("SHELL=./x flock f -c a", "shell-variable");
	expect_opaque("export SHELL=./x; script -c a f", "shell-variable");
	expect_opaque("dbus-run-session --dbus-daemon=a b", "wrapper-option:dbus-run-session");
	assert_int_equal(read_facts("exec {a['$(id)0']}<f")->status, SHELL_FACTS_UNSUPPORTED);
	assert_int_equal(read_facts("{a[1]}>f rm x")->status, SHELL_FACTS_UNSUPPORTED);
}

static void dangerous_names_are_effects(void **state)
{
	static const char *const lines[] = {
		"PATH=x a",  "export PATH=x",    "env PATH=x a", "for PATH in x; do :; done",
		"read PATH", "printf -v PATH x", ": ${PATH:=x}", NULL};

	for (size_t i = 0; lines[i]; i++)
		assert_true(has_effect(read_facts(lines[i]), "set:PATH"));
	assert_true(has_effect(read_facts("LD_PRELOAD=x a"), "set:LD_PRELOAD"));
	assert_true(has_effect(read_facts("IFS=, read a"), "set:IFS"));
	assert_true(has_effect(read_facts("f() { :; }"), "func:f"));
	assert_true(has_effect(read_facts("trap a INT EXIT"), "trap:INT,EXIT"));
	assert_true(has_effect(read_facts("enable -n echo"), "enable:echo"));
	assert_true(has_effect(read_facts("ls\r"), "control:U+000D"));
	assert_false(has_effect(read_facts("FOO=x a"), "set:FOO"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_over_unknown_values_is_opaque),
		cmocka_unit_test(arithmetic_over_numbers_is_known),
		cmocka_unit_test(names_that_are_not_written_out_are_opaque),
		cmocka_unit_test(names_that_are_written_out_are_known),
		cmocka_unit_test(a_key_is_not_evaluated_only_where_the_array_is_surely_associative),
		cmocka_unit_test(other_ways_to_run_data_are_opaque),
		cmocka_unit_test(dangerous_names_are_effects),
	};

	return cmocka_run_group_tests(tests, make_arena, free_arena);
}
