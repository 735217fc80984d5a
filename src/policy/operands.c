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
#include "shell/wrappers.h"

enum takes { TAKES_UNKNOWN, TAKES_NOTHING, TAKES_GLUED, TAKES_VALUE };

static enum takes takes_of(enum shell_option_value v)
{
	if (v == SHELL_OPTION_VALUE)
		return TAKES_VALUE;
	return v == SHELL_OPTION_OPTIONAL ? TAKES_GLUED : TAKES_NOTHING;
}

/* Options that the tables do not list because they do no harm, and whose value is no path. */
struct plain_option {
	const char *command, *option;
	uint8_t takes;
};

static const struct plain_option plain_options[] = {
	{"grep", "-e", TAKES_VALUE},
	{"grep", "--regexp", TAKES_VALUE},
	{"grep", "-m", TAKES_VALUE},
	{"grep", "-A", TAKES_VALUE},
	{"grep", "-B", TAKES_VALUE},
	{"grep", "-C", TAKES_VALUE},
	{"egrep", "-e", TAKES_VALUE},
	{"fgrep", "-e", TAKES_VALUE},
	{"rg", "-e", TAKES_VALUE},
	{"rg", "--regexp", TAKES_VALUE},
	{"rg", "-g", TAKES_VALUE},
	{"rg", "-t", TAKES_VALUE},
	{"rg", "-A", TAKES_VALUE},
	{"rg", "-B", TAKES_VALUE},
	{"rg", "-C", TAKES_VALUE},
	{"sed", "-e", TAKES_VALUE},
	{"sed", "--expression", TAKES_VALUE},
	{"awk", "-F", TAKES_VALUE},
	{"awk", "-v", TAKES_VALUE},
	{"head", "-n", TAKES_VALUE},
	{"head", "-c", TAKES_VALUE},
	{"tail", "-n", TAKES_VALUE},
	{"tail", "-c", TAKES_VALUE},
	{"cut", "-d", TAKES_VALUE},
	{"cut", "-f", TAKES_VALUE},
	{"cut", "-c", TAKES_VALUE},
	{"cut", "-b", TAKES_VALUE},
	{"sort", "-k", TAKES_VALUE},
	{"sort", "-t", TAKES_VALUE},
	{"sort", "-S", TAKES_VALUE},
	{"find", "-name", TAKES_VALUE},
	{"find", "-iname", TAKES_VALUE},
	{"find", "-path", TAKES_VALUE},
	{"find", "-ipath", TAKES_VALUE},
	{"find", "-regex", TAKES_VALUE},
	{"find", "-iregex", TAKES_VALUE},
	{"find", "-type", TAKES_VALUE},
	{"find", "-maxdepth", TAKES_VALUE},
	{"find", "-mindepth", TAKES_VALUE},
	{"find", "-size", TAKES_VALUE},
	{"find", "-mtime", TAKES_VALUE},
	{"find", "-wholename", TAKES_VALUE},
	{"find", "-lname", TAKES_VALUE},
	{"find", "-perm", TAKES_VALUE},
	{"find", "-printf", TAKES_VALUE},
	{"git", "-C", TAKES_VALUE},
	{"git", "-m", TAKES_VALUE},
	{"git", "-n", TAKES_VALUE},
	{"git", "--git-dir", TAKES_VALUE},
	{"git", "--work-tree", TAKES_VALUE},
	{"git", "--no-pager", TAKES_NOTHING},
	{"git", "--bare", TAKES_NOTHING},
	{"rm", "-r", TAKES_NOTHING},
	{"rm", "-f", TAKES_NOTHING},
	{"rm", "-v", TAKES_NOTHING},
	{"rm", "-i", TAKES_NOTHING},
	{"rm", "-d", TAKES_NOTHING},
	{"cp", "-r", TAKES_NOTHING},
	{"cp", "-a", TAKES_NOTHING},
	{"cp", "-v", TAKES_NOTHING},
	{"cp", "-f", TAKES_NOTHING},
	{"cp", "-p", TAKES_NOTHING},
	{"mv", "-f", TAKES_NOTHING},
	{"mv", "-v", TAKES_NOTHING},
	{"mv", "-n", TAKES_NOTHING},
	{"ls", "-l", TAKES_NOTHING},
	{"ls", "-a", TAKES_NOTHING},
	{"npm", "--prefix", TAKES_VALUE},
	{"split", "-l", TAKES_VALUE},
	{"split", "-b", TAKES_VALUE},
	{"split", "-n", TAKES_VALUE},
	{"split", "-a", TAKES_VALUE},
	{"split", "-C", TAKES_VALUE},
	{"make", "-C", TAKES_VALUE},
	{"make", "-f", TAKES_VALUE},
	{"go", "-C", TAKES_VALUE},
	{"cargo", "--manifest-path", TAKES_VALUE},
};

/* One table's word on an option of N bytes ("-x", "--long"). */
static enum takes table_takes(const char *command, const char *option, size_t n)
{
	const struct knowledge_command *k = knowledge_find(command);
	const struct shell_wrapper *w;
	enum takes best = TAKES_UNKNOWN;

	for (size_t i = 0; i < array_size(plain_options); i++)
		if (plain_options[i].command[0] == command[0] &&
		    strcmp(plain_options[i].command, command) == 0 &&
		    strlen(plain_options[i].option) == n &&
		    memcmp(plain_options[i].option, option, n) == 0)
			return (enum takes)plain_options[i].takes;
	for (size_t i = 0; k && i < k->count; i++) {
		for (size_t j = 0; j < k->rows[i].count; j++) {
			const struct knowledge_item *item = &k->rows[i].items[j];

			if (item->kind == KNOWLEDGE_OPTION && strlen(item->name) == n &&
			    memcmp(item->name, option, n) == 0 &&
			    takes_of((enum shell_option_value)item->value) > best)
				best = takes_of((enum shell_option_value)item->value);
		}
	}
	if (best != TAKES_UNKNOWN)
		return best;
	w = shell_wrapper_find(command);
	for (size_t i = 0; w && i < w->grammar.count; i++)
		if (strlen(w->grammar.options[i].name) == n &&
		    memcmp(w->grammar.options[i].name, option, n) == 0)
			return takes_of((enum shell_option_value)w->grammar.options[i].value);
	return TAKES_UNKNOWN;
}

static bool has_single_dash(const char *command)
{
	static const char *const names[] = {"find", "java",    "openssl", "go",
	                                    "gcc",  "convert", NULL};
	const struct knowledge_command *k = knowledge_find(command);

	return (k && k->single_dash) || word_in_list(names, command);
}

/* An option word that is known: whether it takes the word behind it. */
static enum takes word_takes(const char *command, struct shell_text t)
{
	const char *equals = memchr(t.bytes, '=', t.len);
	enum takes takes = TAKES_NOTHING;

	if (t.bytes[1] == '-') {
		if (equals)
			return TAKES_GLUED;
		return table_takes(command, t.bytes, t.len);
	}
	if (has_single_dash(command)) {
		takes = table_takes(command, t.bytes, t.len);
		if (takes != TAKES_UNKNOWN || t.len > 2)
			return takes;
	}
	for (size_t i = 1; i < t.len; i++) {
		char one[2] = {'-', t.bytes[i]};
		enum takes x = table_takes(command, one, 2);

		if (x == TAKES_VALUE)
			return i + 1 < t.len ? TAKES_GLUED : TAKES_VALUE;
		if (x == TAKES_GLUED)
			return TAKES_GLUED;
		if (x == TAKES_UNKNOWN)
			takes = TAKES_UNKNOWN;
	}
	return takes;
}

static void read_known(const struct subject *s, size_t *at, bool *ended, bool *after_unknown)
{
	const struct shell_fact_word *w = &s->command->words[*at];
	struct word_role *r = &s->roles[*at];
	enum takes takes;

	if (*ended || w->text.len < 2 || w->text.bytes[0] != '-') {
		r->role = ROLE_OPERAND;
		r->maybe_value = *after_unknown && !*ended;
		*after_unknown = false;
		return;
	}
	*after_unknown = false;
	if (word_text_is(w->text, "--")) {
		r->role = ROLE_END;
		*ended = true;
		return;
	}
	r->role = ROLE_OPTION;
	takes = word_takes(s->name, w->text);
	r->sure = takes != TAKES_UNKNOWN;
	if (takes == TAKES_VALUE && *at + 1 < s->command->word_count)
		s->roles[++*at].role = ROLE_VALUE;
	else
		*after_unknown = takes == TAKES_UNKNOWN;
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
	}
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
static enum match letter_is(const char *command, struct shell_text t, char letter)
{
	enum match m = MATCH_YES;

	for (size_t i = 1; i < t.len; i++) {
		char one[2] = {'-', t.bytes[i]};
		enum takes x;

		if (t.bytes[i] == letter)
			return m;
		x = table_takes(command, one, 2);
		if (x == TAKES_VALUE || x == TAKES_GLUED)
			return MATCH_NO;
		if (x == TAKES_UNKNOWN)
			m = MATCH_LIKELY;
	}
	return MATCH_NO;
}

static enum match option_is(const struct subject *s, const struct shell_fact_word *w,
                            const struct option_spec *o)
{
	struct shell_text t = w->text;

	if (t.len < 2)
		return MATCH_NO;
	if (t.bytes[1] == '-')
		return o->n > 2 && o->name[1] == '-' ? long_is(t, o) : MATCH_NO;
	if (o->n == 2 && o->name[1] != '-') {
		if (has_single_dash(s->name) && t.len > 2)
			return t.bytes[1] == o->name[1] && t.bytes[2] == '=' ? MATCH_YES : MATCH_NO;
		return letter_is(s->name, t, o->name[1]);
	}
	/* -exec; go's -x=y */
	if (o->name[1] != '-' && t.len >= o->n && memcmp(t.bytes, o->name, o->n) == 0 &&
	    (t.len == o->n || t.bytes[o->n] == '='))
		return MATCH_YES;
	return MATCH_NO;
}

bool operand_glued_value(const struct shell_fact_word *w, struct shell_text *ret)
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
	if (operand_glued_value(&c->words[at], &value)) {
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
		const struct shell_fact_word *w = &c->words[i];

		if (s->roles[i].role == ROLE_OPEN) {
			best = match_most(best, MATCH_MAYBE);
			continue;
		}
		if (s->roles[i].role != ROLE_OPTION)
			continue;
		best = match_most(best, match_least(option_is(s, w, o), value_fits(l, s, i, o)));
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
	bool cluster = t.bytes[1] != '-' && !has_single_dash(s->name);

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

bool operand_first_is_code(const char *name)
{
	static const char *const names[] = {"grep", "egrep", "fgrep", "rg",   "ag",   "ack", "sed",
	                                    "awk",  "gawk",  "mawk",  "nawk", "gsed", "jq",  NULL};

	return word_in_list(names, name);
}
