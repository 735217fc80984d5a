#pragma once
/*
 * Commands in real boxes: what is tried inside is looked at from outside. Each program of tests
 * runs as this user and, where this is root, once more as an ordinary one (TEST_AS_USER); and with
 * inits that enter their box before they have a command (TEST_AHEAD).
 */
#include "base/test-support.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "process/spawn.h"
#include "protect/broker.h"
#include "protect/protect.h"
#include "sandbox/plan.h"

#define ORDINARY 65534

struct box {
	char directory[64];  /* everything of this test lies below */
	char workspace[160]; /* directory/work */
	struct sandbox_spec spec;
	struct sandbox_place place;
	const char *input;                /* NULL: /dev/null */
	void (*meanwhile)(struct box *b); /* between the plan and the start; may be NULL */
	struct buffer output;
	struct sandbox_standing standing;
	int status;  /* of the command; -1: none came */
	bool failed; /* it never ran */
	struct init_message failure;
};

/* For protect_check(): the owner is the descriptor. */
static inline int open_given(void *owner)
{
	return *(int *)owner;
}

static inline void write_text(const char *path, const char *text)
{
	scoped(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static inline void path_in(const struct box *b, const char *name, char into[160])
{
	snprintf(into, 160, "%.60s/%.90s", b->directory, name);
}

static inline void expect_file(const struct box *b, const char *name, const char *text)
{
	scoped(buffer_donep) struct buffer content = {0};
	scoped(fd_closep) int fd = -1;
	char path[160];

	path_in(b, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, &content), 0);
	assert_string_equal(buffer_str(&content), text);
}

static inline int box_setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	char path[160];

	assert_non_null(b);
	test_directory_make(b->directory);
	assert_int_equal(chmod(b->directory, 0755), 0);
	path_in(b, "work", b->workspace);
	assert_int_equal(mkdir(b->workspace, 0755), 0);
	path_in(b, "outside", path);
	write_text(path, "secret");
	b->place.workspace = b->workspace;
	b->place.home = "/home/someone";
	*state = b;
	return 0;
}

static inline int box_teardown(void **state)
{
	struct box *b = *state;

	test_directory_remove(b->directory);
	buffer_done(&b->output);
	free(b);
	return 0;
}

/* All messages and all output, to the end of both. */
static inline void box_follow(struct box *b, struct process *p)
{
	static struct protect nothing; /* all renaming goes on */
	struct init_message m;
	char bytes[4096];
	bool gone = false;
	int r;

	b->status = -1;
	b->failed = false;
	while (!gone || p->output[0] >= 0) {
		struct pollfd fds[3] = {{.fd = gone ? -1 : p->socket, .events = POLLIN},
		                        {.fd = p->output[0], .events = POLLIN},
		                        {.fd = p->asks, .events = POLLIN}};

		assert_true(poll(fds, 3, TEST_PATIENCE_MS) > 0);
		if (fds[2].revents && !broker_answer(&nothing, p->asks, &(struct broker_told){0}))
			fd_close(take_fd(&p->asks));
		if (fds[1].revents) {
			ssize_t n = read(p->output[0], bytes, sizeof(bytes));

			if (n > 0)
				buffer_append(&b->output, bytes, (size_t)n);
			else if (n == 0)
				fd_close(take_fd(&p->output[0]));
		}
		while (fds[0].revents && !gone && (r = process_receive(p, &m)) != 0) {
			if (r < 0 || m.event == INIT_GONE)
				gone = true;
			else if (m.event == INIT_EXITED)
				b->status = m.status;
			else if (m.event == INIT_FAILED) {
				b->failed = true;
				b->failure = m;
			}
			if (r > 0 && m.event == INIT_EXITED && m.leftover)
				process_order(p, INIT_KILL);
		}
	}
	assert_int_equal(waitpid(p->init_pid, NULL, __WALL), p->init_pid);
}

static const char *const box_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin",
                                      "HOME=/home/someone", NULL};

static inline int box_spawn(const struct process_command *c, struct process **ret_process,
                            struct error *err)
{
#ifdef TEST_AHEAD
	int r = process_begin(c->sandbox, ret_process, err);

	return r < 0 ? r : process_give(*ret_process, c, err);
#else
	return process_spawn(c, ret_process, err);
#endif
}

static inline struct process *box_start(struct box *b, const char *script,
                                        struct sandbox_plan **plan)
{
	static const char *const shell[] = {"/bin/sh", NULL};
	const char *const argv[] = {"sh", "-c", script, NULL};
	scoped(fd_closep) int null = open(b->input ? b->input : "/dev/null", O_RDONLY | O_CLOEXEC);
	struct process_command c = {.cwd = b->workspace,
	                            .paths = shell,
	                            .argv = argv,
	                            .envp = box_env,
	                            .stdin_fd = null,
	                            .merged = true};
	const struct limit_value *limits;
	struct process *p = NULL;
	struct error err = {0};

	if (sandbox_plan_new(&b->spec, &b->place, plan, &err) < 0)
		fail_msg("plan: %s", err.text);
	c.sandbox = *plan;
	c.limit_count = sandbox_plan_limits(*plan, &limits);
	memcpy(c.limits, limits, (size_t)c.limit_count * sizeof(*limits));
	b->standing = *sandbox_plan_standing(*plan);
	if (b->meanwhile)
		b->meanwhile(b);
	if (box_spawn(&c, &p, &err) < 0)
		fail_msg("spawn: %s", err.text);
	return p;
}

/* Runs a script in the box; its output is in b->output, its exit code is returned. */
static inline int box_run(struct box *b, const char *script)
{
	scoped(sandbox_plan_freep) struct sandbox_plan *plan = NULL;
	scoped(process_freep) struct process *p = NULL;
	struct error err = {0};

	buffer_clear(&b->output);
	p = box_start(b, script, &plan);
	box_follow(b, p);
	if (b->failed || b->status < 0) {
		if (b->failure.step == CHILD_SANDBOX)
			sandbox_plan_explain(plan, b->failure.detail, b->failure.sys, &err);
		if (b->failure.step != CHILD_EXEC)
			print_message("# step %d: %s (%s)\n", b->failure.step,
			              strerror(b->failure.sys), err.text);
		return -1;
	}
	return WIFEXITED(b->status) ? WEXITSTATUS(b->status) : 128 + WTERMSIG(b->status);
}

static inline void expect(struct box *b, const char *script, const char *output)
{
	int code = box_run(b, script);

	assert_string_equal(buffer_str(&b->output), output);
	assert_int_equal(code, 0);
}

static inline void refused(struct box *b, const char *script)
{
	assert_int_not_equal(box_run(b, script), 0);
	assert_false(b->failed);
}

/* The number that the host has for a process of the box, found below its init. */
static inline pid_t command_pid(const struct process *p)
{
	scoped(fd_closep) int fd = -1;
	char path[64], text[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", p->init_pid, p->init_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}

static inline void wait_for_output(const struct process *p)
{
	char byte;

	test_wait_readable(p->output[0]);
	assert_int_equal(read(p->output[0], &byte, 1), 1);
}

#define box_test(f) cmocka_unit_test_setup_teardown(f, box_setup, box_teardown)

/* Call first in main(). */
static inline void box_begin(void)
{
#ifdef TEST_AS_USER
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
	     setresuid(ORDINARY, ORDINARY, ORDINARY) < 0))
		exit(1);
#endif
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* as the keeper */
}
