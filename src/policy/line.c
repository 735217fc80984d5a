/*
 * Findings about the line as a whole: what its text holds, what flows in it, that it cannot be read
 * or known.
 */
#include "policy/inside.h"

#include <fnmatch.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"

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
		t->token.len ? advice_quote(l, t->token.bytes) : "", t->token.len ? "'" : "",
		t->at.start + 1);

	if (!reason)
		l->failed = true;
	return finding_by_id(POLICY_VERDICT_DENY, RANK_UNREADABLE,
	                     error ? "syntax-error" : "unsupported", reason);
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
	struct ranked r = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
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
	                    advice_quote(l, first ? first->text : "opaque"));
	if (!what)
		l->failed = true;
	return finding_by_unknown(l, what);
}

bool variable_changes_runs(const char *name)
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
		"XDG_CONFIG_*",
		"CURL_HOME",
		"WGETRC",
		"ACKRC",
		"HGRCPATH",
		"*VIMINIT",
		"EXINIT",
		"MAKEFILES",
		"GNUMAKEFLAGS",
		"_JAVA_OPTIONS",
		"JDK_JAVA_OPTIONS",
		"OPENSSL_CONF",
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
		if (!name || !variable_changes_runs(name))
			continue;
		l->sets_any = true;
		l->sets_path |= strncmp(*e, "PATH=", 5) == 0;
		what = arena_printf(
			l->arena,
			"The request, or an earlier call of its session, sets the variable "
			"%s, which changes what programs run or do. Leave it out, or "
			"begin a new session.",
			advice_quote(l, name));
		if (!what)
			l->failed = true;
		return finding_by_unknown(l, what);
	}
	return finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL);
}

static struct ranked line_rules(struct look *l)
{
	struct ranked best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;
	const struct policy *p = l->policy;

	if (!p->has_text && !p->has_pipes && !p->has_writes)
		return best;
	for (size_t i = 0; i < p->count; i++) {
		struct compiled_rule *c = &p->compiled[i];
		const char *operand = NULL;
		enum match m;

		if (!rule_is_of_line(c->rule) || c->rule->list == POLICY_ALLOW)
			continue;
		m = danger_match(l, c, &operand);
		if (m == MATCH_NO)
			continue;
		if (m == MATCH_MAYBE)
			one = finding_by_unknown(
				l, "A word of the line is not known before it runs, and "
				   "could be a path that must not be written. Write it "
				   "out.");
		else
			one = finding_by_rule(l, c->rule, operand, operand);
		finding_worsen(&best, &one);
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

struct ranked line_decide(struct look *l)
{
	const struct policy_syntax *syntax = &l->policy->rules->syntax;
	struct ranked best = finding_by_id(POLICY_VERDICT_ALLOW, RANK_NONE, NULL, NULL), one;
	const char *banned = danger_syntax(l);

	if (banned) {
		struct advice a = {.banned = banned};

		best = finding_by_id(
			POLICY_VERDICT_DENY, RANK_SYNTAX, "syntax",
			advice_fill(l,
		                    syntax->reason ? syntax->reason
		                                   : "'{char}' must not stand in a command here.",
		                    &a));
		best.finding.place = syntax->place;
		return best;
	}
	if (l->facts->status == SHELL_FACTS_ERROR || l->facts->status == SHELL_FACTS_UNSUPPORTED ||
	    (!l->facts->tree->list && !look_is_opaque(l)))
		return unreadable(l);
	one = line_rules(l);
	finding_worsen(&best, &one);
	if (look_is_opaque(l)) {
		one = opaque_line(l);
		finding_worsen(&best, &one);
	}
	one = request_env(l);
	finding_worsen(&best, &one);
	if (line_has_control(l)) {
		one = finding_by_id(
			POLICY_VERDICT_DENY, RANK_UNREADABLE, "control-character",
			"The line holds a control character, so that it may not be what it looks "
			"like. Write it without.");
		finding_worsen(&best, &one);
	}
	if (l->facts->tree->hidden) {
		one = finding_by_id(
			POLICY_VERDICT_ASK, RANK_UNKNOWN, "hidden-character",
			"The line holds an invisible character, so that it may not be what it "
			"looks like. Write it without.");
		finding_worsen(&best, &one);
	}
	return best;
}
