#include "engine/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "json/write.h"
#include "task/report.h"

/* Copies up to the tab or the end of the line; returns what is behind it. */
static const char *take(const char *at, char *into, size_t size)
{
	size_t n = strcspn(at, "\t\n");

	snprintf(into, size, "%.*s", (int)(n < size ? n : size - 1), at);
	return at + n + (at[n] == '\t');
}

const char *network_refusal_next(const char *list, struct network_refusal *ret)
{
	char port[8], count[24];

	if (!list || !*list)
		return NULL;
	list = take(list, ret->name, sizeof(ret->name));
	list = take(list, port, sizeof(port));
	list = take(list, count, sizeof(count));
	list = take(list, ret->reason, sizeof(ret->reason));
	list = take(list, ret->rule, sizeof(ret->rule));
	list = take(list, ret->what, sizeof(ret->what));
	ret->port = (unsigned)strtoul(port, NULL, 10);
	ret->count = strtoull(count, NULL, 10);
	list += strcspn(list, "\n");
	return list + (*list == '\n');
}

/* What happened, and what to do, by the fixed word of the reason. */
static const struct sentence {
	const char *reason, *text;
} sentences[] = {
	{"not-allowed", "no rule of profile @profile allows it. The operator can add \"@to\" to "
                        "sandbox.network.allow in ~/.config/nacre/@profile.yaml."},
	{"denied", "the rule \"@rule\" of sandbox.network.deny forbids it."},
	{"port",
         "profile @profile allows the name, but not this port. The operator can add \"@to\" to "
         "sandbox.network.allow."},
	{"address", "an address, not a name. Use a name, or ask the operator for \"@to\" in "
                    "sandbox.network.allow and sandbox.network.private."},
	{"private", "the name leads to @what, which only sandbox.network.private opens."},
	{"sni", "the program asked for another server by TLS (@what)."},
	{"host", "the program asked for another host by HTTP (@what)."},
	{"proxy", "the program used the connection as a proxy. Connect to each name directly."},
	{"person", "a person must allow it. Run `nacre approve @what`, then retry."},
	{"said-no", "a person said @what. Do not retry it as it is."},
	{"no-person", "a person must allow it, and did not. The operator can add \"@to\" to "
                      "sandbox.network.allow in ~/.config/nacre/@profile.yaml."},
	{"timeout", "nobody answered in time. Run `nacre approve @what`, then retry."},
	{"unresolved", "the name does not exist, or no name server answered."},
	{"unreachable", "no connection could be made (@what)."},
	{"limit", "there were too many connections, names or questions at the same time."},
};

struct word {
	const char *key, *value;
};

/* TEXT with the value of each @key. What does not fit is cut. */
static void fill_in(const char *text, const struct word *words, char *into, size_t size)
{
	size_t used = 0;

	while (*text && used + 1 < size) {
		const struct word *w = *text == '@' ? words : NULL;

		while (w && w->key && strncmp(text + 1, w->key, strlen(w->key)) != 0)
			w++;
		if (!w || !w->key) {
			into[used++] = *text++;
			continue;
		}
		used += (size_t)snprintf(into + used, size - used, "%s", w->value);
		text += 1 + strlen(w->key);
	}
	into[used < size ? used : size - 1] = '\0';
}

void network_refusal_text(const struct network_refusal *r, const char *profile, char *into,
                          size_t size)
{
	char to[sizeof(r->name) + 8], times[48] = "";
	const struct sentence *s = NULL;
	const char *reason = r->reason;
	size_t used;

	if (strcmp(reason, "person") == 0 && !r->what[0]) /* there is no question */
		reason = "no-person";
	else if (strcmp(reason, "person") == 0 && strncmp(r->what, "no", 2) == 0)
		reason = "said-no"; /* ids begin with "ap-" */
	for (size_t i = 0; i < array_size(sentences) && !s; i++)
		if (strcmp(sentences[i].reason, reason) == 0)
			s = &sentences[i];
	if (r->port && strchr(r->name, ':'))
		snprintf(to, sizeof(to), "[%.200s]:%u", r->name, r->port);
	else if (r->port)
		snprintf(to, sizeof(to), "%.250s:%u", r->name, r->port);
	else
		snprintf(to, sizeof(to), "%s", r->name);
	if (r->count > 1)
		snprintf(times, sizeof(times), " (%llu times)", (unsigned long long)r->count);
	used = (size_t)snprintf(into, size, "network: %s was refused%s: ", to, times);
	if (!s || used >= size)
		return;
	fill_in(s->text,
	        (const struct word[]){{"to", to},
	                              {"rule", r->rule},
	                              {"what", r->what[0] ? r->what : "unknown"},
	                              {"profile", profile},
	                              {NULL, NULL}},
	        into + used, size - used);
}

void network_put(struct json_writer *w, const struct keeper_network_report *report)
{
	struct network_refusal r;
	const char *at = report->list;

	json_put_key(w, "network");
	if (!report->named) {
		json_put_null(w);
		return;
	}
	json_object_begin(w);
	json_member_uint(w, "connections", report->connections);
	json_member_uint(w, "refused_count", report->refused);
	json_member_array(w, "refused");
	while ((at = network_refusal_next(at, &r))) {
		json_object_begin(w);
		json_member_string(w, "name", r.name);
		json_put_key(w, "port");
		if (r.port)
			json_put_int(w, r.port);
		else
			json_put_null(w);
		json_member_uint(w, "count", r.count);
		json_member_string(w, "reason", r.reason);
		json_member_text(w, "rule", r.rule);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}
