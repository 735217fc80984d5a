#include "base/test-support.h"

#include <string.h>
#include "base/buffer.h"
#include "output/reply.h"

#define HERE "\033[6n"

/* What a terminal of 24 rows and 80 columns types after these bytes, whole and byte by byte. */
static void expect(const char *bytes, const char *wanted)
{
	for (size_t step = 1; step <= 400; step += 399) {
		scoped(buffer_donep) struct buffer typed = {0};
		struct reply r = {0};

		for (size_t i = 0; i < strlen(bytes); i += step) {
			size_t n = strlen(bytes + i);

			reply_feed(&r, 24, 80, bytes + i, n < step ? n : step, &typed);
		}
		assert_string_equal(buffer_str(&typed), wanted);
	}
}

static void what_it_is_is_told(void **state)
{
	expect("\033[c", "\033[?1;2c");
	expect("\033[0c", "\033[?1;2c");
	expect("\033Z", "\033[?1;2c");
	expect("\033[>c\033[>0c", "\033[>0;100;0c\033[>0;100;0c");
	expect("\033[5n", "\033[0n");
	expect("\033[?2004$p", "\033[?2004;0$y");
	expect("\033P+q544e\033\\", "\033P0+r\033\\");
	(void)state;
}

static void sizes_and_colours_are_told(void **state)
{
	expect("\033[18t", "\033[8;24;80t");
	expect("\033[19t", "\033[9;24;80t");
	expect("\033[14t", "\033[4;384;640t");
	expect("\033]11;?\033\\", "\033]11;rgb:0000/0000/0000\033\\");
	expect("\033]10;?\a", "\033]10;rgb:ffff/ffff/ffff\033\\");
	expect("\033]11;rgb:12/34/56\a\033]0;title\a", "");
	(void)state;
}

static void the_place_of_the_cursor_is_told(void **state)
{
	expect(HERE, "\033[1;1R");
	expect("abc" HERE, "\033[1;4R");
	expect("abc\r\nde\b" HERE "\t" HERE, "\033[2;2R\033[2;9R");
	expect("\033[999;999H" HERE, "\033[24;80R");
	expect("\033[5;7H\033[2A\033[C" HERE "\033[?6n", "\033[3;8R\033[?3;8R");
	expect("\0337\033[9;9H\0338" HERE, "\033[1;1R");
	expect("x\033[?1049h\033[9;9H\033[?1049l" HERE, "\033[1;2R");
	expect("\033[31mred\033[m\033]0;a title\a" HERE, "\033[1;4R");
	expect("\xe6\xbc\xa2\xc3\xa9" HERE, "\033[1;4R"); /* a wide one and a narrow one */
	expect("\033[24;1H\n\n" HERE, "\033[24;1R");
	(void)state;
}

static void a_full_line_wraps_with_the_next_character(void **state)
{
	char line[128];

	memset(line, 'x', 80);
	strcpy(line + 80, HERE "y" HERE);
	expect(line, "\033[1;80R\033[2;2R");
	(void)state;
}

static void what_is_no_question_gets_no_answer(void **state)
{
	expect("\033[1c\033[=c\033[7n\033[8;30;90t\033[2J\033[?25h\033[?u", "");
	expect("plain text, \033[ broken\033\033[6", "");
	(void)state;
}

static void anything_can_come(void **state)
{
	scoped(buffer_donep) struct buffer typed = {.max = 4096};
	struct reply r = {0};
	char bytes[4096];
	unsigned seed = 1;

	for (int turn = 0; turn < 200; turn++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = (seed >> 16) % 4
			                   ? "\033[]P;0129?>HGdrsuABCnct\r\n\b\a"[(seed >> 18) % 27]
			                   : (char)(seed >> 20);
		}
		reply_feed(&r, 1 + seed % 50, 1 + seed % 90, bytes, (seed >> 8) % sizeof(bytes),
		           &typed);
	}
	reply_feed(&r, 3, 5, "\r\033[9;9H" HERE, 12, &typed); /* it was larger before */
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_is_is_told),
		cmocka_unit_test(sizes_and_colours_are_told),
		cmocka_unit_test(the_place_of_the_cursor_is_told),
		cmocka_unit_test(a_full_line_wraps_with_the_next_character),
		cmocka_unit_test(what_is_no_question_gets_no_answer),
		cmocka_unit_test(anything_can_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
