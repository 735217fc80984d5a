/*
 * The machine goes down: of the log only what was synced there itself is left, and some of what was
 * not; the rest has to come from the file beside it.
 */
#include "audit/test-log.h"

#include <signal.h>
#include <sys/resource.h>
#include "audit/recent.h"

#define LOG "log.000001"

/* How much of the log was synced itself, as the head has it: file, until, log. */
static uint64_t synced_itself(struct world *w, uint64_t *ret_until)
{
	scoped(buffer_donep) struct buffer head = {0};
	uint64_t words[3];

	read_file(w, "head", &head);
	assert_true(head.len >= HEAD_RECENT_AT + sizeof(words));
	memcpy(words, head.data + HEAD_RECENT_AT, sizeof(words));
	assert_int_equal(words[0], 1);
	*ret_until = words[1];
	return words[2];
}

/* Leaves SIZE bytes of the log, and GARBAGE behind them. */
static void go_down(struct world *w, uint64_t size, const char *garbage)
{
	scoped(buffer_donep) struct buffer log = {0};

	w->audit = audit_free(w->audit);
	read_file(w, LOG, &log);
	assert_true(size <= log.len);
	log.len = size;
	buffer_puts(&log, garbage);
	write_file(w, LOG, log.data, log.len);
	age_head(w);
}

static void sync_to(struct world *w, uint64_t seq)
{
	assert_int_equal(audit_sync(w->audit, seq, NULL), 0);
}

static void expect_log_synced(struct world *w)
{
	uint64_t until, log = synced_itself(w, &until);

	assert_int_equal(log, until);
}

static void what_was_synced_is_put_back(void **state)
{
	struct world *w = *state;
	struct audit_verdict v;
	uint64_t until, log;

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	append(w, "two");
	sync_to(w, append(w, "three"));
	append(w, "four");
	log = synced_itself(w, &until);
	assert_true(log < until); /* else this would try nothing */
	go_down(w, log, "");
	open_log(w, NULL);
	assert_int_equal(append(w, "five"), 8); /* four is lost; break, checkpoint */
	v = verify(w);
	if (!v.good)
		fail_msg("%s", v.problem);
	assert_int_equal(v.lost, 1);
}

static void nothing_is_put_back_that_is_there(void **state)
{
	struct world *w = *state;
	uint64_t until;

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	sync_to(w, append(w, "two"));
	(void)synced_itself(w, &until);
	go_down(w, until, "");
	open_log(w, NULL);
	assert_int_equal(append(w, "three"), 4);
	expect_good(w, 4);
	assert_int_equal(verify(w).breaks, 0);
}

/* Many times one after the other, at any moment, with records of all lengths, so that they come to
 * lie across the end of the file again and again. */
static void it_may_go_down_at_any_moment(void **state)
{
	static char text[30000];
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = (uint64_t)1 << 30};
	uint64_t seed = 20261116, total = 0, restored = 0;

	memset(text, 'x', sizeof(text) - 1);
	open_log(w, &s);
	append(w, "first");
	for (int round = 0; round < 120; round++) {
		uint64_t synced = 0, until, log, left, count = 1 + test_random(&seed) % 40;
		struct audit_verdict v;

		if (round % 20 == 19)
			count = 400; /* more than the file holds */
		for (uint64_t i = 0; i < count; i++) {
			size_t n = test_random(&seed) % 8 ? 500 : sizeof(text);
			uint64_t seq = append(w, text + sizeof(text) - 1 - test_random(&seed) % n);

			if (test_random(&seed) % 3)
				sync_to(w, synced = seq);
		}
		if (synced == 0)
			sync_to(w, synced = append(w, "last"));
		log = synced_itself(w, &until);
		left = log + test_random(&seed) % (until - log + 1);
		restored += until - left;
		go_down(w, left, round % 3 ? "" : "{\"seq\":\0 torn\n");
		open_log(w, &s);
		append(w, "up again");
		v = verify(w);
		if (!v.good)
			fail_msg("round %d: %s line %" PRIu64 ": %s", round, v.file, v.line,
			         v.problem);
		assert_true(v.last_seq > synced);
		total = until;
	}
	/* Lost records make gaps; that none of those was promised is the verifier's word for
	 * "damaged", which it never said. */
	assert_true(total > 3 * RECENT_BYTES);
	assert_true(restored > RECENT_BYTES);
}

/* Syncs record after record until the file holds more than this. False: the log was synced itself
 * before that. */
static bool fill_to(struct world *w, uint64_t wanted)
{
	static char text[16384];
	uint64_t until, log, held = 0;

	memset(text, 'x', sizeof(text) - 1);
	sync_to(w, append(w, "x"));
	while (held <= wanted) {
		uint64_t before = held;

		sync_to(w, append(w, held + 2 * sizeof(text) < wanted ? text : "x"));
		log = synced_itself(w, &until);
		held = until - log;
		if (held < before)
			return false;
	}
	return true;
}

/* As full as it gets: nothing that is needed is written over. */
static void it_may_go_down_when_the_file_is_full(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = (uint64_t)1 << 30};
	uint64_t wanted = RECENT_BYTES - 8192;

	open_log(w, &s);
	for (; fill_to(w, wanted); wanted += 250) {
		uint64_t until, log = synced_itself(w, &until), seq = verify(w).last_seq;

		go_down(w, log, "");
		open_log(w, &s);
		append(w, "up again");
		expect_good(w, seq + 1);
	}
	assert_true(wanted > RECENT_BYTES - 6000); /* or the last page was never tried */
}

static void without_the_file_the_log_itself_is_synced(void **state)
{
	struct world *w = *state;
	char path[192];

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	unlink_file(w, "recent");
	sync_to(w, append(w, "two"));
	expect_log_synced(w);
	/* Whoever puts something else there. */
	write_file(w, "recent", "short", 5);
	sync_to(w, append(w, "three"));
	expect_log_synced(w);
	unlink_file(w, "recent");
	path_of(w, "recent", path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	sync_to(w, append(w, "four"));
	expect_log_synced(w);
	expect_good(w, 5);
}

static void what_does_not_follow_is_not_put_back(void **state)
{
	static char garbage[RECENT_BYTES];
	struct world *w = *state;
	scoped(buffer_donep) struct buffer old = {0};
	uint64_t until;

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	for (int i = 0; i < 5; i++)
		sync_to(w, append(w, "two"));
	read_file(w, "recent", &old);
	(void)synced_itself(w, &until);
	memset(garbage, '\n', sizeof(garbage));
	memcpy(garbage, old.data, sizeof(garbage) / 2); /* whole records of another place */
	memmove(garbage + until % RECENT_BYTES, garbage, until);
	write_file(w, "recent", garbage, sizeof(garbage));
	go_down(w, until, "");
	open_log(w, NULL);
	assert_int_equal(append(w, "three"), 8);
	expect_good(w, 8);
	assert_int_equal(verify(w).breaks, 0);
}

/* The numbers say how much was copied of a log that is no longer the same. */
static void what_was_copied_is_forgotten_by_a_recovery(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};
	uint64_t before;

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	read_file(w, LOG, &log);
	sync_to(w, append(w, "two"));
	(void)synced_itself(w, &before);
	write_file(w, LOG, log.data, log.len); /* somebody's hand */
	while (true) {
		append(w, "three");
		read_file(w, LOG, &log);
		if (log.len > before)
			break;
	}
	sync_to(w, append(w, "four"));
	expect_log_synced(w);
}

/* As on a disk with no more room than that. */
static int put_back_in_little_room(struct world *w)
{
	const struct audit_event e = {.kind = AUDIT_STARTED, .command = "up again"};
	const struct rlimit limit = {12000, 12000};
	uint64_t seq;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	return audit_open(w->state, NULL, &w->audit, NULL) == 0 &&
	                       audit_append(w->audit, &e, 1, &seq, NULL) == 0 && seq == 7
	               ? 0
	               : 2;
}

static void only_what_follows_is_put_back(void **state)
{
	struct world *w = *state;
	uint64_t until, log;

	open_log(w, NULL);
	for (int i = 0; i < 5; i++)
		sync_to(w, append(w, "x"));
	log = synced_itself(w, &until);
	go_down(w, log, "");
	assert_int_equal(in_child(w, put_back_in_little_room), 0);
	expect_good(w, 7);
	assert_int_equal(verify(w).breaks, 0);
}

static int put_back_with_few_descriptors(struct world *w)
{
	const struct audit_event e = {.kind = AUDIT_STARTED, .command = "up again"};
	bool failed = false;

	for (rlim_t most = 3; most < 64; most++) {
		const struct rlimit limit = {most, 64};
		uint64_t seq;

		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			return 1;
		w->audit = audit_free(w->audit);
		if (audit_open(w->state, NULL, &w->audit, NULL) == 0 &&
		    audit_append(w->audit, &e, 1, &seq, NULL) == 0)
			return seq == 7 && failed ? 0 : 2;
		failed = true;
	}
	return 3;
}

/* What cannot be opened now may be there all the same. */
static void what_was_synced_waits_until_it_can_be_read(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer head = {0};
	uint64_t until, log;

	open_log(w, NULL);
	sync_to(w, append(w, "x"));
	read_file(w, "head", &head); /* with this one on the disk nothing seems to be missing */
	for (int i = 0; i < 4; i++)
		sync_to(w, append(w, "x"));
	log = synced_itself(w, &until);
	go_down(w, log, "");
	write_file(w, "head", head.data, head.len);
	age_head(w);
	assert_int_equal(in_child(w, put_back_with_few_descriptors), 0);
	expect_good(w, 7);
}

/* Others may be far ahead of it, and need what is there. */
static void who_has_a_head_that_was_removed_leaves_the_file_alone(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer before = {0}, after = {0};

	open_log(w, NULL);
	sync_to(w, append(w, "one"));
	append(w, "two");
	read_file(w, "recent", &before);
	unlink_file(w, "head");
	sync_to(w, 3);
	read_file(w, "recent", &after);
	assert_memory_equal(before.data, after.data, before.len);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make, unmake)
	const struct CMUnitTest tests[] = {
		T(what_was_synced_is_put_back),
		T(nothing_is_put_back_that_is_there),
		T(it_may_go_down_at_any_moment),
		T(it_may_go_down_when_the_file_is_full),
		T(without_the_file_the_log_itself_is_synced),
		T(what_does_not_follow_is_not_put_back),
		T(what_was_copied_is_forgotten_by_a_recovery),
		T(only_what_follows_is_put_back),
		T(what_was_synced_waits_until_it_can_be_read),
		T(who_has_a_head_that_was_removed_leaves_the_file_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
