#include "engine/explain-network.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "decide/hosts.h"
#include "gateway/fit.h"
#include "gateway/url.h"
#include "json/write.h"
#include "profile/profile.h"

int network_wish_parse(const char *text, struct network_wish *ret_wish, struct error *err)
{
	struct network_wish wish = {.port = 443};
	struct url_host h;

	if (!url_authority(text, strlen(text), &h)) {
		struct destination d;
		int r = destination_parse(text, NETWORK_DENY, &d, err);

		return r < 0 ? r
		             : error_set(err, ERROR_INPUT, EINVAL,
		                         "'%.80s' is not one host: give NAME:PORT or ADDRESS:PORT",
		                         text);
	}
	snprintf(wish.name, sizeof(wish.name), "%s", h.name);
	wish.literal = h.literal;
	if (h.written)
		wish.port = h.port;
	*ret_wish = wish;
	return 0;
}

struct host_seen network_wish_host(const struct network_wish *wish)
{
	return (struct host_seen){.name = wish->name, .literal = wish->literal, .port = wish->port};
}

/* What a box of this profile would do, as one verdict. */
struct opinion {
	struct network_verdict verdict;
	const char *word;   /* "allow", "ask", "deny", "none" */
	const char *reason; /* of a refusal; "" if there is none */
	const char *kind;   /* of an address that `private` must name; NULL: none */
};

static struct opinion judge(const struct profile *p, const struct host_seen *host)
{
	struct opinion o = {.verdict = {.rule = {.index = -1}, .runner_up = {.index = -1}}};
	uint16_t port = host->port ? host->port : 443;
	struct network_address address;
	struct fit_answer fit = {0};

	if (p->sandbox.network == SANDBOX_NETWORK_HOST) {
		o.verdict.kind = NETWORK_VERDICT_ALLOW;
	} else if (!host->literal) {
		o.verdict = network_judge(&p->network, host->name, port);
	} else if (network_address_parse(host->name, strlen(host->name), &address)) {
		struct fit_question q = {.rules = &p->network, .port = port};

		o.verdict = network_judge_address(&p->network, &address, port);
		if (o.verdict.kind >= NETWORK_VERDICT_ASK && !fit_check(&q, &address, &fit)) {
			o.verdict.kind = NETWORK_VERDICT_DENY;
			o.verdict.reason = fit.reason;
			o.kind = fit.what;
		}
	}
	o.word = network_verdict_word(o.verdict.kind);
	o.reason = network_reason_word(o.verdict.reason);
	return o;
}

static const char *shown(const char *file, bool hide)
{
	const char *slash = hide && file ? strrchr(file, '/') : NULL;

	return slash ? slash + 1 : file;
}

static void put_ref(const struct network_rules *rules, struct network_ref ref, const char *key,
                    bool hide, struct json_writer *w)
{
	const struct network_rule *rule = network_rule_at(rules, ref);
	char text[DESTINATION_TEXT_SIZE];

	json_put_key(w, key);
	if (!rule) {
		json_put_null(w);
		return;
	}
	destination_format(&rule->to, ref.list, text);
	json_object_begin(w);
	json_member_string(w, "list", network_list_word(ref.list));
	json_member_string(w, "entry", text);
	json_member_text(w, "file", shown(rule->file, hide));
	json_member_uint(w, "line", rule->line);
	json_member_text(w, "set", rule->set);
	json_member_text(w, "source", shown(rule->source, hide));
	json_object_end(w);
}

void explain_network_put_json(const struct profile *p, const struct host_seen *host, bool hide,
                              struct json_writer *w)
{
	struct opinion o = judge(p, host);

	json_member_string(w, "name", host->name);
	json_put_key(w, "port");
	if (host->port)
		json_put_uint(w, host->port);
	else
		json_put_null(w);
	json_member_string(w, "verdict", o.word);
	json_member_text(w, "reason", *o.reason ? o.reason : NULL);
	put_ref(&p->network, o.verdict.rule, "rule", hide, w);
	put_ref(&p->network, o.verdict.runner_up, "runner_up", hide, w);
	json_member_bool(w, "in_force",
	                 p->sandbox.network != SANDBOX_NETWORK_NAMES ||
	                         SANDBOX_NETWORK_NAMES_SERVED);
}

static void put_rule(const struct network_rules *rules, struct network_ref ref, const char *what,
                     const char *indent, struct buffer *out)
{
	const struct network_rule *rule = network_rule_at(rules, ref);
	char text[DESTINATION_TEXT_SIZE];

	if (!rule)
		return;
	destination_format(&rule->to, ref.list, text);
	buffer_printf(out, "%s  %s sandbox.network.%s: %s  [", indent, what,
	              network_list_word(ref.list), text);
	if (rule->set)
		buffer_printf(out, "%s%s%s, ", rule->set, rule->source ? " from " : "",
		              rule->source ? rule->source : "");
	buffer_printf(out, "%s:%u]\n", rule->file, rule->line);
}

/* What the operator would write. */
static void put_advice(const struct profile *p, const struct host_seen *host,
                       const struct opinion *o, const char *indent, struct buffer *out)
{
	struct url_host h = {.literal = host->literal, .port = host->port};
	char entry[DESTINATION_TEXT_SIZE];

	snprintf(h.name, sizeof(h.name), "%s", host->name);
	(void)url_entry(&h, entry);
	if (p->sandbox.network == SANDBOX_NETWORK_NONE)
		buffer_printf(out, "%s  The profile has no network (sandbox.network: none).\n",
		              indent);
	else if (o->kind)
		buffer_printf(out,
		              "%s  The address is closed (%s): it must stand in "
		              "sandbox.network.private, too.\n",
		              indent, o->kind);
	else if (o->verdict.kind == NETWORK_VERDICT_NONE)
		buffer_printf(out,
		              "%s  The operator can add \"%s\" to sandbox.network.allow%s%s%s in "
		              "~/.config/nacre/%s.yaml.\n",
		              indent, entry, host->literal ? ", and \"" : "",
		              host->literal ? host->name : "",
		              host->literal ? "\" to sandbox.network.private if it is not public,"
		                            : "",
		              p->name);
}

void explain_network_put_text(const struct profile *p, const struct host_seen *host,
                              const char *indent, struct buffer *out)
{
	struct opinion o = judge(p, host);
	bool six = host->literal && strchr(host->name, ':');

	buffer_printf(out, "%s%s%s%s", indent, six ? "[" : "", host->name, six ? "]" : "");
	if (host->port)
		buffer_printf(out, ":%u", host->port);
	buffer_printf(out, ": %s", o.verdict.kind == NETWORK_VERDICT_NONE ? "refuse" : o.word);
	if (*o.reason)
		buffer_printf(out, " (%s)", o.reason);
	buffer_putc(out, '\n');
	if (p->sandbox.network == SANDBOX_NETWORK_HOST) {
		buffer_printf(out, "%s  by sandbox.network: host\n", indent);
		return;
	}
	put_rule(&p->network, o.verdict.rule, "by", indent, out);
	put_rule(&p->network, o.verdict.runner_up, "otherwise", indent, out);
	put_advice(p, host, &o, indent, out);
	if (p->sandbox.network == SANDBOX_NETWORK_NAMES && !SANDBOX_NETWORK_NAMES_SERVED)
		buffer_printf(
			out,
			"%s  Not in force: network by name is not available in this build, so "
			"commands have no network.\n",
			indent);
}
