/*
 * Findings: what one rule, effect or doubt says, and which of two says more.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/buffer.h"

/* The more severe; of equals, the one of lower rank, then the first. What is left to the box stays
 * so. */
void finding_worsen(struct ranked *a, const struct ranked *b)
{
	bool left = a->finding.left_to_sandbox || b->finding.left_to_sandbox;
	const char *resolved = a->finding.resolved;

	if (b->finding.verdict > a->finding.verdict ||
	    (b->finding.verdict == a->finding.verdict && b->rank < a->rank)) {
		*a = *b;
		if (!a->finding.resolved)
			a->finding.resolved = resolved;
	}
	a->finding.left_to_sandbox = left;
}

enum policy_verdict finding_verdict(enum policy_list list)
{
	switch (list) {
	case POLICY_NUDGE:
		return POLICY_VERDICT_NUDGE;
	case POLICY_ASK:
		return POLICY_VERDICT_ASK;
	case POLICY_ALLOW:
		return POLICY_VERDICT_ALLOW;
	case POLICY_NEVER:
	case POLICY_DENY:
	case POLICY_DANGER:
	case POLICY_LIST_MAX:
		break;
	}
	return POLICY_VERDICT_DENY;
}

static const char *default_reason(const struct policy_rule *rule, const char *operand)
{
	switch (rule->list) {
	case POLICY_NEVER:
		return "'{name}' is never allowed here.";
	case POLICY_DENY:
		return "'{name}' is refused here.";
	case POLICY_DANGER:
		return operand && *operand ? "The line is refused: it looks dangerous ({operand})."
		                           : "The line is refused: it looks dangerous.";
	case POLICY_NUDGE:
		return "There is a better tool than '{name}' for this. {instead}";
	case POLICY_ASK:
		return "'{name}' needs approval.";
	case POLICY_ALLOW:
	case POLICY_LIST_MAX:
		break;
	}
	return "'{name}' is allowed.";
}

/* Tools by the names that the caller's application has for them. Where nobody has told these, those
 * of the rule may be of another application: then they are an example. */
static const char *instead(struct look *l, const struct policy_rule *rule, const char *name)
{
	scoped(buffer_donep) struct buffer out = {0};
	const char *const *use = rule->use;
	bool some = use && *use, sure = some && (!rule->role || rule->own_tools);
	const char *text;

	buffer_puts(&out, sure ? "Use " : "If you have a tool of your own for this");
	buffer_puts(&out, some && !sure ? ", such as " : "");
	for (; some && *use; use++)
		buffer_printf(&out, "%s%s", *use, !use[1] ? "" : use[2] ? ", " : " or ");
	buffer_puts(&out, sure ? " instead" : ", use it");
	if (rule->list == POLICY_NUDGE && rule->forceable)
		buffer_printf(&out, "; to run %s all the same, repeat the call with force",
		              advice_quote(l, name));
	buffer_putc(&out, '.');
	text = buffer_error(&out) < 0 ? NULL : look_string(l, buffer_str(&out), out.len);
	l->failed |= !text;
	return text;
}

struct ranked finding_by_rule(struct look *l, const struct policy_rule *rule, const char *name,
                              const char *operand)
{
	const char *reason = rule->reason ? rule->reason : default_reason(rule, operand);
	struct advice a = {.name = name, .operand = operand};
	struct ranked r = {.rank = RANK_LIST + (int)rule->list};

	r.finding = (struct policy_finding){
		.verdict = finding_verdict(rule->list),
		.rule = rule,
		.rule_id = rule->id,
		.place = rule->place,
		.use = rule->use,
	};
	if (rule->list != POLICY_ALLOW || rule->reason) {
		a.instead = strstr(reason, "{instead}") ? instead(l, rule, name) : NULL;
		r.finding.reason = advice_fill(l, reason, &a);
	}
	return r;
}

struct ranked finding_by_id(enum policy_verdict verdict, int rank, const char *id,
                            const char *reason)
{
	return (struct ranked){.finding = {.verdict = verdict, .rule_id = id, .reason = reason},
	                       .rank = rank};
}

/* What cannot be known before it runs. WHAT is a sentence. */
struct ranked finding_by_unknown(struct look *l, const char *what)
{
	static const enum policy_verdict verdicts[] = {
		[POLICY_UNKNOWN_DENY] = POLICY_VERDICT_DENY,
		[POLICY_UNKNOWN_ASK] = POLICY_VERDICT_ASK,
		[POLICY_UNKNOWN_SANDBOX] = POLICY_VERDICT_ALLOW,
	};
	enum policy_unknown u = l->policy->rules->unknown;
	struct ranked r = finding_by_id(verdicts[u], RANK_UNKNOWN, "unknown", what);

	r.finding.left_to_sandbox = u == POLICY_UNKNOWN_SANDBOX;
	return r;
}
