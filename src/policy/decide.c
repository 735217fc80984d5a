/*
 * The order of it all.
 *
 * Each command of the line gets a finding of its own (command.c), and so does the line (line.c).
 * The most severe of all is the answer; of equals, the one whose reason says most. Then the line is
 * decided again with words in place that it says itself (guess.c), and so is what its words would
 * run (code.c); both can only make it worse.
 */
#include "policy/inside.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "shell/knowledge.h"

void *look_alloc(struct look *l, size_t n)
{
	void *memory = arena_alloc(l->arena, n);

	if (!memory)
		l->failed = true;
	return memory;
}

char *look_string(struct look *l, const char *bytes, size_t n)
{
	char *copy = arena_strndup(l->arena, bytes, n);

	if (!copy)
		l->failed = true;
	return copy;
}

static void prepare_effects(struct look *l)
{
	static const char *const harmless[] = {"set:IFS", "set:PS1", "set:PS2", "set:nocaseglob",
	                                       NULL};

	for (size_t i = 0; i < l->facts->effect_count; i++) {
		const char *e = l->facts->effects[i].text;

		if (strncmp(e, "set:", 4) != 0 || word_in_list(harmless, e) ||
		    !variable_changes_runs(e + 4))
			continue;
		l->sets_any = true;
		l->sets_path |= strcmp(e, "set:PATH") == 0;
	}
}

/* Whether the table reads the word, and perhaps the one behind it, in another way than the program:
 * -- ends no options of find, and a value of awk's is no program. Returns how many words. */
static size_t misread(const struct shell_fact_command *c, size_t at, const char *name)
{
	static const char *const awks[] = {"awk", "gawk", "mawk", "nawk", "original-awk", NULL};
	struct shell_text t = c->words[at].text;

	if (c->words[at].kind != SHELL_VALUE_KNOWN)
		return 0;
	if (strcmp(name, "find") == 0 && word_text_is(t, "--"))
		return 1;
	if (word_in_list(awks, name) &&
	    (word_text_is(t, "-v") || word_text_is(t, "-F") || word_text_is(t, "--assign") ||
	     word_text_is(t, "--field-separator")))
		return 2;
	return 0;
}

/* Variables that a command may find in its environment beside those in front of its own name: one
 * for each pattern that the table has, so that a line of many variables has no more than these. */
struct given {
	struct shell_fact_assign *list;
	size_t count;
	bool *found; /* of each pattern */
};

static void give(struct look *l, struct given *g, const char *text, size_t n)
{
	const char *name = look_string(l, text, n);

	for (size_t i = 0; name && g->found && g->list && i < knowledge_variable_count; i++)
		if (!g->found[i] && knowledge_is_variable(knowledge_variables[i], name)) {
			g->found[i] = true;
			g->list[g->count++] = (struct shell_fact_assign){.name = {name, n}};
		}
}

/* set -a, set -o allexport: whatever is set behind it, in a loop or by read, too. */
static bool exports_all(const struct shell_fact_command *c)
{
	if (c->word_count < 2 ||
	    (!word_text_is(c->words[0].text, "set") && !word_text_is(c->words[0].text, "shopt")))
		return false;
	for (size_t i = 1; i < c->word_count; i++) {
		struct shell_text t = c->words[i].text;

		if (word_text_is(t, "allexport") ||
		    (t.len > 1 && t.bytes[0] == '-' && t.bytes[1] != '-' &&
		     memchr(t.bytes, 'a', t.len)))
			return true;
	}
	return false;
}

static void read_given(struct look *l, struct given *g)
{
	bool all = false;

	g->list = look_alloc(l, knowledge_variable_count * sizeof(*g->list));
	g->found = look_alloc(l, knowledge_variable_count * sizeof(*g->found));
	for (const char *const *e = l->q->env; e && *e; e++)
		give(l, g, *e, strcspn(*e, "="));
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];
		bool declares = c->word_count > 1 && (word_text_is(c->words[0].text, "export") ||
		                                      word_text_is(c->words[0].text, "declare") ||
		                                      word_text_is(c->words[0].text, "typeset"));

		for (size_t k = 0; !c->word_count && k < c->assign_count; k++)
			give(l, g, c->assigns[k].name.bytes, c->assigns[k].name.len);
		for (size_t k = 1; declares && k < c->word_count; k++)
			if (c->words[k].text.len)
				give(l, g, c->words[k].text.bytes,
				     strcspn(c->words[k].text.bytes, "="));
		all |= exports_all(c);
	}
	for (size_t i = 0; all && i < l->facts->variable_count; i++)
		give(l, g, l->facts->variables[i].bytes, l->facts->variables[i].len);
}

/* The command without such words has effects, too, and with the variables that it is given. */
static int read_again(struct look *l, struct subject *s, const struct given *given)
{
	const struct shell_fact_command *c = s->command;
	struct shell_fact_command *other, *both;
	size_t n = given->count;

	for (size_t i = 1; i < c->word_count; i++)
		n += misread(c, i, s->name);
	if (!n)
		return 0;
	other = look_alloc(l, sizeof(*other));
	both = look_alloc(l, sizeof(*both));
	if (!other || !both)
		return -ENOMEM;
	*both = *c;
	*other = *c;
	other->words = look_alloc(l, c->word_count * sizeof(*c->words));
	other->word_count = other->does_count = 0;
	other->assigns = given->list;
	other->assign_count = given->count;
	if (!other->words)
		return -ENOMEM;
	for (size_t i = 0; i < c->word_count; i++) {
		n = i ? misread(c, i, s->name) : 0;
		if (n)
			i += n - 1;
		else
			other->words[other->word_count++] = c->words[i];
	}
	if (knowledge_apply(l->arena, other) < 0)
		return -ENOMEM;
	both->does = look_alloc(l, (c->does_count + other->does_count + 1) * sizeof(*both->does));
	if (!both->does)
		return -ENOMEM;
	if (c->does_count)
		memcpy(both->does, c->does, c->does_count * sizeof(*c->does));
	if (other->does_count)
		memcpy(both->does + c->does_count, other->does,
		       other->does_count * sizeof(*c->does));
	both->does_count = c->does_count + other->does_count;
	s->command = both;
	return 0;
}

static int prepare(struct look *l)
{
	const struct policy_question *q = l->q;
	const char *workspace =
		q->workspace && q->workspace[0] == '/' ? q->workspace : "/workspace";
	struct given given = {0};

	l->base = path_fold(l, workspace, q->cwd && q->cwd[0] ? q->cwd : ".",
	                    q->cwd && q->cwd[0] ? strlen(q->cwd) : 1);
	if (!l->files)
		l->files = look_alloc(l, sizeof(*l->files));
	l->subjects = look_alloc(l, (l->facts->command_count + 1) * sizeof(*l->subjects));
	read_given(l, &given);
	if (l->failed)
		return -ENOMEM;
	for (size_t i = 0; i < l->facts->command_count; i++) {
		const struct shell_fact_command *c = &l->facts->commands[i];
		struct subject *s = &l->subjects[i];
		const char *slash;

		s->command = c;
		if (!c->word_count || c->words[0].kind != SHELL_VALUE_KNOWN)
			continue;
		s->word = c->words[0].text.bytes;
		slash = strrchr(s->word, '/');
		s->name = slash ? slash + 1 : s->word;
		s->runs = c->kind == SHELL_KIND_EXTERNAL || c->kind == SHELL_KIND_BUILTIN;
		if (read_again(l, s, &given) < 0)
			return -ENOMEM;
	}
	prepare_effects(l);
	return 0;
}

#define CODE_DEPTH_MAX 3 /* npx concurrently 'CMD' */

static struct ranked not_found(struct look *l, const struct subject *s)
{
	const char *reason = arena_printf(
		l->arena, strchr(s->word, '/') ? "%s: no such file" : "%s: command not found",
		advice_quote(l, s->word));

	if (!reason)
		l->failed = true;
	return finding_by_id(POLICY_VERDICT_DENY, RANK_DEFAULT, POLICY_NOT_FOUND, reason);
}

static int decide(struct look *l, struct ranked *ret_line, struct policy_answer *ret_answer);

static void try_guess(struct look *l, const char *line, size_t n, void *data)
{
	struct policy_question q = *l->q;
	struct look inner = {.policy = l->policy,
	                     .q = &q,
	                     .arena = l->arena,
	                     .files = l->files,
	                     .code = l->code,
	                     .depth = l->depth + 1,
	                     .guess = true};
	struct ranked *best = data, found;
	struct policy_answer ignored;
	struct shell_facts *facts;

	if (best->finding.verdict == POLICY_VERDICT_DENY && best->finding.rule)
		return;
	if (shell_facts_read(l->arena, line, n, NULL, &facts) < 0) {
		l->failed = true;
		return;
	}
	q.text = line;
	q.text_len = n;
	q.words = NULL;
	q.facts = inner.facts = facts;
	if (!facts->tree->list || decide(&inner, &found, &ignored) < 0)
		return;
	/* Only a rule that refuses counts: the guess proves nothing else. */
	if (found.finding.verdict == POLICY_VERDICT_DENY && found.finding.rule)
		finding_worsen(best, &found);
}

static int decide(struct look *l, struct ranked *ret_line, struct policy_answer *ret_answer)
{
	struct policy_answer answer = {.command_count = l->facts->command_count};
	struct ranked line;

	if (prepare(l) < 0)
		return -ENOMEM;
	answer.commands = look_alloc(l, (answer.command_count + 1) * sizeof(*answer.commands));
	line = line_decide(l);
	for (size_t i = 0; answer.commands && i < answer.command_count && !l->failed; i++) {
		struct ranked one = command_decide(l, &l->subjects[i]);

		answer.commands[i] = one.finding;
		finding_worsen(&line, &one);
	}
	if (!l->guess && !l->failed)
		guess_all(l, try_guess, &line);
	if (l->depth < CODE_DEPTH_MAX && !l->failed && !code_all(l, try_guess, &line)) {
		struct ranked many = finding_by_unknown(
			l, "The line holds too many command lines in its words. Write them in "
			   "several calls.");

		finding_worsen(&line, &many);
	}
	/* Of several commands an earlier one may make the program of a later one. */
	if (l->q->must_exist && !l->guess && !l->failed && answer.command_count == 1 &&
	    line.finding.verdict == POLICY_VERDICT_ASK && subject_is_nowhere(l, &l->subjects[0]))
		answer.commands[0] = (line = not_found(l, &l->subjects[0])).finding;
	*ret_line = line;
	*ret_answer = answer;
	return l->failed ? -ENOMEM : 0;
}

bool policy_answer_is_left(const struct policy_answer *a)
{
	bool left = a->line.left_to_sandbox;

	for (size_t i = 0; i < a->command_count; i++)
		left |= a->commands[i].left_to_sandbox;
	return left;
}

int policy_decide(const struct policy *p, struct arena *arena, const struct policy_question *q,
                  struct policy_answer *ret_answer, struct error *err)
{
	struct code_spent code = {0};
	struct look l = {.policy = p, .q = q, .facts = q->facts, .arena = arena, .code = &code};
	struct policy_answer answer = {0};
	struct ranked line;
	int r = decide(&l, &line, &answer);

	if (r < 0 && l.too_many_dirs)
		return error_set(err, ERROR_LIMIT, E2BIG,
		                 "the line sets PATH to too many directories for its commands");
	if (r < 0)
		return error_nomem(err);
	answer.line = line.finding;
	answer.line.resolved = NULL;
	*ret_answer = answer;
	return 0;
}
