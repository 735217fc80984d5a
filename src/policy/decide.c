/*
 * The order of it all.
 *
 * Each command of the line gets a finding of its own: the first list that matches it decides, from
 * never to allow, then the default. What could match only because a word is not known goes the way
 * of `unknown:`, and whichever of the two is more severe holds. The line has findings of its own:
 * what its text holds, what flows in it, that it cannot be known. The most severe of all is the
 * answer; of equals, the one whose reason says most.
 */
#include "policy/inside.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "policy/grants.h"
#include "shell/knowledge.h"

/* Of findings that are equally severe the lowest is shown. */
enum rank {
	RANK_SYNTAX,
	RANK_UNREADABLE,
	RANK_LIST,
	RANK_EFFECTS = RANK_LIST + POLICY_LIST_MAX,
	RANK_UNKNOWN,
	RANK_DEFAULT,
	RANK_NONE,
};

struct ranked {
	struct policy_finding finding;
	int rank;
};

void *look_alloc(struct look *l, size_t n)
{
	void *memory = arena_alloc(l->arena, n);

	if (!memory)
		l->failed = true;
	return memory;
}

char *look_string(struct look *l, const char *bytes, size_t n)
{
	char *copy = arena_strndup(l->arena, bytes, n);

	if (!copy)
		l->failed = true;
	return copy;
}

/* The more severe; of equals, the one of lower rank, then the first. What is left to the box stays
 * so. */
static void worsen(struct ranked *a, const struct ranked *b)
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

static enum policy_verdict verdict_of(enum policy_list list)
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

/* Findings */

static const char *default_why(const struct policy_rule *rule)
{
	switch (rule->list) {
	case POLICY_NEVER:
		return "'{name}' is never allowed here.";
	case POLICY_DENY:
		return "'{name}' is refused here.";
	case POLICY_DANGER:
		return "The line is refused: it looks dangerous ({operand}).";
	case POLICY_NUDGE:
		return "There is a better tool than '{name}' for this.";
	case POLICY_ASK:
		return "'{name}' needs the approval of a person.";
	case POLICY_ALLOW:
	case POLICY_LIST_MAX:
		break;
	}
	return "'{name}' is allowed.";
}

static struct ranked by_rule(struct look *l, const struct policy_rule *rule, const char *name,
                             const char *operand)
{
	struct advice a = {.name = name, .operand = operand};
	struct ranked r = {.rank = RANK_LIST + (int)rule->list};

	r.finding = (struct policy_finding){
		.verdict = verdict_of(rule->list),
		.rule = rule,
		.rule_id = rule->id,
		.place = rule->place,
		.use = rule->use,
	};
	if (rule->list != POLICY_ALLOW || rule->why)
		r.finding.reason = advice_fill(l, rule->why ? rule->why : default_why(rule), &a);
	return r;
}

static struct ranked by_id(enum policy_verdict verdict, int rank, const char *id,
                           const char *reason)
{
	return (struct ranked){.finding = {.verdict = verdict, .rule_id = id, .reason = reason},
	                       .rank = rank};
}

/* What cannot be known before it runs. WHAT is a sentence. */
static struct ranked by_unknown(struct look *l, const char *what)
{
	static const enum policy_verdict verdicts[] = {
		[POLICY_UNKNOWN_DENY] = POLICY_VERDICT_DENY,
		[POLICY_UNKNOWN_ASK] = POLICY_VERDICT_ASK,
		[POLICY_UNKNOWN_SANDBOX] = POLICY_VERDICT_ALLOW,
	};
	enum policy_unknown u = l->policy->rules->unknown;
	struct ranked r = by_id(verdicts[u], RANK_UNKNOWN, "unknown", what);

	r.finding.left_to_sandbox = u == POLICY_UNKNOWN_SANDBOX;
	return r;
}

/* Rules that have the name of a command */

#define FITTING_MAX 128

struct fitting {
	uint32_t rules[FITTING_MAX];
	size_t count;
	bool all; /* too many: every rule is looked at */
};

static void add_fitting(struct fitting *f, uint32_t rule)
{
	size_t at = f->count;

	for (size_t i = 0; i < f->count; i++)
		if (f->rules[i] == rule)
			return;
	if (f->count == FITTING_MAX) {
		f->all = true;
		return;
	}
	for (; at && f->rules[at - 1] > rule; at--)
		f->rules[at] = f->rules[at - 1];
	f->rules[at] = rule;
	f->count++;
}

/* An allow rule names a program of the system: what is named by a relative path is another. */
static bool names_system(const struct subject *s)
{
	return s->word[0] == '/' || !strchr(s->word, '/');
}

static void add_name(const struct look *l, struct fitting *f, const char *name, bool allow)
{
	for (const struct name_entry *e = policy_name_first(l->policy, name); e;
	     e = policy_name_next(l->policy, e))
		if (allow || l->policy->compiled[e->rule].rule->list != POLICY_ALLOW)
			add_fitting(f, e->rule);
}

/* Names that the same program has elsewhere: python3.11 is python3 and python, vim.basic is vim. */
static void add_variants(const struct look *l, struct fitting *f, const char *name)
{
	static const char *const others[][2] = {
		{"mke2fs", "mkfs"},
		{"mkdosfs", "mkfs"},
		{"mawk", "awk"},
		{"gawk", "awk"},
		{"nawk", "awk"},
		{"original-awk", "awk"},
		{"xtables-nft-multi", "iptables"},
		{"xtables-legacy-multi", "iptables"},
		{"iptables-nft", "iptables"},
		{"iptables-legacy", "iptables"},
		{"ip6tables-nft", "ip6tables"},
		{"ip6tables-legacy", "ip6tables"},
		{"sudo-rs", "sudo"},
		{"su-rs", "su"},
		{"sudoedit", "sudo"},
		{"sudo.ws", "sudo"},
		{"nodejs", "node"},
		{"rbash", "bash"},
		{"telinit", "init"},
		{"systemd", "init"},
		{"batcat", "bat"},
		{"fdfind", "fd"},
	};
	char cut[64];
	size_t n = strlen(name);

	for (size_t i = 0; i < array_size(others); i++)
		if (strcmp(others[i][0], name) == 0)
			add_name(l, f, others[i][1], false);
	if (n >= sizeof(cut))
		return;
	memcpy(cut, name, n + 1);
	/* Versions: python3.11, python3, python; then vim.basic, nc.openbsd. */
	while (n > 1 && ((cut[n - 1] >= '0' && cut[n - 1] <= '9') || cut[n - 1] == '.')) {
		cut[--n] = '\0';
		add_name(l, f, cut, false);
	}
	if (n > 1 && strchr(cut, '.')) {
		static const char *const kinds[] = {".basic",   ".tiny",        ".nox",     ".gtk3",
		                                    ".openbsd", ".traditional", ".distrib", NULL};

		if (list_has(kinds, strchr(cut, '.'))) {
			*strchr(cut, '.') = '\0';
			add_name(l, f, cut, false);
		}
	}
}

static bool is_multi_call(const char *base)
{
	static const char *const names[] = {"busybox",   "toybox", "coreutils", "pgrep", "snap",
	                                    "systemctl", "kmod",   "ccache",    NULL};

	return list_has(names, base);
}

/* PATH=.:$PATH x: the directories that are known are looked into, too. */
static void add_new_path(struct look *l, struct subject *s, struct fitting *f)
{
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];

		for (size_t k = 0; k < c->assign_count + c->word_count; k++) {
			const struct shell_fact_word *w = k < c->assign_count
			                                          ? &c->assigns[k].value
			                                          : &c->words[k - c->assign_count];
			const char *at = w->text.bytes;

			if (k < c->assign_count ? !text_is(c->assigns[k].name, "PATH")
			                        : strncmp(at, "PATH=", 5) != 0)
				continue;
			at += k < c->assign_count ? 0 : 5;
			for (; *at; at += strspn(at, ":")) {
				size_t n = strcspn(at, ":");
				struct subject there = {
					.command = s->command, .name = s->name, .runs = true};
				const char *dir = path_fold(l, l->base, at, n);

				at += n;
				if (!dir)
					return;
				there.word = arena_printf(l->arena, "%s/%s", dir, s->name);
				if (!there.word)
					return;
				if (!subject_file(l, &there)->found)
					continue;
				add_name(l, f, there.file.base, false);
				for (size_t j = 0; j < there.file.link_count; j++)
					add_name(l, f, there.file.links[j], false);
			}
		}
	}
}

static void add_file(struct look *l, struct subject *s, struct fitting *f)
{
	const struct policy_file *file = subject_file(l, s);

	if (l->sets_path && !strchr(s->word, '/'))
		add_new_path(l, s, f);
	if (!file->found)
		return;
	/* A name of the system's own that leads to a program of many names is that name. */
	if (!(file->trusted && !file->in_place && is_multi_call(file->base)))
		add_name(l, f, file->base, false);
	for (size_t i = 0; i < file->link_count; i++)
		if (!(file->trusted && is_multi_call(file->links[i])))
			add_name(l, f, file->links[i], false);
	if (file->trusted)
		add_variants(l, f, s->name);
	if (file->nlink < 2)
		return;
	for (size_t i = 0; i < l->policy->name_count; i++) {
		const struct name_entry *e = &l->policy->names[i];

		if (l->policy->compiled[e->rule].rule->list != POLICY_ALLOW &&
		    strcmp(e->name, s->name) != 0 && file_is_that_of(l, file, e->name))
			add_name(l, f, e->name, false);
	}
}

static bool path_glob_fits(struct look *l, struct subject *s, const char *glob, bool allow)
{
	const char *folded;

	if (!strchr(s->word, '/'))
		return false;
	if (glob[0] == '/') {
		folded = path_fold(l, l->base, s->word, strlen(s->word));
		return folded && glob_matches(glob, folded, true);
	}
	if (s->word[0] == '/')
		return false;
	/* Relative to the directory of the command; to be allowed it must stay in the workspace. */
	folded = path_fold(l, "", s->word, strlen(s->word));
	if (!folded ||
	    !glob_matches(glob[0] == '.' && glob[1] == '/' ? glob + 2 : glob, folded + 1, true))
		return false;
	if (!allow)
		return true;
	/* What is not there yet may be built by the line; a directory is no program. */
	return s->word[0] != '~' && (subject_file(l, s)->found || s->file.missing) &&
	       path_is_inside(l, s->word);
}

static bool glob_fits(struct look *l, struct subject *s, const struct policy_rule *rule)
{
	bool allow = rule->list == POLICY_ALLOW;

	if (!rule->commands) /* any command */
		return true;
	for (const char *const *c = rule->commands; *c; c++) {
		const struct policy_file *file;

		if (!policy_name_is_glob(*c))
			continue;
		if (strchr(*c, '/')) {
			if (path_glob_fits(l, s, *c, allow))
				return true;
			continue;
		}
		if (glob_matches(*c, s->name, true))
			return true;
		file = allow ? NULL : subject_file(l, s);
		if (file && file->found && glob_matches(*c, file->base, true) &&
		    !(file->trusted && is_multi_call(file->base)))
			return true;
	}
	return false;
}

static void find_fitting(struct look *l, struct subject *s, struct fitting *f)
{
	f->count = 0;
	f->all = false;
	add_name(l, f, s->name, names_system(s));
	if (s->command->kind != SHELL_KIND_BUILTIN)
		add_file(l, s, f);
	for (size_t i = 0; i < l->policy->glob_count; i++)
		if (glob_fits(l, s, l->policy->compiled[l->policy->globs[i]].rule))
			add_fitting(f, l->policy->globs[i]);
}

/* One command */

static bool is_line_rule(const struct policy_rule *rule)
{
	return rule->literal || rule->regex || rule->pipe_from || rule->pipe_to || rule->write_to;
}

/* "go build" allows what building does. */
static bool is_meant(const struct look *l, const struct fitting *f, const char *by)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct policy_rule *rule = l->policy->compiled[f->rules[i]].rule;

		if (rule->list == POLICY_ALLOW && list_has(rule->args, by))
			return true;
	}
	return false;
}

static struct ranked effects_of(struct look *l, struct subject *s, const struct fitting *f)
{
	const struct policy_rules *rules = l->policy->rules;
	struct ranked best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);

	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];
		bool deny = list_has(rules->denied_effects, d->effect);
		struct ranked one;

		if (!deny && (!list_has(rules->asked_effects, d->effect) || is_meant(l, f, d->by)))
			continue;
		one = by_id(deny ? POLICY_VERDICT_DENY : POLICY_VERDICT_ASK, RANK_EFFECTS,
		            "effects",
		            arena_printf(l->arena, "'%s' %s the effect '%s' here, by %s (%s)%s.",
		                         quote_name(l, s->name), d->maybe ? "could have" : "has",
		                         d->effect, quote_name(l, d->by), d->note,
		                         deny ? ", which is not allowed: leave it out"
		                              : ", so a person decides"));
		if (!one.finding.reason)
			l->failed = true;
		worsen(&best, &one);
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
	bool deny = list_has(rules->denied_effects, "write");
	bool ask = list_has(rules->asked_effects, "write");

	for (size_t i = 0; (deny || ask) && i < c->redirect_count; i++)
		if (writes_file(&c->redirects[i]))
			return by_id(deny ? POLICY_VERDICT_DENY : POLICY_VERDICT_ASK, RANK_EFFECTS,
			             "effects",
			             deny ? "The redirection writes a file, which is not allowed "
			                    "here: leave it out."
			                  : "The redirection writes a file, so a person decides.");
	return by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
}

struct weighing { /* of one command */
	struct ranked best;
	bool decided;      /* by a rule or an effect */
	bool forced;       /* a nudge was overridden */
	const char *doubt; /* why an allow rule does not hold */
};

/* Returns true when nothing later can change the finding. */
static bool weigh_rule(struct look *l, struct subject *s, const struct policy_rule *rule,
                       struct weighing *w)
{
	const char *operand = NULL;
	struct ranked one;
	enum match m;

	if (is_line_rule(rule) || rule->list == POLICY_ALLOW)
		return false;
	m = rule_match(l, s, rule, &operand);
	if (m == MATCH_NO)
		return false;
	if (m == MATCH_MAYBE) {
		const char *what = arena_printf(
			l->arena,
			"A word of '%s' is not known before it runs, and could be what the rule "
			"'%s' is about. Write the word out.",
			quote_name(l, s->name), rule->id ? rule->id : policy_list_name(rule->list));

		if (!what)
			l->failed = true;
		one = by_unknown(l, what);
		/* Not knowing is no worse than knowing: a rule that asks does not refuse. */
		if (rule->list >= POLICY_NUDGE && one.finding.verdict > verdict_of(rule->list))
			one.finding.verdict = verdict_of(rule->list);
		worsen(&w->best, &one);
		w->decided |= one.finding.verdict != POLICY_VERDICT_ALLOW;
		return false;
	}
	one = by_rule(l, rule, s->name, operand);
	if (rule->list == POLICY_NUDGE && rule->forceable && l->q->force) {
		w->forced = true;
		one.finding.verdict = POLICY_VERDICT_ALLOW;
		worsen(&w->best, &one);
		return false;
	}
	worsen(&w->best, &one);
	w->decided = true;
	return one.finding.verdict == POLICY_VERDICT_DENY;
}

static bool weigh_allow(struct look *l, struct subject *s, const struct policy_rule *rule,
                        struct weighing *w)
{
	const char *operand = NULL;
	struct ranked one;
	enum match m = rule_match(l, s, rule, &operand);

	if (m == MATCH_NO)
		return false;
	if (m != MATCH_YES) {
		if (!w->doubt)
			w->doubt = "words that are not known, or could be read in another way";
		return false;
	}
	if (!allow_is_proven(l, s, rule, &w->doubt))
		return false;
	one = by_rule(l, rule, s->name, operand);
	worsen(&w->best, &one);
	return true;
}

static struct ranked fall_back(struct look *l, struct subject *s, const char *doubt)
{
	const struct policy_rules *rules = l->policy->rules;
	struct advice a = {.name = s->name};
	const char *why = rules->fallback_why;
	const char *reason;

	if (rules->fallback == POLICY_VERDICT_ALLOW)
		return by_id(POLICY_VERDICT_ALLOW, RANK_DEFAULT, "default", NULL);
	if (doubt)
		reason = arena_printf(
			l->arena, "'%s' is not proven to be what is allowed, because of %s%s",
			quote_name(l, s->name), quote_name(l, doubt),
			rules->fallback == POLICY_VERDICT_ASK ? ", so a person decides."
							      : ". Write the command without it.");
	else
		reason = advice_fill(l,
		                     why ? why
		                     : rules->fallback == POLICY_VERDICT_ASK
		                             ? "'{name}' is in no list, so a person decides."
		                             : "'{name}' is not allowed here. Allowed: {allowed}.",
		                     &a);
	if (!reason)
		l->failed = true;
	return by_id(rules->fallback, RANK_DEFAULT, "default", reason);
}

static bool is_opaque(const struct look *l)
{
	return l->facts->status == SHELL_FACTS_OPAQUE;
}

/* Whether code runs that nobody has read, or a program that commands could have made. */
static bool is_left(struct look *l, struct subject *s)
{
	const struct policy_file *f;

	if (does_run_unread(s) || (l->sets_any && s->command->kind != SHELL_KIND_BUILTIN))
		return true;
	if (s->command->kind == SHELL_KIND_BUILTIN)
		return false;
	f = subject_file(l, s);
	return !f->known || !f->trusted || words_leave(l, s);
}

static bool names_any(const struct policy *p, const struct fitting *f, enum policy_list list)
{
	for (size_t i = 0; i < f->count; i++)
		if (p->compiled[f->rules[i]].rule->list == list)
			return true;
	return f->all;
}

static struct ranked weigh(struct look *l, struct subject *s)
{
	struct weighing w = {.best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL)};
	const struct policy *p = l->policy;
	struct fitting f;
	struct ranked one;
	size_t count;
	bool allowed = false;

	find_fitting(l, s, &f);
	count = f.all ? p->count : f.count;
	for (size_t i = 0; i < count; i++) {
		const struct policy_rule *rule = p->compiled[f.all ? i : f.rules[i]].rule;

		if (weigh_rule(l, s, rule, &w))
			break;
	}
	if (s->word[0] == '/' && !p->rules->absolute_paths) {
		one = by_id(POLICY_VERDICT_DENY, RANK_DEFAULT, "absolute-path",
		            "A command must not be named by an absolute path here: use its bare "
		            "name, or a relative path inside of the workspace.");
		worsen(&w.best, &one);
		w.decided = true;
	}
	/* That a command is not listed says more than what it would do. */
	if (p->rules->fallback != POLICY_VERDICT_DENY || names_any(p, &f, POLICY_ALLOW)) {
		one = effects_of(l, s, &f);
		w.decided |= one.finding.verdict != POLICY_VERDICT_ALLOW;
		worsen(&w.best, &one);
	}
	/* A person has said yes to exactly this. */
	if (w.best.finding.verdict <= POLICY_VERDICT_ASK && l->q->grants && !is_opaque(l) &&
	    (w.decided || p->rules->fallback == POLICY_VERDICT_ASK) &&
	    policy_grants_cover(l->q->grants, l->q, s->command)) {
		w.best = by_id(POLICY_VERDICT_ALLOW, RANK_DEFAULT, "grant",
		               "Approved by a person, in this session.");
		allowed = true;
	}
	for (size_t i = 0; i < count && !w.decided && !w.forced && !allowed; i++) {
		const struct policy_rule *rule = p->compiled[f.all ? i : f.rules[i]].rule;

		if (rule->list == POLICY_ALLOW)
			allowed = weigh_allow(l, s, rule, &w);
	}
	if (!w.decided && !w.forced && !allowed) {
		one = fall_back(l, s, w.doubt);
		worsen(&w.best, &one);
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
	struct ranked best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
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
			worsen(&best, &one);
	}
	best.finding.left_to_sandbox = best.finding.verdict == POLICY_VERDICT_ALLOW;
	return best;
}

/* What a function does is decided where its commands are; but a name that is refused stays so. */
static struct ranked weigh_function(struct look *l, struct subject *s)
{
	struct weighing w = {.best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL)};
	struct fitting f = {0};

	add_name(l, &f, s->name, false);
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
		return by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
	*inner = *s->command;
	inner->words += at;
	inner->word_count -= at;
	applet.word = applet.name = inner->words[0].text.bytes;
	return weigh(l, &applet);
}

static struct ranked decide_command(struct look *l, struct subject *s)
{
	struct ranked r = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;

	if (s->command->kind == SHELL_KIND_DYNAMIC)
		r = weigh_dynamic(l, s);
	else if (s->name && s->runs)
		r = weigh(l, s);
	else if (s->name)
		r = weigh_function(l, s);
	if (other_name(s)) {
		one = weigh_applet(l, s, other_name(s));
		worsen(&r, &one);
	}
	one = redirects_of(l, s->command);
	worsen(&r, &one);
	if (!l->guess && r.finding.verdict == POLICY_VERDICT_ALLOW)
		r.finding.left_to_sandbox |= redirects_leave(l, s->command) ||
		                             (l->sets_any && s->command->kind == SHELL_KIND_NONE);
	return r;
}

/* The line */

static struct ranked unreadable(struct look *l)
{
	const struct shell_tree *t = l->facts->tree;
	bool error = l->facts->status == SHELL_FACTS_ERROR;
	const char *reason = arena_printf(
		l->arena,
		error ? "bash refuses this line: %s%s%s%s at character %u. Nothing of it was run."
		      : "The line holds something that is not analysed: %s%s%s%s at "
			"character %u. Write it in a simpler way.",
		t->message ? t->message : "syntax error", t->token.len ? " '" : "",
		t->token.len ? quote_name(l, t->token.bytes) : "", t->token.len ? "'" : "",
		t->at.start + 1);

	if (!reason)
		l->failed = true;
	return by_id(POLICY_VERDICT_DENY, RANK_UNREADABLE, error ? "syntax-error" : "unsupported",
	             reason);
}

/* A file of known name that a shell runs is like a program of the workspace. */
static bool is_known_script(const char *effect)
{
	const char *file = effect + 7;

	if (strncmp(effect, "script:", 7) != 0 && strncmp(effect, "source:", 7) != 0)
		return false;
	return strncmp(file, "/dev/", 5) != 0 && strncmp(file, "/proc/", 6) != 0;
}

static struct ranked opaque_line(struct look *l)
{
	const struct shell_fact_effect *first = NULL;
	struct ranked r = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
	bool script = false;
	const char *what;

	for (size_t i = 0; i < l->facts->effect_count; i++) {
		const struct shell_fact_effect *e = &l->facts->effects[i];

		if (!e->opaque)
			continue;
		if (is_known_script(e->text))
			script = true;
		else if (!first)
			first = e;
	}
	if (!first && script) {
		r.finding.left_to_sandbox = true;
		return r;
	}
	what = arena_printf(l->arena,
	                    "It cannot be known before the line runs what it does: %s (%s). Write "
	                    "the commands out, without eval, variables as command names, or "
	                    "code that is only made while it runs.",
	                    first && first->why ? first->why : "it runs code that is not in it",
	                    quote_name(l, first ? first->text : "opaque"));
	if (!what)
		l->failed = true;
	return by_unknown(l, what);
}

static bool changes_what_runs(const char *name)
{
	static const char *const names[] = {
		"PATH",
		"LD_*",
		"BASH_*",
		"ENV",
		"SHELLOPTS",
		"BASHOPTS",
		"PS4",
		"IFS",
		"GIT_*",
		"*PAGER",
		"EDITOR",
		"VISUAL",
		"LESSOPEN",
		"LESSCLOSE",
		"LESSKEY*",
		"SHELL",
		"GCONV_PATH",
		"GLIBC_TUNABLES",
		"PERL5*",
		"PYTHON*",
		"RUBY*",
		"NODE_OPTIONS",
		"JAVA_TOOL_OPTIONS",
		"RSYNC_RSH",
		"TAR_OPTIONS",
		"BROWSER",
		"PROMPT_COMMAND",
		"CDPATH",
		"GLOBIGNORE",
		"POSIXLY_CORRECT",
		"MAKEFLAGS",
		"HOME",
		"RIPGREP_CONFIG_PATH",
		"AWKPATH",
		"AWKLIBPATH",
		"MANPAGER",
		"FZF_*",
		"SSH_ASKPASS",
		"SUDO_ASKPASS",
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (fnmatch(names[i], name, 0) == 0)
			return true;
	return false;
}

static struct ranked request_env(struct look *l)
{
	for (const char *const *e = l->q->env; e && *e; e++) {
		size_t n = strcspn(*e, "=");
		char *name;
		const char *what;

		name = look_string(l, *e, n);
		if (!name || !changes_what_runs(name))
			continue;
		l->sets_any = true;
		l->sets_path |= strncmp(*e, "PATH=", 5) == 0;
		what = arena_printf(l->arena,
		                    "The request sets the variable %s, which changes what programs "
		                    "run or do. Leave it out.",
		                    quote_name(l, name));
		if (!what)
			l->failed = true;
		return by_unknown(l, what);
	}
	return by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
}

static struct ranked line_rules(struct look *l)
{
	struct ranked best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;
	const struct policy *p = l->policy;

	if (!p->has_text && !p->has_pipes && !p->has_writes)
		return best;
	for (size_t i = 0; i < p->count; i++) {
		struct compiled_rule *c = &p->compiled[i];
		const char *operand = NULL;
		enum match m;

		if (!is_line_rule(c->rule) || c->rule->list == POLICY_ALLOW)
			continue;
		m = danger_match(l, c, &operand);
		if (m == MATCH_NO)
			continue;
		if (m == MATCH_MAYBE)
			one = by_unknown(l, "A word of the line is not known before it runs, and "
			                    "could be a path that must not be written. Write it "
			                    "out.");
		else
			one = by_rule(l, c->rule, operand, operand);
		worsen(&best, &one);
	}
	return best;
}

/* Of the text that was asked for; the words behind the name of a program are data. */
static bool line_has_control(const struct look *l)
{
	for (size_t i = 0; i < l->q->text_len; i++) {
		unsigned char c = (unsigned char)l->q->text[i];

		if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
			return true;
	}
	return false;
}

static struct ranked decide_line(struct look *l)
{
	const struct policy_syntax *syntax = &l->policy->rules->syntax;
	struct ranked best = by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;
	const char *banned = syntax_banned(l);

	if (banned) {
		struct advice a = {.banned = banned};

		best = by_id(POLICY_VERDICT_DENY, RANK_SYNTAX, "syntax",
		             advice_fill(l,
		                         syntax->why ? syntax->why
		                                     : "'{char}' must not stand in a command here.",
		                         &a));
		best.finding.place = syntax->place;
		return best;
	}
	if (l->facts->status == SHELL_FACTS_ERROR || l->facts->status == SHELL_FACTS_UNSUPPORTED ||
	    (!l->facts->tree->list && !is_opaque(l)))
		return unreadable(l);
	one = line_rules(l);
	worsen(&best, &one);
	if (is_opaque(l)) {
		one = opaque_line(l);
		worsen(&best, &one);
	}
	one = request_env(l);
	worsen(&best, &one);
	if (line_has_control(l)) {
		one = by_id(
			POLICY_VERDICT_DENY, RANK_UNREADABLE, "control-character",
			"The line holds a control character, so that it may not be what it looks "
			"like. Write it without.");
		worsen(&best, &one);
	}
	if (l->facts->tree->hidden) {
		one = by_id(POLICY_VERDICT_ASK, RANK_UNKNOWN, "hidden-character",
		            "The line holds an invisible character, so that it may not be what it "
		            "looks like. Write it without.");
		worsen(&best, &one);
	}
	return best;
}

/* Preparation */

static void prepare_effects(struct look *l)
{
	static const char *const harmless[] = {"set:IFS", "set:PS1", "set:PS2", "set:nocaseglob",
	                                       NULL};

	for (size_t i = 0; i < l->facts->effect_count; i++) {
		const char *e = l->facts->effects[i].text;

		if (strncmp(e, "set:", 4) != 0 || list_has(harmless, e) ||
		    !changes_what_runs(e + 4))
			continue;
		l->sets_any = true;
		l->sets_path |= strcmp(e, "set:PATH") == 0;
	}
}

/* Whether the table reads the word, and perhaps the one behind it, in another way than the program:
 * -- ends no options of find, and a value of awk's is no program. Returns how many words. */
static size_t misread(const struct shell_fact_command *c, size_t at, const char *name)
{
	static const char *const awks[] = {"awk", "gawk", "mawk", "nawk", "original-awk", NULL};
	struct shell_text t = c->words[at].text;

	if (c->words[at].kind != SHELL_VALUE_KNOWN)
		return 0;
	if (strcmp(name, "find") == 0 && text_is(t, "--"))
		return 1;
	if (list_has(awks, name) && (text_is(t, "-v") || text_is(t, "-F") ||
	                             text_is(t, "--assign") || text_is(t, "--field-separator")))
		return 2;
	return 0;
}

/* The command without such words has effects, too. */
static int read_again(struct look *l, struct subject *s)
{
	const struct shell_fact_command *c = s->command;
	struct shell_fact_command *other, *both;
	size_t n = 0;

	for (size_t i = 1; i < c->word_count; i++)
		n += misread(c, i, s->name);
	if (!n)
		return 0;
	other = look_alloc(l, sizeof(*other));
	both = look_alloc(l, sizeof(*both));
	if (!other || !both)
		return -ENOMEM;
	*both = *c;
	*other = (struct shell_fact_command){
		.words = look_alloc(l, c->word_count * sizeof(*c->words)), .kind = c->kind};
	if (!other->words)
		return -ENOMEM;
	for (size_t i = 0; i < c->word_count; i++) {
		n = i ? misread(c, i, s->name) : 0;
		if (n)
			i += n - 1;
		else
			other->words[other->word_count++] = c->words[i];
	}
	if (knowledge_apply(l->arena, other) < 0)
		return -ENOMEM;
	both->does = look_alloc(l, (c->does_count + other->does_count + 1) * sizeof(*both->does));
	if (!both->does)
		return -ENOMEM;
	if (c->does_count)
		memcpy(both->does, c->does, c->does_count * sizeof(*c->does));
	if (other->does_count)
		memcpy(both->does + c->does_count, other->does,
		       other->does_count * sizeof(*c->does));
	both->does_count = c->does_count + other->does_count;
	s->command = both;
	return 0;
}

static int prepare(struct look *l)
{
	const struct policy_question *q = l->q;
	const char *workspace =
		q->workspace && q->workspace[0] == '/' ? q->workspace : "/workspace";

	l->base = path_fold(l, workspace, q->cwd && q->cwd[0] ? q->cwd : ".",
	                    q->cwd && q->cwd[0] ? strlen(q->cwd) : 1);
	if (!l->files)
		l->files = look_alloc(l, sizeof(*l->files));
	l->subjects = look_alloc(l, (l->facts->command_count + 1) * sizeof(*l->subjects));
	if (l->failed)
		return -ENOMEM;
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];
		struct subject *s = &l->subjects[i];
		const char *slash;

		s->command = c;
		if (!c->word_count || c->words[0].kind != SHELL_VALUE_KNOWN)
			continue;
		s->word = c->words[0].text.bytes;
		slash = strrchr(s->word, '/');
		s->name = slash ? slash + 1 : s->word;
		s->runs = c->kind == SHELL_KIND_EXTERNAL || c->kind == SHELL_KIND_BUILTIN;
		if (read_again(l, s) < 0)
			return -ENOMEM;
	}
	prepare_effects(l);
	return 0;
}

static int decide(struct look *l, struct ranked *ret_line, struct policy_answer *ret_answer);

static void try_guess(struct look *l, const char *line, size_t n, void *data)
{
	struct policy_question q = *l->q;
	struct look inner = {
		.policy = l->policy, .q = &q, .arena = l->arena, .files = l->files, .guess = true};
	struct ranked *best = data, found;
	struct policy_answer ignored;
	struct shell_facts *facts;

	if (best->finding.verdict == POLICY_VERDICT_DENY && best->finding.rule)
		return;
	if (shell_facts_read(l->arena, line, n, NULL, &facts) < 0) {
		l->failed = true;
		return;
	}
	q.text = line;
	q.text_len = n;
	q.facts = inner.facts = facts;
	if (!facts->tree->list || decide(&inner, &found, &ignored) < 0)
		return;
	/* Only a rule that refuses counts: the guess proves nothing else. */
	if (found.finding.verdict == POLICY_VERDICT_DENY && found.finding.rule)
		worsen(best, &found);
}

static int decide(struct look *l, struct ranked *ret_line, struct policy_answer *ret_answer)
{
	struct policy_answer answer = {.command_count = l->facts->command_count};
	struct ranked line;

	if (prepare(l) < 0)
		return -ENOMEM;
	answer.commands = look_alloc(l, (answer.command_count + 1) * sizeof(*answer.commands));
	line = decide_line(l);
	for (size_t i = 0; answer.commands && i < answer.command_count && !l->failed; i++) {
		struct ranked one = decide_command(l, &l->subjects[i]);

		answer.commands[i] = one.finding;
		worsen(&line, &one);
	}
	if (!l->guess && !l->failed)
		guess_all(l, try_guess, &line);
	*ret_line = line;
	*ret_answer = answer;
	return l->failed ? -ENOMEM : 0;
}

int policy_decide(const struct policy *p, struct arena *arena, const struct policy_question *q,
                  struct policy_answer *ret_answer, struct error *err)
{
	struct look l = {.policy = p, .q = q, .facts = q->facts, .arena = arena};
	struct policy_answer answer = {0};
	struct ranked line;

	if (decide(&l, &line, &answer) < 0)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	answer.line = line.finding;
	answer.line.resolved = NULL;
	*ret_answer = answer;
	return 0;
}
