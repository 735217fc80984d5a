/*
 * A log as a dead writer, a crash of the machine, a full disk or somebody's hand leaves it.
 */
#include "audit/test-log.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void a_torn_tail_is_cut_off_and_marked(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};
	struct audit_verdict v;

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &log);
	buffer_puts(&log, "{\"seq\":3,\"prev\":\"00");
	write_file(w, "log.000001", log.data, log.len);
	v = verify(w);
	assert_true(v.good); /* a writer may be at it */
	assert_non_null(strstr(v.note, "not written to its end"));
	assert_int_equal(append(w, "two"), 5); /* the break, a checkpoint */
	v = verify(w);
	assert_true(v.good);
	assert_int_equal(v.breaks, 1);
}

static void a_whole_record_behind_the_head_is_kept(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer head = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "head", &head);
	append(w, "two");
	/* Its writer was killed before it could say so. */
	write_file(w, "head", head.data, head.len);
	open_log(w, NULL);
	assert_int_equal(append(w, "three"), 4);
	expect_good(w, 4);
	assert_int_equal(verify(w).breaks, 0);
}

/* A writer that dies at any byte of its record: what was whole stays, what is not is marked. */
static void a_crash_at_any_byte_is_recovered_from(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer before = {0}, after = {0}, head = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &before);
	read_file(w, "head", &head);
	append(w, "two");
	w->audit = audit_free(w->audit);
	read_file(w, "log.000001", &after);
	for (size_t n = before.len; n <= after.len; n++) {
		struct audit_verdict v;
		bool torn = n > before.len && n < after.len;

		write_file(w, "log.000001", after.data, n);
		write_file(w, "head", head.data, head.len);
		v = verify(w);
		if (!v.good)
			fail_msg("before, at %zu: %s", n, v.problem);
		open_log(w, NULL);
		append(w, "three");
		v = verify(w);
		if (!v.good)
			fail_msg("at %zu: %s", n, v.problem);
		assert_int_equal(v.breaks, torn);
		assert_int_equal(v.last_seq, n == before.len ? 3 : n == after.len ? 4 : 5);
	}
}

/* The same while the next file is begun. */
static void a_crash_at_any_byte_of_a_new_file_is_recovered_from(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096};
	scoped(buffer_donep) struct buffer next = {0}, head = {0};
	char path[192];

	open_log(w, &s);
	path_of(w, "log.000002", path);
	do {
		read_file(w, "head", &head);
		append(w, "x");
	} while (access(path, F_OK) < 0);
	w->audit = audit_free(w->audit);
	read_file(w, "log.000002", &next);
	next.len = (size_t)((char *)memchr(next.data, '\n', next.len) - next.data) + 1;
	for (size_t n = 0; n <= next.len; n++) {
		write_file(w, "log.000002", next.data, n);
		write_file(w, "head", head.data, head.len);
		expect_good(w, 0);
		open_log(w, &s);
		append(w, "y");
		expect_good(w, 0);
		assert_int_equal(verify(w).files, 2);
	}
}

static void append_until(struct world *w, const char *name)
{
	char path[192];

	path_of(w, name, path);
	while (access(path, F_OK) < 0)
		append(w, "x");
}

/* The same, and then somebody has a record that still fits into the file before. */
static void a_file_that_was_begun_in_vain_is_no_damage(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096}, wide = {.max_bytes = 65536};
	scoped(buffer_donep) struct buffer head = {0}, next = {0};
	char path[192];

	open_log(w, &s);
	path_of(w, "log.000002", path);
	do {
		read_file(w, "head", &head);
		append(w, "x");
	} while (access(path, F_OK) < 0);
	read_file(w, "log.000002", &next);
	next.len = (size_t)((char *)memchr(next.data, '\n', next.len) - next.data) + 1;
	write_file(w, "log.000002", next.data, next.len);
	write_file(w, "head", head.data, head.len);
	open_log(w, &wide);
	append(w, "y");
	append(w, "y");
	expect_good(w, 0);
	assert_non_null(strstr(verify(w).note, "begun"));
	append_until(w, "log.000003");
	expect_good(w, 0);
	assert_int_equal(verify(w).breaks, 0);
}

/* Of the head the disk may have one of before the file was begun that others wrote to: who began
 * it was killed before it could sync the head. */
static void the_machine_going_down_leaves_an_old_head(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096};
	scoped(buffer_donep) struct buffer head = {0};
	uint64_t last;

	open_log(w, &s);
	append(w, "x");
	read_file(w, "head", &head);
	append_until(w, "log.000003");
	last = append(w, "last");
	w->audit = audit_free(w->audit);
	write_file(w, "head", head.data, head.len);
	age_head(w);
	open_log(w, &s);
	assert_int_equal(append(w, "up again"), last + 1);
	expect_good(w, last + 1);
	assert_int_equal(verify(w).breaks, 0);
}

/* And old files whose removal had not reached the disk. */
static void the_machine_going_down_brings_a_file_back(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096, .keep = 2};
	scoped(buffer_donep) struct buffer first = {0};
	char path[192];

	open_log(w, &s);
	append(w, "x");
	read_file(w, "log.000001", &first);
	append_until(w, "log.000005");
	path_of(w, "log.000002", path);
	assert_int_equal(access(path, F_OK), -1);
	w->audit = audit_free(w->audit);
	write_file(w, "log.000001", first.data, first.len);
	expect_bad(w, "missing");
	age_head(w);
	open_log(w, &s);
	append(w, "up again");
	expect_good(w, 0);
	assert_int_equal(verify(w).files, 3);
}

/* And of the file that was begun any part. */
static void the_machine_going_down_leaves_a_part_of_a_new_file(void **state)
{
	struct world *w = *state;
	static const char *const left[] = {"", "{\"seq\":1", "torn\n", "torn\nand torn\n"};
	struct audit_verdict v;

	open_log(w, NULL);
	append(w, "x");
	for (size_t i = 0; i < array_size(left); i++) {
		w->audit = audit_free(w->audit);
		write_file(w, "log.000002", left[i], strlen(left[i]));
		age_head(w);
		open_log(w, NULL);
		append(w, "y");
		v = verify(w);
		if (!v.good)
			fail_msg("%zu: %s", i, v.problem);
		assert_int_equal(v.breaks, i);
		assert_int_equal(v.files, 1);
	}
}

/* And while the very first one is. */
static void a_crash_at_any_byte_of_the_first_file_is_recovered_from(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "x");
	w->audit = audit_free(w->audit);
	read_file(w, "log.000001", &log);
	log.len = (size_t)((char *)memchr(log.data, '\n', log.len) - log.data) + 1;
	for (size_t n = 0; n <= log.len; n++) {
		write_file(w, "log.000001", log.data, n);
		unlink_file(w, "head");
		open_log(w, NULL);
		append(w, "y");
		expect_good(w, 2);
		assert_int_equal(verify(w).breaks, 0);
	}
}

static void foreign_lines_are_damage(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &log);
	buffer_puts(&log, "{\"seq\":3}\n");
	write_file(w, "log.000001", log.data, log.len);
	expect_bad(w, "no hash");
	append(w, "two");
	expect_bad(w, "do not belong here");
}

static void foreign_files_are_damage(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &log);
	log.len = (size_t)((char *)memchr(log.data, '\n', log.len) - log.data) + 1;
	/* The first record of a file is the first record of that file only. */
	write_file(w, "log.000002", log.data, log.len);
	expect_bad(w, "first one of another file");
	/* What is not the next file is none at all, nor is what stands behind it. */
	unlink_file(w, "log.000002");
	write_file(w, "log.000003", "", 0);
	expect_bad(w, "not one of the log");
	unlink_file(w, "log.000003");
	write_file(w, "log.000002", "", 0);
	expect_good(w, 2);
	write_file(w, "log.000003", log.data, log.len);
	expect_bad(w, "another file");
	unlink_file(w, "log.000003");
	/* Nor is a name that only has the same number. */
	write_file(w, "log.0000001", log.data, log.len);
	expect_good(w, 2);
}

static void verify_says_when_the_end_is_not_settled(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "one");
	w->audit = audit_free(w->audit);
	age_head(w);
	assert_string_equal(verify(w).note, "");
	read_file(w, "log.000001", &log);
	write_file(w, "log.000001", log.data, log.len - 10);
	assert_false(verify(w).good);
	assert_non_null(strstr(verify(w).note, "next record settles"));
	open_log(w, NULL);
	append(w, "two");
	expect_good(w, 5);
	assert_string_equal(verify(w).note, "");
}

static void a_cut_end_is_noticed_at_once_and_for_good(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};
	const char *last;

	open_log(w, NULL);
	append(w, "one");
	append(w, "two");
	read_file(w, "log.000001", &log);
	last = memrchr(log.data, '\n', log.len - 1);
	write_file(w, "log.000001", log.data, (size_t)(last + 1 - log.data));
	expect_bad(w, "record 3 was the last one, and now it is 2");
	append(w, "three");
	expect_bad(w, "records that had been written are gone");
}

static void a_log_without_its_head_is_damage(void **state)
{
	struct world *w = *state;

	open_log(w, NULL);
	append(w, "one");
	append(w, "two");
	unlink_file(w, "head");
	expect_bad(w, "the head is missing");
	append(w, "three"); /* by a writer that has the old one open */
	expect_bad(w, "the head of the log is gone");
}

/* The first file has nobody in front of it whom it would have to follow. */
static void a_first_file_that_is_empty_or_gone_is_damage_for_good(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096};
	struct audit_settings few = s;

	open_log(w, &s);
	append_until(w, "log.000003");
	write_file(w, "log.000001", "", 0);
	expect_bad(w, "the file is empty");
	unlink_file(w, "log.000001");
	expect_bad(w, "the file is missing");
	append_until(w, "log.000005");
	expect_bad(w, "the file is missing");
	/* Until it would not be there any more in any case. */
	few.keep = 2;
	open_log(w, &few);
	append_until(w, "log.000006");
	expect_good(w, 0);
}

/* The machine went down when nothing but the head had reached the disk. */
static void a_first_file_that_was_only_begun_is_no_damage(void **state)
{
	struct world *w = *state;

	open_log(w, NULL);
	append(w, "one");
	w->audit = audit_free(w->audit);
	write_file(w, "log.000001", "", 0);
	write_file(w, "recent", "", 0);
	age_head(w);
	open_log(w, NULL);
	append(w, "two");
	expect_good(w, 0);
	assert_int_equal(verify(w).files, 1);
}

static void a_log_without_its_file_is_damage(void **state)
{
	struct world *w = *state;

	open_log(w, NULL);
	append(w, "one");
	unlink_file(w, "log.000001");
	append(w, "two");
	expect_bad(w, "gone");
}

/* A server outlives what somebody does to its state directory. */
static void a_log_that_was_removed_is_made_anew_when_it_can_be(void **state)
{
	struct world *w = *state;
	const struct audit_event e = {.kind = AUDIT_ENDED};
	struct error err = {0};
	uint64_t seq;

	open_log(w, NULL);
	append(w, "one");
	test_directory_remove(w->dir);
	test_file_write(w->dir, "in its place");
	assert_true(audit_append(w->audit, &e, 1, &seq, &err) < 0);
	assert_true(audit_append(w->audit, &e, 1, &seq, &err) < 0);
	assert_int_equal(unlink(w->dir), 0);
	assert_int_equal(append(w, "two"), 2);
	expect_good(w, 2);
}

static void the_machine_going_down_loses_what_was_not_synced(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};
	struct audit_verdict v;

	open_log(w, NULL);
	append(w, "one");
	assert_int_equal(audit_sync(w->audit, 2, NULL), 0);
	read_file(w, "log.000001", &log);
	append(w, "two");
	append(w, "three");
	w->audit = audit_free(w->audit);
	write_file(w, "log.000001", log.data, log.len);
	age_head(w);
	open_log(w, NULL);
	assert_int_equal(append(w, "four"), 7); /* 3 and 4 are lost; break, checkpoint */
	v = verify(w);
	if (!v.good)
		fail_msg("%s", v.problem);
	assert_int_equal(v.lost, 2);
	assert_int_equal(v.breaks, 1);
}

/* As on a disk that says it has written what it has not. */
static void the_machine_going_down_must_not_lose_what_was_synced(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &log);
	append(w, "two");
	assert_int_equal(audit_sync(w->audit, 3, NULL), 0);
	w->audit = audit_free(w->audit);
	write_file(w, "log.000001", log.data, log.len);
	unlink_file(w, "recent");
	age_head(w);
	open_log(w, NULL);
	append(w, "three");
	expect_bad(w, "records that had been written are gone");
}

/* A disk that is full: nothing of the record stays, and later ones follow. */
static void what_cannot_be_written_is_not_there(void **state)
{
	struct world *w = *state;
	const struct audit_event e = {.kind = AUDIT_STARTED, .command = "x"};
	struct error err = {0};
	uint64_t seq;
	pid_t pid;
	int status;

	open_log(w, NULL);
	append(w, "one");
	pid = fork();
	if (pid == 0) {
		const struct rlimit limit = {4200, 4200};
		int code;

		(void)signal(SIGXFSZ, SIG_IGN);
		w->audit = NULL;
		if (audit_open(w->state, NULL, &w->audit, NULL) < 0 ||
		    setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(2);
		code = 0;
		for (int i = 0; i < 50 && code == 0; i++)
			code = audit_append(w->audit, &e, 1, &seq, &err);
		_exit(code == -EFBIG ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_good(w, 0);
	append(w, "two");
	expect_good(w, 0);
	assert_int_equal(verify(w).breaks, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make, unmake)
	const struct CMUnitTest tests[] = {
		T(a_torn_tail_is_cut_off_and_marked),
		T(a_whole_record_behind_the_head_is_kept),
		T(a_crash_at_any_byte_is_recovered_from),
		T(a_crash_at_any_byte_of_a_new_file_is_recovered_from),
		T(a_crash_at_any_byte_of_the_first_file_is_recovered_from),
		T(a_file_that_was_begun_in_vain_is_no_damage),
		T(the_machine_going_down_leaves_an_old_head),
		T(the_machine_going_down_brings_a_file_back),
		T(the_machine_going_down_leaves_a_part_of_a_new_file),
		T(foreign_lines_are_damage),
		T(foreign_files_are_damage),
		T(verify_says_when_the_end_is_not_settled),
		T(a_cut_end_is_noticed_at_once_and_for_good),
		T(a_log_without_its_head_is_damage),
		T(a_first_file_that_is_empty_or_gone_is_damage_for_good),
		T(a_first_file_that_was_only_begun_is_no_damage),
		T(a_log_without_its_file_is_damage),
		T(a_log_that_was_removed_is_made_anew_when_it_can_be),
		T(the_machine_going_down_loses_what_was_not_synced),
		T(the_machine_going_down_must_not_lose_what_was_synced),
		T(what_cannot_be_written_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
