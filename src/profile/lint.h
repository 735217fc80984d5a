#pragma once
/*
 * Lint: rules that are well written and still cannot be what their author wanted: they never match,
 * or another one always decides before them.
 */
struct policy_place;
struct policy_rule;
struct profile;

typedef void profile_lint_report(void *context, const struct policy_rule *rule,
                                 const char *message);

/* Looks at the rules of FILE (as a place names it), or at all where it is NULL. */
void profile_lint(const struct profile *p, const char *file, profile_lint_report *report,
                  void *context);
