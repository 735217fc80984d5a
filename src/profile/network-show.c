/*
 * The lists as they were written, with the names of sets, and then entry by entry: what each one
 * is, and where it comes from.
 */
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "gateway/rules.h"
#include "json/write.h"
#include "profile/keys.h"
#include "profile/network.h"
#include "profile/profile.h"

/* An entry stands for itself, or for the set that it is a member of. */
static void put_entries(const struct network_rule_list *list, enum network_list which,
                        struct json_writer *w)
{
	char text[DESTINATION_TEXT_SIZE];

	json_array_begin(w);
	for (size_t i = 0; i < list->count; i++) {
		const struct network_rule *r = &list->rules[i];
		bool again = false;

		for (size_t k = 0; k < i && r->set && !again; k++)
			again = list->rules[k].set && strcmp(list->rules[k].set, r->set) == 0;
		destination_format(&r->to, which, text);
		if (!again)
			json_put_string(w, r->set ? r->set : text);
	}
	json_array_end(w);
}

static void put_via(const struct network_via *via, struct json_writer *w)
{
	char text[DESTINATION_TEXT_SIZE + 16];
	bool six = strchr(via->host, ':') != NULL;

	if (via->environment) {
		json_put_string(w, "environment");
	} else if (!via->port) {
		json_put_null(w);
	} else {
		snprintf(text, sizeof(text), "http://%s%s%s:%u", six ? "[" : "", via->host,
		         six ? "]" : "", via->port);
		json_put_string(w, text);
	}
}

static void put_ports(const struct network_rules *rules, struct json_writer *w)
{
	char text[32];

	json_array_begin(w);
	for (size_t i = 0; i < rules->publish_count; i++) {
		snprintf(text, sizeof(text), "%u:%u", rules->publish[i].host,
		         rules->publish[i].box);
		json_put_string(w, text);
	}
	json_array_end(w);
}

void profile_network_put(const struct key *key, const struct profile *p, struct json_writer *w)
{
	if (key->type == KEY_NETWORK)
		json_put_string(w, p->sandbox.network == SANDBOX_NETWORK_HOST    ? "host"
		                   : p->sandbox.network == SANDBOX_NETWORK_NAMES ? "names"
		                                                                 : "none");
	else if (key->type == KEY_DESTINATIONS)
		put_entries(&p->network.lists[key->min], (enum network_list)key->min, w);
	else if (key->type == KEY_VIA)
		put_via(&p->network.via, w);
	else
		put_ports(&p->network, w);
}

static void put_rule(const struct network_rule *r, enum network_list list, struct json_writer *w)
{
	char text[DESTINATION_TEXT_SIZE];

	destination_format(&r->to, list, text);
	json_object_begin(w);
	json_member_string(w, "list", network_list_word(list));
	json_member_string(w, "entry", text);
	json_member_text(w, "file", r->file);
	json_member_uint(w, "line", r->line);
	json_member_text(w, "set", r->set);
	json_member_text(w, "source", r->source);
	json_object_end(w);
}

void profile_network_write(const struct profile *p, struct json_writer *w)
{
	json_member_array(w, "network");
	for (enum network_list list = 0; list < NETWORK_LIST_MAX; list++)
		for (size_t i = 0; p->sandbox.network == SANDBOX_NETWORK_NAMES &&
		                   i < p->network.lists[list].count;
		     i++)
			put_rule(&p->network.lists[list].rules[i], list, w);
	json_array_end(w);
}

void profile_network_print(const struct profile *p, bool names, struct buffer *out)
{
	char text[DESTINATION_TEXT_SIZE];

	for (enum network_list list = 0;
	     p->sandbox.network == SANDBOX_NETWORK_NAMES && list < NETWORK_LIST_MAX; list++) {
		const struct network_rule_list *l = &p->network.lists[list];

		if (l->count)
			buffer_printf(out, "\nsandbox.network.%s:\n", network_list_word(list));
		for (size_t i = 0; i < l->count; i++) {
			const struct network_rule *r = &l->rules[i];
			const char *slash = names ? strrchr(r->file, '/') : NULL;

			destination_format(&r->to, list, text);
			buffer_printf(out, "  - %s  # ", text);
			if (r->set)
				buffer_printf(out, "%s%s%s, ", r->set, r->source ? " from " : "",
				              r->source ? r->source : "");
			buffer_printf(out, "%s:%u\n", slash ? slash + 1 : r->file, r->line);
		}
	}
}
