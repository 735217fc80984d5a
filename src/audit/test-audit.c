/*
 * A log as several writers leave it: appended to, synced, rotated, broken off, tampered with.
 */
#include "base/test-support.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sodium.h>
#include "audit/audit.h"
#include "audit/event.h"
#include "audit/head.h"
#include "audit/query.h"
#include "audit/verify.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"

struct world {
	char state[64], dir[128];
	struct audit *audit;
};

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	/* In memory, where there is such a place: many of these sync at every step. */
	snprintf(w->state, sizeof(w->state), "/dev/shm/nacre-test-XXXXXX");
	if (!mkdtemp(w->state))
		test_directory_make(w->state);
	snprintf(w->dir, sizeof(w->dir), "%s/audit", w->state);
	*state = w;
	return 0;
}

static int unmake(void **state)
{
	struct world *w = *state;

	audit_free(w->audit);
	test_directory_remove(w->state);
	free(w);
	return 0;
}

static void open_log(struct world *w, const struct audit_settings *s)
{
	struct error err = {0};

	w->audit = audit_free(w->audit);
	if (audit_open(w->state, s, &w->audit, &err) < 0)
		fail_msg("%s", err.text);
}

static uint64_t append(struct world *w, const char *command)
{
	const struct audit_event e = {
		.kind = AUDIT_STARTED, .task = "bash-1", .command = command, .profile = "bash"};
	struct error err = {0};
	uint64_t seq = 0;

	if (audit_append(w->audit, &e, 1, &seq, &err) < 0)
		fail_msg("%s", err.text);
	return seq;
}

static struct audit_verdict verify(struct world *w)
{
	struct audit_verdict v;
	struct error err = {0};

	if (audit_verify(w->dir, NULL, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

static void expect_good(struct world *w, uint64_t last)
{
	struct audit_verdict v = verify(w);

	if (!v.good)
		fail_msg("%s line %" PRIu64 ": %s", v.file, v.line, v.problem);
	if (last > 0)
		assert_int_equal(v.last_seq, last);
}

static void expect_bad(struct world *w, const char *words)
{
	struct audit_verdict v = verify(w);

	assert_false(v.good);
	if (!strstr(v.problem, words))
		fail_msg("'%s' is not in '%s'", words, v.problem);
}

static void path_of(const struct world *w, const char *name, char into[192])
{
	snprintf(into, 192, "%s/%s", w->dir, name);
}

static void read_file(const struct world *w, const char *name, struct buffer *into)
{
	scoped(fd_closep) int fd = -1;
	char path[192];

	path_of(w, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	buffer_clear(into);
	assert_int_equal(fd_read_all(fd, into), 0);
}

static void write_file(const struct world *w, const char *name, const void *bytes, size_t n)
{
	scoped(fd_closep) int fd = -1;
	char path[192];

	path_of(w, name, path);
	fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

static void appends_records_that_follow_each_other(void **state)
{
	struct world *w = *state;
	struct stat st;
	char path[192];

	open_log(w, NULL);
	assert_int_equal(append(w, "ls"), 2); /* behind the first record of the file */
	assert_int_equal(append(w, "cat x"), 3);
	assert_int_equal(audit_sync(w->audit, 3, false, NULL), 0);
	expect_good(w, 3);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	static const char *const names[] = {"log.000001", "head", "key", "key.pub"};
	for (size_t i = 0; i < array_size(names); i++) {
		path_of(w, names[i], path);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
}

static void goes_on_where_another_writer_stopped(void **state)
{
	struct world *w = *state;

	open_log(w, NULL);
	append(w, "one");
	open_log(w, NULL);
	assert_int_equal(append(w, "two"), 3);
	expect_good(w, 3);
}

static void signs_a_checkpoint_every_thousand_records(void **state)
{
	struct world *w = *state;
	struct audit_verdict v;

	open_log(w, NULL);
	for (int i = 0; i < 2500; i++)
		append(w, "true");
	v = verify(w);
	assert_true(v.good);
	assert_int_equal(v.checkpoints, 3); /* the first record of a file is one */
	assert_true(v.last_signed > 2000);
}

static void rotates_by_size_and_keeps_the_chain(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 8192};
	struct audit_verdict v;
	char path[192];

	open_log(w, &s);
	for (int i = 0; i < 200; i++)
		append(w, "true");
	v = verify(w);
	assert_true(v.good);
	assert_true(v.files > 5);
	path_of(w, "log.000003", path);
	assert_int_equal(unlink(path), 0);
	expect_bad(w, "the file is missing");
}

static void keeps_as_many_files_as_it_shall(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 8192, .keep = 2};
	struct audit_verdict v;
	char path[192];

	open_log(w, &s);
	for (int i = 0; i < 200; i++)
		append(w, "true");
	v = verify(w);
	if (!v.good)
		fail_msg("%s: %s", v.file, v.problem);
	assert_int_equal(v.files, 3);
	assert_true(v.first_seq > 1);
	/* One that should be there, by the newest first record. */
	for (int i = 1; i < 30; i++) {
		char name[32];

		snprintf(name, sizeof(name), "log.%06d", i);
		path_of(w, name, path);
		if (unlink(path) == 0)
			break;
	}
	expect_bad(w, "the file is missing");
}

static void rotates_by_age(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_age_ms = 1};
	uint64_t first;

	open_log(w, &s);
	first = append(w, "one");
	(void)usleep(5000);
	assert_int_equal(append(w, "two"), first + 2); /* the new file's first record is between */
	expect_good(w, 0);
}

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

/* And while the very first one is. */
static void a_crash_at_any_byte_of_the_first_file_is_recovered_from(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};
	char path[192];

	open_log(w, NULL);
	append(w, "x");
	w->audit = audit_free(w->audit);
	read_file(w, "log.000001", &log);
	log.len = (size_t)((char *)memchr(log.data, '\n', log.len) - log.data) + 1;
	path_of(w, "head", path);
	for (size_t n = 0; n <= log.len; n++) {
		write_file(w, "log.000001", log.data, n);
		assert_int_equal(unlink(path), 0);
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
	char path[192];

	open_log(w, NULL);
	append(w, "one");
	append(w, "two");
	path_of(w, "head", path);
	assert_int_equal(unlink(path), 0);
	expect_bad(w, "the head is missing");
	append(w, "three"); /* by a writer that has the old one open */
	expect_bad(w, "the head of the log is gone");
}

static void a_log_without_its_file_is_damage(void **state)
{
	struct world *w = *state;
	char path[192];

	open_log(w, NULL);
	append(w, "one");
	path_of(w, "log.000001", path);
	assert_int_equal(unlink(path), 0);
	append(w, "two");
	expect_bad(w, "gone");
}

/* As if it had been written before the machine was started. */
static void age_head(struct world *w)
{
	scoped(buffer_donep) struct buffer head = {0};
	size_t summed = 8 + 40 + sizeof(struct head_place);

	read_file(w, "head", &head);
	head.data[8] = head.data[8] == 'x' ? 'y' : 'x';
	(void)crypto_generichash((unsigned char *)head.data + summed, AUDIT_HASH_BYTES,
	                         (const unsigned char *)head.data, summed, NULL, 0);
	write_file(w, "head", head.data, head.len);
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
	assert_int_equal(audit_sync(w->audit, 2, false, NULL), 0);
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

static void the_machine_going_down_must_not_lose_what_was_synced(void **state)
{
	struct world *w = *state;
	scoped(buffer_donep) struct buffer log = {0};

	open_log(w, NULL);
	append(w, "one");
	read_file(w, "log.000001", &log);
	append(w, "two");
	assert_int_equal(audit_sync(w->audit, 3, false, NULL), 0);
	w->audit = audit_free(w->audit);
	write_file(w, "log.000001", log.data, log.len);
	age_head(w);
	open_log(w, NULL);
	append(w, "three");
	expect_bad(w, "records that had been written are gone");
}

static void another_key_is_noticed(void **state)
{
	struct world *w = *state;
	const struct audit_verify_options o = {.public_key = "no-such-file"};
	struct audit_verdict v;
	char hash[65], path[192];
	uint64_t seq;

	open_log(w, NULL);
	append(w, "one");
	path_of(w, "key", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(audit_checkpoint(w->audit, &seq, hash, NULL), 0);
	expect_bad(w, "key");
	assert_true(audit_verify(w->dir, &o, &v, NULL) < 0);
}

static void a_record_that_must_be_there_is_looked_for(void **state)
{
	struct world *w = *state;
	struct audit_verify_options o = {0};
	struct audit_verdict v;
	char hash[65];
	uint64_t seq;

	open_log(w, NULL);
	append(w, "one");
	assert_int_equal(audit_checkpoint(w->audit, &seq, hash, NULL), 0);
	append(w, "two");
	o.contains = hash;
	assert_int_equal(audit_verify(w->dir, &o, &v, NULL), 0);
	assert_true(v.good);
	hash[0] = hash[0] == '0' ? '1' : '0';
	assert_int_equal(audit_verify(w->dir, &o, &v, NULL), 0);
	assert_false(v.good);
}

static void a_directory_of_others_is_refused(void **state)
{
	struct world *w = *state;
	struct error err = {0};

	assert_int_equal(mkdir(w->dir, 0777), 0);
	assert_int_equal(chmod(w->dir, 0777), 0);
	assert_int_equal(audit_open(w->state, NULL, &w->audit, &err), -EPERM);
	assert_int_equal(rmdir(w->dir), 0);
	assert_int_equal(symlink("/tmp", w->dir), 0);
	assert_true(audit_open(w->state, NULL, &w->audit, &err) < 0);
	assert_int_equal(unlink(w->dir), 0);
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

struct count {
	size_t records, long_ones;
	char last[64];
};

static int count_record(void *context, const char *line, size_t n, json_t *record)
{
	struct count *c = context;
	const char *command = json_string_value(json_object_get(record, "command"));

	c->records++;
	snprintf(c->last, sizeof(c->last), "%s", command ? command : "");
	return 0;
}

static void a_query_finds_what_it_is_asked_for(void **state)
{
	struct world *w = *state;
	const struct audit_settings s = {.max_bytes = 4096};
	struct audit_follow place = {0};
	struct count c = {0};
	char text[32];

	open_log(w, &s);
	for (int i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "echo Number-%d", i);
		append(w, text);
	}
	assert_int_equal(audit_query(w->dir, &(struct audit_query){.event = "started"},
	                             count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 60);
	c = (struct count){0};
	assert_int_equal(audit_query(w->dir, &(struct audit_query){.event = "started", .limit = 25},
	                             count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 25);
	assert_string_equal(c.last, "echo Number-59");
	c = (struct count){0};
	assert_int_equal(audit_query(w->dir, &(struct audit_query){.text = "NUMBER-17"},
	                             count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 1);
	c = (struct count){0};
	assert_int_equal(audit_query(w->dir, &(struct audit_query){.task = "bash-2"}, count_record,
	                             &c, NULL),
	                 0);
	assert_int_equal(c.records, 0);
	c = (struct count){0};
	assert_int_equal(audit_follow(w->dir, &(struct audit_query){.event = "started"}, &place,
	                              count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 60);
	append(w, "after");
	c = (struct count){0};
	assert_int_equal(audit_follow(w->dir, &(struct audit_query){.event = "started"}, &place,
	                              count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 1);
	assert_string_equal(c.last, "after");
}

/* Eight processes at once: none waits for ever, nothing is lost, the chain holds. */
static void many_processes_append_and_sync_at_once(void **state)
{
	struct world *w = *state;
	pid_t pids[8];

	open_log(w, &(struct audit_settings){.max_bytes = 30000});
	for (size_t i = 0; i < array_size(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct audit *a = NULL;
			uint64_t seq;
			const struct audit_event e = {.kind = AUDIT_STARTED, .command = "x"};
			int r = audit_open(w->state, &(struct audit_settings){.max_bytes = 30000},
			                   &a, NULL);

			for (int k = 0; r == 0 && k < 50; k++) {
				r = audit_append(a, &e, 1, &seq, NULL);
				if (r == 0)
					r = audit_sync(a, seq, false, NULL);
			}
			_exit(r == 0 ? 0 : 1);
		}
	}
	for (size_t i = 0; i < array_size(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	expect_good(w, 0);
	struct count c = {0};
	assert_int_equal(audit_query(w->dir, &(struct audit_query){.event = "started"},
	                             count_record, &c, NULL),
	                 0);
	assert_int_equal(c.records, 400);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make, unmake)
	const struct CMUnitTest tests[] = {
		T(appends_records_that_follow_each_other),
		T(goes_on_where_another_writer_stopped),
		T(signs_a_checkpoint_every_thousand_records),
		T(rotates_by_size_and_keeps_the_chain),
		T(keeps_as_many_files_as_it_shall),
		T(rotates_by_age),
		T(a_torn_tail_is_cut_off_and_marked),
		T(a_whole_record_behind_the_head_is_kept),
		T(a_crash_at_any_byte_is_recovered_from),
		T(a_crash_at_any_byte_of_a_new_file_is_recovered_from),
		T(a_crash_at_any_byte_of_the_first_file_is_recovered_from),
		T(foreign_lines_are_damage),
		T(a_cut_end_is_noticed_at_once_and_for_good),
		T(a_log_without_its_head_is_damage),
		T(a_log_without_its_file_is_damage),
		T(a_log_that_was_removed_is_made_anew_when_it_can_be),
		T(the_machine_going_down_loses_what_was_not_synced),
		T(the_machine_going_down_must_not_lose_what_was_synced),
		T(another_key_is_noticed),
		T(a_record_that_must_be_there_is_looked_for),
		T(a_directory_of_others_is_refused),
		T(what_cannot_be_written_is_not_there),
		T(a_query_finds_what_it_is_asked_for),
		T(many_processes_append_and_sync_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
