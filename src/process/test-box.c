#include "process/test-box.h"

static void a_command_runs_in_its_workspace(void **state)
{
	struct box *b = *state;
	char path[176];

	assert_int_equal(box_run(b, "pwd; echo hello > made; cat made"), 0);
	snprintf(path, sizeof(path), "%s\nhello\n", b->workspace);
	assert_string_equal(buffer_str(&b->output), path);
	assert_int_equal(b->standing.tier, SANDBOX_TIER_STRICT);
	assert_true(b->standing.layers & SANDBOX_LAYER_NAMESPACES);
}

static void the_workspace_is_written_as_its_owner(void **state)
{
	struct box *b = *state;
	struct stat st;
	char path[160];

	assert_int_equal(box_run(b, "mkdir d && echo x > d/f && mv d/f g && ln g h && rm h"), 0);
	path_in(b, "work/g", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_gid, getegid());
	assert_int_equal(st.st_size, 2);
}

static void outside_it_is_an_ordinary_process_without_any_capability(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int fd = -1;
	char path[64];

	p = box_start(b, "echo; exec sleep 100", &plan);
	wait_for_output(p);
	snprintf(path, sizeof(path), "/proc/%d/status", command_pid(p));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, &text), 0);
	assert_non_null(strstr(text.data, "\nCapPrm:\t0000000000000000"));
	assert_non_null(strstr(text.data, "\nCapEff:\t0000000000000000"));
	assert_non_null(strstr(text.data, "\nCapBnd:\t0000000000000000"));
	assert_non_null(strstr(text.data, "\nNoNewPrivs:\t1"));
	assert_non_null(strstr(text.data, "\nSeccomp:\t2"));
	assert_null(strstr(text.data, "\nUid:\t0"));
	assert_null(strstr(text.data, "\nGid:\t0"));
	assert_true(b->standing.layers & SANDBOX_LAYER_UNPRIVILEGED);
	process_order(p, INIT_KILL);
	box_follow(b, p);
}

static void files_beside_the_workspace_are_not_there(void **state)
{
	struct box *b = *state;
	char script[256];

	refused(b, "cat ../outside");
	assert_null(strstr(buffer_str(&b->output), "secret"));
	snprintf(script, sizeof(script), "cat %s/outside", b->directory);
	refused(b, script);
	refused(b, "cat /proc/1/root/etc/hostname");
	refused(b, "ls /proc/1/cwd/");
	refused(b, "cat /etc/shadow");
	refused(b, "test -e /sys/kernel || test -e /boot/. || test -e /root/.bashrc || test -e "
	           "/lost+found");
	expect(b, "ls -A /run", "");
}

static void a_link_in_the_workspace_leads_nowhere(void **state)
{
	struct box *b = *state;
	char target[160], link[160];

	path_in(b, "outside", target);
	path_in(b, "work/link", link);
	assert_int_equal(symlink(target, link), 0);
	refused(b, "cat link");
	assert_null(strstr(buffer_str(&b->output), "secret"));
	(void)box_run(b, "echo broken > link"); /* makes a file in the private /tmp */
	expect_file(b, "outside", "secret");
	refused(b, "ln ../outside hard");
}

static void nothing_of_the_system_can_be_written(void **state)
{
	struct box *b = *state;

	refused(b, "touch /x");
	refused(b,
	        "touch /usr/x || touch /etc/x || touch /usr/bin/x || touch /opt/x || touch /var/x");
	refused(b, "echo x > /etc/passwd || chmod 600 /etc/passwd || echo x > /etc/group");
	refused(b,
	        "echo core > /proc/sys/kernel/core_pattern || echo x > /proc/sys/kernel/hostname");
	refused(b, "echo b > /proc/sysrq-trigger");
	refused(b, "mknod dev c 1 1");
	refused(b, "touch /dev/x || rm /dev/null || mv /dev/null /dev/x");
}

static void mounts_cannot_be_changed(void **state)
{
	struct box *b = *state;

	refused(b, "mount -o remount,rw,bind /usr");
	refused(b, "umount /proc || umount -l /tmp || umount .");
	refused(b, "mount --bind / /tmp || mount -t tmpfs x /tmp || mount -t proc x /proc");
	refused(b, "unshare -Ur true || unshare -m true || unshare -n true || chroot . true");
	refused(b, "nsenter -t 1 -m true");
}

static void process_one_shows_nothing(void **state)
{
	struct box *b = *state;

	expect(b, "tr -d '\\000' < /proc/1/cmdline", "");
	refused(b, "cat /proc/1/environ");
	refused(b, "ls /proc/1/fd/");
	refused(b, "cat /proc/1/maps");
	refused(b, "readlink /proc/1/exe");
	expect(b, "exec 2>&-; kill -9 1; kill -STOP 1; echo alive", "alive\n");
}

static void only_the_processes_of_the_box_are_seen(void **state)
{
	expect(*state, "cd /proc; echo [0-9]*", "1 2\n");
}

static void no_descriptor_comes_in(void **state)
{
	struct box *b = *state;
	char path[160];
	int fd;

	path_in(b, "outside", path);
	fd = open(path,
	          O_RDONLY); /* as somebody else's mistake would leave it: not close-on-exec */
	assert_true(fd >= 0);
	/* The glob is read through one descriptor of the shell's own. */
	assert_int_equal(box_run(b, "cd /proc/self/fd; for f in 4 5 6 7 8 9 [1-9][0-9]; do "
	                            "test -e $f && readlink $f; done; exec ls -l /proc/self/fd/"),
	                 0);
	close(fd);
	assert_null(strstr(buffer_str(&b->output), "outside"));
	assert_null(strstr(buffer_str(&b->output), "socket:"));
	assert_null(strstr(buffer_str(&b->output), " 4 ->")); /* not " 4 ": a date may have that */
}

static void standard_input_is_no_way_out(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(fd_closep) int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct process_command c = {.cwd = b->workspace, .envp = box_env, .stdin_fd = directory};
	struct process *p = NULL;
	struct error err = {0};
	char path[160];

	path_in(b, "outside", path);
	b->input = path;
	expect(b, "cat", "secret");
	refused(b, "echo broken > /proc/self/fd/0");
	refused(b, "echo broken 1<> /dev/stdin >&1");
	expect_file(b, "outside", "secret");
	assert_int_equal(sandbox_plan_new(&b->spec, &b->place, &plan, NULL), 0);
	c.sandbox = plan;
	assert_int_equal(process_spawn(&c, &p, &err), -EISDIR);
}

static void there_is_nothing_above_the_root(void **state)
{
	expect(*state,
	       "cd /..; pwd; test -e /../dev/shm && ! test -e /../boot && cd /dev/shm/.. && pwd",
	       "/\n/dev\n");
}

static void tmp_and_home_are_private_and_empty(void **state)
{
	struct box *b = *state;
	char path[160];

	path_in(b, "../nacre-box-leak", path);
	(void)unlink(path);
	expect(b,
	       "cd; pwd; ls -A; for d in /tmp /var/tmp /dev/shm $HOME; do "
	       "echo x > $d/nacre-box-leak || echo $d; done",
	       "/home/someone\n");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access("/var/tmp/nacre-box-leak", F_OK), -1);
	assert_int_equal(access("/dev/shm/nacre-box-leak", F_OK), -1);
	/* What one command left is not there for the next. */
	refused(b, "ls /tmp/nacre-box-leak");
}

static void a_workspace_in_the_home_directory_works(void **state)
{
	struct box *b = *state;

	b->place.home = b->directory;
	expect(b, "echo x > ../private && echo y > shared && ls ..", "private\nwork\n");
	assert_int_equal(access("../private", F_OK), -1);
	b->place.home = b->workspace; /* then home is the workspace, and not empty */
	expect(b, "ls", "shared\n");
}

static void scratch_space_is_bounded(void **state)
{
	struct box *b = *state;

	b->spec.limits.tmp_bytes = 1 << 20;
	refused(b, "head -c 2000000 /dev/zero > /tmp/x");
	refused(b, "head -c 600000 /dev/zero > /tmp/x && head -c 600000 /dev/zero > /dev/shm/x");
	assert_int_equal(box_run(b, "head -c 900000 /dev/zero > ~/x"), 0);
	refused(b, "i=0; while [ $i -lt 4000 ]; do : > /tmp/$i || exit 1; i=$((i+1)); done");
}

static void only_a_loopback_interface_is_there(void **state)
{
	struct box *b = *state;

	expect(b, "tail -n +3 /proc/net/dev | tr -d ' ' | cut -d: -f1", "lo\n");
	/* Up: a datagram to ourselves can be sent. */
	assert_int_equal(box_run(b, "exec 2>&1; python3 -c \"import socket; "
	                            "s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
	                            "s.bind(('127.0.0.1', 0)); s.sendto(b'x', s.getsockname()); "
	                            "s.settimeout(5); print(s.recv(9))\""),
	                 0);
}

static void a_read_only_workspace_is_one(void **state)
{
	struct box *b = *state;

	b->spec.workspace_readonly = true;
	refused(b, "touch x");
	refused(b, "chmod 700 .");
	assert_int_equal(box_run(b, "ls && touch /tmp/x"), 0);
}

static void no_program_of_a_noexec_workspace_runs(void **state)
{
	struct box *b = *state;

	assert_int_equal(box_run(b, "cp /bin/true . && ./true && cp true /tmp && /tmp/true"), 0);
	b->spec.workspace_noexec = true;
	refused(b, "./true");
	refused(b, "/lib64/ld-linux-x86-64.so.2 ./true");
	refused(b, "cp true /tmp; /tmp/true");
	refused(b, "cp true ~; ~/true");
	refused(b, "cp true /dev/shm; /dev/shm/true");
}

static void a_path_of_any_bytes_can_be_a_workspace(void **state)
{
	static const char *const names[] = {"a b",   "-n",    "new\nline", "\xff\xfe",
	                                    "$HOME", "\\040", "..."};
	struct box *b = *state;
	char path[160];

	for (size_t i = 0; i < array_size(names); i++) {
		path_in(b, names[i], path);
		assert_int_equal(mkdir(path, 0755), 0);
		memcpy(b->workspace, path, sizeof(path));
		assert_int_equal(box_run(b, "pwd && echo x > made && test -e \"$PWD/made\""), 0);
		assert_memory_equal(buffer_str(&b->output), path, strlen(path));
		strcat(path, "/made");
		assert_int_equal(access(path, F_OK), 0);
	}
}

static void a_workspace_behind_links_is_the_real_one(void **state)
{
	struct box *b = *state;
	char link[160], real[176];

	path_in(b, "link", link);
	assert_int_equal(symlink("work", link), 0);
	b->place.workspace = link;
	snprintf(real, sizeof(real), "%s\n", b->workspace);
	expect(b, "pwd -P; echo x > made", real);
}

static void a_workspace_that_is_swapped_is_noticed(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	static const char *const shell[] = {"/bin/sh", NULL};
	static const char *const argv[] = {"sh", "-c", "echo x > made", NULL};
	scoped(process_freep) struct process *p = NULL;
	scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct process_command c = {.cwd = b->workspace,
	                            .paths = shell,
	                            .argv = argv,
	                            .envp = box_env,
	                            .stdin_fd = null,
	                            .merged = true};
	char away[160], victim[160], made[160];
	int r;

	assert_int_equal(sandbox_plan_new(&b->spec, &b->place, &plan, NULL), 0);
	path_in(b, "away", away);
	path_in(b, "victim", victim);
	assert_int_equal(mkdir(victim, 0755), 0);
	assert_int_equal(rename(b->workspace, away), 0);
	assert_int_equal(symlink(victim, b->workspace), 0);
	c.sandbox = plan;
	/* An init that stands by may have gone before its order comes, and has told why. */
	r = box_spawn(&c, &p, NULL);
	assert_true(r == 0 || r == -EPIPE);
	box_follow(b, p);
	path_in(b, "victim/made", made);
	assert_int_equal(access(made, F_OK), -1);
	/* Root's plan holds the mount already; a user's box is not entered. */
	if (b->failed) {
		assert_int_equal(b->failure.step, CHILD_SANDBOX);
		assert_int_equal(b->failure.sys, ESTALE);
	}
	assert_int_equal(unlink(b->workspace), 0);
}

static void parts_of_the_system_are_no_workspace(void **state)
{
	static const char *const paths[] = {"/",     "/usr", "/usr/share", "/etc",
	                                    "/proc", "/dev", "/run",       "/nowhere"};
	struct box *b = *state;
	struct sandbox_plan *plan = NULL;
	struct error err;

	for (size_t i = 0; i < array_size(paths); i++) {
		b->place.workspace = paths[i];
		err = (struct error){0};
		assert_true(sandbox_plan_new(&b->spec, &b->place, &plan, &err) < 0);
		assert_int_equal(err.kind, ERROR_INPUT);
		assert_non_null(strstr(err.text, paths[i]));
	}
}

static void what_is_required_and_missing_is_refused(void **state)
{
	struct box *b = *state;
	struct sandbox_plan *plan = NULL;
	struct error err = {0};

	b->spec.tier = SANDBOX_TIER_LANDLOCK;
	b->spec.require = SANDBOX_LAYER_NAMESPACES;
	assert_int_equal(sandbox_plan_new(&b->spec, &b->place, &plan, &err), -EOPNOTSUPP);
	assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "namespaces"));
}

/* A process in the middle of the box, to be waited for after its death. */
static int pidfd_of_command(const struct process *p)
{
	int fd = pidfd_open(command_pid(p), 0);

	assert_true(fd >= 0);
	return fd;
}

static void all_die_with_init(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	scoped(fd_closep) int command = -1;

	p = box_start(b, "setsid sleep 1000 & trap '' TERM; echo; sleep 1000", &plan);
	wait_for_output(p);
	command = pidfd_of_command(p);
	assert_int_equal(pidfd_send_signal(p->init_pidfd, SIGKILL, NULL, 0), 0);
	test_wait_readable(command);
	box_follow(b, p);
}

static void all_die_with_the_keeper(void **state)
{
	struct box *b = *state;
	int sockets[2], command = -1, init = -1;
	char byte = 0;
	pid_t keeper;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	keeper = fork();
	assert_true(keeper >= 0);
	if (keeper == 0) {
		struct sandbox_plan *plan = NULL;
		struct process *p = box_start(b, "setsid sleep 1000 & echo; sleep 1000", &plan);
		pid_t pids[2];

		wait_for_output(p);
		pids[0] = p->init_pid;
		pids[1] = command_pid(p);
		assert_int_equal(send(sockets[1], pids, sizeof(pids), 0), sizeof(pids));
		while (read(sockets[1], &byte, 1) >= 0)
			;
		_exit(0);
	}
	{
		pid_t pids[2];

		test_wait_readable(sockets[0]);
		assert_int_equal(recv(sockets[0], pids, sizeof(pids), 0), sizeof(pids));
		init = pidfd_open(pids[0], 0);
		command = pidfd_open(pids[1], 0);
		assert_true(init >= 0 && command >= 0);
	}
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_int_equal(waitpid(keeper, NULL, 0), keeper);
	test_wait_readable(init);
	test_wait_readable(command);
	close(init);
	close(command);
	close(sockets[0]);
	close(sockets[1]);
}

static void a_whole_tree_is_killed_at_once(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;

	p = box_start(b,
	              "trap '' TERM; (setsid sh -c 'sleep 1000; :') & sleep 1000 & echo; "
	              "kill -STOP $$; sleep 1000; :",
	              &plan);
	wait_for_output(p);
	process_order(p, INIT_TERM);
	process_order(p, INIT_KILL);
	box_follow(b, p);
	assert_true(WIFSIGNALED(b->status));
}

static void an_init_without_a_command_leaves(void **state)
{
	struct box *b = *state;
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	int before = test_open_fds(), status = -1;

	assert_int_equal(sandbox_plan_new(&b->spec, &b->place, &plan, NULL), 0);
	assert_int_equal(process_begin(plan, &p, NULL), 0);
	fd_close(take_fd(&p->socket));
	assert_int_equal(waitpid(p->init_pid, &status, __WALL), p->init_pid);
	assert_true(WIFEXITED(status));
	p = process_free(p);
	plan = sandbox_plan_free(plan);
	assert_int_equal(test_open_fds(), before);
}

static void nothing_is_left_open_behind_a_box(void **state)
{
	struct box *b = *state;
	int before = test_open_fds();

	assert_int_equal(box_run(b, ":"), 0);
	assert_int_equal(test_open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		box_test(a_command_runs_in_its_workspace),
		box_test(the_workspace_is_written_as_its_owner),
		box_test(outside_it_is_an_ordinary_process_without_any_capability),
		box_test(files_beside_the_workspace_are_not_there),
		box_test(a_link_in_the_workspace_leads_nowhere),
		box_test(nothing_of_the_system_can_be_written),
		box_test(mounts_cannot_be_changed),
		box_test(process_one_shows_nothing),
		box_test(only_the_processes_of_the_box_are_seen),
		box_test(no_descriptor_comes_in),
		box_test(standard_input_is_no_way_out),
		box_test(there_is_nothing_above_the_root),
		box_test(tmp_and_home_are_private_and_empty),
		box_test(a_workspace_in_the_home_directory_works),
		box_test(scratch_space_is_bounded),
		box_test(only_a_loopback_interface_is_there),
		box_test(a_read_only_workspace_is_one),
		box_test(no_program_of_a_noexec_workspace_runs),
		box_test(a_path_of_any_bytes_can_be_a_workspace),
		box_test(a_workspace_behind_links_is_the_real_one),
		box_test(a_workspace_that_is_swapped_is_noticed),
		box_test(parts_of_the_system_are_no_workspace),
		box_test(what_is_required_and_missing_is_refused),
		box_test(all_die_with_init),
		box_test(all_die_with_the_keeper),
		box_test(a_whole_tree_is_killed_at_once),
		box_test(an_init_without_a_command_leaves),
		box_test(nothing_is_left_open_behind_a_box),
	};

	box_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
