#include "cli/sh-options.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#define PREFIX_MAX 4096

struct reading {
	int argc;
	char *const *argv;
	int at; /* the next word */
	bool command, standard, interactive, login, plain;
	struct buffer *prefix; /* on the line's own first line: numbers of lines stay right */
	struct buffer *before; /* what bash has to know before it reads the line: on one above it */
};

/* Letters of `set` that a start of bash takes, too. */
static const char set_letters[] = "abefhkmnptuvxBCEHPT";

static bool is_word(const char *text)
{
	return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* These change how bash reads a text, so they must stand on a line above it. */
static bool changes_reading(const char *name)
{
	static const char *const names[] = {
		"extglob", "expand_aliases",       "extquote",   "posix", "histexpand",
		"keyword", "interactive_comments", "braceexpand"};

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* What bash knows for -o. */
static bool is_set_name(const char *name)
{
	static const char *const names[] = {"allexport",
	                                    "braceexpand",
	                                    "emacs",
	                                    "errexit",
	                                    "errtrace",
	                                    "functrace",
	                                    "hashall",
	                                    "histexpand",
	                                    "history",
	                                    "ignoreeof",
	                                    "interactive-comments",
	                                    "keyword",
	                                    "monitor",
	                                    "noclobber",
	                                    "noexec",
	                                    "noglob",
	                                    "nolog",
	                                    "notify",
	                                    "nounset",
	                                    "onecmd",
	                                    "physical",
	                                    "pipefail",
	                                    "posix",
	                                    "privileged",
	                                    "verbose",
	                                    "vi",
	                                    "xtrace"};

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* -o NAME and -O NAME. Of -O only bash knows all names: there the line ends if it is wrong. */
static int take_name(struct reading *r, char sign, char letter, struct error *err)
{
	const char *name = r->at < r->argc ? r->argv[r->at] : NULL;
	bool above = name && changes_reading(name);
	struct buffer *into = above ? r->before : r->prefix;

	if (!name)
		return error_set(err, ERROR_INPUT, EINVAL, "%c%c: option requires an argument",
		                 sign, letter);
	r->at++;
	if (letter == 'o' ? !is_set_name(name) : !is_word(name))
		return error_set(err, ERROR_INPUT, EINVAL, "%.60s: invalid option name", name);
	if (letter == 'o')
		buffer_printf(into, "set %co %s%s", sign, name, above ? "\n" : "; ");
	else
		buffer_printf(into, "shopt -%c %s || exit%s", sign == '-' ? 's' : 'u', name,
		              above ? "\n" : "; ");
	return 0;
}

static int take_letter(struct reading *r, char sign, char letter, struct error *err)
{
	switch (letter) {
	case 'c':
		r->command = true;
		return 0;
	case 'l':
		r->login = true;
		return 0;
	case 'i':
		r->interactive = true;
		r->plain = false;
		return 0;
	case 's':
		r->standard = true;
		r->plain = false;
		return 0;
	case 'o':
		r->plain = false;
		return take_name(r, sign, letter, err);
	case 'O':
		r->plain = false;
		return take_name(r, sign, letter, err);
	case 'r':
		buffer_puts(r->prefix, "set -r; ");
		r->plain = false;
		return 0;
	default:
		break;
	}
	if (!strchr(set_letters, letter))
		return error_set(err, ERROR_INPUT, EINVAL, "%c%c: invalid option", sign, letter);
	r->plain = false;
	if (letter == 'k' || letter == 'H' || letter == 'B')
		buffer_printf(r->before, "set %c%c\n", sign, letter);
	else if (letter != 'p') /* bash runs with -p anyway */
		buffer_printf(r->prefix, "set %c%c; ", sign, letter);
	return 0;
}

static int take_cluster(struct reading *r, const char *word, struct error *err)
{
	int result = 0;

	for (const char *p = word + 1; *p && result == 0; p++)
		result = take_letter(r, word[0], *p, err);
	return result;
}

/* bash takes long options with one '-', too. */
static int take_long(struct reading *r, const char *word, enum sh_kind *kind, struct error *err)
{
	static const char *const nothing[] = {"norc", "noprofile", "noediting", "debugger"};
	const char *name = word + (word[1] == '-' ? 2 : 1);

	for (size_t i = 0; i < array_size(nothing); i++)
		if (strcmp(nothing[i], name) == 0)
			return 1;
	if (strcmp(name, "login") == 0) {
		r->login = true;
	} else if (strcmp(name, "posix") == 0) {
		buffer_puts(r->before, "set -o posix\n");
	} else if (strcmp(name, "restricted") == 0) {
		buffer_puts(r->prefix, "set -r; ");
	} else if (strcmp(name, "verbose") == 0) {
		buffer_puts(r->prefix, "set -v; ");
	} else if (strcmp(name, "version") == 0) {
		*kind = SH_VERSION;
	} else if (strcmp(name, "help") == 0) {
		*kind = SH_HELP;
	} else if (strcmp(name, "rcfile") == 0 || strcmp(name, "init-file") == 0) {
		if (r->at == r->argc)
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "--%s: option requires an argument", name);
		r->at++;
	} else {
		return word[1] == '-'
		               ? error_set(err, ERROR_INPUT, EINVAL, "%.60s: invalid option", word)
		               : 0;
	}
	return 1;
}

/* Long options first, as in bash. 1: the end of all options was said. */
static int take_options(struct reading *r, enum sh_kind *kind, struct error *err)
{
	bool longs = true;

	while (r->at < r->argc) {
		const char *word = r->argv[r->at];
		int result = 0;

		if ((word[0] != '-' && word[0] != '+') || !word[1])
			return strcmp(word, "-") == 0 ? (r->at++, 1) : 0;
		r->at++;
		if (strcmp(word, "--") == 0)
			return 1;
		if (longs && word[0] == '-') {
			result = take_long(r, word, kind, err);
			if (result < 0)
				return result;
			if (result > 0)
				r->plain = r->plain && word[1] != '-';
		}
		if (result == 0) {
			longs = false;
			if (word[1] == '-')
				return error_set(err, ERROR_INPUT, EINVAL, "%.60s: invalid option",
				                 word);
			result = take_cluster(r, word, err);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

/* An operand that no script has as its name. */
static bool is_line(const char *word)
{
	return strpbrk(word, " \t\n;|&<>$`(){}") != NULL;
}

static int take_operands(struct reading *r, bool is_terminal, struct sh_options *o,
                         struct error *err)
{
	int left = r->argc - r->at;

	if (r->command) {
		if (left == 0)
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "-c: option requires an argument");
		o->kind = SH_LINE;
		o->text = r->argv[r->at++];
		o->plain = r->plain && left == 1;
		o->name = left > 1 ? r->argv[r->at++] : NULL;
	} else if (r->standard || left == 0) {
		o->kind = (left == 0 && !r->standard && is_terminal) || r->interactive
		                  ? SH_INTERACTIVE
		                  : SH_STDIN;
	} else if (left == 1 && is_line(r->argv[r->at])) {
		o->kind = SH_LINE; /* whether there is such a file is for the caller to see */
		o->lone = true;
		o->text = r->argv[r->at++];
	} else {
		o->kind = SH_SCRIPT;
		o->name = r->argv[r->at++];
	}
	o->words = (const char *const *)(r->argv + r->at);
	return 0;
}

int sh_options_read(int argc, char *const *argv, bool is_terminal, struct arena *arena,
                    struct sh_options *ret, struct error *err)
{
	scoped(buffer_donep) struct buffer prefix = {.max = PREFIX_MAX},
					   before = {.max = PREFIX_MAX};
	struct reading r = {.argc = argc,
	                    .argv = argv,
	                    .at = 1,
	                    .plain = true,
	                    .prefix = &prefix,
	                    .before = &before};
	struct sh_options o = {.kind = SH_LINE};
	int result = take_options(&r, &o.kind, err);

	if (result >= 0 && o.kind != SH_VERSION && o.kind != SH_HELP)
		result = take_operands(&r, is_terminal, &o, err);
	if (result < 0)
		return result;
	o.login = r.login;
	buffer_append(&before, prefix.data, prefix.len);
	if (buffer_error(&prefix) < 0 || buffer_error(&before) < 0)
		return error_set(err, ERROR_LIMIT, E2BIG, "too many options");
	o.prefix = arena_strndup(arena, buffer_str(&before), before.len);
	if (!o.prefix)
		return error_nomem(err);
	*ret = o;
	return 0;
}
