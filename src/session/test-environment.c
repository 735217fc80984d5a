#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "session/environment.h"

static const char *const none[] = {NULL};

static int build(struct arena *arena, const char *const *base, const char *const *extra,
                 const char *cwd, const char *const **ret_env, struct error *err)
{
	const struct environment_wish wish = {.base = base, .extra = extra, .cwd = cwd};

	return environment_build(arena, &wish, ret_env, err);
}

/* The value of the variable, or NULL. It must not be there twice. */
static const char *value_of(const char *const *env, const char *name)
{
	const char *value = NULL;
	size_t n = strlen(name);

	for (; *env; env++) {
		if (strncmp(*env, name, n) != 0 || (*env)[n] != '=')
			continue;
		assert_null(value);
		value = *env + n + 1;
	}
	return value;
}

static size_t count(const char *const *env)
{
	size_t n = 0;

	while (env[n])
		n++;
	return n;
}

static void without_anything_a_path_a_terminal_and_the_directory_are_set(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(build(arena, none, NULL, "/work dir", &env, NULL), 0);
	assert_int_equal(count(env), 3);
	assert_non_null(strstr(value_of(env, "PATH"), "/usr/bin"));
	assert_string_equal(value_of(env, "TERM"), "dumb");
	assert_string_equal(value_of(env, "PWD"), "/work dir");
}

static void a_profile_lets_more_pass_and_sets_its_own(void **state)
{
	static const char *const base[] = {"EDITOR=vi", "MY_A=1", "MY_B=2",
	                                   "OTHER=3",   "LANG=C", NULL};
	static const char *const pass[] = {"EDITOR", "MY_*", NULL};
	static const char *const fixed[] = {"LANG=C.UTF-8", "CI=1", NULL};
	static const char *const extra[] = {"CI=2", NULL};
	const struct environment_wish wish = {
		.base = base, .pass = pass, .set = fixed, .extra = extra, .cwd = "/w"};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(environment_build(arena, &wish, &env, NULL), 0);
	assert_string_equal(value_of(env, "EDITOR"), "vi");
	assert_string_equal(value_of(env, "MY_B"), "2");
	assert_null(value_of(env, "OTHER"));
	assert_string_equal(value_of(env, "LANG"), "C.UTF-8");
	assert_string_equal(value_of(env, "CI"), "2");
}

static void only_variables_of_the_allow_list_pass(void **state)
{
	static const char *const base[] = {"PATH=/opt/bin",
	                                   "HOME=/home/x",
	                                   "LANG=C.UTF-8",
	                                   "LC_ALL=C",
	                                   "TZ=UTC",
	                                   "USER=x",
	                                   "LOGNAME=x",
	                                   "TMPDIR=/var/tmp",
	                                   "GITHUB_TOKEN=t",
	                                   "AWS_SECRET_KEY=k",
	                                   "SSH_AUTH_SOCK=/s",
	                                   "API_KEY=k",
	                                   "LD_PRELOAD=/x.so",
	                                   "BASH_ENV=/x",
	                                   "PYTHONPATH=/x",
	                                   "TERM=xterm",
	                                   "PWD=/elsewhere",
	                                   "OLDPWD=/elsewhere",
	                                   "PATHX=/x",
	                                   "XHOME=/x",
	                                   "BASH_FUNC_ls%%=()",
	                                   "NACRE_STATE_DIR=/x",
	                                   "NODE_OPTIONS=-r x",
	                                   "LCX=1",
	                                   "PATH",
	                                   "",
	                                   "=x",
	                                   NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(build(arena, base, NULL, "/w", &env, NULL), 0);
	assert_null(value_of(env, "TMPDIR")); /* a box has its own */
	for (int i = 0; i < 7; i++) {
		char name[16] = "";

		memcpy(name, base[i], strcspn(base[i], "="));
		assert_string_equal(value_of(env, name), strchr(base[i], '=') + 1);
	}
	assert_string_equal(value_of(env, "TERM"), "dumb");
	assert_string_equal(value_of(env, "PWD"), "/w");
	for (size_t i = 0; env[i]; i++) {
		static const char *const secrets[] = {"TOKEN", "SECRET", "KEY",  "SSH", "LD_",
		                                      "BASH",  "PYTHON", "NODE", "OLD", "LCX"};

		for (size_t j = 0; j < array_size(secrets); j++)
			assert_null(strstr(env[i], secrets[j]));
	}
}

static void a_request_adds_and_replaces(void **state)
{
	static const char *const base[] = {"PATH=/bin", "HOME=/home/x", NULL};
	static const char *const extra[] = {
		"PATH=/mine", "_A1=with = and\nlines", "EMPTY=", "TERM=xterm", "A=1", "A=2", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(build(arena, base, extra, "/w", &env, NULL), 0);
	assert_string_equal(value_of(env, "PATH"), "/mine");
	assert_string_equal(value_of(env, "HOME"), "/home/x");
	assert_string_equal(value_of(env, "_A1"), "with = and\nlines");
	assert_string_equal(value_of(env, "EMPTY"), "");
	assert_string_equal(value_of(env, "TERM"), "xterm");
	assert_string_equal(value_of(env, "A"), "2");
}

static void expect_refused(const char *assignment, int code)
{
	const char *const extra[] = {"GOOD=1", assignment, NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env = NULL;
	struct error err;

	if (build(arena, none, extra, "/w", &env, &err) != code)
		fail_msg("not refused as it should be: %s", assignment);
	assert_int_equal(err.kind, ERROR_INPUT);
	assert_null(env);
}

static void what_steers_shell_or_loader_cannot_be_set(void **state)
{
	static const char *const refused[] = {
		"LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "LD_=x",          "GLIBC_TUNABLES=x",
		"GCONV_PATH=/x",    "BASH_ENV=/x",        "ENV=/x",         "SHELLOPTS=x",
		"BASHOPTS=x",       "PS4=$(x)",           "IFS=x",          "BASH_FUNC_ls=x",
		"CDPATH=/x",        "GLOBIGNORE=x",       "NACRE_X=1",      "PROMPT_COMMAND=x",
		"BASH_XTRACEFD=1",  "MALLOC_CHECK_=1",    "LOCPATH=/x",     "NLSPATH=/x",
		"POSIXLY_CORRECT=", "POSIX_PEDANTIC=",    "BASH_COMPAT=31", "TEXTDOMAINDIR=/x"};

	for (size_t i = 0; i < array_size(refused); i++)
		expect_refused(refused[i], -EPERM);
}

/* In another charset bash would read other commands in the text than those that were judged. */
static void a_locale_of_another_charset_is_not_passed_on(void **state)
{
	static const char *const base[] = {"LANG=zh_TW.BIG5", "LC_CTYPE=de_DE", "LC_TIME=de_DE",
	                                   NULL};
	static const char *const fixed[] = {"LC_ALL=zh_CN.GBK", NULL};
	const struct environment_wish wish = {
		.base = base, .set = fixed, .kept = base, .cwd = "/w"};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(environment_build(arena, &wish, &env, NULL), 0);
	assert_null(value_of(env, "LANG"));
	assert_null(value_of(env, "LC_CTYPE"));
	assert_null(value_of(env, "LC_ALL"));
	assert_string_equal(value_of(env, "LC_TIME"), "de_DE");
	expect_refused("LC_ALL=zh_TW.BIG5", -EPERM);
	expect_refused("LANG=de_DE@euro", -EPERM);
}

static void names_that_only_look_like_those_can_be_set(void **state)
{
	static const char *const extra[] = {"XLD_PRELOAD=1", "ENVIRONMENT=1", "MY_ENV=1",
	                                    "LD=1",          "IFSX=1",        NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env;

	assert_int_equal(build(arena, none, extra, "/w", &env, NULL), 0);
	assert_int_equal(count(env), 3 + 5);
}

static void what_is_not_a_variable_is_refused(void **state)
{
	static const char *const bad[] = {
		"",     "=x",   "A",     "1A=x",       "A B=x",
		"A-B=", "A.B=", "A\n=x", "\xc3\xa4=x", "BASH_FUNC_ls%%=x"};

	for (size_t i = 0; i < array_size(bad); i++)
		expect_refused(bad[i], -EINVAL);
}

static void the_number_of_variables_is_limited(void **state)
{
	const char *extra[300];
	static char names[300][16];
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const char *const *env = NULL;
	struct error err;

	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "V%d=x", i);
		extra[i] = names[i];
	}
	extra[256] = NULL;
	assert_int_equal(build(arena, none, extra, "/w", &env, &err), 0);
	assert_int_equal(count(env), 3 + 256);
	extra[256] = names[256];
	extra[257] = NULL;
	assert_int_equal(build(arena, none, extra, "/w", &env, &err), -E2BIG);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void memory_that_runs_out_is_reported(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(0);
	const char *const *env = NULL;

	assert_int_equal(build(arena, none, NULL, "/w", &env, NULL), -ENOMEM);
	assert_null(env);
}

static void a_session_sets_and_unsets_below_the_request(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	static const char *const base[] = {"LANG=C", "TZ=UTC", NULL};
	static const char *const kept[] = {"A=session", "B=session", "LD_PRELOAD=/x", "bad", NULL};
	static const char *const dropped[] = {"LANG", "NOT_THERE", "C", NULL};
	static const char *const extra[] = {"B=request", "C=request", NULL};
	const struct environment_wish wish = {
		.base = base, .kept = kept, .dropped = dropped, .extra = extra, .cwd = "/"};
	const char *const *env;

	assert_int_equal(environment_build(arena, &wish, &env, NULL), 0);
	assert_null(value_of(env, "LANG"));
	assert_string_equal(value_of(env, "TZ"), "UTC");
	assert_string_equal(value_of(env, "A"), "session");
	assert_string_equal(value_of(env, "B"), "request");
	assert_string_equal(value_of(env, "C"), "request");
	assert_null(value_of(env, "LD_PRELOAD"));
	assert_int_equal(count(env), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_anything_a_path_a_terminal_and_the_directory_are_set),
		cmocka_unit_test(only_variables_of_the_allow_list_pass),
		cmocka_unit_test(a_profile_lets_more_pass_and_sets_its_own),
		cmocka_unit_test(a_request_adds_and_replaces),
		cmocka_unit_test(what_steers_shell_or_loader_cannot_be_set),
		cmocka_unit_test(a_locale_of_another_charset_is_not_passed_on),
		cmocka_unit_test(names_that_only_look_like_those_can_be_set),
		cmocka_unit_test(what_is_not_a_variable_is_refused),
		cmocka_unit_test(the_number_of_variables_is_limited),
		cmocka_unit_test(memory_that_runs_out_is_reported),
		cmocka_unit_test(a_session_sets_and_unsets_below_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
