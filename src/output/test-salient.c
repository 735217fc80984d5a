#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/test-support.h"
#include "output/salient-match.h"
#include "output/salient.h"

static struct salient_verdict judge(const char *line)
{
	char scratch[SALIENT_LOOK_MAX];
	const char *text;
	size_t n;

	return salient_match(line, strlen(line), scratch, &text, &n);
}

static void knows_the_lines_of_tools(void **state)
{
	static const struct {
		const char *line;
		enum salient_kind kind;
	} lines[] = {
		{"src/a.c:3:14: error: 'x' undeclared", SALIENT_CAUSE},
		{"src/a.c:3:14: warning: unused variable 'x' [-Wunused]", SALIENT_WARNING},
		{"make: *** [Makefile:4: a.o] Error 1", SALIENT_ERROR},
		{"a.c:(.text+0x1): undefined reference to `f'", SALIENT_CAUSE},
		{"error[E0308]: mismatched types", SALIENT_CAUSE},
		{"thread 'main' panicked at src/main.rs:1:2:", SALIENT_CAUSE},
		{"test tests::works ... ok", SALIENT_ROUTINE},
		{"test tests::breaks ... FAILED", SALIENT_FAIL},
		{"   Compiling serde v1.0.1", SALIENT_ROUTINE},
		{"--- FAIL: TestX (0.00s)", SALIENT_CAUSE},
		{"--- PASS: TestX (0.00s)", SALIENT_ROUTINE},
		{"Caused by: java.lang.IllegalStateException: closed", SALIENT_CAUSE},
		{"\tat org.example.A.f(A.java:12)", SALIENT_TRACE},
		{"[ERROR] Failed to execute goal x:y", SALIENT_ERROR},
		{"Traceback (most recent call last):", SALIENT_ERROR},
		{"KeyError: 'x'", SALIENT_CAUSE},
		{"E       KeyError: 'x'", SALIENT_CAUSE},
		{"m.ts(1,2): error TS2322: Type 'a'", SALIENT_CAUSE},
		{"not ok 3 - it works", SALIENT_CAUSE},
		{"npm error code E404", SALIENT_CAUSE},
		{"CMake Error at CMakeLists.txt:3 (find_package):", SALIENT_CAUSE},
		{"CONFLICT (content): Merge conflict in a", SALIENT_CAUSE},
		{"a.sh: line 3: foo: command not found", SALIENT_CAUSE},
		{"Found 0 errors, 0 warnings", SALIENT_NOISE},
		{"gcc -Werror -c src/error.c", SALIENT_NOISE},
		{"the weather is fine", SALIENT_NONE},
		{"", SALIENT_NONE},
	};

	for (size_t i = 0; i < array_size(lines); i++) {
		if (judge(lines[i].line).kind != lines[i].kind)
			print_message("# %s: %d\n", lines[i].line, (int)judge(lines[i].line).kind);
		assert_int_equal(judge(lines[i].line).kind, lines[i].kind);
	}
}

static void looks_at_what_a_terminal_would_show(void **state)
{
	assert_int_equal(judge("\033[1m\033[31ma.c:1:2: \033[0m\033[1merror: \033[0mbad").kind,
	                 SALIENT_CAUSE);
	assert_int_equal(judge("10%\r20%\ra.c:1:2: error: bad").kind, SALIENT_CAUSE);
	assert_int_equal(judge("a.c:1:2: error: bad\r100% done").kind, SALIENT_NONE);
	assert_int_equal(judge("a.c:1:2: error: bad\r").kind, SALIENT_CAUSE);
}

static void lines_that_differ_in_numbers_have_one_shape(void **state)
{
	assert_int_equal(salient_shape("row 7", 5), salient_shape("row 7012", 8));
	assert_int_not_equal(salient_shape("row 7", 5), salient_shape("col 7", 5));
}

static void put_lines(const char *text, size_t n, size_t step, size_t kept, struct buffer *into)
{
	scoped(salient_freep) struct salient *s = salient_new(kept);

	assert_non_null(s);
	for (size_t i = 0; i < n; i += step)
		salient_feed(s, text + i, n - i < step ? n - i : step);
	salient_put(s, into);
	assert_int_equal(buffer_error(into), 0);
}

static void the_pieces_do_not_matter(void **state)
{
	static const size_t steps[] = {1, 7, 4096, 65536, 100000};
	scoped(buffer_donep) struct buffer text = {0}, wanted = {0};

	for (int i = 0; i < 9000; i++)
		buffer_printf(&text,
		              i % 1000 == 500 ? "f%c.c:%d:1: error: no %d\n" : "row %c%d %d\n",
		              'a' + i % 26, i, i);
	buffer_puts(&text, "panic: the end has no newline");
	put_lines(text.data, text.len, text.len, 8192, &wanted);
	assert_true(wanted.len > 0);
	for (size_t i = 0; i < array_size(steps); i++) {
		scoped(buffer_donep) struct buffer got = {0};

		put_lines(text.data, text.len, steps[i], 8192, &got);
		assert_int_equal(got.len, wanted.len);
		assert_memory_equal(got.data, wanted.data, wanted.len);
	}
}

static bool find(const struct buffer *blob, const char *words, struct salient_line *ret_line)
{
	const char *at = buffer_str(blob), *end = at + blob->len;

	while (salient_next(&at, end, ret_line))
		if (memmem(ret_line->text, ret_line->len, words, strlen(words)))
			return true;
	return false;
}

static size_t count(const struct buffer *blob)
{
	const char *at = buffer_str(blob), *end = at + blob->len;
	struct salient_line line;
	uint64_t last = 0;
	size_t n = 0;

	for (; salient_next(&at, end, &line); n++) {
		assert_true(line.number > last); /* in their order, each once */
		last = line.number;
	}
	assert_ptr_equal(at, end);
	return n;
}

static void one_error_stays_among_many_warnings(void **state)
{
	scoped(buffer_donep) struct buffer text = {0}, blob = {0};
	struct salient_line line;

	for (int i = 0; i < 50000; i++) {
		if (i == 31000)
			buffer_puts(&text,
			            "context before\nx.c:1:2: error: the one\ncontext after\n");
		buffer_printf(&text, "mod%c%c%c.c:%d:2: warning: unused 'v%c%c' [-Wunused]\n",
		              'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26, i, 'a' + i % 26,
		              'a' + i % 7);
	}
	put_lines(text.data, text.len, 65536, 4096, &blob);
	assert_true(blob.len < 64 << 10); /* bounded, whatever came */
	(void)count(&blob);
	assert_true(find(&blob, "the one", &line));
	assert_int_equal(line.number, 31002);
	assert_true(find(&blob, "context after", &line));
}

static void of_a_flood_the_first_stay(void **state)
{
	scoped(buffer_donep) struct buffer text = {0}, blob = {0};
	struct salient_line line;

	for (int i = 0; i < 20000; i++)
		buffer_printf(&text, "a.c:%d:2: error: no '%c%c%c%c'\n", i, 'a' + i % 26,
		              'a' + i / 26 % 26, 'a' + i / 676 % 26, 'a' + i % 11);
	put_lines(text.data, text.len, 1000, 4096, &blob);
	assert_true(find(&blob, "a.c:0:2", &line));
	assert_true(find(&blob, "a.c:1:2", &line));
	assert_false(find(&blob, "a.c:19999:2", &line));
}

static void equal_lines_are_counted(void **state)
{
	scoped(buffer_donep) struct buffer text = {0}, blob = {0};
	struct salient_line line;

	for (int i = 0; i < 900; i++)
		buffer_printf(&text, "ERROR: worker %d lost its lease\n", i);
	put_lines(text.data, text.len, 333, 8192, &blob);
	assert_int_equal(count(&blob), 3);
	assert_true(find(&blob, "worker 2 ", &line));
	assert_int_equal(line.similar, 897);
	assert_true(find(&blob, "worker 1 ", &line));
	assert_int_equal(line.similar, 0);
}

static void a_long_line_is_one_line(void **state)
{
	scoped(buffer_donep) struct buffer text = {0}, blob = {0};
	struct salient_line line;

	buffer_puts(&text, "panic: é");
	for (int i = 0; i < 300000; i++)
		buffer_puts(&text, "é");
	buffer_puts(&text, "\nsecond\nx.c:1:2: error: third\n");
	put_lines(text.data, text.len, 5000, 8192, &blob);
	assert_true(find(&blob, "panic", &line));
	assert_true(line.len <= SALIENT_TEXT_MAX);
	assert_true(line.cut > 0);
	assert_int_equal((unsigned char)line.text[line.len - 2], 0xc3); /* a whole character */
	assert_true(find(&blob, "third", &line));
	assert_int_equal(line.number, 3);
}

static void a_blob_that_is_none_ends_the_reading(void **state)
{
	scoped(buffer_donep) struct buffer blob = {0};
	struct salient_line line;
	const char *text = "one\nx.c:1:2: error: two\nthree\n";

	put_lines(text, strlen(text), 5, 8192, &blob);
	for (size_t n = 0; n <= blob.len; n++) {
		scoped(freep) char *part = malloc(n + 1); /* its end is watched by ASan */
		const char *at = part;

		memcpy(part, blob.data, n);
		while (salient_next(&at, part + n, &line))
			assert_true(line.text + line.len <= part + n);
	}
	memset(blob.data, 0xff, blob.len);
	text = blob.data;
	assert_false(salient_next(&text, blob.data + blob.len, &line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_lines_of_tools),
		cmocka_unit_test(looks_at_what_a_terminal_would_show),
		cmocka_unit_test(lines_that_differ_in_numbers_have_one_shape),
		cmocka_unit_test(the_pieces_do_not_matter),
		cmocka_unit_test(one_error_stays_among_many_warnings),
		cmocka_unit_test(of_a_flood_the_first_stay),
		cmocka_unit_test(equal_lines_are_counted),
		cmocka_unit_test(a_long_line_is_one_line),
		cmocka_unit_test(a_blob_that_is_none_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
