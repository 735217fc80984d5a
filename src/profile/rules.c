/*
 * Rules: a text or a map becomes a policy_rule with its place, its id, and its sets replaced.
 *
 * All layers add to the lists that refuse, nudge and ask; the list of what is allowed is replaced.
 * The file of a project lies within the reach of the agent, so each of its rules must leave the
 * profile as tight as it was: it adds no question where the answer was no, no nudge that can be
 * forced, and allows nothing that was not allowed.
 */
#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/suggest.h"
#include "policy/policy.h"
#include "profile/bind.h"
#include "profile/profile.h"
#include "shell/knowledge.h"
#include "yaml/yaml.h"

#define TEXT_SHOWN 400 /* bytes of a rule as it was written */

static const char *const list_names[POLICY_LIST_MAX] = {
	[POLICY_NEVER] = "never", [POLICY_DENY] = "deny", [POLICY_DANGER] = "danger",
	[POLICY_NUDGE] = "nudge", [POLICY_ASK] = "ask",   [POLICY_ALLOW] = "allow",
};

/* A node in one line, near to how it was written. */
static void put_node(const struct yaml_node *node, struct buffer *out)
{
	if (out->len > TEXT_SHOWN)
		return;
	if (node->kind == YAML_SCALAR) {
		buffer_append(out, node->text, node->len);
		return;
	}
	buffer_putc(out, node->kind == YAML_LIST ? '[' : '{');
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		if (e->key) {
			buffer_append(out, e->key->text, e->key->len);
			buffer_puts(out, ": ");
		}
		put_node(e, out);
		if (e->next)
			buffer_puts(out, ", ");
	}
	buffer_putc(out, node->kind == YAML_LIST ? ']' : '}');
}

static int rule_text(struct binder *b, const struct yaml_node *node, const char **ret_text)
{
	scoped(buffer_donep) struct buffer out = {0};

	if (node->kind == YAML_SCALAR) {
		*ret_text = node->text;
		return 0;
	}
	put_node(node, &out);
	*ret_text = arena_strndup(b->arena, buffer_str(&out), out.len);
	return *ret_text && !buffer_error(&out) ? 0 : bind_no_memory(b);
}

/* -rf is two options, but -delete of find is one. */
static bool is_cluster(const char *command, const char *word)
{
	const struct knowledge_command *known = knowledge_find(command);

	if (!known || known->single_dash || word[1] == '-' || !word[1] || !word[2])
		return false;
	return !word[1 + strspn(word + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

struct words {
	const char **args, **with;
	size_t arg_count, with_count;
};

static bool add_option(struct binder *b, struct words *w, const char *command, const char *word)
{
	if (!is_cluster(command, word)) {
		w->with[w->with_count++] = word;
		return true;
	}
	for (word++; *word; word++) {
		char *one = arena_printf(b->arena, "-%c", *word);

		if (!one)
			return false;
		w->with[w->with_count++] = one;
	}
	return true;
}

static int name_of_text(struct binder *b, const struct yaml_node *node, const char *name,
                        struct policy_rule *rule)
{
	struct yaml_node entry = {.kind = YAML_SCALAR,
	                          .plain = false,
	                          .line = node->line,
	                          .column = node->column,
	                          .text = name,
	                          .len = strlen(name)};
	struct yaml_node list = {.kind = YAML_LIST, .first = &entry, .count = 1};

	return bind_texts(b, key_find(rule_keys, "commands"), list_names[rule->list], &list, NULL,
	                  &rule->commands);
}

/* "git push", "npm run test", "./\*": a name, the first operands, and options anywhere. */
static int read_text(struct binder *b, const struct yaml_node *node, struct policy_rule *rule)
{
	size_t most = node->len + 1, n;
	const char *command = NULL, *word;
	struct words w = {0};
	int r;

	if (yaml_scalar_type(node) != YAML_TYPE_TEXT)
		return bind_wrong_type(b, node, list_names[rule->list], "a text");
	if (node->text[strcspn(node->text, "|;&<>$`\n")])
		return bind_fail(b, node,
		                 "a rule names one command, and '%c' is none of its words; whole "
		                 "lines are matched in 'danger'",
		                 node->text[strcspn(node->text, "|;&<>$`\n")]);
	w.args = arena_new_array(b->arena, const char *, most / 2 + 2);
	w.with = arena_new_array(b->arena, const char *, most + 1);
	if (!w.args || !w.with)
		return bind_no_memory(b);
	for (const char *p = node->text + strspn(node->text, " \t"); *p;
	     p += n + strspn(p + n, " \t")) {
		n = strcspn(p, " \t");
		word = arena_strndup(b->arena, p, n);
		if (!word)
			return bind_no_memory(b);
		if (!command)
			command = word;
		else if (word[0] != '-' || !word[1])
			w.args[w.arg_count++] = word;
		else if (!add_option(b, &w, command, word))
			return bind_no_memory(b);
	}
	if (!command)
		return bind_fail(b, node, "an empty rule");
	r = name_of_text(b, node, command, rule);
	if (r < 0)
		return r;
	rule->args = w.arg_count ? w.args : NULL;
	rule->with = w.with_count ? w.with : NULL;
	return 0;
}

static int check_lists(struct binder *b, const struct yaml_node *node, enum policy_list list)
{
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		const struct key *key = key_find(rule_keys, e->key->text);

		if (key && key->lists && !(key->lists & 1U << list))
			return bind_fail(b, e->key, "'%s' has no meaning in '%s'", key->name,
			                 list_names[list]);
	}
	return 0;
}

static int read_map(struct binder *b, const struct yaml_node *node, struct policy_rule *rule)
{
	bool line, command;
	int r;

	r = check_lists(b, node, rule->list);
	if (r == 0)
		r = bind_map(b, rule_keys, list_names[rule->list], node, rule);
	if (r < 0)
		return r;
	line = rule->literal || rule->regex || rule->pipe_from || rule->pipe_to || rule->write_to;
	command = rule->commands || rule->args || rule->with || rule->without || rule->only ||
	          rule->operands || rule->paths || rule->effects;
	if (!line && !command)
		return bind_fail(b, node, "a rule that says nothing about commands");
	if (rule->list == POLICY_ALLOW && !rule->commands)
		return bind_fail(b, node, "a rule that allows must name its 'commands'");
	if ((rule->literal != NULL) + (rule->regex != NULL) + (rule->pipe_from || rule->pipe_to) +
	            (rule->write_to != NULL) >
	    1)
		return bind_fail(b, node,
		                 "only one of 'literal', 'regex', 'pipe' and 'write' can "
		                 "stand in a rule");
	if (line && command && (rule->literal || rule->regex || rule->pipe_from || rule->pipe_to))
		return bind_fail(b, node, "a rule is about a line or about a command, not both");
	if (!rule->pipe_from != !rule->pipe_to)
		return bind_fail(b, node, "'pipe' wants both 'from' and 'to'");
	return 0;
}

/* What a rule is called when it does not say. */
static const char *own_name(struct binder *b, const struct yaml_node *node,
                            const struct policy_rule *rule)
{
	const struct yaml_node *commands = yaml_map_get(node, "commands");
	const char *name;

	if (rule->id)
		return rule->id;
	if (node->kind == YAML_SCALAR)
		return node->text;
	if (!commands || !commands->first)
		return rule->literal    ? "literal"
		       : rule->regex    ? "regex"
		       : rule->write_to ? "write"
		       : rule->pipe_to  ? "pipe"
		                        : "any";
	name = commands->first->text; /* "@shells", as it is written */
	for (const char *const *a = rule->args; name && a && *a; a++)
		name = arena_printf(b->arena, "%s %s", name, *a);
	return name;
}

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261U;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619U;
	return hash;
}

static struct bind_rule *find_rule(const struct binder *b, const char *id)
{
	uint32_t hash = hash_text(id);

	for (struct bind_rule *r = b->rules; r; r = r->next)
		if (!r->removed && r->hash == hash && strcmp(r->rule.id, id) == 0)
			return r;
	return NULL;
}

static int make_id(struct binder *b, const struct yaml_node *node, struct bind_rule *item)
{
	const char *list = list_names[item->rule.list], *name = own_name(b, node, &item->rule);
	const struct bind_rule *other;
	bool given = item->rule.id != NULL;
	char *id = name ? arena_printf(b->arena, "%s:%s", list, name) : NULL;

	for (unsigned n = 2; id && (other = find_rule(b, id)); n++) {
		if (given && n == 2 && other->layer == b->layer)
			return bind_fail(b, node, "the id '%s' comes twice, first in line %u", name,
			                 other->rule.place.line);
		id = arena_printf(b->arena, "%s:%s-%u", list, name, n);
	}
	if (!id)
		return bind_no_memory(b);
	item->rule.id = id;
	item->hash = hash_text(id);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

/* By what they mean: the same words may stand for other members of a set. */
static bool match_the_same(const struct policy_rule *a, const struct policy_rule *b)
{
	return same_list(a->commands, b->commands) && same_list(a->args, b->args) &&
	       same_list(a->with, b->with) && same_list(a->without, b->without) &&
	       same_list(a->only, b->only) && same_list(a->operands, b->operands) &&
	       same_list(a->effects, b->effects) && same_list(a->pipe_from, b->pipe_from) &&
	       same_list(a->pipe_to, b->pipe_to) && same_list(a->write_to, b->write_to) &&
	       same_text(a->literal, b->literal) && same_text(a->regex, b->regex) &&
	       a->paths == b->paths;
}

static bool say_the_same(const struct policy_rule *a, const struct policy_rule *b)
{
	return a->list == b->list && match_the_same(a, b) && same_text(a->reason, b->reason) &&
	       same_list(a->use, b->use) && a->forceable == b->forceable &&
	       a->line_only == b->line_only && a->role == b->role;
}

static bool is_plain(const struct policy_rule *r)
{
	return r->commands && !r->with && !r->without && !r->only && !r->operands && !r->paths &&
	       !r->effects;
}

static bool begins_with(const char *const *all, const char *const *beginning)
{
	for (; beginning && *beginning; beginning++, all++)
		if (!all || !*all || strcmp(*all, *beginning) != 0)
			return false;
	return true;
}

/* Whether all that NARROW allows is allowed by WIDE, too. */
static bool covers(const struct policy_rule *wide, const struct policy_rule *narrow)
{
	if (match_the_same(wide, narrow))
		return true;
	if (!is_plain(wide) || (wide->args && !wide->args[0]) ||
	    !begins_with(narrow->args, wide->args))
		return false;
	for (const char *const *c = narrow->commands; *c; c++)
		if (!bind_texts_have(wide->commands, *c))
			return false;
	return true;
}

static bool is_allowed_below(const struct binder *b, const struct policy_rule *rule)
{
	if (b->fallback_below == POLICY_VERDICT_ALLOW)
		return true;
	for (const struct bind_rule *r = b->rules; r; r = r->next)
		/* The list of the layer at hand has just replaced those below; what they had
		 * replaced themselves was no longer allowed. */
		if (r->rule.list == POLICY_ALLOW && r->layer < b->layer &&
		    (!r->removed || r->removed == b->layer) && covers(&r->rule, rule))
			return true;
	return false;
}

static int check_tight(struct binder *b, const struct yaml_node *node, struct policy_rule *rule)
{
	if (rule->list == POLICY_ALLOW && !is_allowed_below(b, rule))
		return bind_fail(b, node,
		                 "this would allow what the layers below do not; the file of a "
		                 "project can only tighten");
	if (rule->list == POLICY_ASK && b->fallback_below == POLICY_VERDICT_DENY)
		return bind_fail(b, node,
		                 "a question where the answer below is no; the file of a project "
		                 "can only tighten");
	if (rule->list == POLICY_NUDGE) {
		if (yaml_map_get(node, "force") && rule->forceable)
			return bind_fail(b, node,
			                 "a nudge of a project cannot be forceable: what "
			                 "is forced would skip the layers below");
		rule->forceable = false;
	}
	return 0;
}

/* A layer that repeats a rule says nothing new. */
static bool is_known(const struct binder *b, const struct policy_rule *rule)
{
	for (const struct bind_rule *r = b->rules; r; r = r->next)
		if (!r->removed && r->layer < b->layer && say_the_same(&r->rule, rule))
			return true;
	return false;
}

static int add_rule(struct binder *b, enum policy_list list, const struct yaml_node *node)
{
	struct bind_rule *item = arena_new_object(b->arena, struct bind_rule);
	int r;

	if (!item)
		return bind_no_memory(b);
	if (node->kind == YAML_LIST)
		return bind_wrong_type(b, node, list_names[list], "a text or a map");
	if (b->rule_count >= BIND_RULE_MAX)
		return bind_fail(b, node, "more than %d rules", BIND_RULE_MAX);
	item->rule.list = list;
	item->rule.place = bind_place(b, node);
	item->rule.forceable = list == POLICY_NUDGE;
	item->layer = b->layer;
	r = node->kind == YAML_MAP ? read_map(b, node, &item->rule)
	                           : read_text(b, node, &item->rule);
	if (r == 0)
		r = rule_text(b, node, &item->rule.text);
	if (r == 0 && b->tighten)
		r = check_tight(b, node, &item->rule);
	if (r < 0)
		return r;
	if (is_known(b, &item->rule))
		return 0;
	r = make_id(b, node, item);
	if (r < 0)
		return r;
	if (b->last_rule)
		b->last_rule->next = item;
	else
		b->rules = item;
	b->last_rule = item;
	b->rule_count++;
	return 0;
}

static bool is_inherited(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR && strcmp(node->text, "@inherited") == 0;
}

static void drop_allowed_below(struct binder *b)
{
	for (struct bind_rule *r = b->rules; r; r = r->next)
		if (r->rule.list == POLICY_ALLOW && r->layer < b->layer && !r->removed)
			r->removed = b->layer;
}

int bind_rules(struct binder *b, enum policy_list list, const struct yaml_node *node)
{
	bool keep = list != POLICY_ALLOW;
	int r;

	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, list_names[list], "a list of rules");
	for (const struct yaml_node *e = node->first; e; e = e->next)
		keep |= is_inherited(e);
	if (!keep)
		drop_allowed_below(b);
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		if (list == POLICY_ALLOW && is_inherited(e))
			continue;
		r = add_rule(b, list, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int no_such_rule(struct binder *b, const struct yaml_node *node)
{
	const char *near = NULL;
	unsigned best = SUGGEST_NONE;

	for (const struct bind_rule *r = b->rules; r; r = r->next)
		if (!r->removed && suggest_is_near(node->text, r->rule.id, &best))
			near = r->rule.id;
	if (near)
		return bind_fail(b, node, "no rule below has the id '%.60s', did you mean '%.60s'?",
		                 node->text, near);
	return bind_fail(b, node, "no rule below has the id '%.80s'", node->text);
}

int bind_removals(struct binder *b, const struct yaml_node *node)
{
	int r;

	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, "remove", "a list of ids");
	for (const struct yaml_node *e = node->first; e; e = e->next) {
		struct bind_rule *rule;

		if (e->kind != YAML_SCALAR || yaml_scalar_type(e) != YAML_TYPE_TEXT)
			return bind_wrong_type(b, e, "remove", "a text");
		rule = find_rule(b, e->text);
		r = rule ? 0 : bind_remove_entry(b, e);
		if (rule && rule->rule.list == POLICY_NEVER)
			return bind_fail(b, e, "'%.80s' can not be removed: it holds for ever",
			                 e->text);
		if (rule)
			rule->removed = b->layer;
		else if (r == -ENOENT)
			return no_such_rule(b, e);
		else if (r < 0)
			return r;
	}
	return 0;
}

/* A name that can be that of a file: not ".", "[" or "*", nor a path of the workspace. */
static bool is_program(const char *name)
{
	return strncmp(name, "./", 2) != 0 &&
	       name[strcspn(name,
	                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")];
}

/* Programs that the box shall not hold, or the only ones that it shall: those that a list names
 * whatever their arguments are. */
static int gather_programs(struct binder *b, const char *const **ret_names, bool allowed)
{
	size_t n = 0, capacity = 1;
	const char **names;

	for (int round = 0; round < 2; round++) {
		names = round ? arena_new_array(b->arena, const char *, capacity) : NULL;
		if (round && !names)
			return bind_no_memory(b);
		for (struct bind_rule *r = b->rules; r; r = r->next) {
			const struct policy_rule *rule = &r->rule;
			bool takes = allowed ? rule->list == POLICY_ALLOW
			                     : rule->list <= POLICY_DANGER && !rule->args &&
			                               is_plain(rule) && !rule->line_only &&
			                               !rule->write_to;

			if (r->removed || !takes)
				continue;
			for (const char *const *c = rule->commands; c && *c; c++) {
				if (!is_program(*c))
					continue;
				capacity += !round;
				if (round && !bind_texts_have(names, *c))
					names[n++] = *c;
			}
		}
	}
	*ret_names = names;
	return 0;
}

/* The application's own tools, in place of those that the rule names for others. */
static void name_tools(const struct profile *p, struct policy_rule *rule)
{
	const char *const *own = p->tools.of[rule->role];

	if (!own || !*own)
		return;
	rule->use = own;
	rule->own_tools = true;
}

/* The rules of upper layers first: what they say about the same command is said to the caller. */
static int collect(struct binder *b)
{
	struct policy_rule *rules =
		arena_new_array(b->arena, struct policy_rule, b->rule_count + 1);
	size_t n = 0;

	if (!rules)
		return bind_no_memory(b);
	for (uint32_t layer = b->layer + 1; layer-- > 0;)
		for (struct bind_rule *r = b->rules; r; r = r->next)
			if (r->layer == layer && !r->removed)
				rules[n++] = r->rule;
	for (size_t i = 0; i < n; i++)
		name_tools(b->profile, &rules[i]);
	b->profile->rules.rules = rules;
	b->profile->rules.rule_count = n;
	return 0;
}

int bind_finish_rules(struct binder *b)
{
	int r = collect(b);

	if (r == 0)
		r = gather_programs(b, &b->profile->sandbox.denied, false);
	if (r == 0 && b->profile->sandbox.exec == SANDBOX_EXEC_LISTED)
		r = gather_programs(b, &b->profile->sandbox.programs, true);
	return r;
}
