/*
 * The tree that a text becomes, the values of its words, and the limits.
 */
#include "shell/test-parse.h"

#include "base/buffer.h"
#include "shell/word.h"

static void expect_arith(const char *text)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, text);
	const struct shell_word *words;

	assert_int_equal(tree->status, SHELL_OK);
	words = tree->list->statements->pipelines->commands->simple.words;
	assert_int_equal(words->next->parts->kind, SHELL_PART_ARITH);
}

/* Between (( and )) bash counts parentheses and knows quotes, no comments and no ${ }. */
static void counts_parentheses_as_bash_does(void **state)
{
	expect_status("c1 <((c2) # '\n) ; c9 ') ; c8 \\'", SHELL_UNSUPPORTED);
	expect_status("c1 >((c2) # '\n)", SHELL_ERROR);
	expect_status("c1 $((${u-(}))", SHELL_ERROR);
	expect_status("c1 $((c2); c3 ${x#(} ); c8", SHELL_ERROR);
	expect_status("if c1; then((${u-(})) fi", SHELL_OK);
	expect_status("c1||((${))", SHELL_UNSUPPORTED);
	expect_status("echo $(( ${#x} + (1) ))", SHELL_OK);
	expect_arith("echo $(($(\"${u-\"'\"}\")))");
	expect_arith("echo $(($(a $'\\'')))");
	expect_arith("echo $(($(a \"$(b \")\")\")))");
	expect_status("echo $(( ${x:(-1)} ))", SHELL_OK);
}

static void names_the_token_and_its_place(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "ls; fi; pwd");

	assert_int_equal(tree->status, SHELL_ERROR);
	assert_string_equal(tree->token.bytes, "fi");
	assert_int_equal(tree->at.start, 4);
	assert_int_equal(tree->at.end, 6);
}

/* The value of each argument, in the form K:text, 1:text, *:text or ?pattern. */
static void expect_values(const char *text, const char *expected)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	scoped(buffer_donep) struct buffer b = {0};
	struct shell_tree *tree = parse(a, text);
	static const char kinds[] = {'K', '1', '*', '?'};

	assert_int_equal(tree->status, SHELL_OK);
	for (struct shell_word *w = tree->list->statements->pipelines->commands->simple.words->next;
	     w; w = w->next) {
		struct shell_value v;

		assert_int_equal(shell_word_value(a, w, &v), 0);
		buffer_printf(&b, "%s%c:%s", b.len ? "|" : "", kinds[v.kind],
		              v.kind == SHELL_VALUE_GLOB ? v.pattern.bytes : v.text.bytes);
	}
	if (strcmp(buffer_str(&b), expected) != 0)
		print_error("%s\n", text);
	assert_string_equal(buffer_str(&b), expected);
}

static void computes_the_values_of_words(void **state)
{
	expect_values("e a\"b\"'c'\\d$'e\\x41'", "K:abcdeA");
	expect_values("e $'a\\0b'c '' \"\"", "K:ac|K:|K:");
	expect_values("e x$y \"x$y\" \"$@\" \"a$*\" x$(id)y", "*:x|1:x|*:|1:a|*:x");
	expect_values("e *.c 'a*'?[b] [ a[", "?:*.c|?:a\\*?[b]|K:[|K:a[");
	expect_values("e ~/x a~ x=~/y --p=~ \"~\" x:~ a=b:~",
	              "1:|K:a~|1:x=|K:--p=~|K:~|K:x:~|1:a=b:");
	expect_values("e a[\"x\"]=~ a[$y]+=~/z b[c[1]]=~", "*:a|*:|*:b");
	expect_values("e \"${a[@\\\n]}\"", "*:");
	expect_values("e ~* ~[ab] ~a{b", "?:~*|?:~[ab]|K:~a{b");
	expect_values("export A=$x B=~ C=(1) D=*", "1:A=|1:B=|1:C=|K:D=*");
	expect_values("\"export\" A=$x", "*:A=");
	expect_values("e <(ls) $((1+1)) \"${DIR:?}\"/*", "1:|1:|*:");
	expect_values("e \"${a[@]}\" \"${a[*]}\" \"${!x}\" \"${#a[@]}\" \"${x:-$@}\"",
	              "*:|1:|*:|1:|*:");
	expect_values("e a\\\nb 'a\\\nb'", "K:ab|K:a\\\nb");
}

static void expands_braces_as_bash_does(void **state)
{
	expect_values("e {a,b} x{1..3}y {3..1} {a..e..2}",
	              "K:a|K:b|K:x1y|K:x2y|K:x3y|K:3|K:2|K:1|K:a|K:c|K:e");
	expect_values("e {a},b} {{a,b} x{a,b}{c {1..2}{3,4",
	              "K:a}|K:b|K:{a|K:{b|K:xa{c|K:xb{c|K:1{3,4|K:2{3,4");
	expect_values("e {} {a} {1..a} \\{a,b\\} '{a,b}' {a,b\\}",
	              "K:{}|K:{a}|K:{1..a}|K:{a,b}|K:{a,b}|K:{a,b}");
	expect_values("e {},b} \\ {},b} a\\ {},b} ' '{},b} \\x{},b}",
	              "K:{},b}|K: {},b}|K:a {},b}|K: }|K: b|K:x}|K:xb");
	expect_values("e {101..099} {-1..01} {+9..010} {1..02..0003} {2..-0} {8..10}",
	              "K:101|K:100|K:099|K:-1|K:00|K:01|K:009|K:010|K:01|K:2|K:1|K:0|K:8|K:9|K:10");
	expect_values("e {,} a{,b} {01..3} {'a b',c} {a,{b,c}d}",
	              "K:a|K:ab|K:01|K:02|K:03|K:a b|K:c|K:a|K:bd|K:cd");
	expect_values("e {~,x} {a,b}* x={~,a} ${x}{a,b}", "1:|K:x|?:a*|?:b*|K:x=~|K:x=a|*:|*:");
	expect_values("export X={a,b}", "K:X=a|K:X=b");
	expect_values("e {a..{b,c}} {a,b}{1,2}", "K:a..b|K:a..c|K:a1|K:a2|K:b1|K:b2");
}

static void joins_a_name_with_a_brace_result(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "echo $x{a,b}");
	struct shell_word *w = tree->list->statements->pipelines->commands->simple.words->next;

	assert_string_equal(w->parts->param->name.bytes, "xa");
	assert_null(w->parts->next);
	assert_string_equal(w->next->parts->param->name.bytes, "xb");
}

static void reads_here_documents_in_order(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "cat <<A <<-'B'; ls\na $x\nA\n\tb\\\n\tB\npwd");
	struct shell_redirect *first, *second;

	assert_int_equal(tree->status, SHELL_OK);
	first = tree->list->statements->pipelines->commands->redirects;
	second = first->next;
	assert_true(first->expand);
	assert_int_equal(first->body->parts->next->kind, SHELL_PART_PARAM);
	assert_false(second->expand);
	assert_string_equal(second->body->parts->text.bytes, "b\\\n");
	assert_non_null(tree->list->statements->next->next);
}

static void joins_lines_before_it_looks_for_the_delimiter(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "cat <<EOF\nx\\\nEOF\nEO\\\nF\nls");
	struct shell_redirect *d = tree->list->statements->pipelines->commands->redirects;

	assert_int_equal(tree->status, SHELL_OK);
	assert_string_equal(d->body->parts->text.bytes, "xEOF\n");
	assert_non_null(tree->list->statements->next);
	tree = parse(a, "cat <<EOF\nx");
	assert_true(tree->unterminated_heredoc);
}

static void tells_arithmetic_from_subshells(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "((1)); ((ls); pwd)");
	struct shell_statement *s = tree->list->statements;

	assert_int_equal(s->pipelines->commands->kind, SHELL_ARITH);
	assert_int_equal(s->next->pipelines->commands->kind, SHELL_SUBSHELL);
	tree = parse(a, "echo $((1)) $((ls); pwd)");
	s = tree->list->statements;
	assert_int_equal(s->pipelines->commands->simple.words->next->parts->kind, SHELL_PART_ARITH);
	assert_int_equal(s->pipelines->commands->simple.words->next->next->parts->kind,
	                 SHELL_PART_COMMAND);
}

static void takes_a_known_word_behind_and_for_both_streams(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "ls >&f 2>&1 >&-x >&$y");
	struct shell_command *c = tree->list->statements->pipelines->commands;
	struct shell_redirect *d = c->redirects;

	assert_int_equal(d->op, SHELL_REDIRECT_BOTH);
	assert_int_equal(d->next->op, SHELL_REDIRECT_DUP_OUT);
	assert_int_equal(d->next->fd, 2);
	assert_true(shell_word_is(d->next->next->target, "-"));
	assert_int_equal(d->next->next->next->op, SHELL_REDIRECT_DUP_OUT);
	assert_true(shell_word_is(c->simple.words->next, "x"));
}

static void flags_hidden_characters(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_tree *tree = parse(a, "ls a\xe2\x80\xae"
	                                   "b");

	assert_int_equal(tree->status, SHELL_OK);
	assert_true(tree->hidden);
	assert_int_equal(tree->hidden_at.start, 4);
	tree = parse(a, "ls \xc3\xa9");
	assert_false(tree->hidden);
}

static void allows_control_characters_on_request(void **state)
{
	scoped(arena_freep) struct arena *a = arena_new(SHELL_ARENA_MAX);
	struct shell_parse_options options = {.allow_control = true};
	struct shell_tree *tree;

	assert_int_equal(shell_parse(a, "ls\r", 3, &options, &tree), 0);
	assert_int_equal(tree->status, SHELL_OK);
	assert_int_equal(shell_parse(a, "l\0s", 3, &options, &tree), 0);
	assert_int_equal(tree->status, SHELL_UNSUPPORTED);
}

static void expect_limit(const char *front, const char *middle, size_t n, const char *back,
                         enum shell_status status)
{
	scoped(buffer_donep) struct buffer b = {0};

	buffer_puts(&b, front);
	for (size_t i = 0; i < n; i++)
		buffer_puts(&b, middle);
	for (size_t i = 0; *back && i < n; i++)
		buffer_puts(&b, back);
	expect_status(buffer_str(&b), status);
}

static void stops_at_its_limits(void **state)
{
	expect_limit("ls", " ", SHELL_TEXT_MAX - 2, "", SHELL_OK);
	expect_limit("ls", " ", SHELL_TEXT_MAX - 1, "", SHELL_LIMIT);
	expect_limit("", "a;", SHELL_COMMAND_MAX, "", SHELL_OK);
	expect_limit("", "a;", SHELL_COMMAND_MAX + 1, "", SHELL_LIMIT);
	expect_limit("", "$(", 200, ")", SHELL_LIMIT);
	expect_limit("", "( ", 200, ")", SHELL_LIMIT);
	expect_limit("", "$(", 30, ")", SHELL_OK);
	expect_limit("echo ", "${x:-", 200, "}", SHELL_LIMIT);
	expect_limit("echo ", "\"${x:-", 200, "}\"", SHELL_LIMIT);
	expect_limit("[[ ", "! ", 200, "", SHELL_LIMIT);
	expect_limit("echo ", "$((", 200, "))", SHELL_LIMIT);
	expect_limit("echo ", "{a,", 200, "}", SHELL_LIMIT);
	expect_limit("echo ", "{a,b}", 10, "", SHELL_OK);
	expect_limit("echo ", "{a,b}", 11, "", SHELL_LIMIT);
	expect_status("echo {1..1024}", SHELL_OK);
	expect_status("echo {1..1025}", SHELL_LIMIT);
	expect_limit("echo ", "{", 60000, "", SHELL_LIMIT);
	/* Remembered while the end of the text was nearer. */
	expect_status("echo ${x:$((1+$(a)))} $(( $(b) )) $(( $(c) ))", SHELL_OK);
	expect_status("echo $(( ${x:$(a)} )) \"$(( $(b) ))\" $(( $(cccccccccccccccc) ))", SHELL_OK);
	/* Each level would double the work if nothing were remembered. */
	expect_limit("echo ", "$(( $(echo ", 24, ") ))", SHELL_OK);
}

static void survives_an_arena_that_is_too_small(void **state)
{
	for (size_t size = 0; size < 200000; size += 8192) {
		scoped(arena_freep) struct arena *a = arena_new(size);
		struct shell_tree *tree = NULL;
		char text[4096];
		int r;

		memset(text, ' ', sizeof(text));
		for (size_t i = 0; i + 40 < sizeof(text); i += 40)
			memcpy(text + i, "echo \"$(ls {a,b})\" ${x:-y} *.c <<< z;", 37);
		r = shell_parse(a, text, sizeof(text), NULL, &tree);
		assert_true(r == 0 || r == -12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_parentheses_as_bash_does),
		cmocka_unit_test(names_the_token_and_its_place),
		cmocka_unit_test(computes_the_values_of_words),
		cmocka_unit_test(expands_braces_as_bash_does),
		cmocka_unit_test(joins_a_name_with_a_brace_result),
		cmocka_unit_test(reads_here_documents_in_order),
		cmocka_unit_test(joins_lines_before_it_looks_for_the_delimiter),
		cmocka_unit_test(tells_arithmetic_from_subshells),
		cmocka_unit_test(takes_a_known_word_behind_and_for_both_streams),
		cmocka_unit_test(flags_hidden_characters),
		cmocka_unit_test(allows_control_characters_on_request),
		cmocka_unit_test(stops_at_its_limits),
		cmocka_unit_test(survives_an_arena_that_is_too_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
