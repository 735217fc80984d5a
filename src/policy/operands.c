/*
 * The words of a command as options, values and operands.
 *
 * The tables know which options of ordinary commands take a value; they do not know all options.
 * So a word behind an option that is not known may be its value, and a letter behind one that is
 * not known may be part of its value: both are noted, and whoever needs a proof does not get one.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/cleanup.h"
#include "shell/knowledge.h"
#include "shell/usage.h"
#include "shell/wrappers.h"

enum takes { TAKES_UNKNOWN, TAKES_NOTHING, TAKES_GLUED, TAKES_VALUE };

static enum takes takes_of(enum shell_option_value v)
{
	if (v == SHELL_OPTION_VALUE)
		return TAKES_VALUE;
	return v == SHELL_OPTION_OPTIONAL ? TAKES_GLUED : TAKES_NOTHING;
}

/* What the tables say about an option of N bytes ("-x", "--long") that stands at AT. */
struct told {
	enum takes takes;
	bool path;    /* the value may name a file */
	bool pattern; /* it gives the pattern */
};

/* Options behind a sub-command are those of the sub-command. */
static const struct usage_command *usage_at(const struct subject *s, size_t at)
{
	if (!s->usage || !s->usage->subs || !s->sub_at || at < s->sub_at)
		return s->usage;
	return s->sub_usage;
}

static struct told tables_tell(const struct subject *s, size_t at, const char *option, size_t n)
{
	const struct usage_option *u = usage_option_find(usage_at(s, at), option, n);
	const struct knowledge_command *k = knowledge_find(s->name);
	const struct shell_wrapper *w;
	/* An option that the row does not list may give the pattern, too. */
	struct told t = {.path = true, .pattern = true};

	if (u)
		return (struct told){takes_of((enum shell_option_value)u->value), u->path,
		                     u->pattern};
	for (size_t i = 0; k && i < k->count; i++) {
		for (size_t j = 0; j < k->rows[i].count; j++) {
			const struct knowledge_item *item = &k->rows[i].items[j];

			if (item->kind == KNOWLEDGE_OPTION && strlen(item->name) == n &&
			    memcmp(item->name, option, n) == 0 &&
			    takes_of((enum shell_option_value)item->value) > t.takes)
				t.takes = takes_of((enum shell_option_value)item->value);
		}
	}
	if (t.takes != TAKES_UNKNOWN)
		return t;
	w = shell_wrapper_find(s->name);
	for (size_t i = 0; w && i < w->grammar.count; i++)
		if (strlen(w->grammar.options[i].name) == n &&
		    memcmp(w->grammar.options[i].name, option, n) == 0)
			t.takes = takes_of((enum shell_option_value)w->grammar.options[i].value);
	return t;
}

static bool has_single_dash(const struct subject *s)
{
	static const char *const names[] = {"java", "openssl", "gcc", "convert", NULL};
	const struct knowledge_command *k = knowledge_find(s->name);

	return (s->usage && s->usage->single_dash) || (k && k->single_dash) ||
	       word_in_list(names, s->name);
}

/* A long option may be cut short: what could give the pattern does. */
static bool may_give_pattern(const struct usage_command *u, const char *name, size_t n)
{
	for (size_t i = 0; u && n > 2 && i < u->count; i++)
		if (u->options[i].pattern && strncmp(u->options[i].name, name, n) == 0)
			return true;
	return false;
}

/* --long, --long=VALUE, -long where there are no clusters. Names that are cut short are not known:
 * their values are judged. */
static struct told read_long(struct subject *s, size_t at)
{
	struct shell_text t = s->command->words[at].text;
	const char *equals = memchr(t.bytes, '=', t.len);
	size_t n = equals ? (size_t)(equals - t.bytes) : t.len;
	struct told told = tables_tell(s, at, t.bytes, n);

	s->pattern_given |= told.pattern || may_give_pattern(usage_at(s, at), t.bytes, n);
	if (!equals)
		return told;
	if (told.path)
		s->roles[at].glued = (uint32_t)(n + 1);
	told.takes = TAKES_GLUED;
	return told;
}

/* -abc, -nVALUE. Behind a letter that is not known a value may begin anywhere. */
static struct told read_cluster(struct subject *s, size_t at)
{
	struct shell_text t = s->command->words[at].text;
	struct word_role *r = &s->roles[at];
	struct told all = {.takes = TAKES_NOTHING, .path = true};

	for (size_t i = 1; i < t.len; i++) {
		char one[2] = {'-', t.bytes[i]};
		struct told x = tables_tell(s, at, one, 2);

		s->pattern_given |= x.pattern;
		if (x.takes == TAKES_UNKNOWN) {
			all.takes = TAKES_UNKNOWN;
			if (!r->loose)
				r->glued = (uint32_t)(i + 1);
			r->loose = true;
		}
		if (x.takes != TAKES_VALUE && x.takes != TAKES_GLUED)
			continue;
		all.path = x.path || r->loose;
		if (x.takes == TAKES_VALUE && i + 1 == t.len) {
			all.takes = TAKES_VALUE;
			return all;
		}
		if (all.path && !r->loose)
			r->glued = (uint32_t)(i + 1);
		all.takes = TAKES_GLUED;
		return all;
	}
	return all;
}

static struct told read_option(struct subject *s, size_t at)
{
	struct shell_text t = s->command->words[at].text;
	struct told told;

	if (t.bytes[1] == '-')
		return read_long(s, at);
	if (has_single_dash(s)) {
		told = read_long(s, at);
		if (told.takes != TAKES_UNKNOWN)
			return told;
		if (t.len > 2) { /* -oFILE */
			s->roles[at].glued = 2;
			s->roles[at].loose = true;
			return told;
		}
	}
	return read_cluster(s, at);
}

static void note_operand(struct subject *s, size_t at)
{
	if (s->sub_at)
		return;
	s->sub_at = at;
	if (s->usage && s->usage->subs && s->command->words[at].kind == SHELL_VALUE_KNOWN)
		s->sub_usage = usage_find(s->usage->name, s->command->words[at].text.bytes);
}

static void read_known(struct subject *s, size_t *at, bool *ended, bool *after_unknown)
{
	const struct shell_fact_word *w = &s->command->words[*at];
	struct word_role *r = &s->roles[*at];
	struct told told;

	if (*ended || w->text.len < 2 || w->text.bytes[0] != '-') {
		r->role = ROLE_OPERAND;
		r->maybe_value = *after_unknown && !*ended;
		*after_unknown = false;
		note_operand(s, *at);
		return;
	}
	*after_unknown = false;
	if (word_text_is(w->text, "--")) {
		r->role = ROLE_END;
		*ended = true;
		return;
	}
	r->role = ROLE_OPTION;
	told = read_option(s, *at);
	r->sure = told.takes != TAKES_UNKNOWN;
	if (told.takes == TAKES_VALUE && *at + 1 < s->command->word_count) {
		++*at;
		s->roles[*at].role = ROLE_VALUE;
		s->roles[*at].text = !told.path;
	} else {
		*after_unknown = told.takes == TAKES_UNKNOWN;
	}
}

/* The first operand is the pattern, unless it may be the value of an option. */
static void note_pattern(struct subject *s)
{
	const struct usage_command *u = s->sub_usage ? s->sub_usage : s->usage;
	size_t from = s->sub_usage ? s->sub_at + 1 : 1;

	if (!u || !u->pattern || s->pattern_given)
		return;
	for (size_t i = from; i < s->command->word_count; i++) {
		if (s->roles[i].role == ROLE_OPEN)
			return;
		if (s->roles[i].role != ROLE_OPERAND)
			continue;
		s->roles[i].text = !s->roles[i].maybe_value;
		return;
	}
}

const struct word_role *subject_roles(struct look *l, struct subject *s)
{
	const struct shell_fact_command *c = s->command;
	bool ended = false, after_unknown = false;

	if (s->roles)
		return s->roles;
	s->roles = look_alloc(l, (c->word_count + 1) * sizeof(*s->roles));
	if (!s->roles)
		return NULL;
	s->usage = usage_find(s->name, NULL);
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		bool dash = w->text.len ? w->text.bytes[0] == '-' : w->kind != SHELL_VALUE_GLOB;

		if (w->kind == SHELL_VALUE_KNOWN) {
			read_known(s, &i, &ended, &after_unknown);
			continue;
		}
		s->roles[i].role = ROLE_OPERAND;
		if (w->kind == SHELL_VALUE_MANY || (!ended && dash))
			s->roles[i].role = ROLE_OPEN;
		if (w->pipe)
			s->roles[i].role = ROLE_OPERAND;
		s->roles[i].maybe_value = after_unknown && !ended;
		after_unknown = false;
		note_operand(s, i);
	}
	note_pattern(s);
	return s->roles;
}

/* Options of rules */

struct option_spec {
	const char *name;
	size_t n;
	const char *value; /* a glob; NULL: any */
	size_t value_n;
};

static struct option_spec read_spec(const char *text, size_t n)
{
	const char *equals = memchr(text, '=', n);
	struct option_spec o = {.name = text, .n = n};

	if (equals) {
		o.n = (size_t)(equals - text);
		o.value = equals + 1;
		o.value_n = n - o.n - 1;
	} else if (n > 2 && text[n - 1] == ':') {
		o.n--; /* as the tables write an option with a value */
	}
	return o;
}

/* A long option by its name, or by its beginning, which may mean another one. */
static enum match long_is(struct shell_text t, const struct option_spec *o)
{
	const char *equals = memchr(t.bytes, '=', t.len);
	size_t n = equals ? (size_t)(equals - t.bytes) : t.len;

	if (n > o->n || n < 3 || memcmp(t.bytes, o->name, n) != 0)
		return MATCH_NO;
	return n == o->n ? MATCH_YES : MATCH_LIKELY;
}

/* A letter in a cluster: sure as long as all letters before it are known to take no value. */
static enum match letter_is(const struct subject *s, size_t at, char letter)
{
	struct shell_text t = s->command->words[at].text;
	enum match m = MATCH_YES;

	for (size_t i = 1; i < t.len; i++) {
		char one[2] = {'-', t.bytes[i]};
		enum takes x;

		if (t.bytes[i] == letter)
			return m;
		x = tables_tell(s, at, one, 2).takes;
		if (x == TAKES_VALUE || x == TAKES_GLUED)
			return MATCH_NO;
		if (x == TAKES_UNKNOWN)
			m = MATCH_LIKELY;
	}
	return MATCH_NO;
}

static enum match option_is(const struct subject *s, size_t at, const struct option_spec *o)
{
	struct shell_text t = s->command->words[at].text;

	if (t.len < 2)
		return MATCH_NO;
	if (t.bytes[1] == '-')
		return o->n > 2 && o->name[1] == '-' ? long_is(t, o) : MATCH_NO;
	if (o->n == 2 && o->name[1] != '-') {
		if (has_single_dash(s) && t.len > 2)
			return t.bytes[1] == o->name[1] && t.bytes[2] == '=' ? MATCH_YES : MATCH_NO;
		return letter_is(s, at, o->name[1]);
	}
	/* -exec; go's -x=y */
	if (o->name[1] != '-' && t.len >= o->n && memcmp(t.bytes, o->name, o->n) == 0 &&
	    (t.len == o->n || t.bytes[o->n] == '='))
		return MATCH_YES;
	return MATCH_NO;
}

static bool glued_value(const struct shell_fact_word *w, struct shell_text *ret)
{
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	size_t from = equals ? (size_t)(equals + 1 - w->text.bytes) : 2;

	if (w->text.len <= from || (!equals && w->text.bytes[1] == '-'))
		return false;
	*ret = (struct shell_text){w->text.bytes + from, w->text.len - from};
	return true;
}

/* The value that belongs to an option which fits, against the glob of the rule. */
static enum match value_fits(struct look *l, const struct subject *s, size_t at,
                             const struct option_spec *o)
{
	const struct shell_fact_command *c = s->command;
	struct shell_text value;
	char *glob;

	if (!o->value)
		return MATCH_YES;
	glob = look_string(l, o->value, o->value_n);
	if (!glob)
		return MATCH_MAYBE;
	if (glued_value(&c->words[at], &value)) {
		if (c->words[at].kind != SHELL_VALUE_KNOWN)
			return MATCH_MAYBE;
		return glob_matches(glob, value.bytes, true) ? MATCH_YES : MATCH_NO;
	}
	if (at + 1 >= c->word_count)
		return MATCH_NO;
	if (c->words[at + 1].kind != SHELL_VALUE_KNOWN)
		return MATCH_MAYBE;
	return glob_matches(glob, c->words[at + 1].text.bytes, true) ? MATCH_YES : MATCH_NO;
}

static enum match one_present(struct look *l, struct subject *s, const struct option_spec *o)
{
	const struct shell_fact_command *c = s->command;
	enum match best = MATCH_NO;

	for (size_t i = 1; i < c->word_count && best != MATCH_YES; i++) {
		if (s->roles[i].role == ROLE_OPEN) {
			best = match_most(best, MATCH_MAYBE);
			continue;
		}
		if (s->roles[i].role != ROLE_OPTION)
			continue;
		best = match_most(best, match_least(option_is(s, i, o), value_fits(l, s, i, o)));
	}
	return best;
}

enum match operand_option(struct look *l, struct subject *s, const char *spec)
{
	enum match best = MATCH_NO;

	if (!subject_roles(l, s))
		return MATCH_MAYBE;
	for (const char *at = spec;;) {
		size_t n = strcspn(at, "|");
		struct option_spec o = read_spec(at, n);

		best = match_most(best, one_present(l, s, &o));
		if (!at[n])
			return best;
		at += n + 1;
	}
}

/* One option word must be made of listed options alone. */
static enum match word_only(const struct subject *s, const struct shell_fact_word *w,
                            const char *const *only)
{
	struct shell_text t = w->text;
	bool cluster = t.bytes[1] != '-' && !has_single_dash(s);

	for (const char *const *o = only; *o; o++) {
		struct option_spec spec = read_spec(*o, strlen(*o));

		if (t.len == spec.n && memcmp(t.bytes, spec.name, spec.n) == 0)
			return MATCH_YES;
		if (t.len > spec.n && memcmp(t.bytes, spec.name, spec.n) == 0 &&
		    t.bytes[spec.n] == '=' && t.bytes[1] == '-')
			return MATCH_YES;
		/* -n5, -U3: digits behind a letter are its value. */
		if (spec.n == 2 && t.len > 2 && t.bytes[0] == '-' && t.bytes[1] == spec.name[1] &&
		    strspn(t.bytes + 2, "0123456789,") == t.len - 2)
			return MATCH_YES;
	}
	for (size_t i = 1; cluster && i < t.len; i++) {
		char one[3] = {'-', t.bytes[i], '\0'};

		if (!word_in_list(only, one))
			return MATCH_NO;
	}
	return cluster ? MATCH_YES : MATCH_NO;
}

enum match operand_options_only(struct look *l, struct subject *s, const struct policy_rule *rule)
{
	const struct shell_fact_command *c = s->command;
	const char *const *only = rule->only;
	bool before = rule->args != NULL; /* in front of the sub-command options mean others */
	enum match worst = MATCH_YES;

	if (!subject_roles(l, s))
		return MATCH_MAYBE;
	for (size_t i = 1; i < c->word_count; i++) {
		if (s->roles[i].role == ROLE_OPERAND && !s->roles[i].maybe_value)
			before = false;
		if (before && s->roles[i].role == ROLE_OPTION) {
			if (!word_text_is(c->words[i].text, "--no-pager"))
				return MATCH_NO;
			continue;
		}
		if (s->roles[i].role == ROLE_OPTION && c->words[i].kind == SHELL_VALUE_KNOWN)
			worst = match_least(worst, word_only(s, &c->words[i], only));
		/* A file whose name begins with a dash would be an option. */
		else if (s->roles[i].role == ROLE_OPEN || s->roles[i].role == ROLE_OPTION ||
		         (s->roles[i].role == ROLE_OPERAND &&
		          c->words[i].kind == SHELL_VALUE_GLOB && !c->words[i].text.len))
			worst = match_least(worst, MATCH_MAYBE);
	}
	return worst;
}

enum match operand_args_match(struct look *l, struct subject *s, const char *const *args)
{
	const struct shell_fact_command *c = s->command;
	enum match m = MATCH_YES;

	if (!subject_roles(l, s))
		return MATCH_MAYBE;
	for (size_t i = 1; i < c->word_count && *args; i++) {
		const struct shell_fact_word *w = &c->words[i];

		if (s->roles[i].role == ROLE_OPEN)
			return MATCH_MAYBE;
		if (s->roles[i].role != ROLE_OPERAND)
			continue;
		if (w->kind != SHELL_VALUE_KNOWN) {
			struct candidates can;

			word_candidates(l, w, &can);
			for (size_t k = 0; k < can.count; k++)
				if (glob_matches(*args, can.text[k], true) &&
				    w->kind != SHELL_VALUE_GLOB)
					return args[1] ? MATCH_MAYBE : MATCH_LIKELY;
			return can.all && w->kind != SHELL_VALUE_GLOB ? MATCH_NO : MATCH_MAYBE;
		}
		if (glob_matches(*args, w->text.bytes, true)) {
			if (s->roles[i].maybe_value)
				m = match_least(m, MATCH_LIKELY);
			args++;
		} else if (s->roles[i].maybe_value) {
			m = match_least(m, MATCH_LIKELY); /* it is the value of that option */
		} else {
			return MATCH_NO;
		}
	}
	return *args ? MATCH_NO : m;
}
