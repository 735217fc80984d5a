/*
 * Builtins that evaluate what they are given, or change how later code is read.
 *
 * A subscript in the name of a variable is expanded by bash: read 'a[$(id)]' runs id. So a builtin
 * that takes names is harmless only with names that are written out, and one with an option of this
 * kind (printf -v) only if no unknown word can be that option.
 */
#include "shell/pass.h"

#include <fnmatch.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/name.h"

static const char eval_subscript[] = "eval-subscript";

bool pass_name_is_safe(struct shell_text name)
{
	size_t i = 0;

	while (i < name.len &&
	       (name.bytes[i] == '_' || (name.bytes[i] >= 'a' && name.bytes[i] <= 'z') ||
	        (name.bytes[i] >= 'A' && name.bytes[i] <= 'Z') ||
	        (i && name.bytes[i] >= '0' && name.bytes[i] <= '9')))
		i++;
	if (!i || i == name.len)
		return i == name.len && i;
	if (name.bytes[i] != '[' || name.bytes[name.len - 1] != ']' || name.len - i < 3)
		return false;
	if (name.len - i == 3 && (name.bytes[i + 1] == '@' || name.bytes[i + 1] == '*'))
		return true;
	for (i++; i < name.len - 1; i++)
		if (name.bytes[i] < '0' || name.bytes[i] > '9')
			return false;
	return true;
}

static void evaluates(struct shell_pass *p, struct shell_range range)
{
	pass_opaque(p, range, "a name that is not written out is evaluated", "eval-subscript");
}

/* A variable gets a value that is not known. */
static void name_written(struct shell_pass *p, const struct shell_fact_word *w, bool array)
{
	static const struct shell_fact_word any = {.kind = SHELL_VALUE_ONE, .text = {"", 0}};
	struct pass_variable *v;
	struct shell_text name;

	if (!pass_word_known(w) || !pass_name_is_safe(w->text)) {
		evaluates(p, w->range);
		return;
	}
	name = pass_text(p, w->text.bytes, strcspn(w->text.bytes, "["));
	pass_write(p, name, PASS_WORTH_OTHER);
	v = pass_variable(p, name);
	if (v && (array || name.len < w->text.len))
		v->array = v->indexed = true;
	pass_assigned(p, name, &any, w->range);
}

/* Builtins by their options */

struct rule {
	const char *name;
	const char *options;  /* as getopt() takes them */
	const char *run;      /* options that run or load code */
	const char *variable; /* options whose value is the name of a variable */
	bool operands;        /* operands are names of variables */
	bool array;
	const char *effect;  /* of the options that run code */
	const char *without; /* variable that is set when there is no operand */
};

static const struct rule rules[] = {
	{"read", "a:d:ei:n:N:p:rst:u:", "", "a", true, false, NULL, "REPLY"},
	{"mapfile", "d:n:O:s:tu:C:c:", "C", "", true, true, "eval-callback", "MAPFILE"},
	{"readarray", "d:n:O:s:tu:C:c:", "C", "", true, true, "eval-callback", "MAPFILE"},
	{"printf", "v:", "", "v", false, false, NULL, NULL},
	{"wait", "fnp:", "", "p", false, false, NULL, NULL},
	{"hash", "dlp:rt", "p", "", false, false, "hash", NULL},
	{"enable", "adnpsf:", "f", "", false, false, "enable-file", NULL},
	{"compgen", "abcdefgjksuvo:A:G:W:P:S:X:F:C:", "FC", "", false, false, "eval-callback",
         NULL},
	{"complete", "abcdefgjksuvprDEIo:A:G:W:P:S:X:F:C:", "FC", "", false, false, "eval-callback",
         NULL},
	{"bind", "lpsvPSVXf:q:u:m:r:x:", "xf", "", false, false, "eval-callback", NULL},
};

#define OPTION_MAX 32

static struct shell_option_grammar grammar_of(const char *options, struct shell_option *list,
                                              char (*names)[3])
{
	size_t n = 0;

	for (const char *o = options; *o && n < OPTION_MAX; o++) {
		if (*o == ':') {
			list[n - 1].value = SHELL_OPTION_VALUE;
			continue;
		}
		names[n][0] = '-';
		names[n][1] = *o;
		names[n][2] = '\0';
		list[n] = (struct shell_option){.name = names[n]};
		n++;
	}
	return (struct shell_option_grammar){.options = list, .count = n};
}

/* A word list is expanded: compgen -W '$(id)'. */
static void word_list(struct shell_pass *p, const struct shell_fact_word *value)
{
	if (!pass_word_known(value) || strpbrk(value->text.bytes, "$`<>"))
		pass_opaque(p, value->range, "a word list is expanded", "eval-wordlist");
}

static void rule_option(struct shell_pass *p, const struct rule *rule,
                        const struct shell_option_scan *s)
{
	char letter = s->option->name[1];

	if (strchr(rule->run, letter))
		pass_opaque(p, s->words[s->word].range, "it runs or loads what it is given", "%s",
		            rule->effect);
	if (strchr(rule->variable, letter))
		name_written(p, &s->value, letter == 'a');
	if (letter == 'W' && s->has_value)
		word_list(p, &s->value);
}

/* Whether a word that could be an option surely is none. */
static bool is_no_option(struct shell_pass *p, const struct shell_fact_word *w)
{
	return w->node && pass_word_is_plain(p, w->node, eval_subscript);
}

static void run_rule(struct shell_pass *p, const struct pass_call *call, const struct rule *rule)
{
	struct shell_option list[OPTION_MAX];
	char names[OPTION_MAX][3];
	struct shell_option_grammar grammar = grammar_of(rule->options, list, names);
	struct shell_option_scan s;
	bool operand = false;

	shell_option_start(&s, &grammar, call->words, call->word_count);
	for (;;) {
		switch (shell_option_next(&s)) {
		case SHELL_OPTION_END:
			if (rule->without && !operand)
				pass_write(
					p,
					(struct shell_text){rule->without, strlen(rule->without)},
					PASS_WORTH_OTHER);
			return;
		case SHELL_OPTION_FOUND:
			rule_option(p, rule, &s);
			break;
		case SHELL_OPTION_OPERAND:
			operand = true;
			if (!rule->operands)
				return;
			name_written(p, &call->words[s.word], rule->array);
			break;
		case SHELL_OPTION_UNKNOWN:
			return; /* bash refuses it before it does anything */
		case SHELL_OPTION_UNCERTAIN:
			if (rule->operands || !is_no_option(p, &call->words[s.word]))
				evaluates(p, call->words[s.word].range);
			return;
		}
	}
}

static void enabled(struct shell_pass *p, const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++)
		if (pass_word_known(&call->words[i]) && call->words[i].text.bytes[0] != '-')
			pass_effect(p, call->range, "enable:%s", call->words[i].text.bytes);
}

/* test and [ */

static bool is_binary(struct shell_text op)
{
	static const char *const ops[] = {"=",   "==",  "!=",  "<",   ">",   "-eq", "-ne", "-lt",
	                                  "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a",  "-o"};

	for (size_t i = 0; i < array_size(ops); i++)
		if (pass_text_is(op, ops[i]))
			return true;
	return false;
}

/* Whether the word can come out as -v. */
static bool may_be_v(struct shell_pass *p, const struct shell_fact_word *w)
{
	switch (w->kind) {
	case SHELL_VALUE_KNOWN:
		return pass_text_is(w->text, "-v") || pass_text_is(w->text, "-R");
	case SHELL_VALUE_GLOB:
		return fnmatch(w->pattern.bytes, "-v", 0) == 0 ||
		       fnmatch(w->pattern.bytes, "-R", 0) == 0;
	case SHELL_VALUE_ONE:
		if (w->text.len > 2 || (w->text.len && w->text.bytes[0] != '-'))
			return false;
		break;
	case SHELL_VALUE_MANY:
		break; /* words behind the first can be anything */
	}
	return !(w->node && pass_word_is_plain(p, w->node, eval_subscript));
}

static void test(struct shell_pass *p, const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];
		const struct shell_fact_word *next = i + 1 < call->word_count ? w + 1 : NULL;

		if (!may_be_v(p, w))
			continue;
		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB) {
			evaluates(p, w->range);
			return;
		}
		if (!next || (pass_word_known(next) && is_binary(next->text)))
			continue;
		/* Behind an operand that can be no operator, a word is compared, not evaluated. */
		if (pass_word_known(next)
		            ? !memchr(next->text.bytes, '[', next->text.len) || next->text.len == 1
		            : !may_be_v(p, w))
			continue;
		evaluates(p, w->range);
	}
}

/* Builtins with ways of their own */

static void let(struct shell_pass *p, const struct pass_call *call)
{
	size_t sure = p->sure_count;

	/* All words are expanded before the first is evaluated. */
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (pass_word_known(w))
			continue;
		if (w->node && w->kind == SHELL_VALUE_ONE)
			pass_arith(p, w->node);
		else
			pass_opaque(p, w->range, "an expression that is not known is evaluated",
			            "eval-arith");
		p->sure_count = sure;
	}
	for (size_t i = 1; i < call->word_count; i++)
		if (pass_word_known(&call->words[i]))
			pass_arith_text(p, call->words[i].text, call->words[i].range);
}

static void unset_name(struct shell_pass *p, const struct shell_fact_word *w)
{
	struct pass_variable *v;

	if (!pass_word_known(w) || !pass_name_is_safe(w->text)) {
		evaluates(p, w->range);
		return;
	}
	v = pass_variable(p, pass_text(p, w->text.bytes, strcspn(w->text.bytes, "[")));
	if (v)
		v->unsetted = true;
	if (pass_text_is(w->text, "PATH"))
		p->counts_other = true;
	/* Without a flag a function of the name goes if there is no such variable. */
	p->function_unset = true;
}

static void unset(struct shell_pass *p, const struct pass_call *call)
{
	bool functions = false;

	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (pass_word_known(w) && w->text.len > 1 && w->text.bytes[0] == '-') {
			functions |= memchr(w->text.bytes, 'f', w->text.len) != NULL;
			continue;
		}
		if (functions)
			p->function_unset = true;
		else
			unset_name(p, w);
	}
}

static void getopts(struct shell_pass *p, const struct pass_call *call)
{
	static const struct shell_text optarg = {"OPTARG", 6}, optind = {"OPTIND", 6};

	for (size_t i = 1; i < 3 && i < call->word_count; i++) {
		if (call->words[i].kind == SHELL_VALUE_MANY ||
		    call->words[i].kind == SHELL_VALUE_GLOB) {
			evaluates(p, call->words[i].range);
			return;
		}
	}
	if (call->word_count > 2)
		name_written(p, &call->words[2], false);
	pass_write(p, optarg, PASS_WORTH_OTHER);
	pass_write(p, optind, PASS_WORTH_NUMBER);
}

static void alias(struct shell_pass *p, const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];
		size_t n = strcspn(w->text.bytes, "=");

		if (pass_word_known(w) && n == w->text.len)
			continue; /* shows one */
		p->alias = true;
		pass_effect(p, w->range, "alias:%.*s", (int)n, w->text.bytes);
	}
	if (p->alias && p->posix)
		p->alias_on = true; /* other shells expand them in scripts too */
}

static void changes_reading(struct shell_pass *p, const struct shell_fact_word *w)
{
	p->facts->changes_reading = true;
	pass_opaque(p, w->range, "it changes how later words are read", "set:%s", w->text.bytes);
}

/* Shell options that change what the text means. ON: set, not unset. */
static void shell_option(struct shell_pass *p, const struct shell_fact_word *w, bool on)
{
	static const char *const meaning[] = {"keyword", "history", "histexpand", "compat31",
	                                      "compat32"};

	if (!pass_word_known(w)) {
		pass_opaque(p, w->range, "an option of the shell is not known", "set-dynamic");
		return;
	}
	for (size_t i = 0; on && i < array_size(meaning); i++)
		if (pass_text_is(w->text, meaning[i]))
			changes_reading(p, w);
	if (!on && (pass_text_is(w->text, "braceexpand") || pass_text_is(w->text, "extquote")))
		changes_reading(p, w);
	p->nocaseglob |= on && pass_text_is(w->text, "nocaseglob");
	p->extglob |= on && pass_text_is(w->text, "extglob");
	if (on && (pass_text_is(w->text, "posix") || pass_text_is(w->text, "expand_aliases")))
		p->alias_on = true;
	p->posix_mode |= on && pass_text_is(w->text, "posix");
	if (on && pass_text_is(w->text, "xtrace"))
		p->trace = true;
}

static void set_letter(struct shell_pass *p, char letter, bool on, struct shell_range range)
{
	struct shell_fact_word name = {.range = range};

	if (letter == 'x')
		name.text = (struct shell_text){"xtrace", 6};
	else if (letter == 'k')
		name.text = (struct shell_text){"keyword", 7};
	else if (letter == 'B')
		name.text = (struct shell_text){"braceexpand", 11};
	else if (letter == 'H')
		name.text = (struct shell_text){"histexpand", 10};
	else
		return;
	shell_option(p, &name, on);
}

static void set(struct shell_pass *p, const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];
		bool on = w->text.len && w->text.bytes[0] == '-';

		if (!pass_word_known(w) && (!w->text.len || on || w->text.bytes[0] == '+')) {
			if (w->text.len || !is_no_option(p, w))
				pass_opaque(p, w->range, "an option of the shell is not known",
				            "set-dynamic");
			return;
		}
		if (w->text.len < 2 || (!on && w->text.bytes[0] != '+') ||
		    pass_text_is(w->text, "--"))
			return; /* positional parameters follow */
		for (size_t k = 1; k < w->text.len; k++) {
			if (w->text.bytes[k] != 'o')
				set_letter(p, w->text.bytes[k], on, w->range);
			else if (i + 1 < call->word_count)
				shell_option(p, &call->words[++i], on);
		}
	}
}

static void shopt(struct shell_pass *p, const struct pass_call *call)
{
	bool on = false, off = false;

	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (pass_word_known(w) && w->text.len > 1 && w->text.bytes[0] == '-') {
			on |= memchr(w->text.bytes, 's', w->text.len) != NULL;
			off |= memchr(w->text.bytes, 'u', w->text.len) != NULL;
			continue;
		}
		if (on || off || !pass_word_known(w))
			shell_option(p, w, on || !off);
	}
}

static void trap(struct shell_pass *p, const struct pass_call *call)
{
	size_t i = 1, sure = p->sure_count;
	char signals[256] = "";

	if (i < call->word_count && pass_word_known(&call->words[i]) &&
	    pass_text_is(call->words[i].text, "--"))
		i++;
	else if (i < call->word_count && pass_word_known(&call->words[i]) &&
	         call->words[i].text.len > 1 && call->words[i].text.bytes[0] == '-')
		return; /* -l, -p */
	if (i < call->word_count && call->words[i].kind != SHELL_VALUE_KNOWN) {
		pass_opaque(p, call->words[i].range, "code that is not known runs later",
		            "trap-dynamic");
		return;
	}
	/* trap SIGNAL, trap 2 3, trap - ... and trap '' ... hold no code. */
	if (i + 1 >= call->word_count || !call->words[i].text.len ||
	    pass_text_is(call->words[i].text, "-") ||
	    strspn(call->words[i].text.bytes, "0123456789") == call->words[i].text.len)
		return;
	for (size_t k = i + 1; k < call->word_count; k++) {
		size_t used = strlen(signals);

		if (used + call->words[k].text.len + 2 < sizeof(signals)) {
			if (used)
				signals[used++] = ',';
			memcpy(signals + used, call->words[k].text.bytes,
			       call->words[k].text.len + 1);
		}
	}
	pass_effect(p, call->range, "trap:%s", signals);
	pass_code(p, call->words[i].text, "trap", p->posix, PASS_SAME_PROCESS,
	          call->words[i].range);
	p->sure_count = sure;
}

static void eval(struct shell_pass *p, const struct pass_call *call)
{
	size_t from = 1;

	if (call->word_count > 1 && pass_word_known(&call->words[1]) &&
	    pass_text_is(call->words[1].text, "--"))
		from++;
	if (call->word_count > from)
		pass_eval(p, call, from);
}

static void source(struct shell_pass *p, const struct pass_call *call)
{
	const struct shell_fact_word *w;
	size_t i = 1;

	if (i < call->word_count && pass_word_known(&call->words[i]) &&
	    pass_text_is(call->words[i].text, "--"))
		i++;
	if (i >= call->word_count)
		return;
	w = &call->words[i];
	if (pass_word_known(w))
		pass_opaque(p, w->range, "a file is run in the shell", "source:%s", w->text.bytes);
	else
		pass_opaque(p, w->range, "a file is run in the shell", "source-dynamic");
	pass_download(p, w);
}

static void fc(struct shell_pass *p, const struct pass_call *call)
{
	if (call->word_count > 1 && pass_word_known(&call->words[1]) &&
	    call->words[1].text.bytes[0] == '-' &&
	    memchr(call->words[1].text.bytes, 'l', call->words[1].text.len))
		return;
	pass_opaque(p, call->range, "a command of the history runs", "history");
}

static void wrap(struct shell_pass *p, const struct pass_call *call)
{
	pass_wrapper(p, call, call->words[0].text.bytes);
}

static const struct {
	const char *name;
	void (*run)(struct shell_pass *p, const struct pass_call *call);
} own[] = {
	{"[", test},          {"test", test},    {"let", let},       {"unset", unset},
	{"getopts", getopts}, {"alias", alias},  {"set", set},       {"shopt", shopt},
	{"trap", trap},       {"eval", eval},    {"source", source}, {".", source},
	{"fc", fc},           {"command", wrap}, {"builtin", wrap},  {"exec", wrap},
	{"jobs", wrap},
};

bool pass_builtin(struct shell_pass *p, const struct pass_call *call)
{
	const char *name = call->words[0].text.bytes;

	if (pass_declare(p, call))
		return true;
	for (size_t i = 0; i < array_size(own); i++) {
		if (name_is(own[i].name, name)) {
			own[i].run(p, call);
			return true;
		}
	}
	for (size_t i = 0; i < array_size(rules); i++) {
		if (name_is(rules[i].name, name)) {
			run_rule(p, call, &rules[i]);
			if (strcmp(name, "enable") == 0)
				enabled(p, call);
			return true;
		}
	}
	return false;
}
