/*
 * sandbox.network as a map. Layers of the operator replace `allow`, `ask`, `private` and `publish`
 * ("@inherited" stands for what is below) and add to `deny`.
 *
 * The file of a project only tightens:
 *
 *     the word      host > map > none
 *     allow         keeps some of the entries below
 *     ask           an entry that contains entries of allow turns them into ask; one that lies
 *                   within an entry of allow or ask is added; any other would open something
 *     deny          adds
 *     publish       keeps some of the ports below
 *     private, via  nothing
 */
#include "profile/network.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "gateway/url.h"
#include "profile/bind.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "yaml/yaml.h"

/* A list that is being made: what is written is gathered, then all is read at once. */
struct making {
	struct binder *b;
	const char *name; /* of the key, for messages */
	enum network_list list;
	struct network_rule *rules;
	const char **texts; /* what each names; NULL: it is read already */
	size_t count, capacity;
};

static int make_room(struct making *m)
{
	size_t capacity = m->capacity ? 2 * m->capacity : 16;
	struct network_rule *rules = arena_new_array(m->b->arena, struct network_rule, capacity);
	const char **texts = arena_new_array(m->b->arena, const char *, capacity);

	if (!rules || !texts)
		return bind_no_memory(m->b);
	if (m->count) {
		memcpy(rules, m->rules, m->count * sizeof(*rules));
		memcpy(texts, m->texts, m->count * sizeof(*texts));
	}
	m->rules = rules;
	m->texts = texts;
	m->capacity = capacity;
	return 0;
}

static int make_add(struct making *m, const struct network_rule *rule, const char *text)
{
	int r = m->count == m->capacity ? make_room(m) : 0;

	if (r == 0) {
		m->rules[m->count] = *rule;
		m->texts[m->count++] = text;
	}
	return r;
}

static int make_add_list(struct making *m, const struct network_rule_list *list)
{
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++)
		r = make_add(m, &list->rules[i], NULL);
	return r;
}

/* NODE has the entries. */
static int make_read(struct making *m, const struct yaml_node *node)
{
	struct error err = {0};
	const struct yaml_node *e = node->first;

	if (network_rules_read(m->rules, m->texts, &m->count, m->list, &err) == 0)
		return 0;
	while (e->next && e->text != m->texts[m->count] && e->text != m->rules[m->count].set)
		e = e->next;
	return bind_fail(m->b, e, "'%s': %s", m->name, err.text);
}

/* Of a list in which all is read. */
static void make_drop_doubles(struct making *m)
{
	(void)network_rules_read(m->rules, m->texts, &m->count, m->list, NULL);
}

static struct network_rule_list *list_of(struct binder *b, enum network_list list)
{
	return &b->profile->network.lists[list];
}

static int add_text(struct making *m, const struct yaml_node *at, const char *text, const char *set,
                    const char *source)
{
	return make_add(m,
	                &(struct network_rule){
				.file = m->b->file, .line = at->line, .set = set, .source = source},
	                text);
}

/* "@name": a set of the files, which may have the name of a built-in one, or a built-in one. */
static int add_set(struct making *m, const struct yaml_node *e)
{
	const struct network_member *members;
	const char *const *own = bind_set_find(m->b, e->text + 1);
	size_t count;
	int r = 0;

	if (own) {
		for (; *own && r == 0; own++)
			r = add_text(m, e, *own, e->text, NULL);
		return r;
	}
	r = network_set_members(m->b, e->text + 1, &members, &count);
	if (r == -ENOENT)
		return bind_fail(m->b, e, "'%s': there is no set '%.40s'", m->name, e->text);
	if (r == 0 && m->list == NETWORK_PRIVATE)
		return bind_fail(m->b, e, "'%s': name the hosts, not the set '%.40s'", m->name,
		                 e->text);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_text(m, e, members[i].entry, e->text, members[i].source);
	return r;
}

static int add_entry(struct making *m, const struct yaml_node *e)
{
	if (e->kind != YAML_SCALAR || yaml_scalar_type(e) != YAML_TYPE_TEXT)
		return bind_wrong_type(m->b, e, m->name, "a text");
	if (strcmp(e->text, "@inherited") == 0)
		return make_add_list(m, list_of(m->b, m->list));
	return e->text[0] == '@' ? add_set(m, e) : add_text(m, e, e->text, NULL, NULL);
}

static bool has(const struct network_rule_list *list, const struct destination *d)
{
	for (size_t i = 0; i < list->count; i++)
		if (destination_equal(&list->rules[i].to, d))
			return true;
	return false;
}

static bool lies_within(const struct network_rule_list *list, const struct destination *d)
{
	for (size_t i = 0; i < list->count; i++)
		if (destination_within(d, &list->rules[i].to))
			return true;
	return false;
}

/* Moves what each entry of a project contains from allow to ask, and leaves in *NEW what is added.
 */
static int turn(struct making *asked, const struct making *new, const struct yaml_node *node)
{
	struct binder *b = asked->b;
	const struct network_rule_list below = *list_of(b, NETWORK_ALLOW);
	struct making allow = {.b = b, .list = NETWORK_ALLOW};
	int r = 0;

	for (size_t i = 0; i < new->count &&r == 0; i++) {
		const struct destination *d = &new->rules[i].to;
		bool turns = false;

		for (size_t k = 0; k < below.count && r == 0; k++) {
			struct network_rule moved = below.rules[k];

			if (!destination_within(&moved.to, d))
				continue;
			turns = true;
			moved.file = new->rules[i].file;
			moved.line = new->rules[i].line;
			r = make_add(asked, &moved, NULL);
		}
		if (r == 0 && (lies_within(&below, d) || lies_within(list_of(b, NETWORK_ASK), d)))
			r = make_add(asked, &new->rules[i], NULL);
		else if (r == 0 && !turns)
			return bind_fail(b, node,
			                 "'%s' would open what is closed now; the file of a "
			                 "project can only tighten",
			                 new->name);
	}
	if (r == 0)
		r = make_read(asked, node);
	for (size_t k = 0; k < below.count && r == 0; k++)
		if (!has(&(struct network_rule_list){asked->rules, asked->count},
		         &below.rules[k].to))
			r = make_add(&allow, &below.rules[k], NULL);
	*list_of(b, NETWORK_ALLOW) = (struct network_rule_list){allow.rules, allow.count};
	return r;
}

int bind_destinations(struct binder *b, const struct key *key, const char *name,
                      const struct yaml_node *node)
{
	enum network_list list = (enum network_list)key->min;
	struct making m = {.b = b, .name = name, .list = list};
	struct making asked = {.b = b, .name = name, .list = NETWORK_ASK};
	/* With the whole network of the host below, every list of names is tighter. */
	bool open = b->profile->sandbox.network == SANDBOX_NETWORK_HOST;
	int r = 0;

	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, name, "a list of destinations");
	if (b->tighten && key->tighten == KEY_NOBODY)
		return bind_loosens(b, node, name);
	if (list == NETWORK_DENY)
		r = make_add_list(&m, list_of(b, list));
	for (const struct yaml_node *e = node->first; e && r == 0; e = e->next)
		r = add_entry(&m, e);
	if (r == 0)
		r = make_read(&m, node);
	if (r == 0 && m.count > NETWORK_RULES_MAX)
		return bind_fail(b, node, "'%s': too many entries", name);
	for (size_t i = 0; r == 0 && b->tighten && list == NETWORK_ALLOW && i < m.count; i++)
		if (open ? strcmp(m.rules[i].to.name, DESTINATION_HOST) == 0
		         : !has(list_of(b, list), &m.rules[i].to))
			return bind_loosens(b, node, name);
	if (r == 0 && b->tighten && list == NETWORK_ASK && !open) {
		r = make_add_list(&asked, list_of(b, NETWORK_ASK));
		if (r == 0)
			r = turn(&asked, &m, node);
		m = asked;
	}
	if (r == 0)
		*list_of(b, list) = (struct network_rule_list){m.rules, m.count};
	return r;
}

int bind_destination_remove(struct binder *b, const struct key *key, const char *text)
{
	enum network_list list = (enum network_list)key->min;
	struct network_rule_list *from = list_of(b, list);
	struct making m = {.b = b, .list = list};
	struct destination d;
	int r = 0;

	if (destination_parse(text, list, &d, NULL) < 0 || !has(from, &d))
		return -ENODATA;
	for (size_t i = 0; i < from->count && r == 0; i++)
		if (!destination_equal(&from->rules[i].to, &d))
			r = make_add(&m, &from->rules[i], NULL);
	*from = (struct network_rule_list){m.rules, m.count};
	return r;
}

int bind_via(struct binder *b, const char *name, const struct yaml_node *node)
{
	struct network_via via = {0};
	struct url_host host;
	size_t n;

	if (b->tighten)
		return bind_loosens(b, node, name);
	if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_TEXT)
		return bind_wrong_type(b, node, name, "a text");
	if (strcmp(node->text, "environment") == 0) {
		via.environment = true;
	} else {
		n = url_find(node->text, node->len, &host);
		if (strncmp(node->text, "http://", 7) != 0 || n == 0 || !host.written ||
		    memchr(node->text, '@', node->len) ||
		    (node->text[n] && strcmp(node->text + n, "/") != 0))
			return bind_fail(b, node,
			                 "'%s': '%.60s' is no proxy: write http://HOST:PORT, or "
			                 "environment",
			                 name, node->text);
		via.port = host.port;
		snprintf(via.host, sizeof(via.host), "%s", host.name);
	}
	b->profile->network.via = via;
	return 0;
}

static bool read_port(const char *text, size_t n, uint16_t *ret_port)
{
	unsigned int port = 0;

	if (n == 0 || n > 5 || (n > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	*ret_port = (uint16_t)port;
	return port < 65536;
}

static bool read_ports(const char *text, struct network_publish *ret)
{
	size_t n = strcspn(text, ":");

	if (!read_port(text, n, &ret->host))
		return false;
	if (!text[n])
		ret->box = ret->host;
	else if (!read_port(text + n + 1, strlen(text + n + 1), &ret->box))
		return false;
	return ret->box != 0;
}

static bool publishes(const struct network_rules *rules, const struct network_publish *port)
{
	for (size_t i = 0; i < rules->publish_count; i++)
		if (rules->publish[i].host == port->host && rules->publish[i].box == port->box)
			return true;
	return false;
}

int bind_publish(struct binder *b, const struct key *key, const char *name,
                 const struct yaml_node *node)
{
	struct network_rules *rules = &b->profile->network;
	struct network_publish *all =
		arena_new_array(b->arena, struct network_publish, 2 * NETWORK_PUBLISH_MAX + 1);
	size_t n = 0;

	if (!all)
		return bind_no_memory(b);
	if (node->kind != YAML_LIST)
		return bind_wrong_type(b, node, name, "a list of ports");
	for (const struct yaml_node *e = node->first; e && n < NETWORK_PUBLISH_MAX; e = e->next) {
		if (e->kind == YAML_SCALAR && strcmp(e->text, "@inherited") == 0) {
			for (size_t i = 0; i < rules->publish_count && n < NETWORK_PUBLISH_MAX; i++)
				all[n++] = rules->publish[i];
			continue;
		}
		if (e->kind != YAML_SCALAR || !read_ports(e->text, &all[n]))
			return bind_fail(b, e, "'%s' wants ports: 8080, or \"8080:80\"", name);
		if (b->tighten && !publishes(rules, &all[n]))
			return bind_loosens(b, node, name);
		n++;
	}
	if (n == NETWORK_PUBLISH_MAX)
		return bind_fail(b, node, "'%s': too many ports", name);
	rules->publish = all;
	rules->publish_count = n;
	return 0;
}

/* A higher number is tighter. */
static int tightness(enum sandbox_network network)
{
	return network == SANDBOX_NETWORK_HOST ? 0 : network == SANDBOX_NETWORK_NAMES ? 1 : 2;
}

int bind_network(struct binder *b, const struct key *key, const char *name,
                 const struct yaml_node *node)
{
	struct profile *p = b->profile;
	enum sandbox_network wanted = SANDBOX_NETWORK_NAMES;
	const struct key_choice *choice;
	int r = 0;

	if (node->kind != YAML_MAP) {
		if (node->kind != YAML_SCALAR || yaml_scalar_type(node) != YAML_TYPE_TEXT)
			return bind_wrong_type(b, node, name, "a word or a map");
		choice = key_choice_find(key->choices, node->text);
		if (!choice)
			return bind_fail_choice(b, key, name, node);
		wanted = (enum sandbox_network)choice->value;
	}
	if (b->tighten && tightness(wanted) < tightness(p->sandbox.network))
		return bind_loosens(b, node, name);
	if (node->kind == YAML_MAP)
		r = bind_map(b, key->sub, name, node, p);
	else
		p->network = (struct network_rules){0}; /* lists of a map below are gone with it */
	if (r == 0)
		p->sandbox.network = wanted;
	return r;
}

static const struct profile_origin *origin_of_map(const struct binder *b)
{
	for (const struct profile_origin *o = b->origins; o; o = o->next)
		if (o->key->type == KEY_NETWORK)
			return o;
	return NULL;
}

/* Where nothing could keep the lists, no network is better than an open one; but an operator who
 * wrote them must know. */
static int check_mode(struct binder *b)
{
	struct profile *p = b->profile;
	const struct profile_origin *o = origin_of_map(b);

	if (p->mode != PROFILE_MODE_CONTAINER && p->mode != PROFILE_MODE_NONE)
		return 0;
	if (!o || strncmp(o->place.file, "built-in:", 9) == 0) {
		if (p->mode == PROFILE_MODE_CONTAINER)
			p->sandbox.network = SANDBOX_NETWORK_NONE;
		return 0;
	}
	return error_set(b->err, ERROR_INPUT, EINVAL,
	                 "%s:%u:%u: 'sandbox.network' is a map, which the mode '%s' cannot keep: "
	                 "use 'none' or 'host'",
	                 yaml_name_shown(o->place.file), o->place.line, o->place.column,
	                 p->mode == PROFILE_MODE_NONE ? "none" : "container");
}

static bool is_file(const char *source)
{
	return source && source[0] == '/';
}

/* What a command could have written into a configuration of the machine opens nothing. */
static int drop_open_sources(struct binder *b, enum network_list list)
{
	struct making m = {.b = b, .list = list};
	const struct network_rule_list from = *list_of(b, list);
	int r = 0;

	for (size_t i = 0; i < from.count && r == 0; i++)
		if (!is_file(from.rules[i].source) ||
		    !network_source_is_open(b, from.rules[i].source))
			r = make_add(&m, &from.rules[i], NULL);
	*list_of(b, list) = (struct network_rule_list){m.rules, m.count};
	return r;
}

/* A registry of the company lies in its network: who configured it for the machine wants that. */
static int open_registries(struct binder *b)
{
	struct making m = {.b = b, .list = NETWORK_PRIVATE};
	int r = make_add_list(&m, list_of(b, NETWORK_PRIVATE));

	for (enum network_list list = NETWORK_ALLOW; list <= NETWORK_ASK; list++)
		for (size_t i = 0; i < list_of(b, list)->count && r == 0; i++) {
			struct network_rule rule = list_of(b, list)->rules[i];

			rule.to.port = DESTINATION_PORT_ANY;
			if (is_file(rule.source))
				r = make_add(&m, &rule, NULL);
		}
	if (m.count > list_of(b, NETWORK_PRIVATE)->count)
		make_drop_doubles(&m);
	*list_of(b, NETWORK_PRIVATE) = (struct network_rule_list){m.rules, m.count};
	return r;
}

static const struct network_rule *find_set(struct binder *b, const char *set)
{
	for (enum network_list list = NETWORK_ALLOW; list <= NETWORK_ASK; list++)
		for (size_t i = 0; i < list_of(b, list)->count; i++)
			if (list_of(b, list)->rules[i].set &&
			    strcmp(list_of(b, list)->rules[i].set, set) == 0)
				return &list_of(b, list)->rules[i];
	return NULL;
}

static int ask_about_remotes(struct binder *b)
{
	const struct network_rule *by = find_set(b, "@forges");
	const struct network_member *members = NULL;
	struct making m = {.b = b, .list = NETWORK_ASK};
	size_t count = 0;
	int r = 0;

	if (!by || !by->source)
		return 0;
	r = network_set_remotes(b, &members, &count);
	if (r == 0)
		r = make_add_list(&m, list_of(b, NETWORK_ASK));
	for (size_t i = 0; i < count && r == 0; i++) {
		struct network_rule rule = *by;

		if (destination_parse(members[i].entry, NETWORK_ASK, &rule.to, NULL) < 0 ||
		    lies_within(list_of(b, NETWORK_ALLOW), &rule.to) ||
		    lies_within(list_of(b, NETWORK_ASK), &rule.to))
			continue;
		rule.source = members[i].source;
		r = make_add(&m, &rule, NULL);
	}
	if (m.count > list_of(b, NETWORK_ASK)->count)
		make_drop_doubles(&m);
	if (r == 0)
		*list_of(b, NETWORK_ASK) = (struct network_rule_list){m.rules, m.count};
	return r;
}

/* Sets come from files that are no layers: what they say is part of the profile all the same. */
static int mix_digest(struct binder *b)
{
	scoped(buffer_donep) struct buffer bytes = {0};
	struct digest both[2] = {b->profile->store->digest};
	int r = network_rules_pack(&b->profile->network, &bytes, b->err);

	if (r < 0)
		return r;
	digest_make(buffer_str(&bytes), bytes.len, &both[1]);
	digest_make(both, sizeof(both), &b->profile->store->digest);
	return 0;
}

int bind_finish_network(struct binder *b)
{
	struct profile *p = b->profile;
	int r;

	if (p->sandbox.network != SANDBOX_NETWORK_NAMES)
		return 0;
	r = check_mode(b);
	for (enum network_list list = 0; list < NETWORK_LIST_MAX && r == 0; list++)
		r = drop_open_sources(b, list);
	if (r == 0)
		r = open_registries(b);
	if (r == 0)
		r = ask_about_remotes(b);
	/* An empty list means nothing, not everything. */
	if (p->network.lists[NETWORK_ALLOW].count == 0 &&
	    p->network.lists[NETWORK_ASK].count == 0 && p->network.publish_count == 0)
		p->sandbox.network = SANDBOX_NETWORK_NONE;
	return r < 0 ? r : mix_digest(b);
}
