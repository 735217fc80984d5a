#include "base/test-support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "container/left.h"

static const char *const words[] = {"run", "--rm", "busybox", "lib/tool:2", NULL};

static void read_list(const char *list, struct docker_left *ret)
{
	char answer[2048];
	int n = snprintf(answer, sizeof(answer), "HTTP/1.0 200 OK\r\n\r\n[%s]", list);

	assert_int_equal(
		docker_left_read(answer, (size_t)n,
	                         &(struct docker_line){.since_seconds = 100, .words = words}, ret,
	                         NULL),
		0);
}

static void what_was_made_since_from_an_image_of_the_line_is_its_own(void **state)
{
	struct docker_left left;

	read_list("{\"Id\":\"aaaaaaaaaaaa00\",\"Created\":100,\"Image\":\"busybox\"},"
	          "{\"Id\":\"bbbbbbbbbbbb00\",\"Created\":101,\"Image\":\"docker.io/"
	          "busybox:latest\"},"
	          "{\"Id\":\"cccccccccccc00\",\"Created\":101,\"Image\":\"localhost/lib/tool:2\"}",
	          &left);
	assert_int_equal(left.count, 0);
	assert_int_equal(left.own_count, 3);
	assert_string_equal(left.own[0], "aaaaaaaaaaaa");
	assert_string_equal(left.own[2], "cccccccccccc");
}

static void what_may_be_anybodys_is_only_named(void **state)
{
	struct docker_left left;

	read_list("{\"Id\":\"aaaaaaaaaaaa00\",\"Created\":99,\"Image\":\"busybox\"},"
	          "{\"Id\":\"bbbbbbbbbbbb00\",\"Created\":101,\"Image\":\"notbusybox\"},"
	          "{\"Id\":\"cccccccccccc00\",\"Created\":101,\"Image\":\"lib/tool:3\"},"
	          "{\"Id\":\"dddddddddddd00\",\"Created\":101,\"Image\":\"busybox:1\"},"
	          "{\"Id\":\"../../etc/pass\",\"Created\":101,\"Image\":\"busybox\"},"
	          "{\"Id\":\"eeeeeeeeeeee00\",\"Created\":101}",
	          &left);
	assert_int_equal(left.own_count, 0);
	assert_int_equal(left.count, 4);
	assert_string_equal(left.ids[0], "bbbbbbbbbbbb");
}

static void what_is_no_list_is_an_error(void **state)
{
	struct docker_line line = {.words = words};
	struct docker_left left;
	struct error err = {0};

	assert_int_equal(docker_left_read("HTTP/1.0 500 X\r\n\r\n[]", 20, &line, &left, &err),
	                 -EPROTO);
	assert_int_equal(docker_left_read("", 0, &line, &left, &err), -EPROTO);
	assert_true(docker_left_read("HTTP/1.0 200 OK\r\n\r\n{", 20, &line, &left, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_made_since_from_an_image_of_the_line_is_its_own),
		cmocka_unit_test(what_may_be_anybodys_is_only_named),
		cmocka_unit_test(what_is_no_list_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
