/*
 * Every rule that covers a destination has a rank, one number, and the highest decides. The rank
 * puts deny before all, then the more specific host, then the more specific port, then ask before
 * allow; of equals the first in its list wins.
 */
#include "gateway/rules.h"

#include <string.h>
#include "base/cleanup.h"

static const char *const reasons[NETWORK_REASON_MAX] = {
	[NETWORK_REASON_NONE] = "",
	[NETWORK_REASON_NOT_ALLOWED] = "not-allowed",
	[NETWORK_REASON_DENIED] = "denied",
	[NETWORK_REASON_PORT] = "port",
	[NETWORK_REASON_ADDRESS] = "address",
	[NETWORK_REASON_PRIVATE] = "private",
	[NETWORK_REASON_SNI] = "sni",
	[NETWORK_REASON_HOST] = "host",
	[NETWORK_REASON_PROXY] = "proxy",
	[NETWORK_REASON_PERSON] = "person",
	[NETWORK_REASON_TIMEOUT] = "timeout",
	[NETWORK_REASON_UNRESOLVED] = "unresolved",
	[NETWORK_REASON_UNREACHABLE] = "unreachable",
	[NETWORK_REASON_LIMIT] = "limit",
};

const char *network_reason_word(enum network_reason reason)
{
	return (unsigned int)reason < NETWORK_REASON_MAX ? reasons[reason] : "";
}

const char *network_verdict_word(enum network_verdict_kind kind)
{
	static const char *const words[] = {
		[NETWORK_VERDICT_NONE] = "none",
		[NETWORK_VERDICT_DENY] = "deny",
		[NETWORK_VERDICT_ASK] = "ask",
		[NETWORK_VERDICT_ALLOW] = "allow",
	};

	return (size_t)kind < array_size(words) ? words[kind] : "";
}

const char *network_list_word(enum network_list list)
{
	static const char *const words[NETWORK_LIST_MAX] = {
		[NETWORK_ALLOW] = "allow",
		[NETWORK_ASK] = "ask",
		[NETWORK_DENY] = "deny",
		[NETWORK_PRIVATE] = "private",
	};

	return (unsigned int)list < NETWORK_LIST_MAX ? words[list] : "";
}

static bool names_same(const struct network_rule *rules, size_t n, const struct destination *d)
{
	for (size_t i = 0; i < n; i++)
		if (destination_equal(&rules[i].to, d))
			return true;
	return false;
}

int network_rules_read(struct network_rule *rules, const char *const *texts, size_t *count,
                       enum network_list list, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < *count; i++) {
		int r = texts[i] ? destination_parse(texts[i], list, &rules[i].to, err) : 0;

		if (r < 0) {
			*count = i;
			return r;
		}
		if (!names_same(rules, n, &rules[i].to))
			rules[n++] = rules[i];
	}
	*count = n;
	return 0;
}

/* What is judged: a name or an address, on a port. */
struct target {
	const char *name;                      /* or */
	const struct network_address *address; /* a literal */
	uint16_t port;                         /* 0: any port that no rule names */
};

static bool covers(const struct network_rule *r, const struct target *t, uint16_t port)
{
	return t->name ? destination_covers_name(&r->to, t->name, port)
	               : destination_covers_address(&r->to, t->address, port);
}

/* The host itself is reached by an exact entry of allow alone, and asked about never. */
static bool may_count(enum network_list list, const struct network_rule *r, const struct target *t)
{
	if (list == NETWORK_DENY || !t->name || strcmp(t->name, DESTINATION_HOST) != 0)
		return true;
	return list == NETWORK_ALLOW && r->to.kind == DESTINATION_NAME && r->to.port > 0;
}

static bool applies(enum network_list list, const struct network_rule *r, const struct target *t)
{
	if (!may_count(list, r, t) || !covers(r, t, t->port))
		return false;
	return t->port > 0 || r->to.port == DESTINATION_PORT_ANY;
}

static unsigned int rank(enum network_list list, const struct destination *d)
{
	unsigned int host = d->kind == DESTINATION_NAME     ? 1000
	                    : d->kind == DESTINATION_SUFFIX ? (unsigned int)strlen(d->name)
	                    : d->kind == DESTINATION_ANY    ? 0
	                                                    : d->bits;
	unsigned int port = d->port > 0 ? 2 : d->port == DESTINATION_PORT_USUAL ? 1 : 0;

	return (list == NETWORK_DENY ? 1U << 16 : 0) + host * 8 + port * 2 + (list == NETWORK_ASK);
}

/* Whether a rule that does not hold on this port would on another. */
static bool other_port(const struct network_rules *rules, const struct target *t)
{
	for (enum network_list list = NETWORK_ALLOW; list <= NETWORK_ASK; list++)
		for (size_t i = 0; i < rules->lists[list].count; i++)
			if (may_count(list, &rules->lists[list].rules[i], t) &&
			    covers(&rules->lists[list].rules[i], t, 0))
				return true;
	return false;
}

static struct network_verdict judge(const struct network_rules *rules, const struct target *t)
{
	struct network_verdict v = {.rule = {.index = -1}, .runner_up = {.index = -1}};
	unsigned int best = 0, second = 0, r;

	for (enum network_list list = NETWORK_ALLOW; list <= NETWORK_DENY; list++)
		for (size_t i = 0; i < rules->lists[list].count; i++) {
			const struct network_rule *rule = &rules->lists[list].rules[i];
			struct network_ref ref = {.list = list, .index = (int32_t)i};

			if (!applies(list, rule, t))
				continue;
			r = rank(list, &rule->to);
			if (v.rule.index < 0 || r > best) {
				v.runner_up = v.rule;
				second = best;
				v.rule = ref;
				best = r;
			} else if (v.runner_up.index < 0 || r > second) {
				v.runner_up = ref;
				second = r;
			}
		}
	if (v.rule.index < 0) {
		v.kind = NETWORK_VERDICT_NONE;
		v.reason = other_port(rules, t) ? NETWORK_REASON_PORT
		           : t->name            ? NETWORK_REASON_NOT_ALLOWED
		                                : NETWORK_REASON_ADDRESS;
	} else if (v.rule.list == NETWORK_DENY) {
		v.kind = NETWORK_VERDICT_DENY;
		v.reason = NETWORK_REASON_DENIED;
	} else {
		v.kind = v.rule.list == NETWORK_ALLOW ? NETWORK_VERDICT_ALLOW : NETWORK_VERDICT_ASK;
	}
	return v;
}

struct network_verdict network_judge(const struct network_rules *rules, const char *name,
                                     uint16_t port)
{
	return judge(rules, &(struct target){.name = name, .port = port});
}

struct network_verdict network_judge_address(const struct network_rules *rules,
                                             const struct network_address *address, uint16_t port)
{
	return judge(rules, &(struct target){.address = address, .port = port});
}

static void try_port(const struct network_rules *rules, struct target *t, uint16_t port,
                     struct network_verdict *best)
{
	struct network_verdict v;

	t->port = port;
	v = judge(rules, t);
	if (v.kind > best->kind)
		*best = v;
}

/* The ports that can differ are those that some rule names, the usual two, and one for the rest. */
struct network_verdict network_judge_name(const struct network_rules *rules, const char *name)
{
	struct target t = {.name = name};
	struct network_verdict best = judge(rules, &t);

	try_port(rules, &t, 443, &best);
	try_port(rules, &t, 80, &best);
	for (enum network_list list = NETWORK_ALLOW; list <= NETWORK_DENY; list++)
		for (size_t i = 0; i < rules->lists[list].count; i++) {
			const struct destination *d = &rules->lists[list].rules[i].to;

			if (best.kind == NETWORK_VERDICT_ALLOW)
				return best;
			if (d->port > 0 && destination_covers_name(d, name, 0))
				try_port(rules, &t, (uint16_t)d->port, &best);
		}
	if (best.kind == NETWORK_VERDICT_NONE)
		best.reason = NETWORK_REASON_NOT_ALLOWED;
	return best;
}

const struct network_rule *network_rule_at(const struct network_rules *rules,
                                           struct network_ref ref)
{
	if ((unsigned int)ref.list >= NETWORK_LIST_MAX || ref.index < 0 ||
	    (size_t)ref.index >= rules->lists[ref.list].count)
		return NULL;
	return &rules->lists[ref.list].rules[ref.index];
}
