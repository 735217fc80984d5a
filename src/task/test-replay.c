#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/replay.h"

struct place {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	test_directory_make(p->path);
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->fd);
	test_directory_remove(p->path);
	free(p);
	return 0;
}

static void put(struct place *p, const char *name, const void *bytes, size_t n)
{
	assert_int_equal(fd_replace_file(p->fd, name, bytes, n), 0);
}

static void put_text(struct place *p, const char *name, const char *text)
{
	put(p, name, text, strlen(text));
}

static void expect(struct place *p, const char *wanted)
{
	scoped(picture_donep) struct picture picture = {0};
	struct error err = {0};

	if (replay_screen(p->fd, 0, 0, &picture, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(buffer_str(&picture.text), wanted);
}

static void a_task_without_a_record_of_sizes_has_no_terminal(void **state)
{
	struct place *p = *state;
	struct picture picture;

	put_text(p, "out", "x");
	assert_int_equal(replay_screen(p->fd, 0, 0, &picture, NULL), -ENOTTY);
	assert_false(replay_has_terminal(p->fd));
}

static void without_a_log_the_screen_is_empty(void **state)
{
	put_text(*state, "sizes", "0 24 80\n");
	assert_true(replay_has_terminal(((struct place *)*state)->fd));
	expect(*state, "");
}

static void sizes_hold_from_their_offset_on(void **state)
{
	static const char log[] = "abcdef\033[H\033[2Jabcdef";

	put(*state, "out", log, sizeof(log) - 1);
	put_text(*state, "sizes", "0 5 10\n6 5 3\n");
	expect(*state, "abc\ndef\n");
	put_text(*state, "sizes", "0 5 3\n6 5 10\n19 2 10\n"); /* the last one for bytes to come */
	expect(*state, "abcdef\n");
}

static void damaged_lines_of_the_record_are_passed_over(void **state)
{
	put_text(*state, "out", "abcdef");
	put_text(*state, "sizes", "nonsense\n0 0 9\n0 2 3\n0 5 99999\n3 2");
	expect(*state, "abc\ndef\n");
	put_text(*state, "sizes", "0 2");
	{
		struct picture picture;

		assert_int_equal(replay_screen(((struct place *)*state)->fd, 0, 0, &picture, NULL),
		                 -EBADMSG);
	}
}

/* A log whose end is looked at, and that began on the other screen long before. */
static void long_log(struct place *p, struct buffer *log, const char *begin, const char *end)
{
	buffer_puts(log, begin);
	for (int i = 0; i < 12000; i++)
		buffer_printf(log, "\033[Hsome text that is %06d drawn again and again", i);
	buffer_puts(log, end);
	assert_int_equal(buffer_error(log), 0);
	put(p, "out", log->data, log->len);
	put_text(p, "sizes", "0 5 80\n");
}

static void the_screen_of_long_ago_is_found(void **state)
{
	scoped(buffer_donep) struct buffer log = {0};

	long_log(*state, &log, "below\033[?1049h", "\033[?1049lback");
	assert_true(log.len > 512 << 10);
	expect(*state, "back\n"); /* and nothing of what was drawn on the other one */
}

static void a_cut_sequence_is_not_shown(void **state)
{
	scoped(buffer_donep) struct buffer log = {0};
	scoped(picture_donep) struct picture picture = {0};

	while (log.len < 300 << 10)
		buffer_puts(&log, "\033[38;2;100;100;100mx\033[m");
	put(*state, "out", log.data, log.len);
	put_text(*state, "sizes", "0 2 10\n");
	assert_int_equal(replay_screen(((struct place *)*state)->fd, 0, 0, &picture, NULL), 0);
	assert_true(picture.text.len > 10);
	assert_int_equal(strspn(picture.text.data, "x\n"), picture.text.len);
}

static void cursor_keys_are_as_the_program_asked_last(void **state)
{
	struct place *p = *state;

	assert_false(replay_wants_application_keys(p->fd));
	put_text(p, "out", "\033[?1h\033=text");
	assert_true(replay_wants_application_keys(p->fd));
	put_text(p, "out", "\033[?1htext\033[?1l");
	assert_false(replay_wants_application_keys(p->fd));
	put_text(p, "out", "\033[?1h\033[?1049l");
	assert_true(replay_wants_application_keys(p->fd));
}

/* Whatever it does to the emulator: an answer that is sound, or none, and no process is left. */
static void hostile_bytes_are_survived(void **state)
{
	static const char sizes[] = "0 24 80\n500 3 2\n1000 1 1\n1500 60 200\n2500 24 80\n";
	static const char *const pieces[] = {"\033[",        "\033[?", "\033]", "\033P", ";", "h",
	                                     "\xe6\x97\xa5", "99999",  "1049h", "1049l", "r", "L",
	                                     "\n",           "\033#8"};
	struct place *p = *state;
	uint64_t seed = 7;
	int answered = 0, fds = test_open_fds();

	put(p, "sizes", sizes, sizeof(sizes) - 1);
	for (int round = 0; round < 60; round++) {
		scoped(picture_donep) struct picture picture = {0};
		scoped(buffer_donep) struct buffer log = {0};
		int64_t began = clock_now_ms();
		int r;

		while (log.len < 4000) {
			uint64_t n = test_random(&seed);

			if (n % 3)
				buffer_puts(&log, pieces[(n >> 8) % array_size(pieces)]);
			else
				buffer_putc(&log, (char)(n >> 16));
		}
		put(p, "out", log.data, log.len);
		r = replay_screen(p->fd, 0, 0, &picture, NULL);
		assert_true(r == 0 || r == -EBADMSG);
		answered += r == 0;
		assert_true(clock_now_ms() - began < TEST_PATIENCE_MS);
	}
	assert_true(answered > 0);
	assert_int_equal(test_open_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_task_without_a_record_of_sizes_has_no_terminal,
	                                        set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_log_the_screen_is_empty, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(sizes_hold_from_their_offset_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_lines_of_the_record_are_passed_over, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(the_screen_of_long_ago_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cut_sequence_is_not_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cursor_keys_are_as_the_program_asked_last, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(hostile_bytes_are_survived, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
