/*
 * The finding about one command: the first list that matches decides, from never to allow, then the
 * default. What could match only because a word is not known goes the way of `unknown:`, and
 * whichever of the two is more severe holds.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/arena.h"
#include "policy/grants.h"

bool rule_is_of_line(const struct policy_rule *rule)
{
	return rule->literal || rule->regex || rule->pipe_from || rule->pipe_to || rule->write_to;
}

/* "go build" allows what building does. */
static bool is_meant(const struct look *l, const struct fitting *f, const char *by)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct policy_rule *rule = l->policy->compiled[f->rules[i]].rule;

		if (rule->list == POLICY_ALLOW && word_in_list(rule->args, by))
			return true;
	}
	return false;
}

static struct ranked effects_of(struct look *l, struct subject *s, const struct fitting *f)
{
	const struct policy_rules *rules = l->policy->rules;
	struct ranked best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);

	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];
		bool deny = word_in_list(rules->denied_effects, d->effect);
		struct ranked one;

		if (!deny &&
		    (!word_in_list(rules->asked_effects, d->effect) || is_meant(l, f, d->by)))
			continue;
		one = finding_by_id(
			deny ? POLICY_VERDICT_DENY : POLICY_VERDICT_ASK, RANK_EFFECTS, "effects",
			arena_printf(l->arena, "'%s' %s the effect '%s' here, by %s (%s)%s.",
		                     advice_quote(l, s->name), d->maybe ? "could have" : "has",
		                     d->effect, advice_quote(l, d->by), d->note,
		                     deny ? ", which is not allowed: leave it out"
		                          : ", so a person decides"));
		if (!one.finding.reason)
			l->failed = true;
		finding_worsen(&best, &one);
	}
	return best;
}

static bool writes_file(const struct shell_fact_redirect *r)
{
	if (r->heredoc || r->target.pipe ||
	    (r->target.kind == SHELL_VALUE_KNOWN && strcmp(r->target.text.bytes, "/dev/null") == 0))
		return false;
	return (r->op[0] == '>' && strcmp(r->op, ">&") != 0) || r->op[0] == '&' ||
	       strcmp(r->op, "<>") == 0;
}

static struct ranked redirects_of(struct look *l, const struct shell_fact_command *c)
{
	const struct policy_rules *rules = l->policy->rules;
	bool deny = word_in_list(rules->denied_effects, "write");
	bool ask = word_in_list(rules->asked_effects, "write");

	for (size_t i = 0; (deny || ask) && i < c->redirect_count; i++)
		if (writes_file(&c->redirects[i]))
			return finding_by_id(
				deny ? POLICY_VERDICT_DENY : POLICY_VERDICT_ASK, RANK_EFFECTS,
				"effects",
				deny ? "The redirection writes a file, which is not allowed "
				       "here: leave it out."
				     : "The redirection writes a file, so a person decides.");
	return finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
}

struct weighing { /* of one command */
	struct ranked best;
	bool decided;      /* by a rule or an effect */
	bool forced;       /* a nudge was overridden */
	const char *doubt; /* why an allow rule does not hold */
	/* An allow rule that has the name, but not the other words; and the word that does not fit.
	 */
	const struct policy_rule *missed;
	const char *missed_operand;
};

/* Returns true when nothing later can change the finding. */
static bool weigh_rule(struct look *l, struct subject *s, const struct policy_rule *rule,
                       struct weighing *w)
{
	const char *operand = NULL;
	struct ranked one;
	enum match m;

	if (rule_is_of_line(rule) || rule->list == POLICY_ALLOW)
		return false;
	m = rule_match(l, s, rule, &operand);
	if (m == MATCH_NO)
		return false;
	if (m == MATCH_MAYBE) {
		const char *what = arena_printf(
			l->arena,
			"A word of '%s' is not known before it runs, and could be what the rule "
			"'%s' is about. Write the word out.",
			advice_quote(l, s->name),
			rule->id ? rule->id : policy_list_name(rule->list));

		if (!what)
			l->failed = true;
		one = finding_by_unknown(l, what);
		one.rank = RANK_DOUBT;
		/* Not knowing is no worse than knowing: a rule that asks does not refuse. */
		if (rule->list >= POLICY_NUDGE && one.finding.verdict > finding_verdict(rule->list))
			one.finding.verdict = finding_verdict(rule->list);
		finding_worsen(&w->best, &one);
		w->decided |= one.finding.verdict != POLICY_VERDICT_ALLOW;
		return false;
	}
	one = finding_by_rule(l, rule, s->name, operand);
	if (rule->list == POLICY_NUDGE && rule->forceable && l->q->force) {
		w->forced = true;
		one.finding.verdict = POLICY_VERDICT_ALLOW;
		finding_worsen(&w->best, &one);
		return false;
	}
	finding_worsen(&w->best, &one);
	w->decided = true;
	return one.finding.verdict == POLICY_VERDICT_DENY;
}

static bool weigh_allow(struct look *l, struct subject *s, const struct policy_rule *rule,
                        struct weighing *w)
{
	const char *operand = NULL;
	struct ranked one;
	enum match m = rule_match(l, s, rule, &operand);

	if (m == MATCH_NO) {
		if (!w->missed || (!w->missed->reason && rule->reason)) {
			w->missed = rule;
			w->missed_operand = operand;
		}
		return false;
	}
	if (m != MATCH_YES) {
		if (!w->doubt)
			w->doubt = "words that are not known, or could be read in another way";
		return false;
	}
	if (!rule_is_proven(l, s, rule, &w->doubt))
		return false;
	one = finding_by_rule(l, rule, s->name, operand);
	finding_worsen(&w->best, &one);
	return true;
}

/* The name is allowed, but not so. */
static const char *why_missed(struct look *l, struct subject *s, const struct weighing *w)
{
	const struct policy_rule *rule = w->missed;
	struct advice a = {.name = s->name, .operand = w->missed_operand};

	if (rule->reason)
		return advice_fill(l, rule->reason, &a);
	if (rule->paths != POLICY_PATHS_ANY)
		return advice_fill(
			l,
			"'{name}' is allowed here only with paths that stay inside of the "
			"workspace, and '{operand}' does not.",
			&a);
	return arena_printf(
		l->arena,
		"'%s' is allowed here only as the rule '%s' says: with other operands or "
		"options than these.",
		advice_quote(l, s->name), rule->id ? rule->id : "allow");
}

static struct ranked fall_back(struct look *l, struct subject *s, const struct weighing *w)
{
	const char *doubt = w->doubt;
	const struct policy_rules *rules = l->policy->rules;
	struct advice a = {.name = s->name};
	const char *reason;

	if (rules->fallback == POLICY_VERDICT_ALLOW)
		return finding_by_id(POLICY_VERDICT_ALLOW, RANK_DEFAULT, "default", NULL);
	if (doubt)
		reason = arena_printf(
			l->arena, "'%s' is not proven to be what is allowed, because of %s%s",
			advice_quote(l, s->name), advice_quote(l, doubt),
			rules->fallback == POLICY_VERDICT_ASK ? ", so a person decides."
							      : ". Write the command without it.");
	else if (w->missed && rules->fallback == POLICY_VERDICT_DENY)
		reason = why_missed(l, s, w);
	else
		reason = advice_fill(l,
		                     rules->fallback_reason ? rules->fallback_reason
		                     : rules->fallback == POLICY_VERDICT_ASK
		                             ? "'{name}' is in no list, so a person decides."
		                             : "'{name}' is not allowed here. Allowed: {allowed}.",
		                     &a);
	if (!reason)
		l->failed = true;
	return finding_by_id(rules->fallback, RANK_DEFAULT, "default", reason);
}

bool look_is_opaque(const struct look *l)
{
	return l->facts->status == SHELL_FACTS_OPAQUE;
}

/* A loop that starts something in the background each time it goes round: as many as the box lets.
 */
static bool is_in_storm(const struct shell_fact_command *c)
{
	const char *loop = strstr(c->via, "while");

	loop = loop ? loop : strstr(c->via, "until");
	loop = loop ? loop : strstr(c->via, "for");
	return loop && strstr(loop, "/bg");
}

/* Whether code runs that nobody has read, or a program that commands could have made. */
static bool is_left(struct look *l, struct subject *s)
{
	const struct policy_file *f;

	if (rule_runs_unread(s) || (l->sets_any && s->command->kind != SHELL_KIND_BUILTIN))
		return true;
	if (is_in_storm(s->command))
		return true;
	/* What stands behind it in the line would be outside. */
	if (strcmp(s->name, "cd") == 0 || strcmp(s->name, "pushd") == 0)
		return s->command->word_count < 2 || paths_words_leave(l, s);
	if (s->command->kind == SHELL_KIND_BUILTIN)
		return false;
	f = subject_file(l, s);
	return !f->known || !f->trusted || paths_words_leave(l, s);
}

static bool names_any(const struct policy *p, const struct fitting *f, enum policy_list list)
{
	for (size_t i = 0; i < f->count; i++)
		if (p->compiled[f->rules[i]].rule->list == list)
			return true;
	return false;
}

static struct ranked weigh(struct look *l, struct subject *s)
{
	struct weighing w = {.best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL)};
	const struct policy *p = l->policy;
	struct fitting f;
	struct ranked one;
	bool allowed = false;

	fitting_find(l, s, &f);
	for (size_t i = 0; i < f.count; i++) {
		const struct policy_rule *rule = p->compiled[f.rules[i]].rule;

		if (weigh_rule(l, s, rule, &w))
			break;
	}
	if (s->word[0] == '/' && !p->rules->absolute_paths) {
		one = finding_by_id(
			POLICY_VERDICT_DENY, RANK_DEFAULT, "absolute-path",
			"A command must not be named by an absolute path here: use its bare "
			"name, or a relative path inside of the workspace.");
		finding_worsen(&w.best, &one);
		w.decided = true;
	}
	/* That a command is not listed says more than what it would do. */
	if (p->rules->fallback != POLICY_VERDICT_DENY || names_any(p, &f, POLICY_ALLOW)) {
		one = effects_of(l, s, &f);
		w.decided |= one.finding.verdict != POLICY_VERDICT_ALLOW;
		finding_worsen(&w.best, &one);
	}
	/* A person has said yes to exactly this. */
	if (w.best.finding.verdict <= POLICY_VERDICT_ASK && l->q->grants && !look_is_opaque(l) &&
	    (w.decided || p->rules->fallback == POLICY_VERDICT_ASK) &&
	    policy_grants_cover(l->q->grants, l->q, s->command)) {
		w.best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_DEFAULT, "grant",
		                       "Approved by a person, in this session.");
		allowed = true;
	}
	for (size_t i = 0; i < f.count && !w.decided && !w.forced && !allowed; i++) {
		const struct policy_rule *rule = p->compiled[f.rules[i]].rule;

		if (rule->list == POLICY_ALLOW)
			allowed = weigh_allow(l, s, rule, &w);
	}
	if (!w.decided && !w.forced && !allowed) {
		one = fall_back(l, s, &w);
		finding_worsen(&w.best, &one);
	}
	if (w.best.finding.verdict == POLICY_VERDICT_ALLOW && !l->guess)
		w.best.finding.left_to_sandbox |=
			(w.forced && s->command->does_count) || is_left(l, s);
	w.best.finding.resolved = s->file.real;
	return w.best;
}

/* A name that is not known is tried with the values that the line gives to its variables. */
static struct ranked weigh_dynamic(struct look *l, const struct subject *s)
{
	struct ranked best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
	struct candidates c;

	word_candidates(l, &s->command->words[0], &c);
	for (size_t i = 0; i < c.count && s->command->words[0].kind != SHELL_VALUE_GLOB; i++) {
		size_t n = strcspn(c.text[i], " \t\n");
		struct subject guess = {.command = s->command, .runs = true};
		struct ranked one;
		const char *slash;

		guess.word = look_string(l, c.text[i], n);
		if (!guess.word || !n)
			continue;
		slash = strrchr(guess.word, '/');
		guess.name = slash ? slash + 1 : guess.word;
		one = weigh(l, &guess);
		if (one.finding.verdict == POLICY_VERDICT_DENY && one.rank < RANK_EFFECTS)
			finding_worsen(&best, &one);
	}
	best.finding.left_to_sandbox = best.finding.verdict == POLICY_VERDICT_ALLOW;
	return best;
}

/* What a function does is decided where its commands are; but a name that is refused stays so. */
static struct ranked weigh_function(struct look *l, struct subject *s)
{
	struct weighing w = {.best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL)};
	struct fitting f;

	fitting_init(l, &f);
	fitting_add_name(l, &f, s->name, false);
	for (size_t i = 0; i < f.count; i++) {
		const struct policy_rule *rule = l->policy->compiled[f.rules[i]].rule;

		if (rule->list <= POLICY_DENY && weigh_rule(l, s, rule, &w))
			break;
	}
	return w.best;
}

/* toybox NAME ..., exec -a NAME ...: programs of many names are what they are called; 0: none.
 * busybox is a wrapper to the facts already. */
static size_t other_name(const struct subject *s)
{
	const struct shell_fact_command *c = s->command;

	if (!s->name || !s->runs || c->word_count < 2)
		return 0;
	if (strcmp(s->name, "toybox") == 0)
		return 1;
	if (strcmp(s->name, "exec") == 0 && c->word_count > 2 && c->words[1].text.len > 1 &&
	    c->words[1].text.bytes[0] == '-' &&
	    c->words[1].text.bytes[c->words[1].text.len - 1] == 'a')
		return 2;
	return 0;
}

static struct ranked weigh_applet(struct look *l, struct subject *s, size_t at)
{
	struct shell_fact_command *inner = look_alloc(l, sizeof(*inner));
	struct subject applet = {.command = inner, .runs = true};

	if (!inner || s->command->words[at].kind != SHELL_VALUE_KNOWN)
		return finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
	*inner = *s->command;
	inner->words += at;
	inner->word_count -= at;
	applet.word = applet.name = inner->words[0].text.bytes;
	return weigh(l, &applet);
}

struct ranked command_decide(struct look *l, struct subject *s)
{
	struct ranked r = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;

	if (s->command->kind == SHELL_KIND_DYNAMIC)
		r = weigh_dynamic(l, s);
	else if (s->name && s->runs)
		r = weigh(l, s);
	else if (s->name)
		r = weigh_function(l, s);
	if (other_name(s)) {
		one = weigh_applet(l, s, other_name(s));
		finding_worsen(&r, &one);
	}
	one = redirects_of(l, s->command);
	finding_worsen(&r, &one);
	if (!l->guess && r.finding.verdict == POLICY_VERDICT_ALLOW)
		r.finding.left_to_sandbox |= paths_redirects_leave(l, s->command) ||
		                             (l->sets_any && s->command->kind == SHELL_KIND_NONE);
	return r;
}
