#include "process/test-box.h"

#include <sched.h>
#include <sys/mount.h>
#include "protect/protect.h"

static void make_directory(const struct box *b, const char *name)
{
	char path[160];

	path_in(b, name, path);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const struct box *b, const char *name, const char *text)
{
	char path[160];

	path_in(b, name, path);
	write_text(path, text);
}

static bool is_there(const struct box *b, const char *name)
{
	struct stat st;
	char path[160];

	path_in(b, name, path);
	return lstat(path, &st) == 0;
}

static const char *const hooks[] = {".git/hooks", ".git/config", ".mcp.json", ".vscode", NULL};

/* Runs the script and looks for what it planted, as the keeper does. */
static int plant(struct box *b, const char *script, int into_fd, struct buffer *names)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	scoped(buffer_donep) struct buffer replaced = {0};
	struct protect_aside aside = {.open = open_given, .id = "task-1"};
	int count;

	buffer_clear(&b->output);
	b->spec.protected_ = hooks;
	p = box_start(b, script, &plan);
	box_follow(b, p);
	assert_int_equal(b->status, 0);
	aside.owner = &into_fd;
	count = protect_check(sandbox_plan_protect(plan), &aside, names, &replaced);
	assert_int_equal(replaced.len, 0);
	return count;
}

static void only_listed_programs_exist(void **state)
{
	struct box *b = *state;

	b->spec.exec = SANDBOX_EXEC_LISTED;
	b->spec.programs =
		(const char *const[]){"sh", "ls", "awk", "/usr/bin/cat", "no-such", NULL};
	assert_int_equal(box_run(b, "ls /usr/bin"), 0);
	assert_string_equal(buffer_str(&b->output), "awk\ncat\nls\nsh\n");
	expect(b, "awk 'BEGIN { print 7 }'", "7\n"); /* through the links of alternatives */
	refused(b, "sort /dev/null");
	refused(b, "/usr/lib/git-core/git --version");
	refused(b, "touch x");
}

static void nothing_else_can_be_mapped_as_code(void **state)
{
	struct box *b = *state;

	assert_int_equal(box_run(b, "cp /usr/bin/sort mine; cp /bin/sh shell"), 0);
	b->spec.exec = SANDBOX_EXEC_LISTED;
	b->spec.programs = (const char *const[]){"sh", "cat", "cp", "chmod", NULL};
	refused(b, "./mine /dev/null");
	refused(b, "/lib64/ld-linux-x86-64.so.2 ./mine /dev/null");
	refused(b, "cat mine > /tmp/mine; chmod 755 /tmp/mine; /tmp/mine /dev/null");
	refused(b, "cp /bin/cat /dev/shm/cat && /dev/shm/cat /dev/null");
	refused(b, "/lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/libm.so.6");
	expect(b, "sh -c 'echo fine | cat'", "fine\n");
}

static void which_answers_without_a_shell(void **state)
{
	static const char *const nowhere[] = {"/usr/bin/which", NULL};
	static const char *const argv[] = {"which", "ls", "sort", "/usr/bin/cat", NULL};
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct process_command c = {.cwd = b->workspace,
	                            .paths = nowhere,
	                            .argv = argv,
	                            .envp = box_env,
	                            .stdin_fd = null,
	                            .merged = true};

	b->spec.exec = SANDBOX_EXEC_LISTED;
	b->spec.programs = (const char *const[]){"which", "ls", "cat", NULL};
	assert_int_equal(sandbox_plan_new(&b->spec, &b->place, &plan, NULL), 0);
	c.sandbox = plan;
	assert_int_equal(box_spawn(&c, &p, NULL), 0);
	box_follow(b, p);
	assert_false(b->failed);
	assert_int_equal(WEXITSTATUS(b->status), 1); /* sort is not there */
	assert_string_equal(buffer_str(&b->output), "/usr/bin/ls\n/usr/bin/cat\n");
	assert_int_equal(box_run(b, "true"), -1); /* no shell has come in with it */
}

static void an_empty_list_runs_nothing(void **state)
{
	struct box *b = *state;

	b->spec.exec = SANDBOX_EXEC_LISTED;
	assert_int_equal(box_run(b, ":"), -1);
	assert_int_equal(b->failure.step, CHILD_EXEC);
	b->spec.programs = (const char *const[]){NULL};
	assert_int_equal(box_run(b, ":"), -1);
}

static void denied_programs_are_hidden_under_all_names(void **state)
{
	struct box *b = *state;

	b->spec.denied = (const char *const[]){"perl", "awk", "/usr/bin/sort", "no-such", NULL};
	refused(b, "perl -e 1");
	refused(b, "/usr/bin/perl -e 1");
	refused(b, "/bin/perl -e 1");
	refused(b, "for p in /usr/bin/perl5.*; do $p -e 1 && exit 0; done; exit 1");
	refused(b, "mawk 1 /dev/null || /etc/alternatives/awk 1 /dev/null");
	refused(b, "cat /usr/bin/sort > mine");
	refused(b, "/lib64/ld-linux-x86-64.so.2 /usr/bin/sort /dev/null");
	refused(b, "exec 3< /usr/bin/sort && exec /proc/self/fd/3 /dev/null");
	refused(b, "chmod 755 /usr/bin/sort");
	refused(b, "rm -f /usr/bin/sort || mv /usr/bin/sort /tmp");
	expect(b, "ls / > /dev/null && echo others work", "others work\n");
	assert_true(b->standing.layers & SANDBOX_LAYER_PROGRAMS);
}

static void denied_names_may_be_patterns(void **state)
{
	struct box *b = *state;

	b->spec.denied = (const char *const[]){"sor*", "[x]args", NULL};
	refused(b, "sort /dev/null");
	refused(b, "xargs true < /dev/null");
	assert_int_equal(box_run(b, "uniq /dev/null"), 0);
}

static void a_name_that_is_only_an_order_takes_its_program_with_it(void **state)
{
	struct box *b = *state;

	if (access("/usr/bin/pgrep", X_OK) < 0)
		skip();
	b->spec.denied = (const char *const[]){"pkill", NULL};
	refused(b, "pkill --version");
	refused(b, "ln -s /usr/bin/pgrep pkill; ./pkill --version");
	refused(b, "exec -a pkill /usr/bin/pgrep --version");
}

static void secrets_in_a_granted_tree_are_hidden(void **state)
{
	struct box *b = *state;

	make_directory(b, "work/.ssh");
	make_file(b, "work/.ssh/id", "private");
	make_file(b, "work/.netrc", "private");
	make_file(b, "work/token", "private");
	b->place.home = b->workspace;
	b->spec.secrets =
		(const char *const[]){"~/.ssh", "~/.netrc", "~/.none", "token", "/etc/hosts", NULL};
	refused(b, "cat .ssh/id || cat .netrc || cat token || ls .ssh || cat /etc/hosts");
	assert_null(strstr(buffer_str(&b->output), "private"));
	refused(b, "rm -rf .ssh || mv .ssh x || chmod 700 .ssh");
	refused(b, "echo x > .netrc");
	expect_file(b, "work/.ssh/id", "private");
	expect_file(b, "work/token", "private");
}

static void a_secret_behind_a_link_is_hidden_too(void **state)
{
	struct box *b = *state;
	char path[160];

	make_directory(b, "work/dotfiles");
	make_file(b, "work/dotfiles/id", "private");
	path_in(b, "work/.ssh", path);
	assert_int_equal(symlink("dotfiles", path), 0);
	b->place.home = b->workspace;
	b->spec.secrets = (const char *const[]){"~/.ssh", NULL};
	refused(b, "cat dotfiles/id || cat .ssh/id");
	assert_null(strstr(buffer_str(&b->output), "private"));
}

static void what_is_above_a_secret_stays_in_its_place(void **state)
{
	struct box *b = *state;

	make_directory(b, "work/.config");
	make_directory(b, "work/.config/gcloud");
	make_file(b, "work/.config/gcloud/token", "private");
	b->place.home = b->workspace;
	b->spec.secrets = (const char *const[]){"~/.config/gcloud", NULL};
	refused(b, "mv .config c");
	assert_int_equal(box_run(b, "echo x > .config/y && mkdir .config/z"), 0);
	expect_file(b, "work/.config/gcloud/token", "private");
}

static void nacre_hides_what_is_its_own(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};
	char path[160];

	make_directory(b, "work/.config");
	make_directory(b, "work/state");
	make_file(b, "work/state/task", "private");
	path_in(b, "work/state", path);
	assert_int_equal(setenv("NACRE_STATE_DIR", path, 1), 0);
	b->place.home = b->workspace;
	refused(b, "cat state/task || ls state || mv state s || echo x > state/task");
	/* A profile for the next command. */
	assert_int_equal(
		plant(b, "mkdir .config/nacre && echo x > .config/nacre/bash.yaml", -1, &names), 1);
	assert_int_equal(unsetenv("NACRE_STATE_DIR"), 0);
	assert_string_equal(buffer_str(&names), ".config/nacre\t=.config/nacre.planted-task-1-0");
	assert_false(is_there(b, "work/.config/nacre"));
}

static void grants_are_what_they_say(void **state)
{
	struct box *b = *state;
	char readable[160], writable[160], script[700];

	make_directory(b, "tools");
	make_file(b, "tools/x", "tool");
	make_directory(b, "cache");
	path_in(b, "tools", readable);
	path_in(b, "cache", writable);
	b->spec.readable = (const char *const[]){readable, "/no/such/path", NULL};
	b->spec.writable = (const char *const[]){writable, NULL};
	snprintf(script, sizeof(script), "cat %s/x; echo made > %s/made", readable, writable);
	expect(b, script, "tool");
	expect_file(b, "cache/made", "made\n");
	snprintf(script, sizeof(script), "echo x > %s/x || touch %s/y || rm %s/x", readable,
	         readable, readable);
	refused(b, script);
	expect_file(b, "tools/x", "tool");
	refused(b, "cat ../outside");
}

static void existing_protected_paths_cannot_be_changed(void **state)
{
	struct box *b = *state;

	make_directory(b, "work/.git");
	make_directory(b, "work/.git/hooks");
	make_file(b, "work/.git/config", "[core]\n");
	b->spec.protected_ = hooks;
	refused(b, "echo x > .git/hooks/pre-commit");
	refused(b, "echo x > .git/config || rm .git/config || mv x .git/config");
	refused(b, "mv .git .g || rmdir .git/hooks || rm -rf .git/hooks || mv .git/hooks x");
	refused(b, "ln -s x .git/hooks/x || ln .git/config again");
	refused(b, "chmod 777 .git/hooks");
	expect(b, "echo x > .git/index && cat .git/config", "[core]\n");
	assert_false(is_there(b, "work/.git/hooks/pre-commit"));
	/* And nothing was made where nothing was. */
	assert_false(is_there(b, "work/.mcp.json"));
	assert_false(is_there(b, "work/.vscode"));
}

/* Names of submodules have slashes, and each repository has a file that leads to it. */
static void repositories_inside_of_a_repository_are_protected(void **state)
{
	struct box *b = *state;

	make_directory(b, "work/.git");
	make_file(b, "work/.git/config", "[core]\n");
	make_directory(b, "work/.git/modules");
	make_directory(b, "work/.git/modules/a");
	make_directory(b, "work/.git/modules/a/b");
	make_directory(b, "work/.git/modules/a/b/hooks");
	make_file(b, "work/.git/modules/a/b/HEAD", "ref: refs/heads/main\n");
	make_file(b, "work/.git/modules/a/b/config", "[core]\n\tworktree = ../../../../sub\n");
	make_directory(b, "work/.git/worktrees");
	make_directory(b, "work/.git/worktrees/other");
	make_file(b, "work/.git/worktrees/other/HEAD", "ref: refs/heads/other\n");
	make_file(b, "work/.git/worktrees/other/commondir", "../..\n");
	make_directory(b, "work/sub");
	make_file(b, "work/sub/.git", "gitdir: ../.git/modules/a/b\n");
	b->spec.protected_ = hooks;
	refused(b, "echo x > .git/modules/a/b/hooks/pre-commit");
	refused(b, "echo x > .git/modules/a/b/config || rm .git/modules/a/b/config");
	refused(b, "mv .git/modules m || mv .git/modules/a m || mv .git/modules/a/b m");
	refused(b, "echo evil > .git/worktrees/other/commondir || mv .git/worktrees w");
	refused(b, "echo gitdir: ../evil > sub/.git || rm sub/.git || mv sub s");
	expect(b, "echo x > .git/modules/a/b/index && echo y > sub/file && cat sub/.git",
	       "gitdir: ../.git/modules/a/b\n");
	/* What one command could remove, and make, does not open the door for the next. */
	expect(b, "rm -f .git/modules/a/b/HEAD .git/worktrees/other/HEAD", "");
	expect(b, "echo > .git/modules/a/config; mkdir .git/modules/a/hooks; true", "");
	refused(b, "echo x > .git/modules/a/b/hooks/pre-commit");
	refused(b, "echo x > .git/modules/a/b/config || echo x > .git/worktrees/other/commondir");
}

static void what_the_configuration_of_git_names_is_protected(void **state)
{
	struct box *b = *state;

	make_directory(b, "work/.git");
	make_file(b, "work/.git/config",
	          "[core]\n\thooksPath = \"tools/my hooks\" ; ours\n"
	          "[includeIf \"gitdir:~/\"] path = ../shared/one\n[user]\n\tpath = free\n");
	make_directory(b, "work/tools");
	make_directory(b, "work/tools/my hooks");
	make_directory(b, "work/shared");
	make_file(b, "work/shared/one", "[INCLUDE]\n\tpath=two # and more\n");
	make_file(b, "work/shared/two", "[user]\n");
	b->spec.protected_ = hooks;
	refused(b, "echo x > 'tools/my hooks/pre-commit'");
	refused(b, "mv tools t || mv 'tools/my hooks' tools/h || rmdir 'tools/my hooks'");
	refused(b, "echo x >> shared/one || rm shared/one || echo x >> shared/two");
	refused(b, "mv shared s");
	expect(b, "echo x > tools/other && echo x > shared/three && echo x > free", "");
}

static void a_workspace_does_not_become_a_repository(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};

	assert_int_equal(plant(b,
	                       "mkdir objects refs; echo x > HEAD; printf "
	                       "'[core]\n\tfsmonitor = evil\n' > config",
	                       -1, &names),
	                 1);
	assert_string_equal(buffer_str(&names), "HEAD\t=HEAD.planted-task-1-0");
	assert_false(is_there(b, "work/HEAD"));
	/* One that runs nothing may be made, and then stays so. */
	buffer_clear(&names);
	assert_int_equal(
		plant(b, "echo x > HEAD; printf '[core]\n\tbare = true\n' > config", -1, &names),
		0);
	refused(b, "printf '[core]\n\tfsmonitor = evil\n' > config || rm config");
}

/* In a linked work tree. */
static void a_file_that_leads_to_a_repository_stays(void **state)
{
	struct box *b = *state;

	make_file(b, "work/.git", "gitdir: /elsewhere\n");
	b->spec.protected_ = hooks;
	refused(b, "echo gitdir: evil > .git || rm .git || mv .git g || ln -sf evil .git");
	expect_file(b, "work/.git", "gitdir: /elsewhere\n");
}

static void a_protected_link_and_its_target_stay(void **state)
{
	struct box *b = *state;
	char path[160];

	make_file(b, "work/real", "as it was");
	path_in(b, "work/.mcp.json", path);
	assert_int_equal(symlink("real", path), 0);
	b->spec.protected_ = hooks;
	refused(b, "echo x > .mcp.json");
	refused(b, "echo x > real || rm real || mv real r");
	refused(b, "rm .mcp.json || mv .mcp.json m");
	expect_file(b, "work/.mcp.json", "as it was");
}

static void what_appears_at_a_protected_path_is_moved_away(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};
	scoped(fd_closep) int into = -1;
	char path[160];

	make_directory(b, "work/.git");
	make_directory(b, "taken");
	path_in(b, "taken", path);
	into = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(plant(b,
	                       "mkdir .git/hooks; echo x > .git/hooks/pre-commit; echo > .mcp.json",
	                       into, &names),
	                 2);
	assert_string_equal(buffer_str(&names), ".git/hooks\n.mcp.json");
	assert_false(is_there(b, "work/.git/hooks"));
	assert_false(is_there(b, "work/.mcp.json"));
	assert_true(is_there(b, "taken/planted-0/pre-commit"));
	buffer_clear(&names);
	assert_int_equal(plant(b, "ln -s /etc .vscode", -1, &names), 1);
	assert_string_equal(buffer_str(&names), ".vscode\t=.vscode.planted-task-1-0");
	assert_false(is_there(b, "work/.vscode"));
	assert_true(is_there(b, "work/.vscode.planted-task-1-0"));
}

static void a_name_that_is_taken_is_not_in_the_way(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};

	assert_int_equal(plant(b,
	                       "mkdir -p .vscode .vscode.planted-task-1-0/x; touch .mcp.json; "
	                       "mkdir .mcp.json.planted-task-1-1",
	                       -1, &names),
	                 2);
	assert_false(is_there(b, "work/.vscode"));
	assert_false(is_there(b, "work/.mcp.json"));
	assert_string_equal(buffer_str(&names), ".mcp.json\t=.mcp.json.planted-task-1-0\n"
	                                        ".vscode\t=.vscode.planted-task-1-1");
}

/* What is left inaccessible is no less planted. */
static void what_nobody_may_look_into_is_moved(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};
	char path[160];

	assert_int_equal(
		plant(b, "mkdir -p .git/hooks; echo > .git/hooks/update; chmod 0 .git", -1, &names),
		1);
	/* Root can look into it, and only the hooks are gone. */
	path_in(b, geteuid() == 0 ? "work/.git" : "work/.git.planted-task-1-0", path);
	assert_int_equal(chmod(path, 0755), 0);
	assert_false(is_there(b, "work/.git/hooks"));
}

static void a_link_in_place_of_the_parent_is_seen_through(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};
	char path[160];

	assert_int_equal(
		plant(b, "mkdir -p e/hooks; echo > e/hooks/update; ln -s e .git", -1, &names), 1);
	assert_false(is_there(b, "work/e/hooks"));
	buffer_clear(&names);
	path_in(b, "work/.git", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(plant(b, "ln -s /usr .git", -1, &names), 1);
	assert_false(is_there(b, "work/.git"));
}

static void no_other_file_takes_the_place_of_a_config(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};

	make_directory(b, "work/.git");
	make_file(b, "work/.git/config", "[core]\n");
	assert_int_equal(
		plant(b, "echo ../e > .git/commondir; echo x > .git/config.worktree", -1, &names),
		2);
	assert_false(is_there(b, "work/.git/commondir"));
	assert_false(is_there(b, "work/.git/config.worktree"));
}

static void a_new_repository_is_left_alone(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};

	assert_int_equal(plant(b,
	                       "git init -q . && git config user.name x && echo y > f && "
	                       "git add f",
	                       -1, &names),
	                 0);
	assert_true(is_there(b, "work/.git/config"));
	assert_int_equal(plant(b, "rm -rf .git; :", -1, &names), 0);
}

static void a_new_repository_with_a_command_in_it_is_not(void **state)
{
	struct box *b = *state;
	scoped(buffer_donep) struct buffer names = {0};

	assert_int_equal(plant(b, "git init -q . && git config core.fsmonitor ./evil", -1, &names),
	                 1);
	assert_string_equal(buffer_str(&names), ".git/config\t=.git/config.planted-task-1-0");
	assert_false(is_there(b, "work/.git/config"));
}

/* On a file system whose owners cannot be mapped root stays root, without capabilities. */
static void where_root_stays_root_its_files_are_hidden(void **state)
{
	struct box *b = *state;
	char upper[160], work[160], options[700];

	if (geteuid() != 0)
		skip();
	make_directory(b, "upper");
	make_directory(b, "index");
	make_directory(b, "lower");
	path_in(b, "upper", upper);
	path_in(b, "index", work);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s,workdir=%s", b->directory,
	         upper, work);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	if (mount("overlay", b->workspace, "overlay", 0, options) < 0)
		skip();
	assert_int_equal(box_run(b, "id -u; echo x > made"), 0);
	if (strcmp(buffer_str(&b->output), "0\n") != 0) { /* this kernel can map them */
		umount2(b->workspace, MNT_DETACH);
		skip();
	}
	assert_true(b->standing.missing & SANDBOX_LAYER_UNPRIVILEGED);
	refused(b, "cat /etc/shadow || cat /etc/gshadow || ls /etc/ssh");
	refused(b, "chmod 600 /dev/null || chmod 700 /etc || touch /usr/x");
	refused(b, "echo x > /proc/sys/kernel/hostname || echo h > /proc/sysrq-trigger");
	refused(b, "cat /proc/kcore || cat /proc/timer_list || cat /proc/keys");
	refused(b, "mount -t tmpfs x /tmp || unshare -m true || mknod x c 1 3 || chroot / true");
	refused(b, "chown 1 made");
	expect(b, "grep -c 'Cap.*:.0000000000000000' /proc/self/status", "5\n");
	umount2(b->workspace, MNT_DETACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		box_test(only_listed_programs_exist),
		box_test(nothing_else_can_be_mapped_as_code),
		box_test(which_answers_without_a_shell),
		box_test(an_empty_list_runs_nothing),
		box_test(denied_programs_are_hidden_under_all_names),
		box_test(denied_names_may_be_patterns),
		box_test(a_name_that_is_only_an_order_takes_its_program_with_it),
		box_test(secrets_in_a_granted_tree_are_hidden),
		box_test(a_secret_behind_a_link_is_hidden_too),
		box_test(what_is_above_a_secret_stays_in_its_place),
		box_test(nacre_hides_what_is_its_own),
		box_test(grants_are_what_they_say),
		box_test(existing_protected_paths_cannot_be_changed),
		box_test(repositories_inside_of_a_repository_are_protected),
		box_test(a_file_that_leads_to_a_repository_stays),
		box_test(what_the_configuration_of_git_names_is_protected),
		box_test(a_workspace_does_not_become_a_repository),
		box_test(a_protected_link_and_its_target_stay),
		box_test(what_appears_at_a_protected_path_is_moved_away),
		box_test(a_name_that_is_taken_is_not_in_the_way),
		box_test(what_nobody_may_look_into_is_moved),
		box_test(a_link_in_place_of_the_parent_is_seen_through),
		box_test(no_other_file_takes_the_place_of_a_config),
		box_test(a_new_repository_is_left_alone),
		box_test(a_new_repository_with_a_command_in_it_is_not),
		box_test(where_root_stays_root_its_files_are_hidden),
	};

	box_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
