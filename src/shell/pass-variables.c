/*
 * What is known of variables, as far as it is needed for one question: can the value that bash
 * evaluates again (in arithmetic, in test) hold code?
 *
 * It cannot if the text itself assigns the variable before it is read, surely and in the same
 * process (otherwise a value could come from the environment), and if every value that the text
 * ever gives to that name, anywhere, is an integer (or a plain word). The first part is followed
 * along the walk: what a branch, a loop body, a subshell or a function assigns is forgotten where
 * it ends, and so is what stands beside a redirection (that may fail) or behind an expansion that
 * may fail. The second part is collected and settled at the end.
 */
#include "shell/pass.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include "base/cleanup.h"

/* Variables that bash keeps as integers itself: their values are numbers, and what is assigned to
 * them is evaluated. */
static const char *const bash_integers[] = {"BASHPID", "EPOCHSECONDS", "EUID",    "HISTCMD",
                                            "LINENO",  "OPTIND",       "PPID",    "RANDOM",
                                            "SECONDS", "SHLVL",        "SRANDOM", "UID"};

static bool is_bash_integer(struct shell_text name)
{
	for (size_t i = 0; i < array_size(bash_integers); i++)
		if (pass_text_is(name, bash_integers[i]))
			return true;
	return false;
}

struct pass_variable *pass_variable(struct shell_pass *p, struct shell_text name)
{
	size_t number = pass_names_find(&p->variable_names, name);
	struct pass_variable *grown;

	if (number != PASS_NAME_NONE)
		return &p->variables[number];
	grown = pass_grow(p, p->variables, sizeof(*grown), p->variable_count, &p->variable_capacity,
	                  PASS_VARIABLE_MAX);
	if (!grown)
		return NULL;
	p->variables = grown;
	if (!pass_names_add(p, &p->variable_names, name))
		return NULL;
	p->variables[p->variable_count] = (struct pass_variable){.name = name};
	return &p->variables[p->variable_count++];
}

void pass_write(struct shell_pass *p, struct shell_text name, enum pass_worth worth)
{
	struct pass_variable *v = pass_variable(p, name);

	if (!v)
		return;
	v->other |= worth != PASS_WORTH_NUMBER;
	v->unplain |= worth == PASS_WORTH_OTHER;
}

void pass_sure(struct shell_pass *p, struct shell_text name, enum pass_sure_kind kind)
{
	uint32_t hash = pass_hash(name);
	struct pass_sure *grown;

	if (p->may_fail || p->sure_count >= PASS_FLOW_MAX)
		return; /* not knowing is always right */
	if (pass_is_sure(p, name, kind))
		return;
	p->sure_seen[hash / 64 % array_size(p->sure_seen)] |= UINT64_C(1) << hash % 64;
	grown = pass_grow(p, p->sure, sizeof(*grown), p->sure_count, &p->sure_capacity,
	                  PASS_FLOW_MAX);
	if (!grown)
		return;
	p->sure = grown;
	p->sure[p->sure_count++] = (struct pass_sure){name, kind};
}

bool pass_is_sure(const struct shell_pass *p, struct shell_text name, enum pass_sure_kind kind)
{
	uint32_t hash = pass_hash(name);

	if (p->sure_count == p->sure_base ||
	    !(p->sure_seen[hash / 64 % array_size(p->sure_seen)] >> hash % 64 & 1))
		return false;
	for (size_t i = p->sure_count; i > p->sure_base; i--) /* the last ones are asked for most */
		if (p->sure[i - 1].kind == kind && pass_text_equal(p->sure[i - 1].name, name))
			return true;
	return false;
}

/* Notes the check; false if it can be seen already that it fails. */
bool pass_need(struct shell_pass *p, struct shell_text name, enum pass_check_kind kind,
               const char *effect, struct shell_range range)
{
	struct pass_check *grown;

	if (!effect)
		return false;
	if (kind == PASS_CHECK_NUMBER || kind == PASS_CHECK_PLAIN) {
		bool own = !p->posix && is_bash_integer(name);

		if (!own && !pass_is_sure(p, name, PASS_SURE_VARIABLE))
			return false;
	}
	for (size_t i = 0; i < p->check_count; i++)
		if (p->checks[i].kind == kind && pass_text_equal(p->checks[i].name, name))
			return true;
	grown = pass_grow(p, p->checks, sizeof(*grown), p->check_count, &p->check_capacity,
	                  PASS_CHECK_MAX);
	if (!grown)
		return false;
	p->checks = grown;
	p->checks[p->check_count++] = (struct pass_check){name, kind, effect, pass_range(p, range)};
	return true;
}

bool pass_is_kept(struct shell_pass *p, struct shell_text name, struct shell_range range)
{
	return pass_is_sure(p, name, PASS_SURE_ASSOC) &&
	       pass_need(p, name, PASS_CHECK_KEPT, "eval-arith", range);
}

static bool holds(const struct shell_pass *p, const struct pass_check *c)
{
	size_t number = pass_names_find(&p->variable_names, c->name);
	const struct pass_variable *v;

	if (number == PASS_NAME_NONE)
		return true;
	v = &p->variables[number];
	switch (c->kind) {
	case PASS_CHECK_NUMBER:
		return !v->other && !v->unsetted;
	case PASS_CHECK_PLAIN:
		return !v->unplain && !v->unsetted;
	case PASS_CHECK_SCALAR:
		return !v->array;
	case PASS_CHECK_KEPT:
		return !v->unsetted && !v->indexed;
	}
	return false;
}

void pass_settle(struct shell_pass *p)
{
	if (p->counts && p->counts_other)
		pass_opaque(p, (struct shell_range){0, 0},
		            "a command that would print a number may be another one", "eval-arith");
	for (size_t i = 0; i < p->check_count; i++) {
		const struct pass_check *c = &p->checks[i];

		if (!holds(p, c))
			pass_opaque(p, c->range,
			            "a value that is not known may be evaluated as code", "%s",
			            c->effect);
	}
	for (size_t i = 0; i < p->variable_count; i++) {
		const struct pass_variable *v = &p->variables[i];
		bool integer = v->integer || is_bash_integer(v->name);

		if (integer && v->other)
			pass_opaque(p, (struct shell_range){0, 0},
			            "what is assigned to an integer variable is evaluated",
			            "eval-arith");
	}
}

enum pass_worth pass_worth_of_text(struct shell_text text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:,+%@=-";
	size_t i = text.len && text.bytes[0] == '-' ? 1 : 0;

	/* Not 08: bash takes it for an octal number, and refuses it. */
	if (i < text.len && text.len < 19 && (text.bytes[i] != '0' || i + 1 == text.len)) {
		while (i < text.len && text.bytes[i] >= '0' && text.bytes[i] <= '9')
			i++;
		if (i == text.len)
			return PASS_WORTH_NUMBER;
	}
	for (i = 0; i < text.len; i++)
		if (!strchr(plain, text.bytes[i]) || !text.bytes[i])
			return PASS_WORTH_OTHER;
	/* An option could be made of it. */
	return text.len && text.bytes[0] == '-' ? PASS_WORTH_OTHER : PASS_WORTH_PLAIN;
}

enum pass_worth pass_worth_of(struct shell_pass *p, const struct shell_word *word)
{
	struct shell_fact_word w = pass_word(p, word);

	if (pass_word_known(&w))
		return pass_worth_of_text(w.text);
	if (word && word->parts && !word->parts->next && pass_part_is_number(p, word->parts, NULL))
		return PASS_WORTH_NUMBER;
	return PASS_WORTH_OTHER;
}

static bool is_dangerous(const char *name)
{
	static const char *const names[] = {
		"PATH",
		"LD_*",
		"BASH_ENV",
		"ENV",
		"IFS",
		"PS4",
		"PS0",
		"PS1",
		"PS2",
		"SHELLOPTS",
		"PROMPT_COMMAND",
		"BASHOPTS",
		"CDPATH",
		"GLOBIGNORE",
		"BASH_*",
		"TEXTDOMAIN",
		"TEXTDOMAINDIR",
		"EXECIGNORE",
		"GCONV_PATH",
		"HOSTALIASES",
		"LOCPATH",
		"NLSPATH",
		"PYTHONPATH",
		"PYTHONSTARTUP",
		"PYTHONHOME",
		"PERL5OPT",
		"PERL5LIB",
		"RUBYOPT",
		"RUBYLIB",
		"NODE_OPTIONS",
		"NODE_PATH",
		"JAVA_TOOL_OPTIONS",
		"GIT_SSH",
		"GIT_SSH_COMMAND",
		"GIT_EXEC_PATH",
		"GIT_EXTERNAL_DIFF",
		"LESSOPEN",
		"LESSCLOSE",
		"POSIXLY_CORRECT",
		"POSIX_PEDANTIC",
		"HOME",
		"SHELL",
		"EDITOR",
		"VISUAL",
		"GLIBC_TUNABLES",
		"MALLOC_*",
		"histchars",
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (names[i][0] == name[0] && fnmatch(names[i], name, 0) == 0)
			return true;
	return false;
}

/* Whether expanding the text as a prompt could run something: $( ) ` ` $(( )) ${x[ ]} ... */
static bool prompt_may_run(const struct shell_fact_word *value)
{
	if (!pass_word_known(value))
		return true;
	for (size_t i = 0; i < value->text.len; i++) {
		char c = value->text.bytes[i];
		char d = value->text.bytes[i + 1]; /* a NUL follows the text */

		if (c == '`' || c == '\\' || (c == '$' && (d == '(' || d == '[' || d == '{')))
			return true;
	}
	return false;
}

static bool names_charset(struct shell_text name)
{
	return pass_text_is(name, "LC_ALL") || pass_text_is(name, "LC_CTYPE") ||
	       pass_text_is(name, "LANG");
}

/*
 * bash reads text in the charset of its locale. In some, such as Big5, a byte beyond ASCII and the
 * backslash behind it are one character, which then quotes nothing; in others such a byte is a
 * letter of a name. Only in C and in UTF-8 all is as it is read here.
 */
bool shell_locale_is_plain(const char *locale)
{
	const char *s = locale;
	size_t n;

	if (!*s || !strcmp(s, "C") || !strcmp(s, "POSIX"))
		return true;
	s += strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (*s++ != '.')
		return false;
	n = strcspn(s, "@");
	return (n == 5 && !strncasecmp(s, "UTF-8", n)) || (n == 4 && !strncasecmp(s, "utf8", n));
}

void pass_assigned(struct shell_pass *p, struct shell_text name,
                   const struct shell_fact_word *value, struct shell_range range)
{
	if (is_dangerous(name.bytes))
		pass_effect(p, range, "set:%s", name.bytes);
	if (pass_text_is(name, "PATH"))
		p->counts_other = true;
	if (pass_text_is(name, "IFS"))
		p->sets_ifs = true;
	if (names_charset(name) &&
	    !(pass_word_known(value) && shell_locale_is_plain(value->text.bytes)))
		p->charset = true;
	if (pass_text_is(name, "PS4") && prompt_may_run(value))
		p->prompt = p->startup = true;
	/* ENV is for interactive shells, which are opaque anyway. */
	if (pass_text_is(name, "BASH_ENV") || pass_text_is(name, "SHELLOPTS") ||
	    pass_text_is(name, "BASHOPTS"))
		p->startup = true;
	if (pass_text_is(name, "SHELLOPTS"))
		p->trace = true;
	if (pass_text_is(name, "POSIXLY_CORRECT") || pass_text_is(name, "POSIX_PEDANTIC"))
		p->alias_on = p->posix_mode = true;
	if (pass_text_is(name, "SHELL"))
		p->shell_named = true;
	if (pass_text_is(name, "BASH_ALIASES"))
		p->alias = true;
	if (pass_text_is(name, "BASH_CMDS"))
		pass_opaque(p, range, "the table of command paths is changed", "hash");
	if (pass_text_is(name, "TEXTDOMAIN") || pass_text_is(name, "TEXTDOMAINDIR"))
		pass_opaque(p, range, "translated strings are expanded again", "translation");
	if (name.len > 10 && memcmp(name.bytes, "BASH_FUNC_", 10) == 0) {
		size_t n = name.len - 10;

		if (n > 2 && memcmp(name.bytes + name.len - 2, "%%", 2) == 0)
			n -= 2;
		pass_opaque(p, range, "a function comes in through the environment",
		            "env-function:%.*s", (int)n, name.bytes + 10);
	}
}
