/*
 * Rules, made ready: sorted by list, found by the names of their commands, expressions compiled.
 *
 * A policy is made once per process and then only read, but for the space that a regular
 * expression needs while it matches.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "policy/inside.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/name.h"
#include "shell/options.h"

#define REGEX_MATCHES 100000
#define REGEX_DEPTH   1000
#define REGEX_HEAP    4096 /* KiB */

const char *policy_verdict_name(enum policy_verdict verdict)
{
	static const char *const names[] = {
		[POLICY_VERDICT_ALLOW] = "allow",
		[POLICY_VERDICT_ASK] = "ask",
		[POLICY_VERDICT_NUDGE] = "nudge",
		[POLICY_VERDICT_DENY] = "deny",
	};

	return verdict < POLICY_VERDICT_MAX ? names[verdict] : "deny";
}

const char *policy_list_name(enum policy_list list)
{
	static const char *const names[] = {
		[POLICY_NEVER] = "never", [POLICY_DENY] = "deny", [POLICY_DANGER] = "danger",
		[POLICY_NUDGE] = "nudge", [POLICY_ASK] = "ask",   [POLICY_ALLOW] = "allow",
	};

	return list < POLICY_LIST_MAX ? names[list] : "deny";
}

bool policy_name_is_glob(const char *name)
{
	return strpbrk(name, "*?[/\\") != NULL;
}

static size_t count_names(const struct policy_rules *rules)
{
	size_t n = 0;

	for (size_t i = 0; i < rules->rule_count; i++)
		for (const char *const *c = rules->rules[i].commands; c && *c; c++)
			n++;
	return n;
}

/* By list, as they come within one. */
static void sort_rules(struct policy *p)
{
	size_t at = 0;

	for (int list = 0; list < POLICY_LIST_MAX; list++) {
		p->list_start[list] = at;
		for (size_t i = 0; i < p->rules->rule_count; i++)
			if ((int)p->rules->rules[i].list == list)
				p->compiled[at++].rule = &p->rules->rules[i];
	}
	p->list_start[POLICY_LIST_MAX] = p->count = at;
}

/* Entries of one name are chained in the order of the rules. */
static void add_name(struct policy *p, const char *name, uint32_t rule)
{
	uint32_t at = name_hash(name) & p->slot_mask, *link;

	while (p->slots[at] && strcmp(p->names[p->slots[at] - 1].name, name) != 0)
		at = (at + 1) & p->slot_mask;
	link = &p->slots[at];
	while (*link)
		link = &p->names[*link - 1].next;
	p->names[p->name_count] = (struct name_entry){.name = name, .rule = rule};
	*link = (uint32_t)++p->name_count;
}

static void index_names(struct policy *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct policy_rule *rule = p->compiled[i].rule;
		bool glob = !rule->commands; /* any command */

		for (const char *const *c = rule->commands; c && *c; c++) {
			if (policy_name_is_glob(*c))
				glob = true;
			else
				add_name(p, *c, i);
		}
		if (glob)
			p->globs[p->glob_count++] = i;
	}
}

const struct name_entry *policy_name_first(const struct policy *p, const char *name)
{
	for (uint32_t at = name_hash(name);; at++) {
		uint32_t slot = p->slots[at & p->slot_mask];

		if (!slot)
			return NULL;
		if (name_is(p->names[slot - 1].name, name))
			return &p->names[slot - 1];
	}
}

const struct name_entry *policy_name_next(const struct policy *p, const struct name_entry *e)
{
	return e->next ? &p->names[e->next - 1] : NULL;
}

static int compile_regex(struct compiled_rule *c, struct error *err)
{
	const struct policy_rule *rule = c->rule;
	PCRE2_SIZE offset;
	PCRE2_UCHAR text[128];
	int code;

	c->regex = pcre2_compile((PCRE2_SPTR)rule->regex, PCRE2_ZERO_TERMINATED,
	                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
	                         &code, &offset, NULL);
	if (!c->regex) {
		pcre2_get_error_message(code, text, sizeof(text));
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "%s:%u:%u: the regular expression is wrong at character %zu: %s",
		                 rule->place.file ? rule->place.file : "?", rule->place.line,
		                 rule->place.column, (size_t)offset + 1, (const char *)text);
	}
	return 0;
}

/* Whether a text is the definition of a function that starts itself: NAME(){ …NAME… }. Blanks do
 * not count: people leave them out also where bash wants one. */
static bool is_bomb(const char *text)
{
	scoped(buffer_donep) struct buffer tight = {0};
	char *body, *end, *name;

	for (; *text; text++)
		if (!strchr(" \t\n", *text))
			buffer_putc(&tight, *text);
	name = buffer_error(&tight) ? NULL : tight.data;
	body = name ? strstr(name, "(){") : NULL;
	end = body ? strrchr(body, '}') : NULL;
	if (!end || body == name)
		return false;
	*body = *end = '\0';
	return strstr(body + 3, name) != NULL;
}

static int compile_line_rules(struct policy *p, struct error *err)
{
	for (size_t i = 0; i < p->count; i++) {
		struct compiled_rule *c = &p->compiled[i];
		int r;

		p->has_text |= c->rule->literal || c->rule->regex;
		p->has_pipes |= c->rule->pipe_from && c->rule->pipe_to;
		p->has_writes |= c->rule->write_to != NULL;
		if (c->rule->literal)
			c->bomb = is_bomb(c->rule->literal);
		if (!c->rule->regex)
			continue;
		r = compile_regex(c, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compile_match(struct policy *p)
{
	bool any = false;

	for (size_t i = 0; i < p->count; i++)
		any |= p->compiled[i].regex != NULL;
	if (!any)
		return 0;
	p->match_context = pcre2_match_context_create(NULL);
	p->match_data = pcre2_match_data_create(1, NULL);
	if (!p->match_context || !p->match_data)
		return -ENOMEM;
	pcre2_set_match_limit(p->match_context, REGEX_MATCHES);
	pcre2_set_depth_limit(p->match_context, REGEX_DEPTH);
	pcre2_set_heap_limit(p->match_context, REGEX_HEAP);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "git status", "ls", "./x": what the allow list names, once each. */
static int list_allowed(struct policy *p)
{
	scoped(buffer_donep) struct buffer out = {0};
	scoped(freep) const char **names = calloc(count_names(p->rules) + 1, sizeof(*names));
	size_t n = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = p->list_start[POLICY_ALLOW]; i < p->list_start[POLICY_ALLOW + 1]; i++)
		for (const char *const *c = p->compiled[i].rule->commands; c && *c; c++)
			names[n++] = *c;
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(names[i], names[i - 1]) == 0)
			continue;
		buffer_puts(&out, out.len ? ", " : "");
		buffer_puts(&out, names[i]);
	}
	p->allowed = buffer_take(&out);
	return p->allowed ? 0 : -ENOMEM;
}

static int allocate(struct policy *p)
{
	size_t names = count_names(p->rules), slots = 16;

	while (slots < 2 * names + 1)
		slots *= 2;
	p->compiled = calloc(p->rules->rule_count + 1, sizeof(*p->compiled));
	p->names = calloc(names + 1, sizeof(*p->names));
	p->slots = calloc(slots, sizeof(*p->slots));
	p->globs = calloc(p->rules->rule_count + 1, sizeof(*p->globs));
	p->slot_mask = (uint32_t)slots - 1;
	return p->compiled && p->names && p->slots && p->globs ? 0 : -ENOMEM;
}

int policy_new(const struct policy_rules *rules, struct policy **ret_policy, struct error *err)
{
	scoped(policy_freep) struct policy *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_nomem(err);
	p->rules = rules;
	if (allocate(p) < 0)
		return error_nomem(err);
	sort_rules(p);
	index_names(p);
	r = compile_line_rules(p, err);
	if (r < 0)
		return r;
	if (compile_match(p) < 0 || list_allowed(p) < 0)
		return error_nomem(err);
	*ret_policy = take_ptr(&p);
	return 0;
}

struct policy *policy_free(struct policy *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; p->compiled && i < p->count; i++)
		pcre2_code_free(p->compiled[i].regex);
	pcre2_match_context_free(p->match_context);
	pcre2_match_data_free(p->match_data);
	free(p->compiled);
	free(p->names);
	free(p->slots);
	free(p->globs);
	free(p->allowed);
	free(p);
	return NULL;
}
