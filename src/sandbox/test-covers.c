#include "base/test-support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "sandbox/covers.h"
#include "sandbox/plan.h"

struct place {
	char directory[64];
	char seen[2048]; /* "KIND path\n", paths below the directory */
};

static int place_make(void **state)
{
	static const char *const directories[] = {"work",   "work/.git", "work/.git/hooks",
	                                          "work/a", "work/a/b",  "more"};
	struct place *p = calloc(1, sizeof(*p));
	char path[128];

	assert_non_null(p);
	test_directory_make(p->directory);
	for (size_t i = 0; i < array_size(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", p->directory, directories[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	snprintf(path, sizeof(path), "%s/work/token", p->directory);
	test_file_write(path, "secret");
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

static int note(void *context, const struct sandbox_cover *cover)
{
	static const char *const names[] = {
		[SANDBOX_COVER_WRITABLE] = "writable",   [SANDBOX_COVER_READONLY] = "readonly",
		[SANDBOX_COVER_PINNED] = "pinned",       [SANDBOX_COVER_FILE] = "file",
		[SANDBOX_COVER_DIRECTORY] = "directory",
	};
	struct place *p = context;
	size_t n = strlen(p->directory);

	assert_int_equal(strncmp(cover->path, p->directory, n), 0); /* nothing of the system */
	n = strlen(p->seen);
	snprintf(p->seen + n, sizeof(p->seen) - n, "%s %s\n", names[cover->kind],
	         cover->path + strlen(p->directory) + 1);
	return 0;
}

static void look(struct place *p, struct sandbox_spec *spec)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	char workspace[128];
	const struct sandbox_place place = {.workspace = workspace};
	struct error err = {0};

	snprintf(workspace, sizeof(workspace), "%s/work", p->directory);
	assert_int_equal(sandbox_plan_new(spec, &place, &plan, &err), 0);
	assert_int_equal(sandbox_plan_covers(plan, note, p), 0);
}

static void what_is_granted_held_and_hidden_is_told(void **state)
{
	struct place *p = *state;
	char more[128], token[128];
	const char *const readable[] = {more, NULL}, *const secrets[] = {token, NULL};
	const char *const protected_[] = {".git/hooks", ".git/config", NULL};
	struct sandbox_spec spec = {
		.readable = readable, .secrets = secrets, .protected_ = protected_};

	snprintf(more, sizeof(more), "%s/more", p->directory);
	snprintf(token, sizeof(token), "%s/work/token", p->directory);
	look(p, &spec);
	assert_string_equal(p->seen, "readonly more\nwritable work\npinned work/.git\n"
	                             "readonly work/.git/hooks\nfile work/token\n");
}

static void a_secret_in_a_secret_does_not_uncover_it(void **state)
{
	struct place *p = *state;
	char inner[128], outer[128];
	const char *const secrets[] = {inner, outer, NULL};
	struct sandbox_spec spec = {.secrets = secrets};

	snprintf(inner, sizeof(inner), "%s/work/a/b", p->directory);
	snprintf(outer, sizeof(outer), "%s/work/a", p->directory);
	look(p, &spec);
	assert_non_null(strstr(p->seen, "directory work/a\n"));
}

static int refuse(void *context, const struct sandbox_cover *cover)
{
	return -ELOOP;
}

static void a_visitor_ends_it(void **state)
{
	struct place *p = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	char workspace[128];
	const struct sandbox_place place = {.workspace = workspace};
	const struct sandbox_spec spec = {0};
	struct error err = {0};

	snprintf(workspace, sizeof(workspace), "%s/work", p->directory);
	assert_int_equal(sandbox_plan_new(&spec, &place, &plan, &err), 0);
	assert_int_equal(sandbox_plan_covers(plan, refuse, p), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_granted_held_and_hidden_is_told, place_make,
	                                        place_remove),
		cmocka_unit_test_setup_teardown(a_secret_in_a_secret_does_not_uncover_it,
	                                        place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_visitor_ends_it, place_make, place_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
