#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "task/report.h"

static struct keeper_report some_report(void)
{
	return (struct keeper_report){
		.end = KEEPER_END_EXITED,
		.step = CHILD_EXEC,
		.sys = 2,
		.status = 256,
		.killed = 3,
		.processes = 12,
		.processes_bounded = 1,
		.ended = "sleep\ncat\n",
		.slain = "cat\n",
		.stages = "1 0",
		.left = "7 python3 80\n",
		.quiet = "sleeping: sleep",
		.session = "the working directory is gone",
		.survivors = 1,
		.started_ms = 1700000000000,
		.duration_ms = 1234,
		.cpu_ms = 55,
		.max_rss_kb = 10240,
		.streams = {{.bytes = 10,
	                     .file_bytes = 9,
	                     .dropped_at = 5,
	                     .dropped_bytes = 1,
	                     .lost_bytes = 0,
	                     .lost_errno = 0},
	                    {.bytes = (uint64_t)1 << 40, .lost_bytes = 7, .lost_errno = ENOSPC}},
	};
}

static void expect_comes_back(const struct keeper_report *r)
{
	scoped(buffer_donep) struct buffer text = {.max = REPORT_BYTES_MAX};
	struct keeper_report again;

	assert_int_equal(keeper_report_write(r, &text), 0);
	assert_int_equal(keeper_report_read(text.data, text.len, &again, NULL), 0);
	assert_int_equal(again.end, r->end);
	assert_int_equal(again.step, r->step);
	assert_int_equal(again.sys, r->sys);
	assert_int_equal(again.status, r->status);
	assert_int_equal(again.killed, r->killed);
	assert_int_equal(again.survivors, r->survivors);
	assert_int_equal(again.processes, r->processes);
	assert_int_equal(again.processes_bounded, r->processes_bounded);
	assert_string_equal(again.ended, r->ended);
	assert_string_equal(again.slain, r->slain);
	assert_string_equal(again.left, r->left);
	assert_string_equal(again.quiet, r->quiet);
	assert_string_equal(again.session, r->session);
	assert_int_equal(again.started_ms, r->started_ms);
	assert_int_equal(again.duration_ms, r->duration_ms);
	assert_int_equal(again.cpu_ms, r->cpu_ms);
	assert_int_equal(again.max_rss_kb, r->max_rss_kb);
	for (int i = 0; i < 2; i++) {
		const struct keeper_stream *a = &again.streams[i], *b = &r->streams[i];

		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->file_bytes, b->file_bytes);
		assert_int_equal(a->dropped_at, b->dropped_at);
		assert_int_equal(a->dropped_bytes, b->dropped_bytes);
		assert_int_equal(a->lost_bytes, b->lost_bytes);
		assert_int_equal(a->lost_errno, b->lost_errno);
	}
}

static void every_end_and_every_step_comes_back(void **state)
{
	struct keeper_report r = some_report();

	for (int end = 0; end < KEEPER_END_MAX; end++) {
		for (int step = 0; step <= CHILD_FORK; step++) {
			r.end = (enum keeper_end)end;
			r.step = (enum child_step)step;
			expect_comes_back(&r);
		}
	}
}

static void expect_bytes(const struct keeper_report *r, const char *expected)
{
	scoped(buffer_donep) struct buffer text = {.max = REPORT_BYTES_MAX};

	assert_int_equal(keeper_report_write(r, &text), 0);
	assert_string_equal(buffer_str(&text), expected);
}

static void a_full_report_is_these_bytes(void **state)
{
	struct keeper_report r = some_report();

	r.end = KEEPER_END_CROWDED;
	r.status = -1;
	r.sandbox = (struct sandbox_standing){
		.tier = SANDBOX_TIER_CONTAINER, .layers = 5, .missing = 2};
	r.limit_hit = (enum limit_hit)1;
	r.room = (struct keeper_room_report){
		.id = "ab", .generation = 3, .fresh = true, .notice = "g"};
	r.network = (struct keeper_network_report){.named = true,
	                                           .connections = 4,
	                                           .refused = 2,
	                                           .sent = 5,
	                                           .received = 6,
	                                           .held = 7,
	                                           .questions = 8,
	                                           .list = "n\t80\t2\tport\t\t\n",
	                                           .notice = "h"};
	r.changes = (struct keeper_changes_report){.state = "applied",
	                                           .key = "k",
	                                           .added = 1,
	                                           .changed = 2,
	                                           .deleted = 3,
	                                           .bytes = 4,
	                                           .count = 5,
	                                           .conflicts = 6,
	                                           .why = "i",
	                                           .keep_ms = 7};
	memcpy(r.planted, "a\n", 3);
	memcpy(r.replaced, "b\xff", 3);
	memcpy(r.held, "g", 2);
	memcpy(r.ungranted, "c", 2);
	memcpy(r.engine, "d", 2);
	memcpy(r.audit, "e", 2);
	memcpy(r.why, "f", 2);
	r.why_public = 1;
	expect_bytes(
		&r,
		"{\"end\":\"crowded\",\"step\":6,\"errno\":2,\"status\":-1,\"killed\":3,"
		"\"survivors\":1,\"processes\":12,\"processes_bounded\":1,"
		"\"started_ms\":1700000000000,\"duration_ms\":1234,\"cpu_ms\":55,"
		"\"max_rss_kb\":10240,\"sandbox\":{\"tier\":\"container\",\"layers\":5,"
		"\"missing\":2},\"limit_hit\":1,\"room\":{\"id\":\"ab\",\"generation\":3,"
		"\"fresh\":true,\"notice\":\"g\"},\"network\":{\"named\":true,"
		"\"connections\":4,\"refused\":2,\"sent\":5,\"received\":6,\"held\":7,"
		"\"questions\":8,\"list\":\"n\\t80\\t2\\tport\\t\\t\\n\","
		"\"notice\":\"h\"},\"changes\":{\"state\":\"applied\",\"key\":\"k\",\"added\":1,"
		"\"changed\":2,\"deleted\":3,\"bytes\":4,\"count\":5,\"conflicts\":6,"
		"\"why\":\"i\",\"keep_ms\":7},\"planted\":\"a\\n\",\"replaced\":\"b�\","
		"\"held\":\"g\",\"ungranted\":\"c\",\"ended\":\"sleep\\ncat\\n\",\"slain\":"
		"\"cat\\n\","
		"\"left\":\"7 python3 80\\n\",\"stages\":\"1 0\",\"quiet\":\"sleeping: sleep\","
		"\"session\":\"the working directory is gone\",\"engine\":\"d\","
		"\"audit\":\"e\",\"why\":\"f\",\"why_public\":1,\"out\":{\"bytes\":10,\"file_"
	        "bytes\":9,"
		"\"dropped_at\":5,\"dropped_bytes\":1,\"lost_bytes\":0,\"lost_errno\":0},"
		"\"err\":{\"bytes\":1099511627776,\"file_bytes\":0,\"dropped_at\":0,"
		"\"dropped_bytes\":0,\"lost_bytes\":7,\"lost_errno\":28}}\n");
}

static void an_empty_report_is_these_bytes(void **state)
{
	expect_bytes(
		&(struct keeper_report){0},
		"{\"end\":\"exited\",\"step\":0,\"errno\":0,\"status\":0,\"killed\":0,"
		"\"survivors\":0,\"processes\":0,\"processes_bounded\":0,"
		"\"started_ms\":0,\"duration_ms\":0,\"cpu_ms\":0,\"max_rss_kb\":0,"
		"\"sandbox\":{\"tier\":\"strict\",\"layers\":0,\"missing\":0},"
		"\"limit_hit\":0,\"room\":{\"id\":\"\",\"generation\":0,"
		"\"fresh\":false,\"notice\":\"\"},\"network\":{\"named\":false,"
		"\"connections\":0,\"refused\":0,\"sent\":0,\"received\":0,\"held\":0,"
		"\"questions\":0,\"list\":\"\",\"notice\":\"\"},\"changes\":{\"state\":\"\","
		"\"key\":\"\",\"added\":0,\"changed\":0,"
		"\"deleted\":0,\"bytes\":0,\"count\":0,\"conflicts\":0,\"why\":\"\","
		"\"keep_ms\":0},\"planted\":\"\",\"replaced\":"
		"\"\",\"held\":\"\","
		"\"ungranted\":\"\","
		"\"ended\":\"\",\"slain\":\"\",\"left\":\"\",\"stages\":\"\",\"quiet\":\"\","
		"\"session\":\"\","
		"\"engine\":\"\",\"audit\":\"\",\"why\":\"\",\"why_public\":0,\"out\":{\"bytes\":0,"
		"\"file_bytes\":0,\"dropped_at\":0,\"dropped_bytes\":0,\"lost_bytes\":0,"
		"\"lost_errno\":0},\"err\":{\"bytes\":0,\"file_bytes\":0,"
		"\"dropped_at\":0,\"dropped_bytes\":0,\"lost_bytes\":0,"
		"\"lost_errno\":0}}\n");
}

static void the_largest_report_fits_into_a_packet(void **state)
{
	struct keeper_report r = some_report();

	r.sys = r.status = r.killed = r.survivors = INT32_MAX;
	r.started_ms = r.duration_ms = r.cpu_ms = r.max_rss_kb = INT64_MAX;
	for (int i = 0; i < 2; i++)
		r.streams[i] = (struct keeper_stream){INT64_MAX, INT64_MAX, INT64_MAX,
		                                      INT64_MAX, INT64_MAX, INT32_MAX};
	expect_comes_back(&r);
}

static void expect_refused(const char *text, size_t n)
{
	struct keeper_report r = {.killed = 42};
	struct error err;

	if (keeper_report_read(text, n, &r, &err) >= 0)
		fail_msg("accepted: %.*s", (int)n, text);
	assert_true(err.text[0]);
	assert_int_equal(r.killed, 42);
}

static void every_cut_of_a_report_is_refused(void **state)
{
	scoped(buffer_donep) struct buffer text = {0};
	struct keeper_report r = some_report();

	assert_int_equal(keeper_report_write(&r, &text), 0);
	for (size_t n = 0; n < text.len - 2; n++) /* brace and newline */
		expect_refused(text.data, n);
	expect_refused("[]", 2);
	expect_refused("{}", 2);
}

/* Replaces the first OLD in a written report by NEW and expects a refusal. */
static void expect_change_refused(const char *old, const char *new)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(buffer_donep) struct buffer changed = {0};
	struct keeper_report r = some_report();

	assert_int_equal(keeper_report_write(&r, &text), 0);
	test_replace(text.data, old, new, &changed);
	expect_refused(changed.data, changed.len);
}

static void damaged_reports_are_refused(void **state)
{
	static const struct {
		const char *old, *new;
	} changes[] = {
		{"\"end\":\"exited\"", "\"end\":\"EXITED\""},
		{"\"end\":\"exited\"", "\"end\":0"},
		{"\"end\":\"exited\",", ""},
		{"\"step\":6", "\"step\":-1"},
		{"\"step\":6", "\"step\":100"},
		{"\"step\":6", "\"step\":6.5"},
		{"\"killed\":3", "\"killed\":\"3\""},
		{"\"killed\":3", "\"killed\":3,\"more\":1"},
		{"\"killed\":3", "\"killed\":3,\"killed\":3"},
		{"\"killed\":3", "\"killed\":4294967299"}, /* no int */
		{"\"tier\":\"strict\"", "\"tier\":\"full\""},
		{"\"layers\":0", "\"layers\":4294967296"},
		{"\"limit_hit\":0", "\"limit_hit\":99"},
		{"\"bytes\":10,", ""},
		{"\"bytes\":10", "\"bytes\":null"},
		{"\"bytes\":10", "\"bytes\":10,\"more\":1"},
		{"\"bytes\":10", "\"bytes\":99999999999999999999"},
		{"\"out\":{", "\"out\":[],\"x\":{"},
	};

	for (size_t i = 0; i < array_size(changes); i++)
		expect_change_refused(changes[i].old, changes[i].new);
}

static void counts_below_zero_are_refused(void **state)
{
	expect_change_refused("\"bytes\":10", "\"bytes\":-1");
	expect_change_refused("\"file_bytes\":9", "\"file_bytes\":-1");
	expect_change_refused("\"dropped_bytes\":1", "\"dropped_bytes\":-1");
	expect_change_refused("\"lost_bytes\":0", "\"lost_bytes\":-1");
}

static void a_text_past_the_limit_is_refused(void **state)
{
	char text[REPORT_BYTES_MAX + 1];

	memset(text, ' ', sizeof(text));
	expect_refused(text, sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_and_every_step_comes_back),
		cmocka_unit_test(a_full_report_is_these_bytes),
		cmocka_unit_test(an_empty_report_is_these_bytes),
		cmocka_unit_test(the_largest_report_fits_into_a_packet),
		cmocka_unit_test(every_cut_of_a_report_is_refused),
		cmocka_unit_test(damaged_reports_are_refused),
		cmocka_unit_test(counts_below_zero_are_refused),
		cmocka_unit_test(a_text_past_the_limit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
