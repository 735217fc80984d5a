#include "base/test-support.h"
#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "container/container.h"

static const struct container_client docker = {.program = "docker", .endpoint = "unix:///d"};
static const struct container_client podman = {.program = "podman", .podman = true};
static const char *const nothing[] = {NULL};
static const char *const words[] = {"/bin/sh", "-c", "x", "", NULL};

static struct container_wish some_wish(void)
{
	return (struct container_wish){.name = "nacre-t",
	                               .task = "t",
	                               .image = "img",
	                               .user = "5:6",
	                               .cwd = "/w",
	                               .envp = nothing,
	                               .argv = words};
}

static int find(const char *const *argv, const char *first, const char *second)
{
	for (int i = 0; argv[i]; i++)
		if (strcmp(argv[i], first) == 0 &&
		    (!second || (argv[i + 1] && strcmp(argv[i + 1], second) == 0)))
			return i;
	return -1;
}

static const char *const *create(const struct container_client *c, const struct container_wish *w,
                                 struct arena *arena)
{
	const char *const *argv = NULL;
	struct error err = {0};

	assert_int_equal(container_create_words(c, w, arena, &argv, &err), 0);
	return argv;
}

static void the_wall_is_always_there(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct container_wish w = some_wish();
	const char *const *argv = create(&docker, &w, arena);

	assert_string_equal(argv[0], "docker");
	assert_int_equal(find(argv, "--host", "unix:///d"), 1);
	assert_true(find(argv, "--network", "none") > 0);
	assert_true(find(argv, "--cap-drop", "ALL") > 0);
	assert_true(find(argv, "--security-opt", "no-new-privileges") > 0);
	assert_true(find(argv, "--read-only", NULL) > 0);
	assert_true(find(argv, "--pull", "never") > 0);
	assert_true(find(argv, "--entrypoint", "") > 0);
	assert_true(find(argv, "--user", "5:6") > 0);
	assert_true(find(argv, "--privileged", NULL) < 0);
	w.network = true;
	assert_true(find(create(&docker, &w, arena), "--network", "host") > 0);
}

static void the_command_comes_last_and_as_it_is(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	const struct container_wish w = some_wish();
	const char *const *argv = create(&podman, &w, arena);
	int at = find(argv, "--", "img");

	assert_true(at > 0);
	for (int i = 0; i < 5; i++) {
		if (!words[i])
			assert_null(argv[at + 2 + i]);
		else
			assert_string_equal(argv[at + 2 + i], words[i]);
	}
}

static void limits_become_options(void **state)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct container_wish w = some_wish();
	const char *const *argv;

	w.limits = (struct container_limits){
		.memory_bytes = 1 << 20, .processes = 9, .open_files = 64, .tmp_bytes = 4096};
	argv = create(&docker, &w, arena);
	assert_true(find(argv, "--memory", "1048576") > 0);
	assert_true(find(argv, "--memory-swap", "1048576") > 0);
	assert_true(find(argv, "--pids-limit", "9") > 0);
	assert_true(find(argv, "--ulimit", "nofile=64:64") > 0);
	assert_true(find(argv, "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777,size=4096") > 0);
}

static void mounts_hold_and_hide(void **state)
{
	static const struct container_mount mounts[] = {
		{"/w", CONTAINER_MOUNT_WRITABLE},
		{"/w/.git", CONTAINER_MOUNT_READONLY},
		{"/w/key", CONTAINER_MOUNT_HIDDEN_FILE},
		{"/w/keys", CONTAINER_MOUNT_HIDDEN_DIRECTORY}};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct container_wish w = some_wish();
	const char *const *argv;

	w.mounts = mounts;
	w.mount_count = 4;
	argv = create(&docker, &w, arena);
	assert_true(find(argv, "--mount", "type=bind,source=/w,destination=/w") > 0);
	assert_true(find(argv, "--mount", "type=bind,source=/w/.git,destination=/w/.git,readonly") >
	            0);
	assert_true(find(argv, "--mount",
	                 "type=bind,source=/dev/null,destination=/w/key,readonly") > 0);
	assert_true(find(argv, "--mount", "type=tmpfs,destination=/w/keys,tmpfs-size=4096") > 0);
	/* podman would copy what is to be hidden. */
	assert_true(find(create(&podman, &w, arena), "--mount",
	                 "type=tmpfs,destination=/w/keys,tmpfs-size=4096,notmpcopyup") > 0);
}

static void what_would_be_changed_is_refused(void **state)
{
	static const char *const bad_words[] = {"a\xff", NULL};
	scoped(arena_freep) struct arena *arena = arena_new(1 << 20);
	struct container_wish w = some_wish();
	const char *const *argv;
	struct container_mount mount = {"/w,readonly=false", CONTAINER_MOUNT_READONLY};
	struct error err = {0};

	w.argv = bad_words;
	assert_int_equal(container_create_words(&docker, &w, arena, &argv, &err), -EILSEQ);
	w = some_wish();
	w.envp = bad_words;
	assert_int_equal(container_create_words(&docker, &w, arena, &argv, &err), -EILSEQ);
	w = some_wish();
	w.mounts = &mount;
	w.mount_count = 1;
	assert_int_equal(container_create_words(&docker, &w, arena, &argv, &err), -EINVAL);
	w = some_wish();
	w.cwd = "/w/a\nb";
	assert_int_equal(container_create_words(&docker, &w, arena, &argv, &err), -EINVAL);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	struct container_wish w = some_wish();
	struct error err = {0};
	int failed = 0;

	for (size_t bytes = 64; bytes < 4096; bytes += 64) {
		scoped(arena_freep) struct arena *arena = arena_new(bytes);
		const char *const *argv;

		failed += container_create_words(&docker, &w, arena, &argv, &err) == -ENOMEM;
	}
	assert_true(failed > 0);
}

static void only_plain_variables_go_into_a_file(void **state)
{
	assert_true(container_env_fits_file("A=b c"));
	assert_true(container_env_fits_file("A="));
	assert_false(container_env_fits_file("A"));
	assert_false(container_env_fits_file("=b"));
	assert_false(container_env_fits_file("A=b\nC=d"));
	assert_false(container_env_fits_file("#A=b"));
	assert_false(container_env_fits_file("A B=c"));
	assert_false(container_env_fits_file("A=\"b\""));
	assert_false(container_env_fits_file("A=\xff")); /* no text: refused with the words */
}

static void the_state_is_read(void **state)
{
	static const char text[] =
		"{\"Status\":\"exited\",\"Running\":false,\"OOMKilled\":true,"
		"\"ExitCode\":137,\"Error\":\"\",\"StartedAt\":\"2026-11-16T07:29:02Z\"}\n";
	struct container_state s;

	assert_int_equal(container_state_read(text, strlen(text), &s, NULL), 0);
	assert_true(s.started && s.oom_killed && !s.running);
	assert_int_equal(s.exit_code, 137);
	assert_int_equal(container_state_read("{\"Running\":false,\"ExitCode\":0,\"StartedAt\":"
	                                      "\"0001-01-01T00:00:00Z\"}",
	                                      65, &s, NULL),
	                 0);
	assert_false(s.started);
	assert_true(container_state_read("[]", 2, &s, NULL) < 0);
	assert_true(container_state_read("", 0, &s, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wall_is_always_there),
		cmocka_unit_test(the_command_comes_last_and_as_it_is),
		cmocka_unit_test(limits_become_options),
		cmocka_unit_test(mounts_hold_and_hide),
		cmocka_unit_test(what_would_be_changed_is_refused),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
		cmocka_unit_test(only_plain_variables_go_into_a_file),
		cmocka_unit_test(the_state_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
