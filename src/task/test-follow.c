#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "task/index.h"
#include "output/spool.h"
#include "task/find.h"
#include "task/follow.h"

/* A task's directory, with a lock that stands for its keeper. */
struct place {
	char dir[64];
	int fd, lock;
};

static void put(struct place *p, const char *name, const char *text)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_directory_make(p->dir);
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->lock = openat(p->fd, "spec.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(p->lock, LOCK_EX), 0);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	fd_close(p->lock);
	close(p->fd);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

static void end(struct place *p, const struct keeper_report *r)
{
	scoped(buffer_donep) struct buffer text = {0};

	assert_int_equal(keeper_report_write(r, &text), 0);
	assert_int_equal(fd_replace_file(p->fd, "state.json", text.data, text.len), 0);
}

/* All that there is now: "0:text" for each piece, "[n]" for a gap; how it stops. */
static enum follow_event take(struct follow *f, char *into, size_t size)
{
	struct follow_piece piece;
	enum follow_event e;
	size_t len = 0;
	char bytes[64];

	into[0] = '\0';
	while ((e = follow_next(f, bytes, sizeof(bytes), &piece)) <= FOLLOW_GAP) {
		int n = e == FOLLOW_GAP ? snprintf(into + len, size - len, "[%d]", (int)piece.n)
		                        : snprintf(into + len, size - len, "%d:%.*s", piece.stream,
		                                   (int)piece.n, bytes);

		len += (size_t)n;
		assert_true(len < size);
	}
	return e;
}

static void expect(struct follow *f, enum follow_event event, const char *wanted)
{
	char got[1024];

	assert_int_equal(take(f, got, sizeof(got)), event);
	assert_string_equal(got, wanted);
}

static void bytes_come_as_they_are_written_up_to_the_end(void **state)
{
	scoped(follow_freep) struct follow *f = NULL;
	struct place *p = *state;

	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	expect(f, FOLLOW_NOTHING, "");
	put(p, "out", "one");
	expect(f, FOLLOW_NOTHING, "0:one");
	put(p, "out", "two");
	end(p, &(struct keeper_report){.streams[0] = {.bytes = 6, .file_bytes = 6}});
	expect(f, FOLLOW_ENDED, "0:two");
	assert_non_null(follow_report(f));
	assert_int_equal(follow_offset(f), 6);
}

static void a_wait_ends_when_something_is_written(void **state)
{
	scoped(follow_freep) struct follow *f = NULL;
	struct place *p = *state;

	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	expect(f, FOLLOW_NOTHING, "");
	put(p, "out", "one");
	test_wait_readable(follow_fd(f));
	follow_woken(f);
	expect(f, FOLLOW_NOTHING, "0:one");
	fd_close(take_fd(&p->lock)); /* the keeper is killed */
	test_wait_readable(follow_fd(f));
	expect(f, FOLLOW_ENDED, "");
	assert_null(follow_report(f));
}

static void it_begins_at_any_offset(void **state)
{
	scoped(follow_freep) struct follow *f = NULL, *later = NULL;
	struct place *p = *state;

	put(p, "out", "0123456789");
	assert_int_equal(follow_new(p->fd, FOLLOW_OUT, 7, &f, NULL), 0);
	expect(f, FOLLOW_NOTHING, "0:789");
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 12, &later, NULL), 0);
	expect(later, FOLLOW_NOTHING, "");
	put(p, "out", "abcd");
	expect(later, FOLLOW_NOTHING, "0:cd");
}

static void two_streams_come_in_the_order_of_the_index(void **state)
{
	scoped(follow_freep) struct follow *f = NULL, *middle = NULL, *err = NULL;
	struct place *p = *state;
	struct index x;

	index_init(&x, &p->fd);
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	index_note(&x, 0, 3);
	put(p, "out", "one");
	expect(f, FOLLOW_NOTHING, "0:one");
	index_note(&x, 0, 1);
	put(p, "out", "!");
	index_note(&x, 1, 3);
	expect(f, FOLLOW_NOTHING, "0:!"); /* the index knows of bytes that are not there yet */
	put(p, "err", "two");
	index_note(&x, 0, 5);
	put(p, "out", "three");
	index_note(&x, 1, 4);
	put(p, "err", "four");
	expect(f, FOLLOW_NOTHING, "1:two0:three1:four");
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 6, &middle, NULL), 0);
	expect(middle, FOLLOW_NOTHING, "1:o0:three1:four");
	assert_int_equal(follow_new(p->fd, FOLLOW_ERR, 1, &err, NULL), 0);
	expect(err, FOLLOW_NOTHING, "1:wofour");
	close(x.fd);
}

static void without_an_index_the_rest_comes_at_the_end(void **state)
{
	scoped(follow_freep) struct follow *f = NULL;
	struct place *p = *state;

	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	put(p, "out", "o");
	put(p, "err", "e");
	expect(f, FOLLOW_NOTHING, ""); /* which of them came first? */
	end(p, &(struct keeper_report){
		       .streams = {{.bytes = 1, .file_bytes = 1}, {.bytes = 1, .file_bytes = 1}}});
	expect(f, FOLLOW_ENDED, "0:o1:e");
}

static void an_index_that_was_given_up_delays_nothing(void **state)
{
	scoped(follow_freep) struct follow *f = NULL;
	struct index_piece pieces[] = {{0, 1}, {INDEX_STOP, 0}};
	struct place *p = *state;
	int fd = openat(p->fd, "index", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, pieces, sizeof(pieces)), 0);
	close(fd);
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	put(p, "out", "abc");
	put(p, "err", "def");
	expect(f, FOLLOW_NOTHING, "0:a0:bc1:def");
}

static void bytes_that_were_lost_are_a_gap(void **state)
{
	scoped(follow_freep) struct follow *f = NULL;
	struct place *p = *state;

	put(p, "out", "head");
	end(p, &(struct keeper_report){
		       .streams[0] = {.bytes = 100, .file_bytes = 4, .lost_bytes = 96}});
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	expect(f, FOLLOW_ENDED, "0:head[96]");
}

/* Through the cap of a real spool, to its last form, by followers at different places. */
static void a_capped_file_is_told_with_its_gap(void **state)
{
	enum { CAP = 64 << 10, TOTAL = 1 << 20 };
	scoped(spool_freep) struct spool *s = NULL;
	scoped(follow_freep) struct follow *f = NULL, *late = NULL;
	struct place *p = *state;
	struct keeper_report r = {0};
	struct spool_status status;
	struct follow_piece piece;
	char bytes[4096], want[4096];
	uint64_t missing = 0, given = 0;
	enum follow_event e;

	assert_int_equal(spool_open(p->fd, "out", CAP, &s, NULL), 0);
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, 0, &f, NULL), 0);
	for (uint64_t at = 0; at < TOTAL; at += sizeof(want)) {
		for (size_t i = 0; i < sizeof(want); i++)
			want[i] = (char)('a' + (at + i) / 1000 % 26);
		spool_write(s, want, sizeof(want));
		/* It reads a little, now and then. */
		if (at % (8 * sizeof(want)) == 0) {
			e = follow_next(f, bytes, 1000, &piece);
			given += e == FOLLOW_BYTES ? piece.n : 0;
			missing += e == FOLLOW_GAP ? piece.n : 0;
			for (size_t i = 0; e == FOLLOW_BYTES && i < piece.n; i++)
				assert_int_equal(bytes[i], 'a' + (piece.offset + i) / 1000 % 26);
		}
	}
	spool_finish(s, NULL);
	/* Between the last form of the file and the report nothing can be told. */
	assert_int_equal(follow_next(f, bytes, sizeof(bytes), &piece), FOLLOW_NOTHING);
	spool_status(s, &status);
	r.streams[0] = (struct keeper_stream){.bytes = TOTAL,
	                                      .file_bytes = status.size,
	                                      .dropped_at = status.dropped_at,
	                                      .dropped_bytes = status.dropped_bytes};
	end(p, &r);
	while ((e = follow_next(f, bytes, sizeof(bytes), &piece)) <= FOLLOW_GAP) {
		given += e == FOLLOW_BYTES ? piece.n : 0;
		missing += e == FOLLOW_GAP ? piece.n : 0;
		for (size_t i = 0; e == FOLLOW_BYTES && i < piece.n; i++)
			assert_int_equal(bytes[i], 'a' + (piece.offset + i) / 1000 % 26);
	}
	assert_int_equal(e, FOLLOW_ENDED);
	assert_int_equal(given + missing, TOTAL);
	assert_true(missing > 0);
	assert_int_equal(follow_new(p->fd, FOLLOW_BOTH, TOTAL - 5, &late, NULL), 0);
	assert_int_equal(follow_next(late, bytes, sizeof(bytes), &piece), FOLLOW_BYTES);
	assert_int_equal(piece.n, 5);
}

static void a_state_is_told_by_lock_and_report(void **state)
{
	struct place *p = *state;
	struct find_entry e;

	put(p, "spec.json",
	    "{\"task_id\":\"bash-x\",\"principal\":\"alice\",\"command\":\"a \\\"b\\\"\\nc "
	    "\\u001b[2J\","
	    "\"description\":\"why\",\"merged\":true,\"background\":true,"
	    "\"timeout_ms\":17}");
	find_look(p->fd, "bash-x", &e);
	assert_string_equal(find_state_name(&e), "running");
	assert_string_equal(e.command, "a \"b\" c \033[2J");
	assert_string_equal(e.description, "why");
	assert_string_equal(e.origin.principal, "alice");
	assert_true(e.merged && e.background);
	assert_int_equal(e.timeout_ms, 17);
	assert_int_equal(find_exit_code(&e), -1);
	end(p, &(struct keeper_report){.status = 3 << 8, .started_ms = 1000, .duration_ms = 10});
	find_look(p->fd, "bash-x", &e);
	assert_string_equal(find_state_name(&e), "failed");
	assert_int_equal(find_exit_code(&e), 3);
	assert_int_equal(e.ended_ms, 1010);
	assert_int_equal(unlinkat(p->fd, "state.json", 0), 0);
	fd_close(take_fd(&p->lock));
	find_look(p->fd, "bash-x", &e);
	assert_string_equal(find_state_name(&e), "lost");
}

static void streams_have_one_name_each(void **state)
{
	static const char *const bad[] = {"", "out", "err", "all", "STDOUT", "stdout "};
	enum follow_stream which;

	for (int i = FOLLOW_BOTH; i <= FOLLOW_ERR; i++) {
		assert_int_equal(
			follow_stream_parse(follow_stream_name((enum follow_stream)i), &which), 0);
		assert_int_equal(which, i);
	}
	assert_string_equal(follow_stream_name(FOLLOW_ERR), "stderr");
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(follow_stream_parse(bad[i], &which), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_have_one_name_each),
		TEST(bytes_come_as_they_are_written_up_to_the_end),
		TEST(a_wait_ends_when_something_is_written),
		TEST(it_begins_at_any_offset),
		TEST(two_streams_come_in_the_order_of_the_index),
		TEST(without_an_index_the_rest_comes_at_the_end),
		TEST(an_index_that_was_given_up_delays_nothing),
		TEST(bytes_that_were_lost_are_a_gap),
		TEST(a_capped_file_is_told_with_its_gap),
		TEST(a_state_is_told_by_lock_and_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
