/*
 * Policy: a line decided by rules of every kind. What cannot be read, or not be known, must never
 * come out as allowed where the rules refuse the unknown; and a line decided twice is decided the
 * same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct policy_rule rule_list[] = {
	{.list = POLICY_NEVER, .id = "never:sudo", .commands = LIST("sudo", "mkfs.*")},
	{.list = POLICY_DENY,
         .id = "deny:push",
         .commands = LIST("git"),
         .args = LIST("push", "o*")},
	{.list = POLICY_DENY,
         .id = "deny:out",
         .commands = LIST("*"),
         .paths = POLICY_PATHS_OUTSIDE},
	{.list = POLICY_DANGER,
         .id = "danger:rm",
         .commands = LIST("rm"),
         .with = LIST("-r|-R|--recursive"),
         .without = LIST("--dry-run"),
         .operands = LIST("/", "/\\*", "~", "/etc/**")},
	{.list = POLICY_DANGER, .id = "danger:bomb", .literal = ":(){ :|:& };:"},
	{.list = POLICY_DANGER, .id = "danger:regex", .regex = "(?:a+)+b\\s[x-z]"},
	{.list = POLICY_DANGER,
         .id = "danger:pipe",
         .pipe_from = LIST("curl", "wget"),
         .pipe_to = LIST("sh", "bash", "python3", "eval", "source")},
	{.list = POLICY_DANGER, .id = "danger:write", .write_to = LIST("/etc/**", "/dev/sd*")},
	{.list = POLICY_NUDGE, .id = "nudge:cat", .commands = LIST("cat"), .forceable = true},
	{.list = POLICY_ASK, .id = "ask:tar", .commands = LIST("tar"), .effects = LIST("exec")},
	{.list = POLICY_ALLOW, .id = "allow:ls", .commands = LIST("ls", "echo", "bash", "find")},
	{.list = POLICY_ALLOW,
         .id = "allow:status",
         .commands = LIST("git"),
         .args = LIST("status"),
         .only = LIST("-s", "--short")},
	{.list = POLICY_ALLOW,
         .id = "allow:cp",
         .commands = LIST("cp"),
         .paths = POLICY_PATHS_RELATIVE_INSIDE},
	{.list = POLICY_ALLOW, .id = "allow:own", .commands = LIST("./*")},
};

static struct policy_rules make_rules(uint8_t kind)
{
	static const char *const effects[] = {"write", "exec", NULL};

	return (struct policy_rules){
		.rules = rule_list,
		.rule_count = array_size(rule_list),
		.unknown = POLICY_UNKNOWN_DENY,
		.fallback = kind & 1 ? POLICY_VERDICT_ALLOW : POLICY_VERDICT_DENY,
		.fallback_reason = "no {name} {operand} {char} {allowed} {",
		.denied_effects = kind & 2 ? effects : NULL,
		.absolute_paths = kind & 4,
	};
}

/* Scripts of known names are no unknown code, as they are programs of the workspace. */
static bool runs_unknown(const struct shell_facts *f)
{
	for (size_t i = 0; i < f->effect_count; i++)
		if (f->effects[i].opaque && strncmp(f->effects[i].text, "script:", 7) != 0 &&
		    strncmp(f->effects[i].text, "source:", 7) != 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *policies[8];
	static struct policy_rules rules[8];
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	uint8_t kind = size ? data[0] & 7 : 0;
	struct policy_question q = {.workspace_fd = -1,
	                            .workspace = "/nonexistent/workspace",
	                            .cwd = ".",
	                            .path = "/usr/bin:/bin",
	                            .home = "/home/x",
	                            .force = size & 1};
	struct policy_answer answer, again;
	struct shell_facts *facts;

	rules[kind] = make_rules(kind);
	if (!policies[kind] && policy_new(&rules[kind], &policies[kind], NULL) < 0)
		abort();
	if (!arena || shell_facts_read(arena, (const char *)data, size, NULL, &facts) < 0)
		return 0;
	q.text = (const char *)data;
	q.text_len = size;
	q.facts = facts;
	if (policy_decide(policies[kind], arena, &q, &answer, NULL) < 0)
		return 0;
	if (answer.line.verdict == POLICY_VERDICT_ALLOW &&
	    (facts->status == SHELL_FACTS_ERROR || facts->status == SHELL_FACTS_UNSUPPORTED ||
	     (facts->status == SHELL_FACTS_OPAQUE && runs_unknown(facts))))
		abort();
	for (size_t i = 0; i < answer.command_count; i++)
		if (answer.commands[i].verdict > answer.line.verdict)
			abort();
	if (answer.line.verdict != POLICY_VERDICT_ALLOW && !answer.line.reason)
		abort();
	for (const char *p = answer.line.reason; p && *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
	if (policy_decide(policies[kind], arena, &q, &again, NULL) == 0 &&
	    again.line.verdict != answer.line.verdict)
		abort();
	return 0;
}
