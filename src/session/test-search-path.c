#include "base/test-support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/path.h"
#include "base/remove.h"
#include "session/search-path.h"

struct bench {
	struct arena *arena;
	char top[512], home[520], workspace[520];
};

static void make(const struct bench *b, const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", b->top, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* /var/tmp and /tmp are places of the command's: the bench lies elsewhere. */
static bool make_top(struct bench *b)
{
	char user[32], here[400] = "";
	const char *const places[] = {"/run", user, getcwd(here, sizeof(here))};

	snprintf(user, sizeof(user), "/run/user/%u", getuid());
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || path_is_in(places[i], "/tmp") ||
		    path_is_in(places[i], "/var/tmp"))
			continue;
		snprintf(b->top, sizeof(b->top), "%s/nacre-test-XXXXXX", places[i]);
		if (mkdtemp(b->top))
			return true;
	}
	return false;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->arena = arena_new(1 << 20);
	if (!make_top(b)) {
		puts("a directory of our own beside /tmp: not to be had here");
		exit(77);
	}
	snprintf(b->home, sizeof(b->home), "%s/home", b->top);
	snprintf(b->workspace, sizeof(b->workspace), "%s/work", b->top);
	make(b, "home");
	make(b, "home/bin");
	make(b, "home/tools");
	make(b, "work");
	make(b, "work/bin");
	make(b, "opt");
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	remove_tree(AT_FDCWD, b->top);
	arena_free(b->arena);
	free(b);
	return 0;
}

/* Both sides with @ for the directory of the bench. */
static const char *at(struct bench *b, const char *text)
{
	char *out = arena_alloc(b->arena, 4096), *to = out;

	for (; *text; text++)
		if (*text == '@')
			to += sprintf(to, "%s", b->top);
		else
			*to++ = *text;
	*to = '\0';
	return out;
}

static void expect(struct bench *b, const struct search_ground *g, const char *path,
                   const char *wanted)
{
	struct search_ground ground = *g;

	ground.home = b->home;
	ground.workspace = b->workspace;
	assert_string_equal(search_path_clean(b->arena, at(b, path), &ground), at(b, wanted));
}

static void what_a_command_can_fill_is_left_out(void **state)
{
	const struct search_ground g = {.private_home = true};

	expect(*state, &g, "@/home/bin:/usr/bin", "/usr/bin");
	expect(*state, &g, "/usr/bin:@/work/bin:/bin", "/usr/bin:/bin");
	expect(*state, &g, "/tmp:/var/tmp:/dev/shm:/usr/bin", "/usr/bin");
	expect(*state, &g, "@/home:@/work", "");
	expect(*state, &g, "@/opt:/usr/bin", "@/opt:/usr/bin");
}

static void relative_and_missing_ones_are_left_out(void **state)
{
	const struct search_ground g = {.private_home = true};

	expect(*state, &g, ":/usr/bin", "/usr/bin");
	expect(*state, &g, "/usr/bin:", "/usr/bin");
	expect(*state, &g, "/usr/bin::.:bin:..:~/bin", "/usr/bin");
	expect(*state, &g, "@/home/later:@/nowhere:/usr/bin", "/usr/bin");
	expect(*state, &g, "", "");
}

static void links_are_what_they_lead_to(void **state)
{
	const struct search_ground g = {.private_home = true};
	struct bench *b = *state;

	assert_int_equal(symlink(at(b, "@/home/bin"), at(b, "@/opt/link")), 0);
	assert_int_equal(symlink(at(b, "@/home/later"), at(b, "@/opt/dangling")), 0);
	assert_int_equal(symlink("/usr/bin", at(b, "@/home/link")), 0);
	expect(b, &g, "@/opt/link:@/opt/dangling:/usr/bin", "/usr/bin");
	expect(b, &g, "@/opt/../home/bin:/usr/bin", "/usr/bin");
}

static void read_only_grants_of_the_operator_stay(void **state)
{
	struct bench *b = *state;
	const char *const tools[] = {"~/tools", NULL}, *const all[] = {at(b, "@/home"), NULL};
	const char *const missing[] = {"~/later", NULL}, *const inside[] = {at(b, "@/work/bin"),
	                                                                    NULL};
	struct search_ground g = {.private_home = true, .readable = tools};

	expect(b, &g, "@/home/tools:@/home/bin:/usr/bin", "@/home/tools:/usr/bin");
	g.readable = missing;
	expect(b, &g, "@/home/later:/usr/bin", "/usr/bin");
	g.readable = inside; /* the workspace can be written all the same */
	expect(b, &g, "@/work/bin:/usr/bin", "/usr/bin");
	g = (struct search_ground){.private_home = true, .readable = all, .writable = tools};
	expect(b, &g, "@/home/tools:@/home/bin:/usr/bin", "@/home/bin:/usr/bin");
	g = (struct search_ground){.private_home = true, .readable = tools, .writable = all};
	expect(b, &g, "@/home/tools:@/home/bin:/usr/bin", "@/home/tools:/usr/bin");
}

static void a_home_that_cannot_be_written_stays(void **state)
{
	const struct search_ground g = {.private_home = false};

	expect(*state, &g, "@/home/bin:@/work/bin:/tmp:/usr/bin", "@/home/bin:/usr/bin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_command_can_fill_is_left_out, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(relative_and_missing_ones_are_left_out, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(links_are_what_they_lead_to, setup, teardown),
		cmocka_unit_test_setup_teardown(read_only_grants_of_the_operator_stay, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_home_that_cannot_be_written_stays, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
