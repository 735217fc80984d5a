#include "base/test-support.h"
#include "serve/principal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "serve/mcp-names.h"

struct world {
	char dir[64];
	int fd;
	struct principals known;
};

static void setup(struct world *w)
{
	*w = (struct world){0};
	test_directory_make(w->dir);
	w->fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->fd >= 0);
}

static void teardown(struct world *w)
{
	principals_done(&w->known);
	fd_close(w->fd);
	test_directory_remove(w->dir);
}

static void a_token_is_its_principals_and_nobody_elses(void **state)
{
	static const char *const profiles[] = {"readonly", NULL};
	char a[PRINCIPAL_TOKEN_MAX], b[PRINCIPAL_TOKEN_MAX];
	const struct principal *found;
	struct world w;

	setup(&w);
	assert_int_equal(principals_create(w.fd,
	                                   &(struct principal){.name = "a", .profiles = profiles},
	                                   a, NULL),
	                 0);
	assert_int_equal(
		principals_create(w.fd, &(struct principal){.name = "b", .approve = true}, b, NULL),
		0);
	assert_string_not_equal(a, b);
	assert_int_equal(principals_refresh(&w.known, w.fd, NULL, NULL), 0);
	found = principals_by_token(&w.known, a);
	assert_non_null(found);
	assert_string_equal(found->name, "a");
	assert_true(principal_may_use(found, "readonly"));
	assert_false(principal_may_use(found, "bash"));
	assert_false(found->approve || found->audit);
	found = principals_by_token(&w.known, b);
	assert_string_equal(found->name, "b");
	assert_true(found->approve && principal_may_use(found, "bash"));
	a[10] ^= 1;
	assert_null(principals_by_token(&w.known, a));
	assert_null(principals_by_token(&w.known, ""));
	teardown(&w);
}

static void a_revoked_token_is_gone_and_its_name_is_free(void **state)
{
	char a[PRINCIPAL_TOKEN_MAX], again[PRINCIPAL_TOKEN_MAX];
	struct principal who = {.name = "a"};
	bool changed;
	struct world w;

	setup(&w);
	assert_int_equal(principals_revoke(w.fd, "a", NULL), -ENOENT);
	assert_int_equal(principals_create(w.fd, &who, a, NULL), 0);
	assert_int_equal(principals_create(w.fd, &who, again, NULL), -EEXIST);
	assert_int_equal(principals_refresh(&w.known, w.fd, &changed, NULL), 0);
	assert_true(changed);
	assert_int_equal(principals_refresh(&w.known, w.fd, &changed, NULL), 0);
	assert_false(changed);
	assert_int_equal(principals_revoke(w.fd, "a", NULL), 0);
	assert_int_equal(principals_create(w.fd, &who, again, NULL), 0);
	assert_int_equal(principals_refresh(&w.known, w.fd, &changed, NULL), 0);
	assert_true(changed);
	assert_null(principals_by_token(&w.known, a));
	assert_non_null(principals_by_token(&w.known, again));
	teardown(&w);
}

static void a_file_that_cannot_be_trusted_knows_nobody(void **state)
{
	static const char name[] =
		"{\"tokens\":[{\"name\":\"a/b\",\"digest\":\"00\",\"profiles\":null,"
		"\"workspaces\":null,\"approve\":true,\"audit\":true,\"created_ms\":1}]}";
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{\"tokens\":1}",
		"{\"tokens\":[1]}",
		"{\"tokens\":[{\"name\":\"a\"}]}",
		name,
	};
	char token[PRINCIPAL_TOKEN_MAX], path[128];
	struct world w;

	setup(&w);
	assert_int_equal(principals_create(w.fd, &(struct principal){.name = "a"}, token, NULL), 0);
	assert_int_equal(principals_refresh(&w.known, w.fd, NULL, NULL), 0);
	assert_int_equal(w.known.count, 1);
	snprintf(path, sizeof(path), "%s/tokens.json", w.dir);
	assert_int_equal(chmod(path, 0640), 0);
	assert_true(principals_refresh(&w.known, w.fd, NULL, NULL) < 0);
	assert_null(principals_by_token(&w.known, token));
	for (size_t i = 0; i < array_size(bad); i++) {
		assert_int_equal(fd_replace_file(w.fd, "tokens.json", bad[i], strlen(bad[i])), 0);
		assert_true(principals_refresh(&w.known, w.fd, NULL, NULL) < 0);
		assert_int_equal(w.known.count, 0);
	}
	teardown(&w);
}

static void names_are_plain(void **state)
{
	char token[PRINCIPAL_TOKEN_MAX];
	struct world w;

	setup(&w);
	assert_true(principal_name_is_valid("ci-2_X"));
	assert_false(principal_name_is_valid(""));
	assert_false(principal_name_is_valid("a b"));
	assert_false(principal_name_is_valid("../a"));
	assert_false(principal_name_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	assert_int_equal(principals_create(w.fd, &(struct principal){.name = "a/b"}, token, NULL),
	                 -EINVAL);
	teardown(&w);
}

static void the_first_start_makes_one_token(void **state)
{
	bool made;
	struct world w;
	struct stat st;

	setup(&w);
	assert_int_equal(principals_begin(w.fd, &made, NULL), 0);
	assert_true(made);
	assert_int_equal(fstatat(w.fd, "token", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(principals_begin(w.fd, &made, NULL), 0);
	assert_false(made);
	teardown(&w);
}

static void a_header_is_what_the_message_says(void **state)
{
	assert_true(mcp_names_name("shell", "shell"));
	assert_true(mcp_names_name(" \tshell ", "shell"));
	assert_true(mcp_names_name("=?base64?c2hlbGw=?=", "shell"));
	assert_true(mcp_names_name("=?base64?"
	                           "?=",
	                           ""));
	assert_true(mcp_names_name("=?base64?w6k=?=", "\xc3\xa9"));
	assert_false(mcp_names_name("\xc3\xa9", "\xc3\xa9")); /* not in a header */
	assert_true(mcp_names_equal(" \ttools/list ", "tools/list"));
	assert_false(mcp_names_equal("=?base64?c2hlbGw=?=", "shell"));
	assert_false(mcp_names_name("Shell", "shell"));
	assert_false(mcp_names_name("shel", "shell"));
	assert_false(mcp_names_name("=?base64?c2hlbGw?=", "shell"));
	assert_false(mcp_names_name("=?base64?c2hlbGx=?=", "shell")); /* bits left over */
	assert_false(mcp_names_name("=?base64?c2hl?=", "shell"));
	assert_false(mcp_names_name("=?base64?c2hlbGw=c2hl?=", "shell"));
	assert_false(mcp_names_name("=?base64?c2 lbGw=?=", "shell"));
}

static void a_person_is_said_by_the_token_alone(void **state)
{
	static const char old[] = /* of a nacre that knew of none */
		"{\"tokens\":[{\"name\":\"a\",\"digest\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"profiles\":null,\"workspaces\":null,\"approve\":false,\"audit\":true,"
		"\"created_ms\":1}]}";
	const struct principal person = {.name = "p", .person = true},
			       boss = {.name = "b", .approve = true};
	char token[PRINCIPAL_TOKEN_MAX];
	struct world w;

	setup(&w);
	assert_int_equal(fd_replace_file(w.fd, "tokens.json", old, strlen(old)), 0);
	assert_int_equal(principals_create(w.fd, &person, token, NULL), 0);
	assert_int_equal(principals_create(w.fd, &boss, token, NULL), 0);
	assert_int_equal(principals_refresh(&w.known, w.fd, NULL, NULL), 0);
	assert_false(principal_has_person(principals_by_name(&w.known, "a")));
	assert_true(principal_has_person(principals_by_name(&w.known, "p")));
	assert_true(principal_has_person(principals_by_name(&w.known, "b")));
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_its_principals_and_nobody_elses),
		cmocka_unit_test(a_revoked_token_is_gone_and_its_name_is_free),
		cmocka_unit_test(a_file_that_cannot_be_trusted_knows_nobody),
		cmocka_unit_test(names_are_plain),
		cmocka_unit_test(the_first_start_makes_one_token),
		cmocka_unit_test(a_header_is_what_the_message_says),
		cmocka_unit_test(a_person_is_said_by_the_token_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
