#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "json/read.h"
#include "json/write.h"

static const struct digest digests[2] = {{{1, 2, 3}}, {{0xff, 0xfe}}};
static const struct object_file files[2] = {
	{.path = "/usr/bin/docker", .device = UINT64_MAX, .inode = 7, .size = 9, .born_ns = -1},
	{.path = "/w/Dockerfile", .modified_ns = INT64_MAX, .changed_ns = INT64_MIN},
};

static struct approval sample(void)
{
	static const char *const env[] = {"A=1", "B=two", NULL};
	struct approval a = {
		.id = "ap-0123456789",
		.principal = "alice",
		.door = "mcp",
		.session = "s1",
		.profile = "workspace",
		.created_ms = 1000,
		.expires_ms = 2000,
		.command = "docker build\n-f Dockerfile",
		.description = "build it",
		.workspace = "/w",
		.cwd = "/w/sub",
		.sandbox = "strict",
		.network = "none",
		.engine = "off",
		.env = env,
		.input = "hello",
		.rule_id = "ask:docker",
		.rule_file = "built-in:workspace",
		.rule_line = 12,
		.reason = "'docker' is in no list.",
		.object = {.programs = files, .files = files, .program_count = 1, .file_count = 2},
		.exact = {.digests = digests, .count = 2},
		.by = "",
	};

	a.object.parts[OBJECT_TERMS].bytes[31] = 0x5a;
	return a;
}

static void what_is_written_is_read_again(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer text = {0};
	struct approval a = sample(), b;

	assert_int_equal(approval_write(&a, &text), 0);
	assert_int_equal(approval_read(text.data, text.len, arena, &b, NULL), 0);
	assert_string_equal(b.id, a.id);
	assert_string_equal(b.principal, "alice");
	assert_string_equal(b.session, "s1");
	assert_string_equal(b.sandbox, "strict");
	assert_string_equal(b.network, "none");
	assert_string_equal(b.engine, "off");
	assert_string_equal(b.command, a.command);
	assert_string_equal(b.env[1], "B=two");
	assert_null(b.env[2]);
	assert_int_equal(b.rule_line, 12);
	assert_int_equal(b.expires_ms, 2000);
	assert_int_equal(object_compare(&a.object, &b.object, NULL), 0);
	assert_int_equal(b.object.program_count, 1);
	assert_int_equal(b.object.file_count, 2);
	assert_true(b.object.files[0].device == UINT64_MAX && b.object.files[0].born_ns == -1);
	assert_true(b.object.files[1].changed_ns == INT64_MIN);
	assert_int_equal(b.exact.count, 2);
	assert_memory_equal(b.exact.digests, digests, sizeof(digests));
	assert_int_equal(b.sub.count, 0);
}

/* Whatever one byte does to the file: it is read, or refused in words. */
static void every_damage_of_one_byte_is_read_or_refused(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer text = {0};
	static const char tries[] = "\"{}[]:,0x\\ \n\x80";
	struct approval a = sample(), b;
	struct error err;
	int refused = 0;

	assert_int_equal(approval_write(&a, &text), 0);
	for (size_t i = 0; i < text.len; i++) {
		char was = text.data[i];

		for (size_t k = 0; k < sizeof(tries); k++) {
			int r;

			arena_reset(arena);
			text.data[i] = tries[k];
			r = approval_read(text.data, text.len, arena, &b, &err);
			assert_true(r == 0 || (r == -EINVAL && err.text[0]));
			refused += r < 0;
		}
		text.data[i] = was;
	}
	assert_true(refused > 1000);
}

static void wrong_types_and_numbers_are_refused(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{"id", "\"ap-../../../x\""},
		{"id", "\"ap-1\""},
		{"created_ms", "-1"},
		{"created_ms", "3000"},
		{"rule_line", "-1"},
		{"rule_line", "4294967296"},
		{"programs", "3"},
		{"programs", "-1"},
		{"object", "[]"},
		{"object", "{}"},
		{"files", "[[1]]"},
		{"files", "[[\"x\",1,2,3,4,5,6,7]]"},
		{"exact", "[\"zz\"]"},
		{"sub", "\"\""},
		{"env", "[1]"},
		{"env", "{}"},
		{"principal", "null"},
		{"command", "7"},
		{"session", "[]"},
		{"expires_ms", "\"soon\""},
	};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	scoped(buffer_donep) struct buffer text = {0};
	struct approval a = sample(), b;

	assert_int_equal(approval_write(&a, &text), 0);
	for (size_t i = 0; i < array_size(bad); i++) {
		scoped(json_decrefp) json_t *root = json_loadb(text.data, text.len, 0, NULL);
		scoped(freep) char *changed = NULL;

		assert_int_equal(
			json_object_set_new(root, bad[i].key,
		                            json_loads(bad[i].value, JSON_DECODE_ANY, NULL)),
			0);
		changed = json_dumps(root, 0);
		if (approval_read(changed, strlen(changed), arena, &b, NULL) != -EINVAL)
			fail_msg("%s: %s was taken", bad[i].key, bad[i].value);
	}
}

static void an_id_is_read_as_people_write_it(void **state)
{
	static const char *const bad[] = {"",
	                                  "ap-",
	                                  "ap-012345678",
	                                  "ap-01234567890",
	                                  "ap-012345678i",
	                                  "ap-01234/6789",
	                                  "../../../etc",
	                                  "ap-012345678\n"};
	char id[APPROVAL_ID_MAX];

	assert_int_equal(approval_id_read("AP-0123ABCDEF", id), 0);
	assert_string_equal(id, "ap-0123abcdef");
	assert_int_equal(approval_id_read("0123abcdef", id), 0);
	assert_string_equal(id, "ap-0123abcdef");
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(approval_id_read(bad[i], id), -EINVAL);
}

static void nothing_can_hide_in_what_is_shown(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"plain ä 日本", "plain ä 日本"},
		{"a\033[2Kb", "a<U+001B>[2Kb"},
		{"a\rb\bc\tx", "a<U+000D>b<U+0008>c<U+0009>x"},
		{"rm \xe2\x80\xae"
	         "txt",
	         "rm <U+202E>txt"},
		{"z\xe2\x80\x8b"
	         "w\xef\xbb\xbf",
	         "z<U+200B>w<U+FEFF>"},
		{"\xc2\x9b"
	         "31m",
	         "<U+009B>31m"},
		{"\xc2\xa0", "<U+00A0>"},
		{"\xff\xfe", "<0xFF><0xFE>"},
		{"\xf3\xa0\x81\xa1", "<U+E0061>"},
		{"a\nb", "a<U+000A>b"},
	};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(buffer_donep) struct buffer b = {0};

		approval_escape(cases[i].text, strlen(cases[i].text), false, &b);
		assert_string_equal(buffer_str(&b), cases[i].shown);
	}
}

static void every_line_of_a_command_has_its_mark(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct approval a = sample();

	a.command = "x\n  Rule       all is well\n\033]0;t\a";
	approval_print(&a, &b);
	assert_non_null(strstr(buffer_str(&b), "\n      Rule       all is well\n"));
	assert_non_null(strstr(buffer_str(&b), "\n    <U+001B>]0;t<U+0007>\n"));
	assert_non_null(
		strstr(buffer_str(&b), "  Rule       ask:docker (built-in:workspace:12)\n"));
	buffer_clear(&b);
	approval_print_details(&a, 1000, &b);
	assert_non_null(strstr(buffer_str(&b), "/w/Dockerfile"));
	assert_non_null(strstr(buffer_str(&b), "exactly these words"));
	assert_null(strstr(buffer_str(&b), "sub-command"));
}

static void the_box_is_told_as_it_is_asked_for(void **state)
{
	static const struct {
		const char *sandbox, *network, *engine, *shown;
	} cases[] = {
		{"strict", "none", "off", "strict, network none, as profile workspace asks"},
		{"strict", "names", "off", "strict, network by name, as profile workspace asks"},
		{"landlock", "host", "open",
	         "landlock, network host, container engine within reach, as profile workspace "
	         "asks"},
		{"none", "host", "open", "none, network host, as profile workspace asks"},
		{"a\nb", "none", "off", "a<U+000A>b, network none, as profile workspace asks"},
		{NULL, NULL, NULL, "not known"},
	};

	for (size_t i = 0; i < array_size(cases); i++) {
		scoped(buffer_donep) struct buffer box = {0}, all = {0};
		struct approval a = sample();

		a.sandbox = cases[i].sandbox;
		a.network = cases[i].network;
		a.engine = cases[i].engine;
		approval_print_box(&a, &box);
		assert_string_equal(buffer_str(&box), cases[i].shown);
		approval_print(&a, &all);
		assert_non_null(strstr(buffer_str(&all), "\n  Sandbox    "));
		assert_non_null(strstr(buffer_str(&all), cases[i].shown));
	}
}

static void the_scope_says_when_there_is_none(void **state)
{
	scoped(buffer_donep) struct buffer b = {0};
	struct approval a = sample();

	a.exact.count = 0;
	approval_print_scope(&a, &b);
	assert_non_null(strstr(buffer_str(&b), "for once only: it runs other commands"));
	buffer_clear(&b);
	a.session = NULL;
	approval_print_scope(&a, &b);
	assert_non_null(strstr(buffer_str(&b), "part of no session"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(every_damage_of_one_byte_is_read_or_refused),
		cmocka_unit_test(wrong_types_and_numbers_are_refused),
		cmocka_unit_test(an_id_is_read_as_people_write_it),
		cmocka_unit_test(nothing_can_hide_in_what_is_shown),
		cmocka_unit_test(every_line_of_a_command_has_its_mark),
		cmocka_unit_test(the_box_is_told_as_it_is_asked_for),
		cmocka_unit_test(the_scope_says_when_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
