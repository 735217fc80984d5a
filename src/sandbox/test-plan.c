#include "base/test-support.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "sandbox/box.h"
#include "sandbox/plan.h"

struct place {
	char directory[64];
	char workspace[80];
	char home[80];
};

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	test_directory_make(p->directory);
	snprintf(p->workspace, sizeof(p->workspace), "%s/work", p->directory);
	snprintf(p->home, sizeof(p->home), "%s/home", p->directory);
	assert_int_equal(mkdir(p->workspace, 0755), 0);
	assert_int_equal(mkdir(p->home, 0755), 0);
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;

	test_directory_remove(p->directory);
	free(p);
	return 0;
}

static struct sandbox_plan *plan(const struct place *p, const struct sandbox_spec *spec, bool kept)
{
	struct sandbox_place place = {.workspace = p->workspace, .home = p->home, .kept = kept};
	struct sandbox_plan *made = NULL;
	struct error err = {0};

	if (sandbox_plan_new(spec, &place, &made, &err) < 0)
		fail_msg("%s", err.text);
	return made;
}

static void make(const char *directory, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void a_plan_is_current_until_something_it_names_appears(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec spec = {
		.protected_ = (const char *const[]){".git/hooks", NULL},
		.secrets = (const char *const[]){"~/.ssh", NULL},
	};
	scoped(sandbox_plan_freep) struct sandbox_plan *a = plan(p, &spec, true);
	scoped(sandbox_plan_freep) struct sandbox_plan *b = NULL;
	scoped(sandbox_plan_freep) struct sandbox_plan *c = NULL;

	assert_true(sandbox_plan_is_current(a));
	make(p->workspace, "src");
	assert_true(sandbox_plan_is_current(a));
	make(p->workspace, ".git"); /* above a protected path */
	assert_false(sandbox_plan_is_current(a));
	b = plan(p, &spec, true);
	assert_true(sandbox_plan_is_current(b));
	make(p->workspace, ".git/hooks");
	assert_false(sandbox_plan_is_current(b));
	c = plan(p, &spec, true);
	make(p->home, ".ssh");
	assert_false(sandbox_plan_is_current(c));
}

/* Where a directory has not changed for a while its entries are not looked at one by one. */
static void what_appears_in_a_quiet_directory_is_seen(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec spec = {.secrets = (const char *const[]){"~/.ssh", NULL}};
	scoped(sandbox_plan_freep) struct sandbox_plan *a = NULL;
	struct stat st;

	assert_int_equal(stat(p->home, &st), 0);
	while (clock_wall_ms() < (st.st_ctim.tv_sec + 2) * 1000)
		(void)poll(NULL, 0, 20);
	a = plan(p, &spec, true);
	assert_true(sandbox_plan_is_current(a));
	make(p->home, "other");
	assert_true(sandbox_plan_is_current(a));
	assert_true(sandbox_plan_is_current(a));
	make(p->home, ".ssh");
	assert_false(sandbox_plan_is_current(a));
}

/* Bytes that look like a configuration of git, by chance and with malice. */
static void a_hostile_configuration_of_git_does_no_harm(void **state)
{
	static const char *const pieces[] = {"[core]",
	                                     "[include]",
	                                     "[includeIf \"",
	                                     "]",
	                                     "hooksPath",
	                                     "path",
	                                     "=",
	                                     " = ",
	                                     "\n",
	                                     "\"",
	                                     "\\",
	                                     "#",
	                                     "../",
	                                     "~/",
	                                     "/",
	                                     "./",
	                                     "config",
	                                     ".git",
	                                     "\0",
	                                     "\t",
	                                     "..",
	                                     "[",
	                                     "\r\n",
	                                     "..//..",
	                                     ".git/config",
	                                     "a/b/c",
	                                     "\377\376",
	                                     ";"};
	struct place *p = *state;
	const struct sandbox_spec spec = {
		.protected_ = (const char *const[]){".git/hooks", ".git/config", NULL}};
	uint32_t seed = 1;
	char path[160];

	make(p->workspace, ".git");
	snprintf(path, sizeof(path), "%s/.git/config", p->workspace);
	for (int i = 0; i < 100; i++) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		fputs("[include]\npath = config\npath = ../.git/config\n", file); /* itself */
		for (int n = 0; n < 60; n++) {
			seed = seed * 1664525 + 1013904223;
			const char *piece = pieces[(seed >> 16) % array_size(pieces)];

			fwrite(piece, 1, *piece ? strlen(piece) : 1, file);
		}
		assert_int_equal(fclose(file), 0);
		sandbox_plan_free(plan(p, &spec, true));
	}
}

static void a_plan_is_not_current_for_another_directory(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec spec = {0};
	scoped(sandbox_plan_freep) struct sandbox_plan *a = plan(p, &spec, true);
	char aside[100];

	snprintf(aside, sizeof(aside), "%s.old", p->workspace);
	assert_int_equal(rename(p->workspace, aside), 0);
	assert_false(sandbox_plan_is_current(a));
	assert_int_equal(mkdir(p->workspace, 0755), 0);
	assert_false(sandbox_plan_is_current(a));
}

/* A new directory may have the number of the old one, and its times. */
static void a_plan_is_not_current_for_a_copy(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec spec = {.protected_ = (const char *const[]){".git/hooks", NULL}};
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	char path[100];

	snprintf(path, sizeof(path), "%s/.git", p->workspace);
	for (int i = 0; i < 20; i++) {
		scoped(sandbox_plan_freep) struct sandbox_plan *a = NULL;

		(void)mkdir(path, 0755);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		a = plan(p, &spec, true);
		assert_true(sandbox_plan_is_current(a));
		assert_int_equal(rmdir(path), 0);
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		assert_false(sandbox_plan_is_current(a));
		assert_int_equal(rmdir(path), 0);
	}
}

static void temporary_files_are_removed_whatever_they_are(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec spec = {.tier = SANDBOX_TIER_LANDLOCK};
	struct sandbox_plan *a = plan(p, &spec, false);
	char tmp[64], path[100];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s", sandbox_plan_tmp(a));
	fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 200; i++) { /* deeper than descriptors are held */
		int next;

		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		if (i > 3)
			assert_int_equal(fchmod(fd, 0), 0);
		close(fd);
		fd = next;
	}
	close(fd);
	snprintf(path, sizeof(path), "%s/link", tmp);
	assert_int_equal(symlink(p->workspace, path), 0);
	sandbox_plan_free(a);
	assert_int_equal(access(tmp, F_OK), -1);
	assert_int_equal(access(p->workspace, F_OK), 0);
}

static void a_plan_for_one_command_is_never_current(void **state)
{
	const struct sandbox_spec spec = {0};
	scoped(sandbox_plan_freep) struct sandbox_plan *a = plan(*state, &spec, false);

	assert_false(sandbox_plan_is_current(a));
}

static void a_plan_holds_no_descriptor_after_its_end(void **state)
{
	const struct sandbox_spec spec = {
		.readable = (const char *const[]){"/etc/hostname", "~/", NULL},
		.limits = {.memory_bytes = 1 << 30},
	};
	int before = test_open_fds();
	struct sandbox_plan *a = plan(*state, &spec, false);

	assert_true(test_open_fds() > before);
	sandbox_plan_free(a);
	assert_int_equal(test_open_fds(), before);
}

static void a_weaker_plan_is_made_only_once_and_only_if_allowed(void **state)
{
	struct place *p = *state;
	const struct sandbox_spec free_spec = {0}, strict = {.require = SANDBOX_LAYER_NAMESPACES};
	struct sandbox_plan *a = plan(p, &free_spec, false), *b = plan(p, &strict, false);
	struct error err = {0};

	/* What is used up, and where all of the tree but the workspace was made, nothing is
	 * refused.
	 */
	assert_int_equal(sandbox_plan_retry(&a, SANDBOX_STEP_CLONE, EAGAIN, &err), -EAGAIN);
	assert_int_equal(sandbox_plan_retry(&a, BOX_AT_FILTER, EPERM, &err), -EPERM);
	for (int i = 0; i < 20; i++) {
		size_t last = a->steps.count - 1;

		assert_true(a->steps.items[last].phase > BOX_GRANTS);
		assert_int_equal(sandbox_plan_retry(&a, (int)last, ESTALE, &err),
		                 i < 8 ? 0 : -ESTALE);
		assert_int_equal(sandbox_plan_standing(a)->tier, SANDBOX_TIER_STRICT);
	}
	assert_int_equal(sandbox_plan_retry(&a, SANDBOX_STEP_CLONE, EPERM, &err), 0);
	assert_int_equal(sandbox_plan_standing(a)->tier, SANDBOX_TIER_LANDLOCK);
	assert_true(sandbox_plan_standing(a)->missing & SANDBOX_LAYER_NAMESPACES);
	assert_int_equal(sandbox_plan_clone_flags(a), 0);
	assert_int_equal(sandbox_plan_retry(&a, SANDBOX_STEP_CLONE, EPERM, &err), -EPERM);
	assert_int_equal(sandbox_plan_retry(&b, BOX_AT_ROOT, EPERM, &err), -EOPNOTSUPP);
	assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "namespaces"));
	sandbox_plan_free(a);
	sandbox_plan_free(b);
}

static void failures_have_words(void **state)
{
	const struct sandbox_spec spec = {0};
	scoped(sandbox_plan_freep) struct sandbox_plan *a = plan(*state, &spec, false);
	struct error err;

	for (int step = -12; step < 60; step++) {
		err = (struct error){0};
		sandbox_plan_explain(a, step, EPERM, &err);
		assert_int_equal(strncmp(err.text, "sandbox", 7), 0);
		assert_non_null(strstr(err.text, "not permitted"));
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plan_is_current_until_something_it_names_appears),
		TEST(what_appears_in_a_quiet_directory_is_seen),
		TEST(a_hostile_configuration_of_git_does_no_harm),
		TEST(a_plan_is_not_current_for_another_directory),
		TEST(a_plan_is_not_current_for_a_copy),
		TEST(temporary_files_are_removed_whatever_they_are),
		TEST(a_plan_for_one_command_is_never_current),
		TEST(a_plan_holds_no_descriptor_after_its_end),
		TEST(a_weaker_plan_is_made_only_once_and_only_if_allowed),
		TEST(failures_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
