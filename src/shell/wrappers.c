/*
 * A wrapper is read in three steps: its options, by the table (data/wrappers.tsv); the operands
 * before the command; then what is left, as words of a command or as code for a shell. What is
 * found there is analysed as if it stood in the line itself. If any step cannot tell which word is
 * the command, the facts become opaque.
 */
#include "shell/wrappers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/name.h"
#include "shell/pass.h"

const struct shell_wrapper *shell_wrapper_find(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (slash)
		name = slash + 1;
	if (name[0] == 'l' && name[1] == 'd' &&
	    (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0) &&
	    strstr(name, ".so"))
		name = "ld.so";
	for (uint32_t at = name_hash(name);; at++) {
		uint16_t slot = shell_wrapper_slots.slots[at & shell_wrapper_slots.mask];

		if (!slot)
			return NULL;
		if (name_is(shell_wrappers[slot - 1].name, name))
			return &shell_wrappers[slot - 1];
	}
}

static void unknown(struct shell_pass *p, const struct pass_call *call)
{
	pass_opaque(p, call->range, "the command that it runs cannot be told", "wrapper-dynamic");
}

void pass_inner_words(struct shell_pass *p, const struct pass_call *call, const char *step,
                      struct shell_fact_word *words, size_t count)
{
	struct pass_place here = pass_here(p);
	struct pass_call inner = {
		.words = words,
		.word_count = count,
		.lookup = PASS_LOOKUP_EXTERNAL,
		.redirects = call->redirects,
		.range = call->range,
	};

	if (pass_enter(p, step))
		pass_call(p, &inner);
	pass_back(p, here);
}

void pass_inner(struct shell_pass *p, const struct pass_call *call, const char *name, size_t from,
                enum pass_lookup lookup)
{
	struct pass_place here = pass_here(p);
	struct pass_call inner = *call;
	char step[64];

	snprintf(step, sizeof(step), "wrapper:%s", name);
	inner.words += from;
	inner.word_count -= from;
	inner.listed = NULL;
	inner.listed_count = 0;
	inner.lookup = lookup;
	if (pass_enter(p, step))
		pass_call(p, &inner);
	pass_back(p, here);
}

/* NAME=VALUE words in front of a command, as env and sudo take them. */
static bool take_assign(struct shell_pass *p, const struct shell_fact_word *w,
                        struct shell_fact_assign *ret)
{
	const char *equals = memchr(w->text.bytes, '=', w->text.len);
	bool known = pass_word_known(w);
	size_t n;

	if (!equals || (w->kind != SHELL_VALUE_KNOWN && w->kind != SHELL_VALUE_ONE))
		return false;
	n = (size_t)(equals - w->text.bytes);
	*ret = (struct shell_fact_assign){.name = pass_text(p, w->text.bytes, n), .value = *w};
	ret->value.text.bytes += n + 1;
	ret->value.text.len -= n + 1;
	ret->value.node = NULL;
	pass_assigned(p, ret->name, &ret->value, w->range);
	pass_write(p, ret->name, known ? pass_worth_of_text(ret->value.text) : PASS_WORTH_OTHER);
	return true;
}

/* The words at *AT that are assignments; *AT is moved behind them. */
static void take_assigns(struct shell_pass *p, struct pass_call *call, size_t *at)
{
	struct shell_fact_assign *list;
	size_t n = 0;

	for (size_t i = *at; i < call->word_count; i++) {
		if (!memchr(call->words[i].text.bytes, '=', call->words[i].text.len))
			break;
		n++;
	}
	call->assigns = NULL;
	call->assign_count = 0;
	list = n ? pass_alloc(p, sizeof(*list), n) : NULL;
	if (!list)
		return;
	for (; n && take_assign(p, &call->words[*at], &list[call->assign_count]); n--, ++*at)
		if (pass_name_is_safe(list[call->assign_count].name))
			call->assign_count++; /* any other is no variable to a shell */
	call->assigns = list;
}

struct reading { /* of the words of one wrapper */
	const struct shell_wrapper *wrapper;
	const char *name;
	bool query, form, context, user;
	bool has_code;
	struct shell_fact_word code;
	size_t operand; /* index of the first operand; 0: none */
	size_t operands;
};

static bool is_command_log(const struct shell_fact_word *value)
{
	return value->text.len ? value->text.bytes[0] == '|' || value->text.bytes[0] == '!'
	                       : !pass_word_known(value);
}

/* Others read the code in another way, or start-up files first. */
static bool is_plain_shell(const struct shell_fact_word *w)
{
	struct shell_text base = pass_basename(w->text);

	return pass_word_known(w) && (pass_text_is(base, "sh") || pass_text_is(base, "bash") ||
	                              pass_text_is(base, "dash") || pass_text_is(base, "ash"));
}

static void note_option(struct shell_pass *p, const struct pass_call *call, struct reading *r,
                        const struct shell_option_scan *s)
{
	r->query |= s->option->mark == SHELL_OPTION_MARK_QUERY;
	r->form |= s->option->mark == SHELL_OPTION_MARK_FORM;
	r->context = true;
	r->user |= strcmp(s->option->name, "-u") == 0 || strcmp(s->option->name, "--user") == 0;
	if (r->wrapper->form == SHELL_FORM_CODE && r->wrapper->before == SHELL_WRAPPER_USER &&
	    (strcmp(s->option->name, "-s") == 0 || strcmp(s->option->name, "--shell") == 0) &&
	    !is_plain_shell(&s->value))
		pass_opaque(p, call->range, "another program reads the code", "wrapper-code");
	if (s->option->mark == SHELL_OPTION_MARK_CODE) {
		r->has_code = true;
		r->code = s->value;
	}
	if (r->wrapper->form == SHELL_FORM_STRACE && strcmp(s->option->name, "-o") == 0 &&
	    is_command_log(&s->value))
		pass_opaque(p, call->range, "the log goes to a command", "wrapper-code");
}

/* Reads options and finds the first operand; false: it cannot be told, and has been said. */
static bool read_options(struct shell_pass *p, const struct pass_call *call, struct reading *r)
{
	struct shell_option_grammar grammar = r->wrapper->grammar;
	struct shell_option_scan s;

	grammar.permute = r->wrapper->before == SHELL_WRAPPER_USER;
	shell_option_start(&s, &grammar, call->words, call->word_count);
	if (r->wrapper->before == SHELL_WRAPPER_ARCH && call->word_count > 1 &&
	    pass_word_known(&call->words[1]) && call->words[1].text.bytes[0] != '-')
		s.at = 2;
	for (;;) {
		switch (shell_option_next(&s)) {
		case SHELL_OPTION_END:
			return true;
		case SHELL_OPTION_FOUND:
			note_option(p, call, r, &s);
			if (r->query)
				return true;
			break;
		case SHELL_OPTION_OPERAND:
			if (grammar.permute && pass_word_known(&call->words[s.word]) &&
			    pass_text_is(call->words[s.word].text, "-"))
				break;
			if (!r->operand)
				r->operand = s.word;
			r->operands++;
			if (!grammar.permute || (r->user && strcmp(r->name, "runuser") == 0))
				return true;
			break;
		case SHELL_OPTION_UNKNOWN:
			pass_opaque(p, call->words[s.word].range,
			            "an option that is not known may change what runs",
			            "wrapper-option:%s", r->name);
			return false;
		case SHELL_OPTION_UNCERTAIN:
			unknown(p, call);
			return false;
		}
	}
}

static void run_code(struct shell_pass *p, const struct shell_fact_word *code, const char *name)
{
	struct pass_place here = pass_here(p);
	char step[64];

	p->shell_used = true;
	snprintf(step, sizeof(step), "wrapper:%s", name);
	if (pass_enter(p, step))
		pass_code_word(p, code, "shell-c", "shell-c-dynamic");
	pass_back(p, here);
}

/* flock FILE -c CODE starts /bin/sh -c CODE. */
static bool flock_code(struct shell_pass *p, const struct pass_call *call, size_t at)
{
	struct shell_fact_word *words;

	if (at >= call->word_count || !pass_word_known(&call->words[at]) ||
	    (!pass_text_is(call->words[at].text, "-c") &&
	     !pass_text_is(call->words[at].text, "--command")))
		return false;
	if (at + 1 >= call->word_count)
		return true;
	p->shell_used = true;
	words = pass_alloc(p, sizeof(*words), 3);
	if (!words)
		return true;
	words[0] = (struct shell_fact_word){.text = {"/bin/sh", 7}, .range = call->range};
	words[1] = (struct shell_fact_word){.text = {"-c", 2}, .range = call->range};
	words[2] = call->words[at + 1];
	pass_inner_words(p, call, "wrapper:flock", words, 3);
	return true;
}

static void replace_words(struct shell_pass *p, const struct pass_call *call, size_t from,
                          const char *step)
{
	size_t n = call->word_count - from;
	struct shell_fact_word *words = pass_alloc(p, sizeof(*words), n);

	if (!words)
		return;
	for (size_t i = 0; i < n; i++) {
		words[i] = call->words[from + i];
		if (pass_word_known(&words[i]) && pass_text_is(words[i].text, "/_")) {
			words[i].kind = SHELL_VALUE_ONE;
			words[i].text = (struct shell_text){"", 0};
		}
	}
	pass_inner_words(p, call, step, words, n);
}

/* watch WORD... starts sh -c "WORD ...". */
static void joined_shell(struct shell_pass *p, const struct pass_call *call, size_t from,
                         const char *step)
{
	struct shell_fact_word *words = pass_alloc(p, sizeof(*words), 3);

	if (!words)
		return;
	words[0] = (struct shell_fact_word){.text = {"sh", 2}, .range = call->range};
	words[1] = (struct shell_fact_word){.text = {"-c", 2}, .range = call->range};
	words[2] = (struct shell_fact_word){.range = call->range};
	if (pass_join(p, call, from, &words[2].text))
		pass_inner_words(p, call, step, words, 3);
	else
		pass_opaque(p, call->range, "code that is not known is run", "shell-c-dynamic");
}

/* sg [-] GROUP [-c] CODE */
static void sg(struct shell_pass *p, const struct pass_call *call)
{
	size_t i = 1;

	for (size_t k = 1; k < call->word_count; k++) {
		if (call->words[k].kind != SHELL_VALUE_KNOWN &&
		    call->words[k].kind != SHELL_VALUE_ONE) {
			unknown(p, call);
			return;
		}
	}
	if (i < call->word_count && pass_text_is(call->words[i].text, "-"))
		i++;
	i++; /* the group */
	if (i < call->word_count && pass_text_is(call->words[i].text, "-c"))
		i++;
	if (i < call->word_count)
		run_code(p, &call->words[i], "sg");
	else
		pass_interactive(p, call, "sg");
}

/* An option of gdb, with one dash or two and cut short or not, that gives it commands. */
static bool gdb_has_commands(const char *option)
{
	static const char *const names[] = {"ex",  "ev",   "iex", "x",    "ix",
	                                    "com", "init", "ei",  "early"};
	const char *name = option + strspn(option, "-");

	for (size_t i = 0; option[0] == '-' && i < array_size(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Behind --args stands a command, which is decided by itself: gdb may run it. */
static bool gdb_is_given_command(const struct pass_call *call, size_t at)
{
	for (; at + 1 < call->word_count; at++)
		if (pass_text_is(call->words[at].text, "--args") ||
		    pass_text_is(call->words[at].text, "-args"))
			return true;
	return false;
}

/* Commands that only look: -ex bt. Others may start a shell, or call any function. */
static bool gdb_only_looks(const struct pass_call *call, size_t at)
{
	static const char *const looks[] = {"bt",
	                                    "bt full",
	                                    "backtrace",
	                                    "backtrace full",
	                                    "where",
	                                    "thread apply all bt",
	                                    "thread apply all bt full",
	                                    "info threads",
	                                    "info registers",
	                                    "info locals",
	                                    "info args",
	                                    "info sharedlibrary",
	                                    "set pagination off",
	                                    "set confirm off",
	                                    "quit"};
	static const char *const moves[] = {"run", "start", "continue", "next", "step", "finish"};

	if (!pass_text_is(call->words[at].text, "-ex") &&
	    !pass_text_is(call->words[at].text, "--ex"))
		return false;
	if (at + 1 >= call->word_count || !pass_word_known(&call->words[at + 1]))
		return false;
	for (size_t i = 0; i < array_size(looks); i++)
		if (pass_text_is(call->words[at + 1].text, looks[i]))
			return true;
	for (size_t i = 0; i < array_size(moves); i++)
		if (pass_text_is(call->words[at + 1].text, moves[i]))
			return gdb_is_given_command(call, at + 2);
	return false;
}

static void gdb(struct shell_pass *p, const struct pass_call *call)
{
	for (size_t i = 1; i < call->word_count; i++) {
		const struct shell_fact_word *w = &call->words[i];

		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB) {
			unknown(p, call);
			return;
		}
		if (!pass_word_known(w))
			continue;
		if (pass_text_is(w->text, "--args") || pass_text_is(w->text, "-args")) {
			if (i + 1 < call->word_count)
				pass_inner(p, call, "gdb", i + 1, PASS_LOOKUP_EXTERNAL);
			return;
		}
		if (gdb_has_commands(w->text.bytes) && !gdb_only_looks(call, i))
			pass_opaque(p, w->range, "its commands may run a shell", "wrapper-code");
	}
}

/* Its operands are jobs, but behind -x a command. */
static void jobs(struct shell_pass *p, const struct pass_call *call)
{
	struct shell_option_scan s;
	bool runs = false;

	shell_option_start(&s, &shell_wrapper_find("jobs")->grammar, call->words, call->word_count);
	for (;;) {
		switch (shell_option_next(&s)) {
		case SHELL_OPTION_FOUND:
			runs |= s.option->mark == SHELL_OPTION_MARK_FORM;
			break;
		case SHELL_OPTION_OPERAND:
			if (runs)
				pass_inner(p, call, "jobs", s.word, PASS_LOOKUP_EXTERNAL);
			return;
		case SHELL_OPTION_UNCERTAIN:
			unknown(p, call);
			return;
		case SHELL_OPTION_UNKNOWN: /* bash refuses it */
		case SHELL_OPTION_END:
			return;
		}
	}
}

/* The operands in front of the command; false: it cannot be told which word is the command. */
static bool skip_before(struct shell_pass *p, struct pass_call *call, struct reading *r)
{
	size_t skip = r->wrapper->before;

	if (r->wrapper->before == SHELL_WRAPPER_ASSIGNS) {
		take_assigns(p, call, &r->operand);
		/* What is left may be another assignment that cannot be seen. */
		return r->operand >= call->word_count ||
		       pass_word_known(&call->words[r->operand]) ||
		       call->words[r->operand].text.len > 0;
	}
	if (r->wrapper->before == SHELL_WRAPPER_CONTEXT)
		skip = r->context ? 0 : 1;
	else if (r->wrapper->before >= SHELL_WRAPPER_ASSIGNS)
		skip = 0;
	for (; skip && r->operand < call->word_count; skip--, r->operand++)
		if (call->words[r->operand].kind == SHELL_VALUE_MANY ||
		    call->words[r->operand].kind == SHELL_VALUE_GLOB)
			return false;
	return true;
}

static enum pass_lookup lookup_of(const struct pass_call *call, const char *name)
{
	if (call->lookup == PASS_LOOKUP_EXTERNAL)
		return PASS_LOOKUP_EXTERNAL;
	if (strcmp(name, "command") == 0)
		return PASS_LOOKUP_NO_FUNCTION;
	return strcmp(name, "builtin") == 0 ? PASS_LOOKUP_BUILTIN : PASS_LOOKUP_EXTERNAL;
}

static void run_operands(struct shell_pass *p, struct pass_call *call, struct reading *r)
{
	char step[64];

	snprintf(step, sizeof(step), "wrapper:%s", r->name);
	switch ((enum shell_wrapper_form)r->wrapper->form) {
	case SHELL_FORM_SHELL:
		if (r->form)
			pass_inner(p, call, r->name, r->operand, PASS_LOOKUP_EXTERNAL);
		else
			joined_shell(p, call, r->operand, step);
		break;
	case SHELL_FORM_WORDS:
		for (size_t i = r->operand; i < call->word_count; i++)
			run_code(p, &call->words[i], r->name);
		break;
	case SHELL_FORM_FLOCK:
		if (!flock_code(p, call, r->operand) && r->operand < call->word_count)
			pass_inner(p, call, r->name, r->operand, PASS_LOOKUP_EXTERNAL);
		break;
	case SHELL_FORM_ENTR:
		if (r->form)
			run_code(p, &call->words[r->operand], r->name);
		else
			replace_words(p, call, r->operand, step);
		break;
	case SHELL_FORM_CODE:
		if (r->user && strcmp(r->name, "runuser") == 0)
			pass_inner(p, call, r->name, r->operand, PASS_LOOKUP_EXTERNAL);
		break;
	case SHELL_FORM_UNKNOWN:
		unknown(p, call);
		break;
	case SHELL_FORM_ARGV:
	case SHELL_FORM_STRACE:
	case SHELL_FORM_ENV:
	case SHELL_FORM_NONE:
	case SHELL_FORM_XARGS:
	case SHELL_FORM_FIND:
	case SHELL_FORM_GDB:
	case SHELL_FORM_SG:
	case SHELL_FORM_JOBS:
		/* sudo -s, -i: the user's shell, which may be any, reads the words once more. */
		if (r->form)
			pass_opaque(p, call->range, "a shell reads the words once more",
			            "wrapper-shell:%s", r->name);
		pass_inner(p, call, r->name, r->operand, lookup_of(call, r->name));
		break;
	}
}

static void run_wrapper(struct shell_pass *p, const struct pass_call *outer, struct reading *r)
{
	struct pass_call call = *outer;

	call.assigns = NULL;
	call.assign_count = 0;
	if (!read_options(p, &call, r) || r->query)
		return;
	if (r->has_code)
		run_code(p, &r->code, r->name);
	if (r->wrapper->before == SHELL_WRAPPER_USER && !r->user && r->operands > 1) {
		unknown(p, &call); /* words for the shell that starts */
		return;
	}
	if (r->operand && !skip_before(p, &call, r)) {
		unknown(p, &call);
		return;
	}
	if (r->operand && r->operand < call.word_count &&
	    (r->wrapper->before != SHELL_WRAPPER_USER || r->user))
		run_operands(p, &call, r);
	else if (!r->has_code && (r->wrapper->without == SHELL_DEFAULT_SHELL || r->form))
		pass_interactive(p, &call, r->name);
}

bool pass_wrapper(struct shell_pass *p, const struct pass_call *call, const char *name)
{
	struct reading r = {.wrapper = shell_wrapper_find(name)};

	if (!r.wrapper)
		return false;
	r.name = r.wrapper->name;
	switch ((enum shell_wrapper_form)r.wrapper->form) {
	case SHELL_FORM_FIND:
		pass_find(p, call);
		break;
	case SHELL_FORM_XARGS:
		pass_xargs(p, call);
		break;
	case SHELL_FORM_ENV:
		pass_env(p, call);
		break;
	case SHELL_FORM_GDB:
		gdb(p, call);
		break;
	case SHELL_FORM_SG:
		sg(p, call);
		break;
	case SHELL_FORM_JOBS:
		if (call->lookup != PASS_LOOKUP_EXTERNAL)
			jobs(p, call);
		break;
	case SHELL_FORM_ARGV:
	case SHELL_FORM_SHELL:
	case SHELL_FORM_WORDS:
	case SHELL_FORM_CODE:
	case SHELL_FORM_NONE:
	case SHELL_FORM_UNKNOWN:
	case SHELL_FORM_FLOCK:
	case SHELL_FORM_STRACE:
	case SHELL_FORM_ENTR:
		run_wrapper(p, call, &r);
		break;
	}
	return true;
}

/* env, after -S has been taken apart: options, assignments, command. */
bool pass_env_operands(struct shell_pass *p, const struct pass_call *call, size_t operand)
{
	struct reading r = {
		.wrapper = shell_wrapper_find("env"), .name = "env", .operand = operand};
	struct pass_call inner = *call;

	assert(r.wrapper);
	inner.assigns = NULL;
	inner.assign_count = 0;
	if (!skip_before(p, &inner, &r))
		return false;
	if (r.operand < inner.word_count)
		pass_inner(p, &inner, "env", r.operand, PASS_LOOKUP_EXTERNAL);
	return true;
}
