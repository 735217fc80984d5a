#include "profile/lint.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/suggest.h"
#include "policy/policy.h"
#include "profile/keys.h"
#include "profile/profile.h"
#include "shell/knowledge.h"

struct lint {
	const struct profile *profile;
	const struct policy_rule *rule;
	profile_lint_report *report;
	void *context;
};

static void say(struct lint *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct lint *l, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	l->report(l->context, l->rule, text);
}

static bool has(const char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

/* Matches every use of its commands and first operands. */
static bool is_unconditional(const struct policy_rule *r)
{
	return r->commands && !r->with && !r->without && !r->only && !r->operands && !r->paths &&
	       !r->effects && !r->write_to && !(r->list == POLICY_NUDGE && r->forceable);
}

static bool names(const struct policy_rule *r, const char *command)
{
	for (const char *const *c = r->commands; *c; c++)
		if (strcmp(*c, command) == 0 || fnmatch(*c, command, 0) == 0)
			return true;
	return false;
}

static bool begins_with(const char *const *all, const char *const *beginning)
{
	for (; beginning && *beginning; beginning++, all++)
		if (!all || !*all || strcmp(*all, *beginning) != 0)
			return false;
	return true;
}

/* The rule that decides about this command before rule number AT can. */
static const struct policy_rule *decides_before(const struct policy_rules *all, size_t at,
                                                const char *command)
{
	const struct policy_rule *rule = &all->rules[at];

	for (size_t i = 0; i < all->rule_count; i++) {
		const struct policy_rule *r = &all->rules[i];
		bool first = r->list < rule->list || (r->list == rule->list && i < at);

		if (first && is_unconditional(r) && names(r, command) &&
		    begins_with(rule->args, r->args))
			return r;
	}
	return NULL;
}

static void look_for_shadows(struct lint *l, size_t at)
{
	const struct policy_rules *all = &l->profile->rules;
	const struct policy_rule *before = NULL;

	if (!l->rule->commands || !l->rule->commands[0])
		return;
	for (const char *const *c = l->rule->commands; *c; c++) {
		before = decides_before(all, at, *c);
		if (!before)
			return;
	}
	if (before->list == l->rule->list && strcmp(before->text, l->rule->text) == 0)
		say(l, "the same as '%s' (%s:%u)", before->id, before->place.file,
		    before->place.line);
	else
		say(l, "never decides: '%s' (%s:%u) comes before it", before->id,
		    before->place.file, before->place.line);
}

static void look_at_names(struct lint *l)
{
	for (const char *const *c = l->rule->commands; c && *c; c++) {
		if (strpbrk(*c, " \t"))
			say(l,
			    "never matches '%s': no command has a blank in its name; operands go "
			    "into 'args'",
			    *c);
		if (l->rule->list == POLICY_ALLOW && **c == '/' &&
		    !l->profile->rules.absolute_paths)
			say(l, "never matches '%s': 'absolute_paths' is false", *c);
		if (**c == '-')
			say(l, "never matches '%s': this is an option, which goes into 'with'", *c);
	}
	for (const char *const *a = l->rule->args; a && *a; a++)
		if (**a == '-' && (*a)[1])
			say(l, "'%s' is an option: options stand in 'with', not in 'args'", *a);
}

/* The option of the table that somebody may have meant; NULL: this one is known, or none is near.
 */
static const char *near_option(const struct knowledge_command *known, const char *option)
{
	const char *found = NULL;
	unsigned best = 3;

	for (size_t i = 0; i < known->count; i++)
		for (size_t j = 0; j < known->rows[i].count; j++) {
			const struct knowledge_item *item = &known->rows[i].items[j];

			if (item->kind != KNOWLEDGE_OPTION && item->kind != KNOWLEDGE_NO_OPTION)
				continue;
			/* TeX and Go take -long for --long. */
			if (strcmp(item->name + strspn(item->name, "-"),
			           option + strspn(option, "-")) == 0)
				return NULL;
			if (strlen(item->name) > 3 && suggest_is_near(option, item->name, &best))
				found = item->name;
		}
	return found;
}

static void look_at_option(struct lint *l, const char *option)
{
	if (*option != '-' && *option != '+') {
		say(l, "'%s' does not look like an option", option);
		return;
	}
	if (strlen(option) <= 3)
		return;
	for (const char *const *c = l->rule->commands; c && *c; c++) {
		const struct knowledge_command *known = knowledge_find(*c);
		const char *near = known ? near_option(known, option) : NULL;

		if (near)
			say(l,
			    "'%s' knows no option '%s' that nacre has heard of; did you mean "
			    "'%s'?",
			    *c, option, near);
	}
}

static void look_at_options(struct lint *l, const char *const *list)
{
	char one[128];

	for (; list && *list; list++)
		for (const char *p = *list; *p;) {
			size_t n = strcspn(p, "|");

			snprintf(one, sizeof(one), "%.*s",
			         (int)(strcspn(p, "|=") < 120 ? strcspn(p, "|=") : 120), p);
			look_at_option(l, one);
			p += n + (p[n] == '|');
		}
}

static void look_for_contradictions(struct lint *l)
{
	const struct policy_rule *r = l->rule;
	const struct {
		const char *name;
		const char *const *list;
	} lists[] = {{"commands", r->commands}, {"operands", r->operands},
	             {"effects", r->effects},   {"pipe.from", r->pipe_from},
	             {"pipe.to", r->pipe_to},   {"write", r->write_to}};

	for (size_t i = 0; i < array_size(lists); i++)
		if (lists[i].list && !lists[i].list[0])
			say(l, "never matches: '%s' is an empty list", lists[i].name);
	for (const char *const *o = r->with; o && *o; o++) {
		if (has(r->without, *o))
			say(l, "never matches: '%s' is both wanted and excluded", *o);
		if (r->only && !has(r->only, *o) && !strchr(*o, '|'))
			say(l, "never matches: 'with' has '%s', 'only' has it not", *o);
	}
	if (r->pipe_from && l->profile->shell == PROFILE_SHELL_NONE)
		say(l, "never matches: without a shell there are no pipes");
	for (const char *const *s = l->profile->rules.syntax.banned; r->literal && s && *s; s++)
		if (strstr(r->literal, *s) && !l->profile->rules.syntax.in_command) {
			say(l, "never decides: 'syntax' refuses '%s' before it", *s);
			return;
		}
}

static void look_at_defaults(struct lint *l)
{
	if (l->rule->list == POLICY_ALLOW && l->profile->rules.fallback == POLICY_VERDICT_ALLOW &&
	    l->profile->sandbox.exec == SANDBOX_EXEC_ANY)
		say(l, "changes nothing: the default is to allow");
}

void profile_lint(const struct profile *p, const char *file, profile_lint_report *report,
                  void *context)
{
	struct lint l = {.profile = p, .report = report, .context = context};

	for (size_t i = 0; i < p->rules.rule_count; i++) {
		l.rule = &p->rules.rules[i];
		if (file && strcmp(l.rule->place.file, file) != 0)
			continue;
		look_for_contradictions(&l);
		look_at_names(&l);
		look_at_options(&l, l.rule->with);
		look_at_options(&l, l.rule->without);
		look_at_options(&l, l.rule->only);
		look_for_shadows(&l, i);
		look_at_defaults(&l);
	}
}
