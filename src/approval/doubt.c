#include "approval/gather.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/arena.h"
#include "policy/policy.h"
#include "policy/runners.h"
#include "shell/ast.h"

static bool is_changing(const struct shell_fact_command *c)
{
	return c->word_count &&
	       (c->open || gather_is_word(&c->words[0], "cd") ||
	        gather_is_word(&c->words[0], "pushd") || !*gather_text_of(&c->words[0]));
}

/* Of all commands, or of those that may change the directory. */
bool gather_is_known(const struct shell_facts *facts, bool bases)
{
	bool known = facts->status != SHELL_FACTS_OPAQUE;

	for (size_t i = 0; i < facts->command_count && known; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		for (size_t k = 0; k < c->word_count && (!bases || is_changing(c)); k++)
			known &= c->words[k].kind == SHELL_VALUE_KNOWN;
		for (size_t k = 0; k < c->redirect_count && !bases; k++)
			known &= c->redirects[k].target.kind == SHELL_VALUE_KNOWN;
	}
	return known;
}

/* Whether its words decide what it runs. A program with a slash is one that an agent may have made.
 */
static bool runs_words(const struct gathering *g, size_t command)
{
	const struct shell_fact_command *c = &g->subject->facts->commands[command];
	const char *resolved = g->subject->answer->commands[command].resolved;

	return c->word_count &&
	       (c->words[0].kind != SHELL_VALUE_KNOWN || strchr(c->words[0].text.bytes, '/') ||
	        policy_runs_anything(c->words[0].text.bytes) || policy_words_run(c) ||
	        (resolved && policy_runs_anything(resolved)));
}

static bool runs(const struct gathering *g, size_t command)
{
	const struct shell_fact_command *c = &g->subject->facts->commands[command];

	for (size_t i = 0; i < c->does_count; i++)
		if (strcmp(c->does[i].effect, "exec") == 0)
			return true;
	return runs_words(g, command);
}

bool gather_runs(const struct gathering *g, size_t command)
{
	return g->runs[command];
}

int gather_find_runs(struct gathering *g)
{
	size_t n = g->subject->facts->command_count;
	bool *found = arena_new_array(g->arena, bool, n + 1);

	for (size_t i = 0; found && i < n; i++)
		found[i] = runs(g, i);
	g->runs = found;
	return found ? 0 : -ENOMEM;
}

bool gather_sets_path(const struct shell_facts *facts)
{
	for (size_t i = 0; i < facts->variable_count; i++)
		if (strcmp(facts->variables[i].bytes, "PATH") == 0)
			return true;
	for (size_t i = 0; i < facts->command_count; i++)
		for (size_t k = 0; k < facts->commands[i].word_count; k++)
			if (strncmp(facts->commands[i].words[k].text.bytes, "PATH=", 5) == 0)
				return true;
	return false;
}

/* Made of text, $PATH and $PWD alone. */
static bool is_plain_path(const struct shell_part *parts)
{
	for (const struct shell_part *p = parts; p; p = p->next) {
		if (p->kind == SHELL_PART_DOUBLE && is_plain_path(p->parts))
			continue;
		if (p->kind == SHELL_PART_LITERAL || p->kind == SHELL_PART_TILDE)
			continue;
		if (p->kind != SHELL_PART_PARAM || p->param->op != SHELL_PARAM_PLAIN ||
		    p->param->indirect || p->param->subscript != SHELL_SUBSCRIPT_NONE ||
		    (strcmp(p->param->name.bytes, "PATH") != 0 &&
		     strcmp(p->param->name.bytes, "PWD") != 0))
			return false;
	}
	return true;
}

static bool is_plain_word(const struct shell_fact_word *w)
{
	return w->kind == SHELL_VALUE_KNOWN || (w->node && is_plain_path(w->node->parts));
}

/* Whether every directory of a PATH that the line sets stands in the line. */
static bool knows_path(const struct shell_facts *facts)
{
	size_t said = 0;

	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		for (size_t k = 0; k < c->assign_count; k++)
			if (strcmp(c->assigns[k].name.bytes, "PATH") == 0) {
				said++;
				if (!is_plain_word(&c->assigns[k].value))
					return false;
			}
		for (size_t k = 0; k < c->word_count; k++)
			if (strncmp(c->words[k].text.bytes, "PATH=", 5) == 0) {
				said++;
				if (!is_plain_word(&c->words[k]))
					return false;
			}
	}
	return said > 0;
}

/* An effect that makes the facts opaque although it names the file. */
static bool is_named(const char *effect)
{
	return strncmp(effect, "script:", 7) == 0 || strncmp(effect, "source:", 7) == 0;
}

/* The script is the first word. Behind an option there may be the name of a module, or code that
 * loads one. */
static bool names_script(const struct gathering *g, const struct shell_fact_command *c)
{
	const char *first = c->word_count > 1 ? gather_text_of(&c->words[1]) : "";
	struct statx st;

	for (size_t i = 0; i < g->bases.count && *first && *first != '-'; i++)
		if (object_look(g->bases.fds[i], first, 0, &st) == 0 && S_ISREG(st.stx_mode))
			return true;
	return false;
}

/* git --exec-path=sub: a directory of programs. */
static bool names_directory(const struct gathering *g, const struct shell_fact_command *c)
{
	for (size_t k = 1; k < c->word_count; k++) {
		const char *word = gather_text_of(&c->words[k]), *value = strchr(word, '=');
		struct statx st;

		for (size_t i = 0; i < g->bases.count && *word; i++)
			if ((object_look(g->bases.fds[i], word, 0, &st) == 0 &&
			     S_ISDIR(st.stx_mode)) ||
			    (value && value[1] &&
			     object_look(g->bases.fds[i], value + 1, 0, &st) == 0 &&
			     S_ISDIR(st.stx_mode)))
				return true;
	}
	return false;
}

static bool is_in_doubt(const struct gathering *g, size_t i)
{
	const struct shell_fact_command *c = &g->subject->facts->commands[i];
	const char *resolved = g->subject->answer->commands[i].resolved;

	if (!c->word_count)
		return false;
	if (policy_interprets(gather_text_of(&c->words[0])) ||
	    (resolved && policy_interprets(resolved)))
		return !names_script(g, c);
	return policy_words_run(c) && names_directory(g, c);
}

/* A directory by a variable: `cd $x; ./run`, `HOME=x; cd; ./run`. */
static bool moves_blindly(const struct shell_facts *facts)
{
	static const char *const names[] = {"HOME", "CDPATH", "OLDPWD", "PWD", NULL};
	bool moves = false, sets = false;

	for (size_t i = 0; i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];

		if (!c->word_count ||
		    (!gather_is_word(&c->words[0], "cd") && !gather_is_word(&c->words[0], "pushd")))
			continue;
		moves = true;
		for (size_t k = 1; k < c->word_count; k++)
			if (!is_plain_word(&c->words[k]))
				return true;
	}
	for (size_t i = 0; i < facts->variable_count; i++)
		for (const char *const *n = names; *n; n++)
			sets |= strcmp(facts->variables[i].bytes, *n) == 0;
	return moves && sets;
}

/* Every word, and what is read, of one command. */
static bool is_open(const struct shell_fact_command *c)
{
	for (size_t k = 0; k < c->word_count; k++)
		if (c->words[k].kind != SHELL_VALUE_KNOWN)
			return true;
	for (size_t k = 0; k < c->redirect_count; k++)
		if (!c->redirects[k].heredoc && c->redirects[k].op[0] == '<' &&
		    c->redirects[k].target.kind != SHELL_VALUE_KNOWN)
			return true;
	return false;
}

bool gather_is_in_doubt(const struct gathering *g)
{
	const struct shell_facts *facts = g->subject->facts;
	bool unknown = false, unnamed = false, runs = false;

	if (g->full || (gather_sets_path(facts) && !knows_path(facts)))
		return true;
	for (size_t i = 0; i < facts->effect_count; i++) {
		unnamed |= facts->effects[i].opaque && !is_named(facts->effects[i].text);
		if (facts->effects[i].opaque && strstr(facts->effects[i].text, "dynamic"))
			return true;
	}
	for (size_t i = 0; i < facts->command_count; i++) {
		bool open = is_open(&facts->commands[i]), one = runs_words(g, i);

		if ((open && one) || is_in_doubt(g, i))
			return true;
		unknown |= open;
		runs |= one;
	}
	return (unknown && unnamed) || (runs && moves_blindly(facts));
}
