/*
 * Programs in the words of a command: which word of sed or awk is one, and what it can do.
 */
#include "shell/effects.h"
#include "base/name.h"

#include "base/cleanup.h"
#include "shell/script.h"

/* Commands whose first operand is a program or pattern, not a file. */
bool effects_first_is_script(const struct reading *r)
{
	static const char *const names[] = {"grep", "sed", "awk", "jq", "rg", "ag", "ack"};

	for (size_t i = 0; i < r->found_count; i++)
		if (strcmp(r->found[i].item->name, "-f") == 0 ||
		    strcmp(r->found[i].item->name, "--file") == 0)
			return false;
	for (size_t i = 0; i < array_size(names); i++)
		if (name_is(r->known->name, names[i]))
			return true;
	return false;
}

static unsigned script_flag(const char *name)
{
	static const struct {
		const char *name;
		unsigned can;
	} flags[] = {
		{"e", SHELL_SCRIPT_RUN},         {"w", SHELL_SCRIPT_WRITE},
		{"r", SHELL_SCRIPT_READ},        {"system(", SHELL_SCRIPT_RUN},
		{"|\"", SHELL_SCRIPT_RUN},       {"\"|getline", SHELL_SCRIPT_RUN},
		{"|&", SHELL_SCRIPT_RUN},        {"@load", SHELL_SCRIPT_LOAD},
		{"@include", SHELL_SCRIPT_LOAD}, {">", SHELL_SCRIPT_WRITE},
		{"/inet/", SHELL_SCRIPT_NET},    {"getline<", SHELL_SCRIPT_READ},
		{"ARGV[", SHELL_SCRIPT_FILES},
	};

	for (size_t i = 0; i < array_size(flags); i++)
		if (strcmp(flags[i].name, name) == 0)
			return flags[i].can;
	return 0;
}

static enum match script_in(const struct reading *r, const struct shell_fact_word *w,
                            const char *name)
{
	if (!known(w))
		return MATCH_MAYBE;
	if (strcmp(r->known->name, "sed") == 0)
		return shell_script_sed(w->text) & script_flag(name) ? MATCH_YES : MATCH_NO;
	if (strcmp(r->known->name, "awk") == 0)
		return shell_script_awk(w->text) & script_flag(name) ? MATCH_MAYBE : MATCH_NO;
	return strstr(w->text.bytes, name) ? MATCH_YES : MATCH_NO;
}

/* The program: the values of -e and --source, else the first operand unless a file is given. */
static enum match awk_matches(const struct reading *r, const char *name)
{
	const struct shell_fact_command *c = r->command;
	enum match best = MATCH_NO, m;
	bool given = false;

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		struct shell_fact_word value;
		size_t at = 0;
		char option;

		if (w->kind == SHELL_VALUE_MANY || w->kind == SHELL_VALUE_GLOB)
			return MATCH_MAYBE; /* options, or the program itself */
		if (known(w) && text_is(w->text, "--") && i + 1 < c->word_count)
			w = &c->words[++i];
		else if (effects_is_option(w)) {
			option = shell_awk_option(w->text, &at);
			if (!option)
				continue;
			if (at < w->text.len || !known(w))
				value = tail(w, at);
			else if (i + 1 < c->word_count)
				value = c->words[++i];
			else
				break;
			given = given || strchr("efE", option);
			if (option != 'e' && option != 'W')
				continue;
			m = script_in(r, &value, name);
			best = m > best ? m : best;
			continue;
		}
		m = given ? MATCH_NO : script_in(r, w, name);
		return m > best ? m : best;
	}
	return best;
}

/* An option word of sed: where the value of -e or --expression begins, at its end if that is the
 * next word; 0: there is none. */
static size_t sed_expression(struct shell_text word)
{
	const char *s = word.bytes;

	if (word.len < 2 || s[0] != '-')
		return 0;
	if (s[1] == '-') {
		size_t n = strcspn(s, "=");

		if (n < 3 || strncmp("--expression", s, n) != 0)
			return 0;
		return s[n] ? n + 1 : n;
	}
	for (size_t i = 1; i < word.len; i++) {
		if (s[i] == 'e')
			return i + 1;
		if (strchr("fil", s[i])) /* the rest is its value */
			return 0;
	}
	return 0;
}

/* The program text: the values of -e and --expression, else the first operand; for others, any. */
enum match effects_script_matches(const struct reading *r, const char *name)
{
	bool sed = strcmp(r->known->name, "sed") == 0, given = false;
	const struct shell_fact_command *c = r->command;
	enum match best = MATCH_NO, m;

	if (strcmp(r->known->name, "awk") == 0)
		return awk_matches(r, name);
	for (size_t i = 1; sed && i < c->word_count; i++) {
		const struct shell_fact_word *w = &c->words[i];
		struct shell_fact_word text;
		size_t at;

		if (known(w) && text_is(w->text, "--"))
			break;
		at = sed_expression(w->text);
		if (!at)
			continue;
		if (at < w->text.len || !known(w))
			text = tail(w, at);
		else if (i + 1 < c->word_count)
			text = c->words[++i];
		else
			break;
		given = true;
		m = script_in(r, &text, name);
		best = m > best ? m : best;
	}
	for (size_t i = 0; i < r->operand_count && !(given && sed); i++) {
		m = script_in(r, r->operands[i], name);
		best = m > best ? m : best;
		if (effects_first_is_script(r))
			break;
	}
	return best;
}
