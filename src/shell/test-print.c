#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "shell/parse.h"
#include "shell/print.h"

/* The canonical text of TEXT, which reads back as an equal tree and prints the same again. */
static void expect_print(const char *text, const char *expected)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	scoped(buffer_donep) struct buffer out = {0};
	scoped(buffer_donep) struct buffer again = {0};
	struct shell_tree *tree, *back;

	assert_int_equal(shell_parse(a, text, strlen(text), NULL, &tree), 0);
	assert_int_equal(tree->status, SHELL_OK);
	shell_print(tree->list, &out);
	assert_int_equal(buffer_error(&out), 0);
	if (expected)
		assert_string_equal(buffer_str(&out), expected);
	assert_int_equal(shell_parse(a, buffer_str(&out), out.len, NULL, &back), 0);
	if (back->status != SHELL_OK)
		print_error("%s\n%s\n", text, buffer_str(&out));
	assert_int_equal(back->status, SHELL_OK);
	assert_true(shell_list_equal(tree->list, back->list));
	shell_print(back->list, &again);
	assert_string_equal(buffer_str(&out), buffer_str(&again));
}

/* The text for bash: the same tree, the same again, and each command on its line. */
static void expect_lines(const char *text, const char *expected)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	scoped(buffer_donep) struct buffer out = {0};
	scoped(buffer_donep) struct buffer again = {0};
	struct shell_tree *tree, *back;

	assert_int_equal(shell_parse(a, text, strlen(text), NULL, &tree), 0);
	assert_int_equal(tree->status, SHELL_OK);
	shell_print_lines(tree, &out);
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(buffer_str(&out), expected);
	assert_int_equal(shell_parse(a, buffer_str(&out), out.len, NULL, &back), 0);
	assert_int_equal(back->status, SHELL_OK);
	assert_true(shell_list_equal(tree->list, back->list));
	shell_print_lines(back, &again);
	assert_string_equal(buffer_str(&out), buffer_str(&again));
}

static void keeps_the_lines_of_the_source(void **state)
{
	expect_lines("\n\na\n# b\nc", "\n\na\n\nc");
	expect_lines("if a\nthen\n  b\nelse\n  c\nfi\nd", "if a; then \n\nb; else \n\nc; fi\n\nd");
	expect_lines("a \\\n  b &&\n  c |\n  d", "a \\\nb && \nc | \nd");
	expect_lines("for i in a b\ndo\n  c\n  d & e\ndone\nf",
	             "for i in a b; do \n\nc\nd & e; done\n\nf");
	expect_lines("case $x in\n  a) b\n     c;;\nesac\nd",
	             "case ${x} in ('a') \nb\nc ;; esac\n\nd");
	expect_lines("f() {\n  a\n}\nf", "function f () { \na; }\n\nf");
	expect_lines("x=$(\n  a\n  b\n)\nc", "x=$(\na\nb\n)\nc");
	expect_lines("a 'b\nc' $'d\\ne'\nf", "a 'b\nc' 'd'$'\\012''e'\nf");
	expect_lines("a=`b\nc`\nd", "a=$(b; c)\n\nd");
	expect_lines("a;\\\nb", "a; \\\nb");
}

static void keeps_the_lines_of_documents(void **state)
{
	expect_lines("cat <<E\na\nE\nb", "cat <<EOF\na\nEOF\nb");
	expect_lines("if cat <<E\na\nE\nthen b\nfi\nc", "if cat <<EOF\na\nEOF\nthen b; fi\n\nc");
	expect_lines("{ cat <<E\na\nE\n}; b", "{ cat <<EOF\na\nEOF\n}; b");
	expect_lines("{ cat <<E; }; b\na\nE\nc", "{ cat <<EOF; }; b\na\nEOF\nc");
	expect_lines("(cat <<E\na\nE\n)\nb", "( cat <<EOF\na\nEOF\n )\nb");
	expect_lines("cat <<E &&\na\nE\nb", "cat <<EOF && \na\nEOF\nb");
	expect_lines("cat <<E | b\na\nE\nc", "cat <<EOF | b\na\nEOF\nc");
	expect_lines("cat <<E \\\n >x\na\nE\nb", "cat <<EOF \\\n> x\na\nEOF\nb");
}

static void leaves_words_alone_that_need_no_quotes(void **state)
{
	expect_lines("ls -la a/b.c x=y \"a b\" 'c' d\"e\"", "ls -la a/b.c x=y 'a b' 'c' 'de'");
	expect_lines(">x if y", "'if' y > x");
	expect_lines(">x time y", "'time' y > x");
	expect_lines("'if' x; \\a", "'if' x; 'a'");
	expect_lines("echo {if,a}b", "echo 'ifb' 'ab'");
	expect_lines("[[ a == b ]]; case a in b) ;; esac",
	             "[[ 'a' == 'b' ]]; case a in ('b') ;; esac");
	expect_lines("coproc >x a b", "coproc 'a' 'b' > 'x'");
	expect_lines("%1 a", "%'1' a");
	expect_lines("a [ b ] !", "a '[' b ] !");
	expect_lines("x=a b=c d", "x=a b=c d");
}

static void quotes_what_is_known(void **state)
{
	expect_print("time -- a", "time -p 'a'");
	expect_print("ls -la  a\\ b", "'ls' '-la' 'a b'");
	expect_print("echo it\\'s \"\" $'\\e[0m\\n'", "'echo' 'it'\"'\"'s' '' $'\\033''[0m\n'");
	expect_print("echo {a,b}c", "'echo' 'ac' 'bc'");
	expect_print("echo 'if' }", "'echo' 'if' '}'");
	expect_print("l\\\ns", "'ls'");
	expect_print("'' a\"\"b ''\"\"", "'' 'ab' ''");
}

static void leaves_patterns_and_tildes_alone(void **state)
{
	expect_print("ls *.c [a-z]? ~/x a=~/y:~", "'ls' *.c [a-z]? ~/x a=~/y:~");
	expect_print("ls '*'* $x]", "'ls' '*'* ${x}]");
	expect_print("echo $y$", "'echo' ${y}$");
	expect_print("a\"\"[x*", "a''[x*");
	expect_print("a[`b`]c", "a[$('b')]c");
	expect_print("[ a ]", "[ 'a' ']'");
}

static void keeps_names_that_bash_looks_up_unquoted(void **state)
{
	expect_print("export A=$x B='a b'", "export A=${x} B='a b'");
	expect_print("\"export\" A=$x", "'export' A=${x}");
	expect_print("declare -A a=([k]=v)", "declare -A a=([k]='v')");
	expect_print("declare a[`b`c]=$x d[\"e f\"]=$y g['0]=1 h'",
	             "declare a[$('b')c]=${x} d[\"e f\"]=${y} 'g[0]=1 h'");
	expect_print("export a[$-$é]=b", "export a[${-}$é]='b'");
	expect_print("export a[$b$'\\Uffffffff']=c", "export a[${b}$'\\Uffffffff']='c'");
	expect_print("echo -A", "'echo' '-A'");
	expect_print("a & %1 & %?'b c' %1; '%1' &", "'a' & %'1' & %?'b c' '%1'; '%1' &");
	expect_print("% %; %$x", "% '%'; %${x}");
}

static void prints_expansions_in_one_spelling(void **state)
{
	expect_print("echo `ls` $[1+1] $x ${x}", "'echo' $('ls') $[1+1] ${x} ${x}");
	expect_print("echo \"${x:-$''}\" ${x-''}", "'echo' \"${x:-}\" ${x-''}");
	expect_print("echo $! ${!} \"$!\"a", "'echo' $! ${!} \"$!\"a");
	expect_print("echo \"a$x\\\"\"", "'echo' \"a${x}\\\"\"");
	expect_print("echo \"${x:-a b}\" ${x:-a b}", "'echo' \"${x:-\"a b\"}\" ${x:-a b}");
	expect_print("echo $(a=(\"'\"))", "'echo' $(a=(''\"'\"''))");
	expect_print("echo \"${x:-a$'\\e'b}\"", "'echo' \"${x:-\"a\"$'\\033'\"b\"}\"");
	/* The message of ? does not notice the quotes around it. */
	expect_print("echo \"${x?a 'b  c' \\é $y$(ls) \"$z\" $}\"",
	             "'echo' \"${x?a 'b  c' 'é' ${y}$('ls') \"${z}\" '$'}\"");
	expect_print("echo \"${x-${y:?~\\'}}\"", "'echo' \"${x-\"${y:?~''\"'\"''}\"}\"");
	expect_print("cat <<E\n${x?'a  b' <(c)}\nE\n", "'cat' <<EOF\n${x?'a  b' <('c')}\nEOF\n");
	expect_print("echo $( (ls) )", "'echo' $( ( 'ls' ))");
	expect_print("echo ${x//a/\"&\"} ${x/#b/&}", "'echo' ${x//a/'&'} ${x/#b/&}");
	expect_print("echo ${!x} ${!x*} ${#x} ${a[1]} ${x:1:2} ${x@Q}", NULL);
}

static void prints_every_kind_of_command(void **state)
{
	expect_print("if a; then b; elif c; then d; else e; fi >x",
	             "if 'a'; then 'b'; elif 'c'; then 'd'; else 'e'; fi > 'x'");
	expect_print("for i in a b\ndo c &\ndone", "for i in 'a' 'b'; do 'c' & done");
	expect_print("for i do c; done", "for i; do 'c'; done");
	expect_print("for ((i=0;i<3;i++)) { a; }", "for ((i=0;i<3;i++)); do 'a'; done");
	expect_print("for ((i=$?; i<${#x[@]}; i+=$(a; b))); do c; done",
	             "for ((i=${?};i<${#x[@]};i+=$('a'; 'b'))); do 'c'; done");
	expect_print("case $x in a|b*) c;; (esac) ;& esac",
	             "case ${x} in ('a'|b*) 'c' ;; ('esac') ;& esac");
	expect_print("while a; do b; done | until c; do d; done", NULL);
	expect_print("select x in a; do b; done", NULL);
	expect_print("[[ -f a && ( b == c* || ! d =~ ^e\\.f'g'$ ) ]]",
	             "[[ -f 'a' && ( 'b' == c* || ! 'd' =~ ^e\\.f'g'$ ) ]]");
	expect_print("[[ -v a['$(b)'\"c\"x] && -v 'a[$(b)]' && -v a ]]",
	             "[[ -v a['$(b)c'x] && -v 'a[$(b)]' && -v 'a' ]]");
	expect_print("[[ a == @(b c|d)* ]]", "[[ 'a' == @('b c'|'d')* ]]");
	expect_print("f() { a; } 2>&1; function g ( b )",
	             "function f () { 'a'; } 2>&1; function g () ( 'b' )");
	expect_print("coproc A { a; }; coproc b c", "coproc A { 'a'; }; coproc 'b' 'c'");
	expect_print("coproc a b=1 c=~ d $e f=$g", "coproc 'a' 'b=1' c=~ 'd' ${e} f=${g}");
	expect_print("! time -p a |& b && c || d &", "! time -p 'a' |& 'b' && 'c' || 'd' &");
	expect_print("time ! a; ! time b", "time ! 'a'; ! time 'b'");
	expect_print("a >&b 1>&c &>d >&'$x' >&2 2>&$y",
	             "'a' >& 'b' >& 'c' &> 'd' >& '$x' >&2 2>& ${y}");
	expect_print("((x=1)); ( (a) )", "((x=1)); ( ( 'a' ) )");
	expect_print("a=1 b+=2 c[3]=4 d=(5 [6]=7) e 3>f {g}<h <&- >|i &>>j <<<k",
	             "a='1' b+='2' c[3]='4' d=('5' [6]='7') 'e' 3> 'f' {g}< 'h' <&- >| 'i' &>> 'j' "
	             "<<< 'k'");
	expect_print("!", "! ");
	expect_print("! !", "! ! ");
	expect_print("time", "time ");
	expect_print("(time; !; ); case x in x) !; ;; esac",
	             "( time ; ! ; ); case 'x' in ('x') ! ; ;; esac");
}

static void prints_here_documents_with_fresh_delimiters(void **state)
{
	expect_print("cat <<A | wc\nx $y \\$z \"q\"\nA\nls",
	             "'cat' <<EOF | 'wc'\nx ${y} \\$z \"q\"\nEOF\n'ls'");
	expect_print("cat <<'A'; ls\nEOF\n$x\nA", "'cat' <<'EOF_1'; 'ls'\nEOF\n$x\nEOF_1\n");
	expect_print("echo $(cat <<A\nx\nA\n) y", "'echo' $('cat' <<EOF\nx\nEOF\n) 'y'");
	expect_print("cat <<A\n$(echo $'a\\\\\\nb')\nA",
	             "'cat' <<EOF\n$('echo' 'a\\''\nb')\nEOF\n");
	expect_print("{ cat <<-A; }\n\tx\n\tA", "{ 'cat' <<EOF; }\nx\nEOF\n");
}

static void puts_every_statement_on_a_line_where_bash_loses_semicolons(void **state)
{
	expect_print("a `b <<E; c; d\nx\nE\n`", "'a' $('b' <<EOF\nx\nEOF\n'c'\n'd')");
	expect_print("a `b <<E | c && d; e\nx\nE\n`", "'a' $('b' <<EOF | 'c' && 'd'\nx\nEOF\n'e')");
	expect_print("a `for i in 1; do b <<E\nx\nE\nc & d; done; e`",
	             "'a' $(for i in '1'; do 'b' <<EOF\nx\nEOF\n'c' &\n'd'\ndone\n'e')");
	expect_print("a `(b <<E); case c in d) e <<E;; esac\nx\nE\ny\nE\n`",
	             "'a' $( ( 'b' <<EOF\nx\nEOF\n )\n"
	             "case 'c' in ('d') 'e' <<EOF\ny\nEOF\n ;; esac)");
	expect_print("a `b; { c; } <<E\nE\n` `d; e`; f",
	             "'a' $('b'\n{ 'c'\n} <<EOF\nEOF\n) $('d'; 'e'); 'f'");
	expect_print("a `f() { b; }; while c; do until d <<E; do g; done; done\nx\nE\n`", NULL);
	expect_print("a `for ((;;)); do select i; do if b; then c; else d <<E; fi; done; "
	             "done\nx\nE\n`",
	             NULL);
}

static void keeps_lines_apart_that_bash_reads_one_by_one(void **state)
{
	expect_print("a\nb; c\n\n{ d\ne\n}", "'a'\n'b'; 'c'\n{ 'd'; 'e'; }");
}

static void does_not_turn_brace_results_into_assignments(void **state)
{
	expect_print("{a=1,b}", "'a=1' 'b'");
	expect_print("x{a,b}=$y", "'xa='${y} 'xb='${y}");
	expect_print("{,} | {,} >x", "{,} |  > 'x'");
	expect_print("a{1,2}[`b`c", "'a1'[$('b')c 'a2'[$('b')c");
	expect_print("{if,true}", "'if' 'true'");
	expect_print("{],}*", "]* *");
}

static bool same(const char *x, const char *y)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tx, *ty;

	assert_int_equal(shell_parse(a, x, strlen(x), NULL, &tx), 0);
	assert_int_equal(shell_parse(a, y, strlen(y), NULL, &ty), 0);
	return shell_list_equal(tx->list, ty->list);
}

static void compares_by_meaning(void **state)
{
	assert_true(same("ls 'a'", "l\"s\" a"));
	assert_true(same("echo `ls`", "echo $(ls)"));
	assert_false(same("ls a", "ls b"));
	assert_false(same("ls *", "ls '*'"));
	assert_false(same("ls $x", "ls \"$x\""));
	assert_false(same("ls ''$x", "ls $x"));
	assert_false(same("a; b", "a && b"));
	assert_false(same("a; b", "a & b"));
	assert_false(same("a | b", "a |& b"));
	assert_false(same("a >x", "a >>x"));
	assert_false(same("[[ a =~ . ]]", "[[ a =~ '.' ]]"));
	assert_false(same("echo ${x:-a b}", "echo ${x:-'a b'}"));
	assert_false(same("echo ${x:-''}", "echo ${x:-}"));
	assert_true(same("echo \"${x:-$''}\"", "echo \"${x:-\"\"}\""));
	assert_false(same("cat <<E\nx\nE", "cat <<'E'\nx\nE"));
	assert_false(same("export a=$x", "'export' a=$x"));
	assert_false(same("if a; then b; fi", "while a; do b; done"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_lines_of_the_source),
		cmocka_unit_test(keeps_the_lines_of_documents),
		cmocka_unit_test(leaves_words_alone_that_need_no_quotes),
		cmocka_unit_test(quotes_what_is_known),
		cmocka_unit_test(leaves_patterns_and_tildes_alone),
		cmocka_unit_test(keeps_names_that_bash_looks_up_unquoted),
		cmocka_unit_test(prints_expansions_in_one_spelling),
		cmocka_unit_test(prints_every_kind_of_command),
		cmocka_unit_test(prints_here_documents_with_fresh_delimiters),
		cmocka_unit_test(puts_every_statement_on_a_line_where_bash_loses_semicolons),
		cmocka_unit_test(keeps_lines_apart_that_bash_reads_one_by_one),
		cmocka_unit_test(does_not_turn_brace_results_into_assignments),
		cmocka_unit_test(compares_by_meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
