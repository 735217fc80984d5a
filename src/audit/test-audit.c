/*
 * A log as its writers want it: appended to, rotated, signed, read.
 */
#include "audit/test-log.h"

#include "audit/query.h"

static void appends_records_that_follow_each_other(void **state)
{
	struct world *w = *state;
	struct stat st;
	char path[192];

	open_log(w, NULL);
	assert_int_equal(append(w, "ls"), 2); /* behind the first record of the file */
	assert_int_equal(append(w, "cat x"), 3);
	assert_int_equal(audit_sync(w->audit, 3, NULL), 0);
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

	open_log(w, &s);
	for (int i = 0; i < 200; i++)
		append(w, "true");
	v = verify(w);
	assert_true(v.good);
	assert_true(v.files > 5);
	unlink_file(w, "log.000003");
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

static void another_key_is_noticed(void **state)
{
	struct world *w = *state;
	const struct audit_verify_options o = {.public_key = "no-such-file"};
	struct audit_verdict v;
	char hash[65];
	uint64_t seq;

	open_log(w, NULL);
	append(w, "one");
	unlink_file(w, "key");
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

struct count {
	size_t records;
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

static struct count ask(const struct world *w, struct audit_query query)
{
	struct count c = {0};

	assert_int_equal(audit_query(w->dir, &query, count_record, &c, NULL), 0);
	return c;
}

static struct count follow(const struct world *w, struct audit_follow *place)
{
	struct count c = {0};

	assert_int_equal(audit_follow(w->dir, &(struct audit_query){.event = "started"}, place,
	                              count_record, &c, NULL),
	                 0);
	return c;
}

static void a_query_finds_what_it_is_asked_for(void **state)
{
	struct world *w = *state;
	struct audit_follow place = {0};
	size_t found, turns;
	struct count c;
	uint64_t rest;

	open_log(w, &(struct audit_settings){.max_bytes = 4096});
	for (int i = 0; i < 60; i++) {
		char text[32];

		snprintf(text, sizeof(text), "echo Number-%d", i);
		append(w, text);
	}
	assert_int_equal(ask(w, (struct audit_query){.event = "started"}).records, 60);
	c = ask(w, (struct audit_query){.event = "started", .limit = 25});
	assert_int_equal(c.records, 25);
	assert_string_equal(c.last, "echo Number-59");
	assert_int_equal(ask(w, (struct audit_query){.text = "NUMBER-17"}).records, 1);
	for (rest = 0, found = 0, turns = 0; rest > 0 || turns == 0; turns++) {
		uint64_t before = rest;

		rest = 0;
		found += ask(w, (struct audit_query){.event = "started",
		                                     .limit = 100,
		                                     .before.file = before,
		                                     .bytes_max = 8192,
		                                     .ret_rest = &rest})
		                 .records;
		assert_true(turns == 0 || rest < before);
	}
	assert_int_equal(found, 60);
	assert_true(turns > 2);
	assert_int_equal(ask(w, (struct audit_query){.task = "bash-2"}).records, 0);
	assert_int_equal(follow(w, &place).records, 60);
	append(w, "after");
	c = follow(w, &place);
	assert_int_equal(c.records, 1);
	assert_string_equal(c.last, "after");
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
		T(another_key_is_noticed),
		T(a_record_that_must_be_there_is_looked_for),
		T(a_directory_of_others_is_refused),
		T(a_query_finds_what_it_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
