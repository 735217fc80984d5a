#include "base/test-support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fd.h"
#include "task/find.h"

#define LOCKS 4

struct place {
	char dir[64];
	struct store store;
	int locks[LOCKS];
	int lock_count;
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	test_memory_directory_make(p->dir);
	setenv("NACRE_STATE_DIR", p->dir, 1);
	store_open(&p->store);
	assert_true(p->store.tasks_fd >= 0 && !p->store.temporary);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < p->lock_count; i++)
		fd_close(p->locks[i]);
	store_done(&p->store);
	test_directory_remove(p->dir);
	free(p);
	return 0;
}

/* A task of SECOND, in which the clock stood so; one that runs, or nobody knows what became of it.
 */
static void make(struct place *p, const char *id, const char *principal, int second, bool runs)
{
	struct timespec at[2] = {{.tv_sec = second}, {.tv_sec = second}};
	char path[64], text[160];
	int fd;

	assert_int_equal(mkdirat(p->store.tasks_fd, id, 0700), 0);
	snprintf(path, sizeof(path), "%s/spec.json", id);
	fd = openat(p->store.tasks_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	snprintf(text, sizeof(text), "{\"task_id\":\"%s\",%s%s%s\"command\":\"x\"}", id,
	         *principal ? "\"principal\":\"" : "", principal, *principal ? "\"," : "");
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(futimens(fd, at), 0);
	if (runs) {
		assert_true(p->lock_count < LOCKS);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		p->locks[p->lock_count++] = fd;
	} else {
		fd_close(fd);
	}
}

/* What spec.json says of where a task comes from, in the beginning that is read of it. */
static void expect_origin(struct place *p, const char *spec, const char *root,
                          const char *workspace)
{
	static struct find_origin o; /* two paths long */
	scoped(fd_closep) int fd = openat(p->store.tasks_fd, "spec.json",
	                                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, spec, strlen(spec)), 0);
	find_origin(p->store.tasks_fd, &o);
	assert_string_equal(o.root, root);
	assert_string_equal(o.workspace, workspace);
}

static void tells_where_a_task_comes_from(void **state)
{
	struct place *p = *state;

	expect_origin(p, "{\"task_id\":\"x\",\"root\":\"/a\",\"command\":\"y\"}", "/a", "/a");
	expect_origin(p,
	              "{\"task_id\":\"x\",\"principal\":\"p\",\"door\":\"mcp\",\"root\":\"/a\","
	              "\"workspace\":\"/a/b\",\"command\":\"y\"}",
	              "/a", "/a/b");
	expect_origin(p, "{\"task_id\":\"x\",\"root\":\"/a\\n\\\"\\\\\\u0001\",\"command\":\"y\"}",
	              "/a\n\"\\\1", "/a\n\"\\\1");
	expect_origin(p, "{\"task_id\":\"x\",\"root\":{\"hex\":\"2f61ff\"},\"command\":\"y\"}",
	              "/a\xff", "/a\xff");
	expect_origin(p,
	              "{\"task_id\":\"x\",\"root\":\"/a\",\"base\":\"/a/b\","
	              "\"workspace\":\"/a/c\",\"command\":\"y\"}",
	              "/a", "/a/c");
	/* Of what is cut, damaged, or stands elsewhere nothing is believed. */
	expect_origin(p, "{\"task_id\":\"x\",\"root\":\"/a", "", "");
	expect_origin(p, "{\"task_id\":\"x\",\"root\":{\"hex\":\"2f6\"},", "", "");
	expect_origin(p, "{\"task_id\":\"x\",\"root\":\"/a\\q\",", "", "");
	expect_origin(p, "{\"task_id\":\"x\",\"command\":\"y\",\"root\":\"/a\"}", "", "");
	expect_origin(p, "{}", "", "");
	expect_origin(p, "", "", "");
}

/* "bash-a bash-b" and, if there are more, "...". */
static void expect(struct place *p, const struct find_query *q, const char *wanted, char *ret_next)
{
	scoped(find_list_donep) struct find_list list = {0};
	char got[512] = "";

	assert_int_equal(find_tasks(&p->store, q, &list, NULL), 0);
	for (size_t i = 0; i < list.count; i++) {
		strcat(got, i ? " " : "");
		strcat(got, list.entries[i].id + strlen("bash-"));
	}
	strcat(got, list.more ? " ..." : "");
	assert_string_equal(got, wanted);
	if (ret_next)
		memcpy(ret_next, list.entries[list.count - 1].cursor, FIND_CURSOR_MAX);
}

static void make_some(struct place *p)
{
	make(p, "bash-old", "alice", 100, false);
	make(p, "bash-own", "", 200, false);
	make(p, "bash-mid", "alice", 300, false);
	make(p, "bash-run", "alice", 50, true);
	make(p, "bash-new", "alice", 400, false);
	make(p, "bash-bob", "bob", 500, false);
	make(p, "bash-bur", "bob", 600, true);
}

static void everybody_has_a_list_of_their_own(void **state)
{
	struct place *p = *state;

	make_some(p);
	expect(p, &(struct find_query){0}, "bur run bob new mid own old", NULL);
	expect(p, &(struct find_query){.principal = "alice"}, "run new mid old", NULL);
	expect(p, &(struct find_query){.principal = "bob"}, "bur bob", NULL);
	expect(p, &(struct find_query){.principal = ""}, "own", NULL);
	expect(p, &(struct find_query){.principal = "ali"}, "", NULL);
	expect(p, &(struct find_query){.principal = "alice", .only_running = true}, "run", NULL);
}

static void a_limit_counts_what_is_listed(void **state)
{
	struct place *p = *state;

	make_some(p);
	expect(p, &(struct find_query){.principal = "alice", .limit = 4}, "run new mid old", NULL);
	expect(p, &(struct find_query){.principal = "alice", .limit = 3}, "run new mid ...", NULL);
	expect(p, &(struct find_query){.limit = 1, .beside_running = true}, "bur run bob ...",
	       NULL);
}

static void many_of_another_hide_none(void **state)
{
	struct place *p = *state;
	char id[STORE_ID_MAX];

	make(p, "bash-mine", "alice", 1, false);
	for (int i = 0; i < 2000; i++) {
		snprintf(id, sizeof(id), "bash-%d", i);
		make(p, id, "bob", 1000 + i, false);
	}
	expect(p, &(struct find_query){.principal = "alice", .limit = 1}, "mine", NULL);
}

static void a_cursor_goes_on_behind_what_was_shown(void **state)
{
	struct find_query q = {.principal = "alice", .limit = 2};
	char next[FIND_CURSOR_MAX];
	struct place *p = *state;

	make_some(p);
	expect(p, &q, "run new ...", next);
	/* What it stood for is gone, and another one has come. */
	assert_int_equal(unlinkat(p->store.tasks_fd, "bash-new/spec.json", 0), 0);
	assert_int_equal(unlinkat(p->store.tasks_fd, "bash-new", AT_REMOVEDIR), 0);
	make(p, "bash-late", "alice", 700, false);
	q.after = next;
	expect(p, &q, "mid old", NULL);
	q.principal = "bob"; /* it is a place, and tells nobody anything */
	expect(p, &q, "", NULL);
	q.principal = "alice";
	expect(p, &(struct find_query){.principal = "alice", .limit = 1}, "run ...", next);
	/* It ends before the rest is asked for: told twice, and never lost. */
	fd_close(p->locks[0]);
	p->locks[0] = -1;
	expect(p, &q, "late mid ...", NULL);
}

static void what_is_no_cursor_is_refused(void **state)
{
	static const char *const wrong[] = {"",
	                                    "x",
	                                    "bash-run",
	                                    "r.bash-run",
	                                    "e1",
	                                    "e1bash-mid",
	                                    "e-1.bash-mid",
	                                    "x1.bash-mid",
	                                    "e1.",
	                                    "e1.mid",
	                                    "e1.bash-0123456789012345678901234567890123456789"};
	struct place *p = *state;

	make_some(p);
	for (size_t i = 0; i < array_size(wrong); i++) {
		struct find_list list = {0};
		struct error err = {0};

		assert_int_equal(
			find_tasks(&p->store, &(struct find_query){.after = wrong[i]}, &list, &err),
			-EINVAL);
		assert_string_equal(err.text, "there is no such cursor");
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		TEST(tells_where_a_task_comes_from),
		TEST(everybody_has_a_list_of_their_own),
		TEST(a_limit_counts_what_is_listed),
		TEST(many_of_another_hide_none),
		TEST(a_cursor_goes_on_behind_what_was_shown),
		TEST(what_is_no_cursor_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
