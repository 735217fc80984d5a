#include "policy/test-support-policy.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "policy/grants.h"

static const struct policy_rule rules[] = {
	{.list = POLICY_DENY, .id = "deny:sudo", .commands = LIST("sudo")},
	{.list = POLICY_ASK, .id = "ask:push", .commands = LIST("git"), .args = LIST("push")},
	{.list = POLICY_ALLOW, .id = "allow:ls", .commands = LIST("ls")},
};
static const struct policy_rules asking = {.rules = rules,
                                           .rule_count = array_size(rules),
                                           .unknown = POLICY_UNKNOWN_ASK,
                                           .fallback = POLICY_VERDICT_ASK,
                                           .absolute_paths = true};

static int grant(struct bench *b, struct policy_grants *g, const char *line,
                 enum policy_grant_scope scope)
{
	struct policy_question q = b->question;

	b->question.grants = NULL;
	bench_ask(b, line);
	q.facts = b->facts;
	q.workspace = b->workspace;
	q.cwd = q.cwd ? q.cwd : ".";
	q.path = q.path ? q.path : "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
	b->question.grants = g;
	return policy_grants_add(g, &q, &b->answer, scope, NULL);
}

static void the_digest_is_blake2b(void **state)
{
	static const uint8_t abc[4] = {0xbd, 0xdd, 0x81, 0x3c},
			     nothing[4] = {0x0e, 0x57, 0x51, 0xc0};
	struct digest d, e;
	char long_text[300];

	digest_make("abc", 3, &d);
	assert_memory_equal(d.bytes, abc, sizeof(abc));
	digest_make("", 0, &d);
	assert_memory_equal(d.bytes, nothing, sizeof(nothing));
	memset(long_text, 'x', sizeof(long_text));
	digest_make(long_text, 256, &d);
	digest_make(long_text, 257, &e);
	assert_memory_not_equal(d.bytes, e.bytes, sizeof(d.bytes));
}

static void covers_these_words_and_no_others(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	assert_int_equal(grant(&b, g, "docker ps -a", POLICY_GRANT_EXACT), 0);
	bench_expect(&b, "docker ps -a", POLICY_VERDICT_ALLOW, "grant");
	bench_expect(&b, "docker ps", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "docker ps -a -q", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "docker 'ps -a'", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "docker ps -a > x", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "X=1 docker ps -a", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "docker ps -a; docker rm x", POLICY_VERDICT_ASK, NULL);
	bench_done(&b);
}

static void what_stands_around_it_is_not_covered(void **state)
{
	static const char *const lines[] = {
		"cd sub && docker ps",
		"pushd sub; docker ps",
		"export DOCKER_HOST=x; docker ps",
		"DOCKER_HOST=x; docker ps",
		"set -a; docker ps",
		"echo x | docker ps",
		"docker ps | ls",
		"(docker ps)",
		"ls $(docker ps)",
		"f() { docker ps; }; f",
		"time -p docker ps; umask 0; docker ps",
		"exec docker ps",
		"command docker ps",
		"while true; do docker ps; done",
		"printf -v DOCKER_HOST x; docker ps",
		"docker ps < x",
	};
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	assert_int_equal(grant(&b, g, "docker ps", POLICY_GRANT_EXACT), 0);
	bench_expect(&b, "ls; docker ps", POLICY_VERDICT_ALLOW, NULL);
	for (size_t i = 0; i < array_size(lines); i++)
		bench_expect(&b, lines[i], POLICY_VERDICT_ASK, NULL);
	assert_int_equal(grant(&b, g, "cd sub && docker ps -a", POLICY_GRANT_EXACT), -EPERM);
	assert_int_equal(policy_grants_count(g), 1);
	bench_done(&b);
}

static void a_sub_command_covers_its_other_words(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	assert_int_equal(grant(&b, g, "git push origin", POLICY_GRANT_SUB), 0);
	bench_expect(&b, "git push elsewhere", POLICY_VERDICT_ALLOW, "grant");
	bench_expect(&b, "git pull", POLICY_VERDICT_ASK, NULL);
	bench_expect(&b, "git -c x=y push", POLICY_VERDICT_ASK, NULL);
	assert_int_equal(grant(&b, g, "docker --host x ps", POLICY_GRANT_SUB), -EPERM);
	bench_done(&b);
}

static void is_bound_to_place_and_environment(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	assert_int_equal(grant(&b, g, "docker ps", POLICY_GRANT_EXACT), 0);
	b.question.env = LIST("X=1");
	bench_expect(&b, "docker ps", POLICY_VERDICT_ASK, NULL);
	b.question.env = NULL;
	b.question.cwd = "sub";
	bench_expect(&b, "docker ps", POLICY_VERDICT_ASK, NULL);
	b.question.cwd = NULL;
	b.question.path = "/tmp:/usr/bin";
	bench_expect(&b, "docker ps", POLICY_VERDICT_ASK, NULL);
	bench_done(&b);
}

static void there_is_none_for_what_runs_anything(void **state)
{
	static const char *const lines[] = {"bash x.sh",
	                                    "python3 x.py",
	                                    "env docker ps",
	                                    "xargs docker rm",
	                                    "$X ps",
	                                    "eval \"$X\"",
	                                    "node x.js",
	                                    "docker ps $X",
	                                    "busybox ls",
	                                    "perl5.36.0 x",
	                                    "tclsh8.6 x",
	                                    "lua5.4 x",
	                                    "luajit x",
	                                    "gmake x",
	                                    "luajit-2.1.0 x",
	                                    "ruby3.1 x",
	                                    "php8.2 x",
	                                    "vim -es x",
	                                    "/opt/x/perl5.40-thread x",
	                                    "gdb-multiarch x"};
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	for (size_t i = 0; i < array_size(lines); i++)
		if (grant(&b, g, lines[i], POLICY_GRANT_EXACT) != -EPERM)
			fail_msg("%s was granted", lines[i]);
	assert_int_equal(policy_grants_count(g), 0);
	bench_done(&b);
}

static void there_is_none_for_code_in_words(void **state)
{
	static const char *const lines[] = {
		"git -c alias.x='!sh run.sh' x",
		"tar cf x.tar --checkpoint=1 --checkpoint-action=exec='sh run.sh' x",
		"GIT_SSH_COMMAND='sh run.sh' git push",
		"rsync -e 'sh run.sh' a b:c",
		"sed -nf x.sed y",
		"sqlite3 x.db '.read y'",
		"sqlite3 x.db <y",
		"docker ps <y",
		"docker ps <>y",
		"docker ps 0<&3",
	};
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	for (size_t i = 0; i < array_size(lines); i++)
		if (grant(&b, g, lines[i], POLICY_GRANT_EXACT) != -EPERM)
			fail_msg("%s was granted", lines[i]);
	/* A sub-command with any other words does not cover such words, either. */
	assert_int_equal(grant(&b, g, "git push origin", POLICY_GRANT_SUB), 0);
	bench_expect(&b, "git push elsewhere", POLICY_VERDICT_ALLOW, "grant");
	bench_expect(&b, "git push --receive-pack='sh run.sh' .", POLICY_VERDICT_ASK, NULL);
	bench_done(&b);
}

/* The name says nothing: the file does. */
static void there_is_none_for_another_name_of_an_interpreter(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;
	char path[128], line[160];

	bench_init(&b, &asking);
	snprintf(path, sizeof(path), "%s/tool", b.workspace);
	snprintf(line, sizeof(line), "%s x", path);
	assert_int_equal(symlink("/usr/bin/perl", path), 0);
	assert_int_equal(grant(&b, g, line, POLICY_GRANT_EXACT), -EPERM);
	assert_int_equal(grant(&b, g, "./tool x", POLICY_GRANT_EXACT), -EPERM);
	unlink(path);
	/* A binary of the agent's own may be a copy of one. */
	test_file_write(path, "\177ELF");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(grant(&b, g, "./tool x", POLICY_GRANT_EXACT), -EPERM);
	unlink(path);
	test_file_write(path, "#!/bin/sh\n");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(grant(&b, g, "./tool x", POLICY_GRANT_EXACT), 0);
	bench_done(&b);
}

static void there_is_none_against_a_refusal(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;

	bench_init(&b, &asking);
	assert_int_equal(grant(&b, g, "sudo ls", POLICY_GRANT_EXACT), -EPERM);
	assert_int_equal(grant(&b, g, "docker ps; sudo ls", POLICY_GRANT_EXACT), -EPERM);
	assert_int_equal(grant(&b, g, "ls", POLICY_GRANT_EXACT), -EPERM);
	assert_int_equal(policy_grants_count(g), 0);
	bench_done(&b);
}

static void there_is_a_limit(void **state)
{
	scoped(policy_grants_freep) struct policy_grants *g = policy_grants_new();
	struct bench b;
	char line[64];
	int r = 0;

	bench_init(&b, &asking);
	for (int i = 0; i <= POLICY_GRANT_MAX && r == 0; i++) {
		snprintf(line, sizeof(line), "docker rm x%d", i);
		r = grant(&b, g, line, POLICY_GRANT_EXACT);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(policy_grants_count(g), POLICY_GRANT_MAX);
	bench_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_digest_is_blake2b),
		cmocka_unit_test(covers_these_words_and_no_others),
		cmocka_unit_test(what_stands_around_it_is_not_covered),
		cmocka_unit_test(a_sub_command_covers_its_other_words),
		cmocka_unit_test(is_bound_to_place_and_environment),
		cmocka_unit_test(there_is_none_for_what_runs_anything),
		cmocka_unit_test(there_is_none_for_code_in_words),
		cmocka_unit_test(there_is_none_for_another_name_of_an_interpreter),
		cmocka_unit_test(there_is_none_against_a_refusal),
		cmocka_unit_test(there_is_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
