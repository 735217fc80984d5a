#include "base/test-support.h"
#include "serve/logins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fd.h"

struct place {
	char path[64];
	int fd;
	struct logins logins;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->path, "/tmp/nacre-logins-XXXXXX");
	if (!mkdtemp(p->path))
		return -1;
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	(void)unlinkat(p->fd, "logins.json", 0);
	(void)unlinkat(p->fd, "logins.lock", 0);
	(void)rmdir(p->path);
	logins_done(&p->logins);
	fd_close(p->fd);
	free(p);
	return 0;
}

static const struct principal boss = {.name = "boss", .digest = {{1, 2, 3}}};

static void a_code_is_good_once_and_for_two_minutes(void **state)
{
	struct place *p = *state;
	char code[LOGIN_CODE_SIZE], late[LOGIN_CODE_SIZE];
	struct login_code taken;

	assert_int_equal(logins_make_code(&p->logins, &boss, 1000, code, NULL), 0);
	assert_int_equal(strlen(code), LOGIN_CODE_SIZE - 1);
	assert_true(logins_take_code(&p->logins, code, 1000 + LOGIN_CODE_MS - 1, &taken));
	assert_string_equal(taken.principal, "boss");
	assert_memory_equal(&taken.token, &boss.digest, sizeof(taken.token));
	assert_false(logins_take_code(&p->logins, code, 1001, &taken));
	assert_int_equal(logins_make_code(&p->logins, &boss, 1000, late, NULL), 0);
	assert_false(logins_take_code(&p->logins, late, 1000 + LOGIN_CODE_MS, &taken));
	assert_false(logins_take_code(&p->logins, "", 1000, &taken));
}

static void of_too_many_codes_the_oldest_is_worthless(void **state)
{
	struct place *p = *state;
	char codes[LOGIN_CODES_MAX + 1][LOGIN_CODE_SIZE];
	struct login_code taken;

	for (int i = 0; i <= LOGIN_CODES_MAX; i++)
		assert_int_equal(logins_make_code(&p->logins, &boss, 1000 + i, codes[i], NULL), 0);
	assert_false(logins_take_code(&p->logins, codes[0], 2000, &taken));
	for (int i = 1; i <= LOGIN_CODES_MAX; i++)
		assert_true(logins_take_code(&p->logins, codes[i], 2000, &taken));
}

static void both_halves_of_one_login_find_it(void **state)
{
	struct place *p = *state;
	struct login_secrets a, b;
	struct login one, two;

	assert_int_equal(logins_begin(&p->logins, p->fd, "boss", &boss.digest, &one, &a, NULL), 0);
	assert_int_equal(logins_begin(&p->logins, p->fd, "", NULL, &two, &b, NULL), 0);
	assert_string_equal(logins_find(&p->logins, a.cookie, a.key)->id, one.id);
	assert_string_equal(logins_find(&p->logins, b.cookie, b.key)->principal, "");
	assert_null(logins_find(&p->logins, a.cookie, b.key));
	assert_null(logins_find(&p->logins, b.cookie, a.key));
	assert_null(logins_find(&p->logins, a.key, a.cookie));
	assert_null(logins_find(&p->logins, "", ""));
	assert_int_equal(logins_end(&p->logins, p->fd, one.id, NULL), 0);
	assert_null(logins_find(&p->logins, a.cookie, a.key));
	assert_int_equal(logins_end(&p->logins, p->fd, one.id, NULL), -ENOENT);
	assert_non_null(logins_find(&p->logins, b.cookie, b.key));
}

static void another_server_of_the_directory_knows_it_too(void **state)
{
	struct place *p = *state;
	struct logins other = {.list = NULL};
	struct login_secrets secrets;
	struct login made;
	bool changed;

	assert_int_equal(logins_begin(&p->logins, p->fd, "", NULL, &made, &secrets, NULL), 0);
	assert_int_equal(logins_refresh(&other, p->fd, &changed, NULL), 0);
	assert_true(changed);
	assert_non_null(logins_find(&other, secrets.cookie, secrets.key));
	assert_int_equal(logins_refresh(&other, p->fd, &changed, NULL), 0);
	assert_false(changed);
	assert_int_equal(logins_end(&p->logins, p->fd, made.id, NULL), 0);
	assert_int_equal(logins_refresh(&other, p->fd, &changed, NULL), 0);
	assert_null(logins_find(&other, secrets.cookie, secrets.key));
	logins_done(&other);
}

static void of_too_many_logins_the_oldest_ends(void **state)
{
	struct place *p = *state;
	struct login_secrets first, secrets;
	struct login made;

	assert_int_equal(logins_begin(&p->logins, p->fd, "", NULL, &made, &first, NULL), 0);
	for (int i = 0; i < LOGINS_MAX; i++)
		assert_int_equal(logins_begin(&p->logins, p->fd, "", NULL, &made, &secrets, NULL),
		                 0);
	assert_int_equal(p->logins.count, LOGINS_MAX);
	assert_null(logins_find(&p->logins, first.cookie, first.key));
	assert_non_null(logins_find(&p->logins, secrets.cookie, secrets.key));
}

static void expect_nobody(struct place *p, const char *text)
{
	int fd = openat(p->fd, "logins.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct error err = {0};

	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(fd);
	p->logins.inode = 0;
	assert_true(logins_refresh(&p->logins, p->fd, NULL, &err) < 0);
	assert_int_equal(p->logins.count, 0);
}

static void a_damaged_file_lets_nobody_in(void **state)
{
	struct place *p = *state;

	expect_nobody(p, "");
	expect_nobody(p, "{\"logins\": 1}");
	expect_nobody(p, "{\"logins\": [{}]}");
	expect_nobody(p, "{\"logins\": [{\"id\": \"x\", \"principal\": \"../x\", \"cookie\": \"\", "
	                 "\"key\": \"\", \"token\": \"\", \"created_ms\": 1, \"expires_ms\": 2}]}");
}

static void a_file_that_others_can_read_lets_nobody_in(void **state)
{
	struct place *p = *state;
	struct login_secrets secrets;
	struct login made;

	assert_int_equal(logins_begin(&p->logins, p->fd, "", NULL, &made, &secrets, NULL), 0);
	assert_int_equal(fchmodat(p->fd, "logins.json", 0644, 0), 0);
	assert_int_equal(logins_refresh(&p->logins, p->fd, NULL, NULL), -EPERM);
	assert_null(logins_find(&p->logins, secrets.cookie, secrets.key));
}

#define each(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(a_code_is_good_once_and_for_two_minutes),
		each(of_too_many_codes_the_oldest_is_worthless),
		each(both_halves_of_one_login_find_it),
		each(another_server_of_the_directory_knows_it_too),
		each(of_too_many_logins_the_oldest_ends),
		each(a_damaged_file_lets_nobody_in),
		each(a_file_that_others_can_read_lets_nobody_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
