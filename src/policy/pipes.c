/*
 * What flows from one command into another that runs it as code, and functions that start
 * themselves.
 *
 * The facts list the commands of a line with their places in the text. A command belongs to a stage
 * of a pipeline if it stands inside of it, however deep: in a group, behind a wrapper, in code. So
 * curl x | (cat; sudo sh) has curl in one stage and sh in the next.
 */
#include "policy/inside.h"

#include <string.h>
#include "base/cleanup.h"

static bool is_inside(struct shell_range a, struct shell_range b)
{
	return a.start >= b.start && a.end <= b.end;
}

static bool named(struct subject *s, const char *const *names)
{
	return s->name && s->runs && word_in_list(names, s->name);
}

/* Which code a command runs */

static bool is_shell(const char *name)
{
	static const char *const names[] = {"sh",  "bash", "dash", "zsh",  "ksh",   "ksh93", "mksh",
	                                    "ash", "fish", "csh",  "tcsh", "rbash", "pwsh",  NULL};

	return word_in_list(names, name);
}

static bool is_interpreter(const char *name)
{
	static const char *const names[] = {"perl", "ruby", "node", "nodejs", "php",
	                                    "lua",  "deno", "bun",  "tclsh",  NULL};

	return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0 ||
	       word_in_list(names, name);
}

static bool is_standard_input(const struct shell_fact_word *w)
{
	static const char *const names[] = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0",
	                                    NULL};

	return w->kind == SHELL_VALUE_KNOWN && word_in_list(names, w->text.bytes);
}

/* -c CODE, -e CODE, -m MODULE: the word that is code (0: none); *RET_GIVEN: there is such an
 * option. */
static size_t code_word(const struct subject *s, bool *ret_given)
{
	const struct shell_fact_command *c = s->command;
	const char *letters = is_shell(s->name) ? "c" : "cemrEp";

	*ret_given = false;
	for (size_t i = 1; i < c->word_count; i++) {
		struct shell_text t = c->words[i].text;

		if (t.len < 2 || t.bytes[0] != '-')
			return 0;
		if (strcmp(t.bytes, "--eval") == 0 || strcmp(t.bytes, "--print") == 0 ||
		    strcmp(t.bytes, "--command") == 0 ||
		    (t.bytes[1] != '-' && strpbrk(t.bytes + 1, letters))) {
			*ret_given = true;
			return i + 1 < c->word_count ? i + 1 : i;
		}
	}
	return 0;
}

static size_t first_operand(const struct subject *s)
{
	for (size_t i = 1; i < s->command->word_count; i++) {
		struct shell_text t = s->command->words[i].text;

		if (s->command->words[i].kind != SHELL_VALUE_KNOWN || t.len < 2 ||
		    (t.bytes[0] != '-' && t.bytes[0] != '+'))
			return i;
	}
	return 0;
}

static bool has_option_s(const struct subject *s)
{
	for (size_t i = 1; i < s->command->word_count; i++) {
		struct shell_text t = s->command->words[i].text;

		if (t.len > 1 && t.bytes[0] == '-' && t.bytes[1] != '-' && strchr(t.bytes, 's'))
			return true;
	}
	return false;
}

/* Whether it takes code from its standard input. Programs that are not known do. */
static bool reads_code(const struct subject *s)
{
	const struct shell_fact_command *c = s->command;
	size_t operand, code;
	bool given;

	if (strcmp(s->name, "source") == 0 || strcmp(s->name, ".") == 0)
		return c->word_count > 1 &&
		       (is_standard_input(&c->words[1]) || c->words[1].kind != SHELL_VALUE_KNOWN);
	if (strcmp(s->name, "eval") == 0) {
		for (size_t i = 1; i < c->word_count; i++)
			if (c->words[i].kind != SHELL_VALUE_KNOWN)
				return true;
		return false;
	}
	if (!is_shell(s->name) && !is_interpreter(s->name))
		return true;
	code = code_word(s, &given);
	if (given)
		return c->words[code].kind != SHELL_VALUE_KNOWN;
	operand = first_operand(s);
	if (!operand)
		return true;
	if (is_shell(s->name) && has_option_s(s))
		return true;
	return is_standard_input(&c->words[operand]) ||
	       (c->words[operand].kind != SHELL_VALUE_KNOWN && !c->words[operand].pipe);
}

/* The innermost function that a command stands in; N of its bytes. *RET_BESIDE: in a pipeline or
 * the background of it. */
static const char *function_of(const struct shell_facts *facts, const char *via, size_t *ret_n,
                               bool *ret_beside)
{
	const char *name = NULL;

	*ret_beside = false;
	for (const char *at = via; *at;) {
		size_t n = strcspn(at, "/");

		/* The name of a function may hold slashes. */
		for (size_t i = 0; i < facts->effect_count && strncmp(at, "func:", 5) == 0; i++) {
			size_t len = strlen(facts->effects[i].text);

			if (len > n && strncmp(at, facts->effects[i].text, len) == 0 &&
			    (!at[len] || at[len] == '/'))
				n = len;
		}
		if (strncmp(at, "func:", 5) == 0) {
			name = at + 5;
			*ret_n = n - 5;
			*ret_beside = false;
		} else if ((n == 4 && memcmp(at, "pipe", 4) == 0) ||
		           (n == 2 && memcmp(at, "bg", 2) == 0) ||
		           (n == 6 && memcmp(at, "coproc", 6) == 0) ||
		           (n == 7 && memcmp(at, "procsub", 7) == 0)) {
			*ret_beside = true;
		}
		at += n + (at[n] == '/');
	}
	return name;
}

/* Pipelines */

struct flow {
	struct look *l;
	const struct policy_rule *rule;
	const char *operand;
	bool found;
};

/* A command that stands in a function of the line counts where that function is called. */
static bool stands_in(struct flow *f, const struct subject *s, struct shell_range range)
{
	bool beside;
	size_t n = 0;
	const char *function;

	if (is_inside(s->command->range, range))
		return true;
	function = function_of(f->l->facts, s->command->via, &n, &beside);
	for (size_t i = 0; function && i < f->l->facts->command_count; i++) {
		const struct shell_fact_command *c = &f->l->facts->commands[i];

		if (c->word_count && c->words[0].text.len == n &&
		    memcmp(c->words[0].text.bytes, function, n) == 0 && is_inside(c->range, range))
			return true;
	}
	return false;
}

static bool stage_has(struct flow *f, struct shell_range range, bool to)
{
	for (size_t i = 0; i < f->l->facts->command_count; i++) {
		struct subject *s = &f->l->subjects[i];

		if (!stands_in(f, s, range))
			continue;
		if (!named(s, to ? f->rule->pipe_to : f->rule->pipe_from))
			continue;
		if (to && !reads_code(s))
			continue;
		f->operand = s->name;
		return true;
	}
	return false;
}

static void walk_list(struct flow *f, const struct shell_list *list, unsigned depth);
static void walk_parts(struct flow *f, const struct shell_part *part, unsigned depth);

static void walk_word(struct flow *f, const struct shell_word *w, unsigned depth)
{
	for (; w && !f->found; w = w->next)
		walk_parts(f, w->parts, depth);
}

static void walk_parts(struct flow *f, const struct shell_part *part, unsigned depth)
{
	for (; part && !f->found; part = part->next) {
		if (part->kind == SHELL_PART_DOUBLE)
			walk_parts(f, part->parts, depth);
		else if (part->kind == SHELL_PART_COMMAND || part->kind == SHELL_PART_PROCESS_IN ||
		         part->kind == SHELL_PART_PROCESS_OUT)
			walk_list(f, part->list, depth + 1);
	}
}

static void walk_inner(struct flow *f, const struct shell_command *c, unsigned depth)
{
	switch (c->kind) {
	case SHELL_SIMPLE:
		walk_word(f, c->simple.words, depth);
		for (const struct shell_assign *a = c->simple.assigns; a; a = a->next)
			walk_word(f, a->value, depth);
		break;
	case SHELL_GROUP:
	case SHELL_SUBSHELL:
		walk_list(f, c->list, depth);
		break;
	case SHELL_IF:
	case SHELL_WHILE:
	case SHELL_UNTIL:
		for (const struct shell_clause *k = c->clauses; k; k = k->next) {
			walk_list(f, k->condition, depth);
			walk_list(f, k->body, depth);
		}
		break;
	case SHELL_FOR:
	case SHELL_SELECT:
		walk_word(f, c->loop.words, depth);
		walk_list(f, c->loop.body, depth);
		break;
	case SHELL_FOR_ARITH:
		walk_list(f, c->arith_loop.body, depth);
		break;
	case SHELL_CASE:
		for (const struct shell_case_item *k = c->cases.items; k; k = k->next)
			walk_list(f, k->body, depth);
		break;
	case SHELL_FUNCTION:
	case SHELL_COPROC:
		walk_inner(f, c->body, depth);
		break;
	case SHELL_ARITH:
	case SHELL_TEST:
		break;
	}
	for (const struct shell_redirect *r = c->redirects; r; r = r->next)
		walk_word(f, r->target, depth);
}

static void walk_pipeline(struct flow *f, const struct shell_pipeline *p, unsigned depth)
{
	bool from = false;

	for (const struct shell_command *c = p->commands; c && !f->found; c = c->next) {
		if (from && stage_has(f, c->range, true))
			f->found = true;
		else if (!from && c->next)
			from = stage_has(f, c->range, false);
	}
	for (const struct shell_command *c = p->commands; c && !f->found; c = c->next)
		walk_inner(f, c, depth);
}

static void walk_list(struct flow *f, const struct shell_list *list, unsigned depth)
{
	if (!list || depth > SHELL_DEPTH_MAX)
		return;
	for (const struct shell_statement *s = list->statements; s && !f->found; s = s->next)
		for (const struct shell_pipeline *p = s->pipelines; p && !f->found; p = p->next)
			walk_pipeline(f, p, depth);
}

/* Substitutions */

/* Whether one of the upstream commands stands in the word, or in a value of a variable of it. */
static bool word_comes_from(struct flow *f, const struct shell_fact_word *w);

static bool range_comes_from(struct flow *f, struct shell_range range)
{
	for (size_t i = 0; i < f->l->facts->command_count; i++) {
		struct subject *s = &f->l->subjects[i];

		if (named(s, f->rule->pipe_from) && is_inside(s->command->range, range)) {
			f->operand = s->name;
			return true;
		}
	}
	return false;
}

static bool variable_comes_from(struct flow *f, struct shell_text name)
{
	for (size_t i = 0; i < f->l->facts->command_count; i++) {
		const struct shell_fact_command *c = &f->l->facts->commands[i];

		for (size_t k = 0; k < c->assign_count; k++) {
			const struct shell_fact_assign *a = &c->assigns[k];

			if (a->name.len == name.len &&
			    memcmp(a->name.bytes, name.bytes, name.len) == 0 &&
			    a->value.kind != SHELL_VALUE_KNOWN && a->value.node &&
			    range_comes_from(f, a->value.range))
				return true;
		}
	}
	return false;
}

static bool parts_come_from(struct flow *f, const struct shell_part *part)
{
	for (; part; part = part->next) {
		if (part->kind == SHELL_PART_DOUBLE && parts_come_from(f, part->parts))
			return true;
		if (part->kind == SHELL_PART_PARAM && variable_comes_from(f, part->param->name))
			return true;
	}
	return false;
}

static bool word_comes_from(struct flow *f, const struct shell_fact_word *w)
{
	if (w->kind == SHELL_VALUE_KNOWN)
		return false;
	if (range_comes_from(f, w->range))
		return true;
	return w->node && parts_come_from(f, w->node->parts);
}

static bool heredoc_comes_from(struct flow *f)
{
	for (size_t i = 0; i < f->l->facts->command_count; i++) {
		struct subject *s = &f->l->subjects[i];

		if (named(s, f->rule->pipe_from) && strstr(s->command->via, "heredoc")) {
			f->operand = s->name;
			return true;
		}
	}
	return false;
}

/* Code inside of a word has no tree here, and all its commands have the place of that word: they
 * are told apart by the steps that lead to them. */
static bool flows_in_code(const struct subject *from, const struct subject *to)
{
	static const char *const codes[] = {"shell-c", "eval", "trap", "stdin-script", NULL};
	const char *a = from->command->via, *b = to->command->via;
	bool code = false;

	while (*a && *b) {
		size_t n = strcspn(a, "/"), m = strcspn(b, "/");

		if (n != m || memcmp(a, b, n) != 0)
			return false;
		for (const char *const *c = codes; *c; c++)
			code |= strlen(*c) == n && memcmp(*c, a, n) == 0;
		if (code && n == 4 && memcmp(a, "pipe", 4) == 0)
			return from < to && reads_code(to);
		a += n + (a[n] == '/');
		b += n + (b[n] == '/');
	}
	return false;
}

/* bash <(curl x), sh -c "$(curl x)", eval "$(curl x)", sh <<< "$(curl x)" */
static bool code_comes_from(struct flow *f, const struct subject *s)
{
	const struct shell_fact_command *c = s->command;
	bool given, all = strcmp(s->name, "eval") == 0 ||
	                  (!is_shell(s->name) && !is_interpreter(s->name));
	size_t code = code_word(s, &given), operand = given ? 0 : first_operand(s);

	for (size_t i = 1; i < c->word_count; i++)
		if ((all || i == code || i == operand) && word_comes_from(f, &c->words[i]))
			return true;
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_fact_redirect *r = &c->redirects[i];

		if (r->op[0] != '<' || !reads_code(s))
			continue;
		if (r->heredoc ? heredoc_comes_from(f) : word_comes_from(f, &r->target))
			return true;
	}
	return false;
}

/* curl x > >(sh), tee >(sh): the other way round. */
static bool goes_into(struct flow *f, const struct subject *s)
{
	for (size_t i = 0; i < f->l->facts->command_count; i++) {
		struct subject *inner = &f->l->subjects[i];

		if (inner == s || !named(inner, f->rule->pipe_to) || !reads_code(inner))
			continue;
		for (size_t k = 0; k < s->command->word_count; k++)
			if (s->command->words[k].pipe &&
			    is_inside(inner->command->range, s->command->words[k].range))
				return true;
		for (size_t k = 0; k < s->command->redirect_count; k++)
			if (s->command->redirects[k].op[0] == '>' &&
			    s->command->redirects[k].target.pipe &&
			    is_inside(inner->command->range, s->command->redirects[k].target.range))
				return true;
	}
	return false;
}

enum match pipe_match(struct look *l, const struct policy_rule *rule, const char **ret_operand)
{
	struct flow f = {.l = l, .rule = rule};
	bool any = false;

	for (size_t i = 0; i < l->facts->command_count && !any; i++)
		any = named(&l->subjects[i], rule->pipe_from);
	if (!any)
		return MATCH_NO;
	walk_list(&f, l->facts->tree->list, 0);
	for (size_t i = 0; i < l->facts->command_count && !f.found; i++) {
		struct subject *s = &l->subjects[i];

		f.found = named(s, rule->pipe_to) && code_comes_from(&f, s);
		/* $(curl x): the output is the command. */
		if (!f.found && s->command->kind == SHELL_KIND_DYNAMIC)
			f.found = word_comes_from(&f, &s->command->words[0]);
		for (size_t k = 0; named(s, rule->pipe_to) && k < i && !f.found; k++)
			f.found = named(&l->subjects[k], rule->pipe_from) &&
			          flows_in_code(&l->subjects[k], s);
		if (!f.found && named(s, rule->pipe_from))
			f.found = goes_into(&f, s);
	}
	*ret_operand = f.operand;
	return f.found ? MATCH_YES : MATCH_NO;
}

/* Functions that start themselves */

#define FUNCTION_MAX 64

struct call { /* of one function by another */
	const char *from, *to;
	size_t from_n, to_n;
	bool beside;
};

static bool reaches(const struct call *calls, size_t count, const char *name, size_t n,
                    const struct call *goal, uint64_t *seen)
{
	if (n == goal->from_n && memcmp(name, goal->from, n) == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		if (*seen & UINT64_C(1) << i || calls[i].from_n != n ||
		    memcmp(calls[i].from, name, n) != 0)
			continue;
		*seen |= UINT64_C(1) << i;
		if (reaches(calls, count, calls[i].to, calls[i].to_n, goal, seen))
			return true;
	}
	return false;
}

static bool is_function(const struct shell_facts *facts, struct shell_text name)
{
	for (size_t i = 0; i < facts->effect_count; i++)
		if (strncmp(facts->effects[i].text, "func:", 5) == 0 &&
		    strcmp(facts->effects[i].text + 5, name.bytes) == 0)
			return true;
	return false;
}

static bool is_same_call(const struct call *a, const struct call *b)
{
	return a->beside == b->beside && a->from_n == b->from_n && a->to_n == b->to_n &&
	       memcmp(a->from, b->from, a->from_n) == 0 && memcmp(a->to, b->to, a->to_n) == 0;
}

bool pipe_has_bomb(const struct shell_facts *facts)
{
	struct call calls[FUNCTION_MAX];
	size_t count = 0;
	bool any = false;

	for (size_t i = 0; i < facts->effect_count && !any; i++)
		any = strncmp(facts->effects[i].text, "func:", 5) == 0;
	for (size_t i = 0; any && i < facts->command_count; i++) {
		const struct shell_fact_command *c = &facts->commands[i];
		struct call call = {0};
		size_t k = 0;

		if (!c->word_count || c->words[0].kind != SHELL_VALUE_KNOWN ||
		    !is_function(facts, c->words[0].text))
			continue;
		call.from = function_of(facts, c->via, &call.from_n, &call.beside);
		call.to = c->words[0].text.bytes;
		call.to_n = c->words[0].text.len;
		if (!call.from)
			continue;
		while (k < count && !is_same_call(&calls[k], &call))
			k++;
		if (k == FUNCTION_MAX)
			return true; /* more than can be followed: one may hide among them */
		calls[k] = call;
		count = k == count ? count + 1 : count;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t seen = 0;

		if (calls[i].beside &&
		    reaches(calls, count, calls[i].to, calls[i].to_n, &calls[i], &seen))
			return true;
	}
	return false;
}
