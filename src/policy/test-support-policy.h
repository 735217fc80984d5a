#pragma once
/*
 * What the tests of this room share: rules made by hand, lines, and the answer about them.
 */
#include "base/test-support.h"

#include <fcntl.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "policy/policy.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct bench { /* where lines are asked about */
	struct policy *policy;
	struct arena *arena;
	int workspace_fd;
	char workspace[64];
	struct policy_question question; /* set fields before asking */
	struct shell_facts *facts;
	struct policy_answer answer;
};

static inline void bench_init(struct bench *b, const struct policy_rules *rules)
{
	*b = (struct bench){.workspace_fd = -1};
	assert_int_equal(policy_new(rules, &b->policy, NULL), 0);
	b->arena = arena_new(SHELL_FACTS_ARENA_MAX);
	assert_non_null(b->arena);
	test_directory_make(b->workspace);
	b->workspace_fd = open(b->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(b->workspace_fd >= 0);
}

static inline void bench_done(struct bench *b)
{
	close(b->workspace_fd);
	test_directory_remove(b->workspace);
	arena_free(b->arena);
	policy_free(b->policy);
}

static inline int bench_try(struct bench *b, const char *line)
{
	struct policy_question q = b->question;

	arena_reset(b->arena);
	assert_int_equal(shell_facts_read(b->arena, line, strlen(line), NULL, &b->facts), 0);
	q.text = line;
	q.text_len = strlen(line);
	q.facts = b->facts;
	q.workspace_fd = b->workspace_fd;
	q.workspace = b->workspace;
	q.cwd = q.cwd ? q.cwd : ".";
	q.path = q.path ? q.path : "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
	q.home = q.home ? q.home : "/home/somebody";
	return policy_decide(b->policy, b->arena, &q, &b->answer, NULL);
}

static inline enum policy_verdict bench_ask(struct bench *b, const char *line)
{
	assert_int_equal(bench_try(b, line), 0);
	return b->answer.line.verdict;
}

/* Fails with the line in the message. */
static inline void bench_expect(struct bench *b, const char *line, enum policy_verdict verdict,
                                const char *rule)
{
	enum policy_verdict got = bench_ask(b, line);
	const char *id = b->answer.line.rule_id ? b->answer.line.rule_id : "none";

	if (got != verdict || (rule && strcmp(rule, id) != 0))
		fail_msg("%s: %s by %s, not %s by %s (%s)", line, policy_verdict_name(got), id,
		         policy_verdict_name(verdict), rule ? rule : "any rule",
		         b->answer.line.reason ? b->answer.line.reason : "no reason");
}

/* Allowed, and whether the box is what stops it. */
static inline void bench_expect_left(struct bench *b, const char *line, bool left)
{
	bool got;

	bench_expect(b, line, POLICY_VERDICT_ALLOW, NULL);
	got = b->answer.line.left_to_sandbox;
	if (got != left)
		fail_msg("%s: %s to the sandbox", line, got ? "left" : "not left");
}
