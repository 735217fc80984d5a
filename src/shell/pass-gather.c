/*
 * Wrappers that build the words of the command they run: xargs, find -exec, env -S.
 */
#include "shell/pass.h"

#include <fnmatch.h>
#include <string.h>
#include "base/cleanup.h"
#include "shell/wrappers.h"

static void unknown(struct shell_pass *p, const struct pass_call *call)
{
	pass_opaque(p, call->range, "the command that it runs cannot be told", "wrapper-dynamic");
}

/* Each occurrence of MARK in a word becomes something unknown. */
static void replace_mark(struct shell_fact_word *w, struct shell_text mark)
{
	const char *found;

	if (!mark.len)
		return;
	found = memmem(w->text.bytes, w->text.len, mark.bytes, mark.len);
	if (!found)
		return;
	if (pass_word_known(w))
		w->kind = SHELL_VALUE_ONE;
	w->text.len = (size_t)(found - w->text.bytes);
	w->node = NULL;
}

static struct shell_fact_word *copy_words(struct shell_pass *p, const struct pass_call *call,
                                          size_t from, size_t n, size_t more)
{
	struct shell_fact_word *words;

	if (!pass_spend_words(p, n + more))
		return NULL;
	words = pass_alloc(p, sizeof(*words), n + more);
	if (words && n)
		memcpy(words, call->words + from, n * sizeof(*words));
	return words;
}

/* Texts are NUL-terminated; a shortened beginning has to be copied. */
static void terminate(struct shell_pass *p, struct shell_fact_word *w)
{
	if (w->text.bytes[w->text.len] != '\0')
		w->text = pass_text(p, w->text.bytes, w->text.len);
}

static void run_xargs(struct shell_pass *p, const struct pass_call *call, size_t at,
                      struct shell_text mark, bool appends)
{
	static const struct shell_fact_word echo = {.text = {"echo", 4}};
	size_t n = at ? call->word_count - at : 0;
	struct shell_fact_word *words = copy_words(p, call, at, n, 2);

	if (!words)
		return;
	if (!n)
		words[n++] = echo;
	for (size_t i = 0; i < n && mark.len; i++) {
		replace_mark(&words[i], mark);
		terminate(p, &words[i]);
	}
	if (!mark.len || appends)
		words[n++] = (struct shell_fact_word){
			.kind = SHELL_VALUE_MANY, .text = {"", 0}, .range = call->range};
	pass_inner_words(p, call, "wrapper:xargs", words, n);
}

/* Behind -I these take it back, but not always (-n1 does not): both are allowed for. */
static bool takes_groups(const char *option)
{
	static const char *const names[] = {"-L", "-l", "-n", "--max-lines", "--max-args"};

	for (size_t i = 0; i < array_size(names); i++)
		if (!strcmp(option, names[i]))
			return true;
	return false;
}

void pass_xargs(struct shell_pass *p, const struct pass_call *call)
{
	static const struct shell_text braces = {"{}", 2};
	struct shell_text mark = {"", 0};
	struct shell_option_scan s;
	bool appends = false;

	shell_option_start(&s, &shell_wrapper_find("xargs")->grammar, call->words,
	                   call->word_count);
	for (;;) {
		switch (shell_option_next(&s)) {
		case SHELL_OPTION_END:
			run_xargs(p, call, 0, mark, appends);
			return;
		case SHELL_OPTION_OPERAND:
			run_xargs(p, call, s.word, mark, appends);
			return;
		case SHELL_OPTION_FOUND:
			if (s.option->mark == SHELL_OPTION_MARK_QUERY)
				return;
			appends = appends || takes_groups(s.option->name);
			if (strcmp(s.option->name, "-I") != 0 &&
			    strcmp(s.option->name, "-i") != 0 &&
			    strcmp(s.option->name, "--replace") != 0)
				break;
			if (s.has_value && (!pass_word_known(&s.value) || !s.value.text.len)) {
				unknown(p, call);
				return;
			}
			mark = s.has_value ? s.value.text : braces;
			appends = false;
			break;
		case SHELL_OPTION_UNKNOWN:
			pass_opaque(p, call->words[s.word].range,
			            "an option that is not known may change what runs",
			            "wrapper-option:xargs");
			return;
		case SHELL_OPTION_UNCERTAIN:
			unknown(p, call);
			return;
		}
	}
}

static bool is_exec(const struct shell_fact_word *w)
{
	return pass_word_known(w) &&
	       (pass_text_is(w->text, "-exec") || pass_text_is(w->text, "-execdir") ||
	        pass_text_is(w->text, "-ok") || pass_text_is(w->text, "-okdir"));
}

static bool may_be_exec(struct shell_pass *p, const struct shell_fact_word *w)
{
	static const char *const names[] = {"-exec", "-execdir", "-ok", "-okdir"};

	if (pass_word_known(w))
		return false;
	if (w->text.len && w->text.bytes[0] != '-' && w->kind != SHELL_VALUE_MANY)
		return false;
	if (w->kind != SHELL_VALUE_GLOB)
		return !pass_word_is_plain(p, w->node, "wrapper-dynamic");
	for (size_t i = 0; i < array_size(names); i++)
		if (fnmatch(w->pattern.bytes, names[i], 0) == 0)
			return true;
	return false;
}

/* The index of the ; or + that ends the command that begins at FROM; the count if there is none. */
static size_t find_end(const struct pass_call *call, size_t from, bool *ret_plus, bool *ret_many)
{
	size_t i;

	*ret_plus = *ret_many = false;
	for (i = from; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB)
			*ret_many = true;
		if (!pass_word_known(w))
			continue;
		if (pass_text_is(w->text, ";"))
			return i;
		*ret_plus = pass_text_is(w->text, "+") && i > from &&
		            pass_word_known(&call->words[i - 1]) &&
		            pass_text_is(call->words[i - 1].text, "{}");
		if (*ret_plus)
			return i;
	}
	return i;
}

static bool is_one(const struct shell_fact_word *w)
{
	return pass_word_known(w) || w->kind == SHELL_VALUE_ONE;
}

/* How many words behind this one belong to it, whatever they look like. */
static size_t find_values(const struct shell_fact_word *w)
{
	static const char *const one[] = {
		"-D",       "-amin",       "-anewer",    "-atime",     "-cmin",     "-cnewer",
		"-context", "-ctime",      "-fls",       "-fprint",    "-fprint0",  "-fstype",
		"-gid",     "-group",      "-ilname",    "-iname",     "-inum",     "-ipath",
		"-iregex",  "-iwholename", "-links",     "-lname",     "-maxdepth", "-mindepth",
		"-mmin",    "-mtime",      "-name",      "-newer",     "-path",     "-perm",
		"-printf",  "-regex",      "-regextype", "-samefile",  "-size",     "-type",
		"-uid",     "-used",       "-user",      "-wholename", "-xtype",    "-files0-from",
	};

	if (!pass_word_known(w))
		return 0;
	if (pass_text_is(w->text, "-fprintf"))
		return 2;
	for (size_t i = 0; i < array_size(one); i++)
		if (pass_text_is(w->text, one[i]))
			return 1;
	/* -newerXY */
	return w->text.len == strlen("-newerXY") && !strncmp(w->text.bytes, "-newer", 6);
}

void pass_find(struct shell_pass *p, const struct pass_call *call)
{
	static const struct shell_text braces = {"{}", 2};
	bool plus, many, open = false;

	for (size_t i = 1; i < call->word_count && pass_ok(p); i++) {
		struct shell_fact_word *words;
		size_t end, n;

		/* An unknown word can be -exec; it needs an end, or must bring its own. */
		if (may_be_exec(p, &call->words[i])) {
			open = true;
			if (call->words[i].kind != SHELL_VALUE_ONE)
				unknown(p, call);
		}
		if (open && pass_word_known(&call->words[i]) &&
		    (pass_text_is(call->words[i].text, ";") ||
		     pass_text_is(call->words[i].text, "+")))
			unknown(p, call);
		if (!is_exec(&call->words[i])) {
			for (n = find_values(&call->words[i]);
			     n && i + 1 < call->word_count && is_one(&call->words[i + 1]); n--)
				i++;
			continue;
		}
		/* A word in front of it that is not known may have taken the first as its value. */
		if (i + 1 < call->word_count && is_exec(&call->words[i + 1]))
			unknown(p, call);
		end = find_end(call, i + 1, &plus, &many);
		n = end - (i + 1);
		if (many)
			unknown(p, call); /* the end may come earlier, and another -exec */
		if (end == call->word_count || !n)
			return; /* find refuses it */
		words = copy_words(p, call, i + 1, n, 0);
		if (!words)
			return;
		for (size_t k = 0; k < n; k++) {
			replace_mark(&words[k], braces);
			terminate(p, &words[k]);
		}
		if (plus)
			words[n - 1].kind = SHELL_VALUE_MANY;
		pass_inner_words(p, call, "find:-exec", words, n);
		i = end;
	}
}

/* env -S */

struct splitter {
	struct shell_pass *p;
	const char *s;
	size_t n, at;
	char *out; /* as large as the string */
	size_t used;
};

static const char env_blanks[] = " \t\n\f\r\v";

/* Unquoted \_ parts words as a blank does. */
static size_t blank_at(const struct splitter *c)
{
	if (c->at >= c->n)
		return 0;
	if (strchr(env_blanks, c->s[c->at]))
		return 1;
	return c->s[c->at] == '\\' && c->at + 1 < c->n && c->s[c->at + 1] == '_' ? 2 : 0;
}

/* One character behind a backslash; false: env refuses it, or it is no plain text. */
static bool split_escape(struct splitter *c, bool *end_of_all, bool quoted)
{
	static const char from[] = "fnrtv#$\\\"'_", to[] = "\f\n\r\t\v#$\\\"' ";
	const char *found;
	char e;

	if (c->at >= c->n)
		return false;
	e = c->s[c->at++];
	if (e == 'c' && !quoted) {
		*end_of_all = true;
		return true;
	}
	found = e ? strchr(from, e) : NULL;
	if (!found)
		return false;
	c->out[c->used++] = to[found - from];
	return true;
}

/* In single quotes a backslash quotes only itself and the quote. */
static bool is_literal(const struct splitter *c, char b, char quote)
{
	char next = '\0';

	if (b != '\\')
		return true;
	if (c->at < c->n)
		next = c->s[c->at];
	return quote == '\'' && next != '\\' && next != '\'';
}

/* The next word; *ret_any is false at the end of the string. */
static bool split_word(struct splitter *c, struct shell_text *ret, bool *ret_any)
{
	bool end_of_all = false;
	char quote = '\0';
	size_t start, begin;

	*ret_any = false;
	while (blank_at(c))
		c->at += blank_at(c);
	if (c->at >= c->n || c->s[c->at] == '#')
		return true;
	start = c->used;
	begin = c->at;
	while (c->at < c->n && !end_of_all && (quote || !blank_at(c))) {
		char b = c->s[c->at++];

		if (b == '$' && quote != '\'')
			return false; /* ${NAME} comes from the environment */
		if (quote && b == quote)
			quote = '\0';
		else if (!quote && (b == '"' || b == '\''))
			quote = b;
		else if (is_literal(c, b, quote))
			c->out[c->used++] = b;
		else if (!split_escape(c, &end_of_all, quote != '\0'))
			return false;
	}
	if (quote)
		return false;
	if (end_of_all && c->at - begin == strlen("\\c")) { /* it does not begin a word */
		c->at = c->n;
		return true;
	}
	if (end_of_all)
		c->at = c->n;
	*ret = pass_text(c->p, c->out + start, c->used - start);
	*ret_any = true;
	return true;
}

/* "env" and the words of STRING, then the words of the call from REST on, read again. */
static void env_split(struct shell_pass *p, const struct pass_call *call, struct shell_text string,
                      size_t rest)
{
	struct splitter c = {.p = p, .s = string.bytes, .n = string.len};
	struct pass_place here = pass_here(p);
	struct pass_call again = *call;
	struct shell_fact_word *words =
		copy_words(p, call, 0, 0, call->word_count + string.len / 2 + 2);
	size_t count = 1;
	bool any = true;

	c.out = pass_alloc(p, 1, string.len + 1);
	if (!words || !c.out)
		return;
	words[0] = call->words[0];
	for (;;) {
		struct shell_fact_word w = {.range = call->range};

		if (!split_word(&c, &w.text, &any)) {
			unknown(p, call);
			return;
		}
		if (!any)
			break;
		words[count++] = w;
	}
	for (size_t i = rest; i < call->word_count; i++)
		words[count++] = call->words[i];
	again.words = words;
	again.word_count = count;
	if (pass_enter(p, NULL))
		pass_env(p, &again);
	pass_back(p, here);
}

void pass_env(struct shell_pass *p, const struct pass_call *call)
{
	struct shell_option_scan s;

	shell_option_start(&s, &shell_wrapper_find("env")->grammar, call->words, call->word_count);
	for (;;) {
		switch (shell_option_next(&s)) {
		case SHELL_OPTION_END:
			return;
		case SHELL_OPTION_OPERAND:
			if (pass_word_known(&call->words[s.word]) &&
			    pass_text_is(call->words[s.word].text, "-"))
				s.word++; /* as -i */
			if (!pass_env_operands(p, call, s.word))
				unknown(p, call);
			return;
		case SHELL_OPTION_FOUND:
			if (s.option->mark == SHELL_OPTION_MARK_QUERY)
				return;
			if (strcmp(s.option->name, "-S") != 0 &&
			    strcmp(s.option->name, "--split-string") != 0)
				break;
			if (pass_word_known(&s.value))
				env_split(p, call, s.value.text, s.at);
			else
				unknown(p, call);
			return;
		case SHELL_OPTION_UNKNOWN:
			pass_opaque(p, call->words[s.word].range,
			            "an option that is not known may change what runs",
			            "wrapper-option:env");
			return;
		case SHELL_OPTION_UNCERTAIN:
			unknown(p, call);
			return;
		}
	}
}
