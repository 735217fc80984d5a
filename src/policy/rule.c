/*
 * One rule against one command whose name it has.
 */
#include "policy/inside.h"

#include <fnmatch.h>
#include <string.h>
#include "base/cleanup.h"
#include "shell/knowledge.h"
#include "shell/wrappers.h"

static enum match turned(enum match m)
{
	if (m == MATCH_YES)
		return MATCH_NO;
	return m == MATCH_NO ? MATCH_YES : m;
}

/* A pattern may come out as a file whose name is that of an option. */
static bool glob_may_be_option(struct look *l, struct subject *s)
{
	const struct word_role *roles = subject_roles(l, s);

	for (size_t i = 1; roles && i < s->command->word_count; i++) {
		if (roles[i].role == ROLE_END)
			return false;
		if (s->command->words[i].kind == SHELL_VALUE_GLOB && !s->command->words[i].text.len)
			return true;
	}
	return false;
}

static enum match options_match(struct look *l, struct subject *s, const struct policy_rule *rule,
                                const char **ret_operand)
{
	enum match m = MATCH_YES;

	for (const char *const *o = rule->with; o && *o && m; o++) {
		m = match_least(m, operand_option(l, s, *o));
		if (m && !*ret_operand)
			*ret_operand = *o;
	}
	for (const char *const *o = rule->without; o && *o && m; o++)
		m = match_least(m, turned(operand_option(l, s, *o)));
	if (m > MATCH_MAYBE && rule->without && rule->list == POLICY_ALLOW &&
	    glob_may_be_option(l, s))
		m = MATCH_MAYBE;
	if (m && rule->only)
		m = match_least(m, operand_options_only(l, s, rule));
	return m;
}

static enum match operands_match(struct look *l, struct subject *s, const struct policy_rule *rule,
                                 const char **ret_operand)
{
	const struct word_role *roles = subject_roles(l, s);
	bool every = rule->list == POLICY_ALLOW, any = false;
	enum match best = MATCH_NO, worst = MATCH_YES;

	if (!roles)
		return MATCH_MAYBE;
	for (size_t i = 1; i < s->command->word_count; i++) {
		const char *text = NULL;
		enum match m;

		if (roles[i].role != ROLE_OPERAND && roles[i].role != ROLE_OPEN)
			continue;
		any = true;
		m = word_meets(l, &s->command->words[i], rule->operands, &text);
		if (m > best)
			*ret_operand = text;
		best = match_most(best, m);
		worst = match_least(worst, m);
	}
	if (every)
		return any ? worst : MATCH_NO;
	return best;
}

/* An unknown word could be an option that has the effect. */
static bool could_have_effect(const struct subject *s, const char *effect)
{
	const struct knowledge_command *k = knowledge_find(s->name);

	if (!s->command->open)
		return false;
	for (size_t i = 0; k && i < k->count; i++)
		for (size_t j = 0; j < k->rows[i].count; j++)
			if (k->rows[i].items[j].kind == KNOWLEDGE_OPTION &&
			    strcmp(knowledge_class_name((enum knowledge_class)k->rows[i].effect),
			           effect) == 0)
				return true;
	return false;
}

static enum match effects_match(const struct subject *s, const char *const *effects,
                                const char **ret_operand)
{
	enum match best = MATCH_NO;

	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];

		if (!word_in_list(effects, d->effect))
			continue;
		if (best < MATCH_LIKELY)
			*ret_operand = d->by;
		best = match_most(best, d->maybe ? MATCH_LIKELY : MATCH_YES);
	}
	for (const char *const *e = effects; best == MATCH_NO && *e; e++)
		if (could_have_effect(s, *e))
			best = MATCH_MAYBE;
	return best;
}

enum match rule_match(struct look *l, struct subject *s, const struct policy_rule *rule,
                      const char **ret_operand)
{
	enum match m = MATCH_YES;

	*ret_operand = NULL;
	if (rule->args)
		m = operand_args_match(l, s, rule->args);
	if (m && (rule->with || rule->without || rule->only))
		m = match_least(m, options_match(l, s, rule, ret_operand));
	if (m && rule->operands)
		m = match_least(m, operands_match(l, s, rule, ret_operand));
	if (m && rule->paths != POLICY_PATHS_ANY)
		m = match_least(m, paths_match(l, s, rule->paths, ret_operand));
	if (m && rule->effects)
		m = match_least(m, effects_match(s, rule->effects, ret_operand));
	return m;
}

/* Proof */

static bool line_redefines(const struct look *l, const char *name)
{
	for (size_t i = 0; i < l->facts->effect_count; i++) {
		const char *e = l->facts->effects[i].text;

		if (strncmp(e, "func:", 5) == 0 && strcmp(e + 5, name) == 0)
			return true;
		if (strncmp(e, "alias:", 6) == 0 && strcmp(e + 6, name) == 0)
			return true;
		if (strncmp(e, "enable:", 7) == 0 || strncmp(e, "hash", 4) == 0)
			return true;
	}
	return false;
}

/* The item of the table that an effect was found by, if it gives code or a program as data. */
static bool is_data_option(const struct subject *s, const struct shell_fact_does *d)
{
	const struct knowledge_command *k = knowledge_find(s->name);
	const char *by = d->by;

	for (size_t i = 0; k && i < k->count; i++) {
		for (size_t j = 0; j < k->rows[i].count; j++) {
			const struct knowledge_item *item = &k->rows[i].items[j];

			if (k->rows[i].effect != KNOWLEDGE_CLASS_EXEC || !item->name ||
			    strcmp(item->name, by) != 0)
				continue;
			if (item->kind == KNOWLEDGE_OPTION)
				return item->value != SHELL_OPTION_FLAG;
			return item->kind == KNOWLEDGE_SCRIPT || item->kind == KNOWLEDGE_ENV ||
			       item->kind == KNOWLEDGE_CONFIG ||
			       (!d->maybe && (item->kind == KNOWLEDGE_OPERAND_PREFIX ||
			                      item->kind == KNOWLEDGE_OPERAND_CONTAINS));
		}
	}
	return k == NULL || by[0] == '-';
}

/* Programs whose every use runs code: naming them allows that. */
static bool runs_code_anyway(const struct subject *s)
{
	static const char *const builders[] = {"cmake", "ctest", "meson", "ninja", NULL};
	const struct knowledge_command *k = knowledge_find(s->name);

	if (word_in_list(builders, s->name))
		return true;
	for (size_t i = 0; k && i < k->count; i++)
		for (size_t j = 0; j < k->rows[i].count; j++) {
			uint8_t kind = k->rows[i].items[j].kind;

			if (k->rows[i].effect == KNOWLEDGE_CLASS_EXEC &&
			    (kind == KNOWLEDGE_ALWAYS || kind == KNOWLEDGE_OPERAND ||
			     kind == KNOWLEDGE_OPERAND_NUMBER || kind == KNOWLEDGE_NO_OPERAND))
				return true;
		}
	return false;
}

/* What it starts is listed and decided by itself. */
static bool is_seen_through(const struct subject *s)
{
	static const char *const names[] = {"eval",    "source",  ".",   "trap", "bash",
	                                    "sh",      "dash",    "zsh", "ksh",  "exec",
	                                    "command", "builtin", NULL};

	return shell_wrapper_find(s->name) || word_in_list(names, s->name);
}

static bool rule_names_option(const struct policy_rule *rule, const char *option)
{
	size_t n = strlen(option);

	for (const char *const *o = rule->with; o && *o; o++)
		for (const char *at = strstr(*o, option); at; at = strstr(at + 1, option))
			if ((at == *o || at[-1] == '|') && (!at[n] || strchr("|=:", at[n])))
				return true;
	return word_in_list(rule->only, option) || word_in_list(rule->effects, "exec");
}

/* A rule that allows every use of the program, and none that refuses or asks about some use. */
static bool is_allowed_by_name(const struct look *l, const char *name)
{
	bool allowed = false;

	for (const struct name_entry *e = policy_name_first(l->policy, name); e;
	     e = policy_name_next(l->policy, e)) {
		const struct policy_rule *r = l->policy->compiled[e->rule].rule;
		bool plain = !r->args && !r->with && !r->without && !r->only && !r->operands &&
		             !r->effects && r->paths == POLICY_PATHS_ANY;

		if (r->list == POLICY_ALLOW)
			allowed |= plain;
		else if (plain)
			return false;
	}
	return allowed;
}

/* pandoc --pdf-engine=xelatex: what it starts is decided by its name. Its words are not given here.
 */
static bool starts_what_is_allowed(const struct look *l, const struct subject *s,
                                   const struct shell_fact_does *d)
{
	const struct knowledge_command *k = knowledge_find(s->name);
	const struct shell_fact_command *c = s->command;
	bool program = false, found = false;

	for (size_t i = 0; k && i < k->count; i++)
		for (size_t j = 0; j < k->rows[i].count; j++)
			program |= k->rows[i].items[j].code == KNOWLEDGE_CODE_PROGRAM &&
			           strcmp(k->rows[i].items[j].name, d->by) == 0;
	for (size_t i = 1; program && i < c->word_count; i++) {
		size_t at = option_value_at(d->by, c->words[i].text);
		const struct shell_fact_word *w = &c->words[i];

		if (w->kind != SHELL_VALUE_KNOWN)
			return false;
		if (at == w->text.len && i + 1 < c->word_count) {
			w = &c->words[++i];
			at = 0;
		} else if (!at) {
			continue;
		}
		/* The name of a glob or a path is decided by more than the name. */
		if (w->kind != SHELL_VALUE_KNOWN || strlen(w->text.bytes) != w->text.len ||
		    strchr(w->text.bytes + at, '/') || !is_allowed_by_name(l, w->text.bytes + at))
			return false;
		found = true;
	}
	return found;
}

static bool does_is_allowed(const struct look *l, const struct subject *s,
                            const struct policy_rule *rule, const char **ret_doubt)
{
	bool anyway = runs_code_anyway(s);

	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];

		if (strcmp(d->effect, "exec") != 0 || rule_names_option(rule, d->by))
			continue;
		if (anyway || is_seen_through(s) || !is_data_option(s, d) ||
		    starts_what_is_allowed(l, s, d))
			continue;
		*ret_doubt = d->by;
		return false;
	}
	return true;
}

/* Variables of interpreters change nothing for those: they run whatever they are given. */
static bool sets_matter(const struct look *l, const struct subject *s)
{
	static const char *const harmless[] = {"PYTHON*", "NODE_*", "RUBY*", "PERL5*",
	                                       "JAVA_TOOL_OPTIONS"};
	bool anyway = runs_code_anyway(s);

	if (!anyway)
		return true;
	for (size_t i = 0; i < l->facts->effect_count; i++) {
		const char *e = l->facts->effects[i].text;
		bool fine = false;

		if (strncmp(e, "set:", 4) != 0)
			continue;
		for (size_t k = 0; k < array_size(harmless); k++)
			fine |= fnmatch(harmless[k], e + 4, 0) == 0;
		if (!fine)
			return true;
	}
	return l->q->env && *l->q->env;
}

static bool redirects_are_inside(struct look *l, const struct subject *s, const char **ret_doubt)
{
	static const char *const fine[] = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty",
	                                   NULL};

	for (size_t i = 0; i < s->command->redirect_count; i++) {
		const struct shell_fact_redirect *r = &s->command->redirects[i];

		if (r->heredoc || r->op[0] == '<' ? strcmp(r->op, "<>") != 0
		                                  : strcmp(r->op, ">&") == 0)
			continue;
		if (r->target.kind == SHELL_VALUE_KNOWN &&
		    (word_in_list(fine, r->target.text.bytes) ||
		     (!l->moves && path_is_inside(l, r->target.text.bytes))))
			continue;
		*ret_doubt = "a redirection that may write outside of the workspace";
		return false;
	}
	return true;
}

bool rule_is_proven(struct look *l, struct subject *s, const struct policy_rule *rule,
                    const char **ret_doubt)
{
	const struct policy_file *f = subject_file(l, s);
	/* A relative path fits only a rule about paths, which has seen that it stays inside. */
	bool path_rule = strchr(s->word, '/') != NULL && s->word[0] != '/';

	if (line_redefines(l, s->name)) {
		*ret_doubt = "a function or alias of this name in the line";
		return false;
	}
	if (l->sets_any && s->command->kind != SHELL_KIND_BUILTIN && sets_matter(l, s)) {
		*ret_doubt = "a variable that changes which program runs, or what it does";
		return false;
	}
	if (!f->known) {
		*ret_doubt = "a change of PATH or of the directory";
		return false;
	}
	if (!path_rule && s->command->kind != SHELL_KIND_BUILTIN && !f->trusted) {
		*ret_doubt = f->found ? "a program file that commands could have changed"
		                      : "a place in PATH that commands can write";
		return false;
	}
	return redirects_are_inside(l, s, ret_doubt) && does_is_allowed(l, s, rule, ret_doubt);
}

/*
 * Programs that do what they are there for, and nothing that their words do not show. The knowledge
 * table does not count: it says which options of a program are dangerous, not that no others are.
 */
static bool is_plain_program(const char *name)
{
	static const char *const names[] = {
		"[",        "arch",     "base32",    "base64",    "basename", "cal",    "cat",
		"cksum",    "cmp",      "comm",      "cp",        "cut",      "date",   "df",
		"diff",     "dirname",  "du",        "echo",      "egrep",    "expand", "expr",
		"factor",   "false",    "fgrep",     "file",      "find",     "fmt",    "fold",
		"grep",     "groups",   "head",      "hexdump",   "hostname", "id",     "install",
		"join",     "jq",       "ln",        "locale",    "logname",  "ls",     "md5sum",
		"mkdir",    "mktemp",   "mv",        "nl",        "nproc",    "numfmt", "od",
		"paste",    "pgrep",    "pr",        "printenv",  "printf",   "ps",     "pwd",
		"readlink", "realpath", "rev",       "rg",        "rm",       "rmdir",  "sed",
		"seq",      "sha1sum",  "sha256sum", "sha512sum", "shuf",     "sleep",  "sort",
		"split",    "stat",     "strings",   "sum",       "sync",     "tac",    "tail",
		"tee",      "test",     "touch",     "tr",        "tree",     "true",   "truncate",
		"tsort",    "tty",      "uname",     "unexpand",  "uniq",     "uptime", "wc",
		"which",    "who",      "whoami",    "xxd",       "yes",      "zcat",   "gzip",
		"gunzip",   "awk",      "mawk",      "gawk",      "git",      "column", "dd",
		"csplit",   "free",     "bc",        "cd",        "type",     NULL};

	return word_in_list(names, name);
}

bool rule_runs_unread(const struct subject *s)
{
	static const char *const runners[] = {"perl",  "ruby",   "node",   "nodejs", "php",   "lua",
	                                      "tclsh", "wish",   "expect", "ed",     "ex",    "m4",
	                                      "cpp",   "ffmpeg", "docker", "podman", "dmesg", NULL};
	/* The command inside is seen, but not what rights or which process it has. */
	static const char *const other_rights[] = {"doas",        "pkexec",  "runuser",
	                                           "systemd-run", "nsenter", "chroot",
	                                           "gdb",         "busybox", NULL};

	if (word_in_list(other_rights, s->name))
		return true;
	if (is_seen_through(s))
		return false;
	for (size_t i = 0; i < s->command->does_count; i++) {
		const struct shell_fact_does *d = &s->command->does[i];

		if (strcmp(d->effect, "exec") == 0 || strcmp(d->effect, "priv") == 0)
			return true;
		/* Files that a program of sed or awk names may lie anywhere. */
		if (strcmp(d->effect, "write") == 0 &&
		    (strcmp(d->by, "w") == 0 || strcmp(d->by, ">") == 0))
			return true;
	}
	if (strncmp(s->name, "python", 6) == 0 || word_in_list(runners, s->name))
		return true;
	/* Nothing is known about it. */
	return s->command->kind != SHELL_KIND_BUILTIN && !is_plain_program(s->name);
}
