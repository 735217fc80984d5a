#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "session/session.h"

struct house {
	char state[64], work[96], sub[128];
	struct arena *arena;
};

static const char *const start_env[] = {"PATH=/bin", "LANG=C", "A=1", NULL};

static int house_make(void **state)
{
	struct house *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	test_directory_make(h->state);
	snprintf(h->work, sizeof(h->work), "%s/work", h->state);
	snprintf(h->sub, sizeof(h->sub), "%s/sub", h->work);
	assert_int_equal(mkdir(h->work, 0700), 0);
	assert_int_equal(mkdir(h->sub, 0700), 0);
	h->arena = arena_new(8 << 20);
	assert_non_null(h->arena);
	*state = h;
	return 0;
}

static int house_remove(void **state)
{
	struct house *h = *state;

	arena_free(h->arena);
	(void)nftw(h->state, test_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(h);
	return 0;
}

static int commit_bytes(struct house *h, const char *bytes, size_t n,
                        char notice[SESSION_NOTICE_MAX])
{
	const struct session_start start = {.state = h->state,
	                                    .id = "s",
	                                    .workspace = h->work,
	                                    .cwd = h->work,
	                                    .envp = start_env};

	return session_commit(&start, bytes, n, notice);
}

/* What bash would have written at its end. */
static void commit(struct house *h, const char *exports, const char *cwd,
                   char notice[SESSION_NOTICE_MAX])
{
	scoped(buffer_donep) struct buffer b = {0};

	buffer_append(&b, "\0nacre-session 1", 17);
	buffer_append(&b, exports, strlen(exports) + 1);
	buffer_puts(&b, cwd);
	buffer_append(&b, "\n\0end", 6);
	assert_int_equal(commit_bytes(h, b.data, b.len, notice), 0);
}

static struct session load(struct house *h)
{
	struct session s;

	assert_int_equal(session_load(h->state, "s", h->arena, &s, NULL), 0);
	return s;
}

static const char *value_of(const struct session *s, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *e = s->set; *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static void an_id_is_a_plain_name(void **state)
{
	static const char *const good[] = {"a", "A-b_c.9", "0"};
	static const char *const bad[] = {"",     ".",   "..",  ".a",      "a/b",
	                                  "../a", "a b", "a\n", "\xc3\xa9"};
	char longest[SESSION_ID_MAX + 2];

	for (size_t i = 0; i < array_size(good); i++)
		assert_true(session_id_is_valid(good[i]));
	for (size_t i = 0; i < array_size(bad); i++)
		assert_false(session_id_is_valid(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[SESSION_ID_MAX] = '\0';
	assert_true(session_id_is_valid(longest));
	longest[SESSION_ID_MAX] = 'x';
	longest[SESSION_ID_MAX + 1] = '\0';
	assert_false(session_id_is_valid(longest));
}

static void a_session_that_was_never_used_is_empty(void **state)
{
	struct session s = load(*state);

	assert_null(s.cwd);
	assert_null(s.set[0]);
	assert_null(s.unset[0]);
}

static void values_are_read_as_bash_quotes_them(void **state)
{
	char notice[SESSION_NOTICE_MAX];
	struct session s;

	commit(*state,
	       "declare -x PATH=\"/bin\"\ndeclare -x LANG=\"C\"\ndeclare -x A=\"1\"\n"
	       "declare -x Q=\"a \\\"b\\\" \\$c \\`d\\` \\\\ 'e'\nsecond line\"\n"
	       "declare -x N=$'tab\\there\\n\\E[1m \\'x\\' \\\\ \\001\\303\\251'\n"
	       "declare -rx R=\"ro\"\ndeclare -x NOVALUE\ndeclare -ax ARR=([0]=\"x\" "
	       "[1]=\"y\nz\")\n"
	       "export P=\"posix\"\ndeclare -x EMPTY=\"\"\n",
	       ((struct house *)*state)->sub, notice);
	assert_string_equal(notice, "");
	s = load(*state);
	assert_string_equal(s.cwd, "sub");
	assert_string_equal(value_of(&s, "Q"), "a \"b\" $c `d` \\ 'e'\nsecond line");
	assert_string_equal(value_of(&s, "N"), "tab\there\n\033[1m 'x' \\ \001\303\251");
	assert_string_equal(value_of(&s, "R"), "ro");
	assert_string_equal(value_of(&s, "P"), "posix");
	assert_string_equal(value_of(&s, "EMPTY"), "");
	assert_null(value_of(&s, "NOVALUE"));
	assert_null(value_of(&s, "ARR"));
	assert_null(value_of(&s, "A")); /* as it was at the start */
	assert_null(s.unset[0]);
}

static void only_what_a_call_changed_is_changed(void **state)
{
	char notice[SESSION_NOTICE_MAX];
	struct house *h = *state;
	struct session s;

	commit(h, "declare -x PATH=\"/bin\"\ndeclare -x LANG=\"C\"\ndeclare -x A=\"2\"\n", h->sub,
	       notice);
	commit(h, "declare -x PATH=\"/bin\"\ndeclare -x A=\"1\"\ndeclare -x B=\"3\"\n", h->work,
	       notice);
	s = load(h);
	assert_string_equal(value_of(&s, "A"), "2"); /* the second did not touch it */
	assert_string_equal(value_of(&s, "B"), "3");
	assert_string_equal(s.cwd, "sub");
	assert_string_equal(s.unset[0], "LANG");
	assert_null(s.unset[1]);
	commit(h, "declare -x PATH=\"/bin\"\ndeclare -x A=\"1\"\ndeclare -x LANG=\"D\"\n", h->work,
	       notice);
	s = load(h);
	assert_string_equal(value_of(&s, "LANG"), "D");
	assert_null(s.unset[0]);
}

static void names_that_are_refused_stay_refused(void **state)
{
	static const char *const names[] = {"LD_PRELOAD", "BASH_ENV", "IFS",   "PS4",
	                                    "NACRE_X",    "PWD",      "SHLVL", "BASH",
	                                    "TMPDIR",     "__nacre_s"};
	char notice[SESSION_NOTICE_MAX], line[256];
	struct house *h = *state;
	struct session s;

	for (size_t i = 0; i < array_size(names); i++) {
		snprintf(line, sizeof(line), "declare -x %s=\"x\"\n", names[i]);
		commit(h, line, h->work, notice);
		s = load(h);
		assert_null(s.set[0]);
	}
	commit(h, "declare -x LD_PRELOAD=\"x\"\n", h->work, notice);
	assert_non_null(strstr(notice, "LD_PRELOAD is not kept"));
}

static void a_directory_outside_or_gone_becomes_the_workspace(void **state)
{
	char notice[SESSION_NOTICE_MAX], path[192];
	struct house *h = *state;

	commit(h, "", h->sub, notice);
	commit(h, "", "/", notice);
	assert_non_null(strstr(notice, "not in the workspace"));
	assert_string_equal(load(h).cwd, ".");
	snprintf(path, sizeof(path), "%sx", h->work); /* only looks as if it were inside */
	assert_int_equal(mkdir(path, 0700), 0);
	commit(h, "", path, notice);
	assert_non_null(strstr(notice, "not in the workspace"));
	snprintf(path, sizeof(path), "%s/sub/../../..", h->work);
	commit(h, "", path, notice);
	assert_non_null(strstr(notice, "not in the workspace"));
	commit(h, "", "", notice);
	assert_non_null(strstr(notice, "gone"));
	assert_string_equal(load(h).cwd, ".");
}

#define BYTES(text)                                                                                \
	{                                                                                          \
		text, sizeof(text)                                                                 \
	}

static void what_is_no_record_changes_nothing(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} noise[] = {
		{"", 0},
		BYTES("\0nacre-session 1"),
		BYTES("\0nacre-session 1\0declare -x A=\"2\"\n\0/\n"),
		BYTES("\0nacre-session 1\0\0\0en"),
	};
	static const struct {
		const char *bytes;
		size_t n;
	} broken[] = {
		BYTES("\0nacre-session 1\0declare -x A=\"2\0/\n\0end"),
		BYTES("\0nacre-session 1\0declare -x A=$'\\0'\n\0/\n\0end"),
		BYTES("\0nacre-session 1\0declare -x A-B=\"2\"\n\0/\n\0end"),
		BYTES("\0nacre-session 1\0rm -rf x\n\0/\n\0end"),
		BYTES("\0nacre-session 1\0declare -x\0/\n\0end"),
	};
	char notice[SESSION_NOTICE_MAX];
	struct house *h = *state;

	for (size_t i = 0; i < array_size(noise); i++) {
		assert_int_equal(commit_bytes(h, noise[i].bytes, noise[i].n, notice), 0);
		assert_string_equal(notice, "");
	}
	for (size_t i = 0; i < array_size(broken); i++) {
		assert_int_equal(commit_bytes(h, broken[i].bytes, broken[i].n, notice), -EBADMSG);
		assert_null(load(h).cwd);
		assert_null(load(h).set[0]);
	}
}

static void the_last_whole_record_counts(void **state)
{
	static const char both[] =
		"junk\0nacre-session 1\0declare -x B=\"1\"\n\0/\n\0end\0junk"
		"\0nacre-session 1\0declare -x B=\"2\"\n\0/\n\0end\0\0nacre-session 1\0x";
	char notice[SESSION_NOTICE_MAX];
	struct session s;

	assert_int_equal(commit_bytes(*state, both, sizeof(both), notice), 0);
	s = load(*state);
	assert_string_equal(value_of(&s, "B"), "2");
}

static void random_bytes_do_no_harm(void **state)
{
	static const char pieces[] = "\0nacre-session 1\0declare -x A=\"\\$'\n\0/\n\0end\0";
	uint64_t seed = 5;
	char notice[SESSION_NOTICE_MAX], bytes[512];
	struct session s;

	for (int round = 0; round < 3000; round++) {
		size_t n = 0;

		while (n < sizeof(bytes) - 64) {
			size_t from = test_random(&seed) % sizeof(pieces);
			size_t len = test_random(&seed) % (sizeof(pieces) - from);

			memcpy(bytes + n, pieces + from, len);
			n += len + 1;
			bytes[n - 1] = (char)test_random(&seed);
		}
		(void)commit_bytes(*state, bytes, n, notice);
	}
	s = load(*state);
	for (const char *const *e = s.set; *e; e++)
		assert_true(session_keeps(*e, strcspn(*e, "=")));
}

static void the_variables_are_bounded(void **state)
{
	scoped(buffer_donep) struct buffer many = {0};
	char notice[SESSION_NOTICE_MAX];
	struct house *h = *state;

	for (int i = 0; i <= SESSION_VARIABLES_MAX; i++)
		buffer_printf(&many, "declare -x V%d=\"x\"\n", i);
	commit(h, buffer_str(&many), h->sub, notice);
	assert_non_null(strstr(notice, "too many"));
	assert_null(load(h).set[0]);
	assert_string_equal(load(h).cwd, "sub");
	buffer_clear(&many);
	buffer_puts(&many, "declare -x BIG=\"");
	for (size_t i = 0; i < SESSION_BYTES_MAX; i++)
		buffer_putc(&many, 'x');
	buffer_puts(&many, "\"\n");
	commit(h, buffer_str(&many), h->work, notice);
	assert_non_null(strstr(notice, "too long"));
}

static void a_file_that_others_can_read_is_refused(void **state)
{
	char notice[SESSION_NOTICE_MAX], path[128];
	struct house *h = *state;
	struct error err = {0};
	struct session s;

	commit(h, "declare -x B=\"1\"\n", h->sub, notice);
	snprintf(path, sizeof(path), "%s/sessions/s.json", h->state);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(session_load(h->state, "s", h->arena, &s, &err), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_true(session_load(h->state, "s", h->arena, &s, &err) < 0);
	snprintf(path, sizeof(path), "%s/sessions", h->state);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(session_load(h->state, "s", h->arena, &s, &err), -EPERM);
}

static void the_line_stays_on_its_line(void **state)
{
	scoped(buffer_donep) struct buffer plain = {0};
	scoped(buffer_donep) struct buffer traps = {0};
	scoped(buffer_donep) struct buffer errors = {0};

	session_wrap("cd x", &plain);
	session_wrap("trap y EXIT", &traps);
	session_wrap("trap y ERR EXIT", &errors);
	assert_null(strchr(plain.data, '\n'));
	assert_null(strchr(traps.data, '\n'));
	assert_string_equal(plain.data + plain.len - 6, "; cd x");
	assert_null(strstr(plain.data, "trap() {"));
	assert_non_null(strstr(traps.data, "trap() {"));
	assert_null(strstr(errors.data, "trap() {"));
}

static void expect_stages(const char *bytes, size_t n, const char *wanted)
{
	char text[SESSION_STAGES_MAX];

	session_read_stages(bytes, n, text);
	assert_string_equal(text, wanted);
}

#define STAGES(bytes, wanted) expect_stages(bytes, sizeof(bytes) - 1, wanted)

static void stages_are_read_or_nothing_is_said(void **state)
{
	STAGES("", "");
	STAGES("\0nacre-stages 2 1 0\0", "1 0");
	STAGES("noise\0nacre-stages 3 127x0x1\0\0nacre-session 1\0", "127 0 1");
	STAGES("\0nacre-stages 2 1 0\0\0nacre-stages 2 0 1\0", "1 0"); /* of a handler */
	STAGES("\0nacre-stages 2 10\0", "");                           /* joined by nothing */
	STAGES("\0nacre-stages 2 1 0 0\0", "");
	STAGES("\0nacre-stages 2 1 0", "");
	STAGES("\0nacre-stages 2 1 256\0", "");
	STAGES("\0nacre-stages \0", "");
	STAGES("\0nacre-stages 99 1\0", "");
}

#define HOUSE_TEST(f) cmocka_unit_test_setup_teardown(f, house_make, house_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages_are_read_or_nothing_is_said),
		cmocka_unit_test(an_id_is_a_plain_name),
		HOUSE_TEST(a_session_that_was_never_used_is_empty),
		HOUSE_TEST(values_are_read_as_bash_quotes_them),
		HOUSE_TEST(only_what_a_call_changed_is_changed),
		HOUSE_TEST(names_that_are_refused_stay_refused),
		HOUSE_TEST(a_directory_outside_or_gone_becomes_the_workspace),
		HOUSE_TEST(what_is_no_record_changes_nothing),
		HOUSE_TEST(the_last_whole_record_counts),
		HOUSE_TEST(random_bytes_do_no_harm),
		HOUSE_TEST(the_variables_are_bounded),
		HOUSE_TEST(a_file_that_others_can_read_is_refused),
		cmocka_unit_test(the_line_stays_on_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
