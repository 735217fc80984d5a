/*
 * What a run reached becomes entries of sandbox.network.allow: NAME:PORT. The list begins with
 * @inherited, so the layer only adds. An entry of `ask` for the very same name and port would win
 * over it, and is left out of that list.
 *
 * A wildcard opens names that nobody has seen, so it is only a comment. Words of the command stand
 * in comments alone, and cannot end one: else a line could write the policy that is reviewed.
 */
#include "cli/learn-layer.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/number.h"
#include "profile/profile.h"

#define SIBLINGS 3

struct entry {
	char name[DESTINATION_NAME_SIZE];
	uint16_t port; /* 0: a look-up */
	char reason[24];
	uint64_t count, bytes;
};

struct learn_layer {
	const struct profile *profile;
	struct entry *entries;
	size_t count, size, records;
};

struct learn_layer *learn_layer_new(const struct profile *profile)
{
	struct learn_layer *l = calloc(1, sizeof(*l));

	if (l)
		l->profile = profile;
	return l;
}

void learn_layer_free(struct learn_layer *l)
{
	free(l ? l->entries : NULL);
	free(l);
}

static struct entry *find(struct learn_layer *l, const char *name, uint16_t port,
                          const char *reason)
{
	struct entry *e;

	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i].port == port && strcmp(l->entries[i].name, name) == 0 &&
		    (!reason || strcmp(l->entries[i].reason, reason) == 0))
			return &l->entries[i];
	if (!reason)
		return NULL;
	if (l->count == l->size) {
		e = reallocarray(l->entries, l->size ? 2 * l->size : 32, sizeof(*e));
		if (!e)
			return NULL;
		l->entries = e;
		l->size = l->size ? 2 * l->size : 32;
	}
	e = &l->entries[l->count++];
	*e = (struct entry){.port = port};
	snprintf(e->name, sizeof(e->name), "%s", name);
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
	return e;
}

int learn_layer_add(struct learn_layer *l, const json_t *record)
{
	const char *event = json_string_value(json_object_get(record, "event"));
	const char *name = json_string_value(json_object_get(record, "name"));
	const char *verdict = json_string_value(json_object_get(record, "verdict"));
	const char *reason = json_string_value(json_object_get(record, "reason"));
	uint16_t port = (uint16_t)json_integer_value(json_object_get(record, "port"));
	struct entry *e;

	if (!event || !name)
		return 0;
	l->records++;
	if (strcmp(event, "network-ended") == 0) {
		e = find(l, name, port, "");
		if (e)
			e->bytes +=
				(uint64_t)json_integer_value(json_object_get(record, "sent")) +
				(uint64_t)json_integer_value(json_object_get(record, "received"));
		return 0;
	}
	if (!verdict || (strcmp(verdict, "allow") != 0 && !reason))
		return 0;
	e = find(l, name, port, strcmp(verdict, "allow") == 0 ? "" : reason);
	if (!e)
		return -ENOMEM;
	e->count++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int by_name = strcmp(x->name, y->name);

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return by_name ? by_name : (int)x->port - (int)y->port;
}

static void put_sums(const struct entry *e, struct buffer *out)
{
	char bytes[32];

	number_format_bytes(e->bytes, bytes);
	buffer_printf(out, "%llu connection%s, %s", (unsigned long long)e->count,
	              e->count == 1 ? "" : "s", bytes);
}

/* What the profile itself says. `*` in its lists does not open a private name, nor is one here. */
static struct network_verdict judge(const struct learn_layer *l, const struct entry *e)
{
	struct network_verdict none = {.kind = NETWORK_VERDICT_NONE, .rule.index = -1};

	return l->profile->sandbox.network == SANDBOX_NETWORK_NAMES
	               ? network_judge(&l->profile->network, e->name, e->port)
	               : none;
}

/* Records are masked: what does not parse any more is no name to allow. */
static bool is_entry(const struct entry *e, struct destination *ret)
{
	char text[DESTINATION_TEXT_SIZE + 8];

	snprintf(text, sizeof(text), "%s:%u", e->name, e->port);
	return !e->reason[0] && destination_parse(text, NETWORK_ALLOW, ret, NULL) == 0 &&
	       ret->kind == DESTINATION_NAME;
}

static bool is_tie(const struct destination *ask, const struct entry *e)
{
	return ask->kind == DESTINATION_NAME && strcmp(ask->name, e->name) == 0 &&
	       destination_covers_name(ask, e->name, e->port);
}

static void put_allow(const struct learn_layer *l, struct buffer *out)
{
	struct destination d;
	bool named = l->profile->sandbox.network == SANDBOX_NETWORK_NAMES;

	buffer_puts(out, "sandbox:\n  network:\n    allow:\n");
	if (named)
		buffer_puts(out, "      - \"@inherited\"\n");
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = &l->entries[i];

		if (!is_entry(e, &d))
			continue;
		if (judge(l, e).kind == NETWORK_VERDICT_ALLOW)
			buffer_printf(out, "      # allowed already: %s:%u  ", e->name, e->port);
		else
			buffer_printf(out, "      - \"%s:%u\"  # ", e->name, e->port);
		put_sums(e, out);
		buffer_putc(out, '\n');
	}
}

/* The list without the entries that would win over what was learned. */
static void put_ask(const struct learn_layer *l, struct buffer *out)
{
	const struct network_rule_list *ask = &l->profile->network.lists[NETWORK_ASK];
	struct destination d;
	char text[DESTINATION_TEXT_SIZE];
	bool any = false;

	for (size_t r = 0; r < ask->count; r++)
		for (size_t i = 0; i < l->count; i++)
			any |= is_entry(&l->entries[i], &d) &&
			       is_tie(&ask->rules[r].to, &l->entries[i]);
	if (!any)
		return;
	buffer_puts(out, "    ask:  # as before, without names that stand in allow now\n");
	for (size_t r = 0; r < ask->count; r++) {
		bool tie = false;

		for (size_t i = 0; i < l->count; i++)
			tie |= is_entry(&l->entries[i], &d) &&
			       is_tie(&ask->rules[r].to, &l->entries[i]);
		destination_format(&ask->rules[r].to, NETWORK_ASK, text);
		if (!tie)
			buffer_printf(out, "      - \"%s\"\n", text);
	}
}

static void put_wildcards(const struct learn_layer *l, struct buffer *out)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *above = strchr(l->entries[i].name, '.');
		size_t same = 0, first = i;

		if (l->entries[i].reason[0] || !above || !strchr(above + 1, '.'))
			continue;
		for (size_t k = 0; k < l->count; k++) {
			const struct entry *e = &l->entries[k];
			const char *other = strchr(e->name, '.');
			bool twice = false;

			if (e->reason[0] || !other || strcmp(other, above) != 0)
				continue;
			for (size_t j = 0; j < k; j++)
				twice |= !l->entries[j].reason[0] &&
				         strcmp(l->entries[j].name, e->name) == 0;
			same += !twice;
			first = k < first ? k : first;
		}
		if (same >= SIBLINGS && first == i)
			buffer_printf(out,
			              "    # %zu names are below %s. To allow all of them, also "
			              "those not seen: \"*%s\"\n",
			              same, above + 1, above);
	}
}

/* Bytes that could end the comment, in the eyes of any reader of YAML, are shown by number. */
static void put_comment(const char *text, struct buffer *out)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~') /* char may be signed */
			buffer_printf(out, "\\x%02x", (unsigned char)*text);
		else
			buffer_putc(out, *text);
}

/* "KIND: TEXT" -> how often. */
static void count_seen(json_t *seen, const char *kind, const json_t *text)
{
	scoped(buffer_donep) struct buffer key = {0};

	if (!json_is_string(text))
		return;
	buffer_printf(&key, "%s: %s", kind, json_string_value(text));
	(void)json_object_set_new(
		seen, buffer_str(&key),
		json_integer(json_integer_value(json_object_get(seen, buffer_str(&key))) + 1));
}

static void put_refused(const struct learn_layer *l, struct buffer *out)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = &l->entries[i];

		if (!e->reason[0])
			continue;
		buffer_puts(out, "# refused: ");
		put_comment(e->name, out);
		if (e->port)
			buffer_printf(out, ":%u", e->port);
		buffer_printf(out, " (%s)%s\n", e->reason,
		              strcmp(e->reason, "private") == 0
		                      ? ": needs sandbox.network.private, too"
		              : strcmp(e->reason, "address") == 0 ? ": an address, not a name"
		                                                  : "");
	}
}

/* Programs and paths that stand in the line, each once. */
static void put_line(const json_t *explained, struct buffer *out)
{
	const json_t *commands = json_object_get(explained, "commands"), *command, *word;
	json_t *seen = json_object(), *times;
	const char *text;
	size_t i, k;

	json_array_foreach (commands, i, command) {
		count_seen(seen, "program", json_object_get(command, "resolved"));
		json_array_foreach (json_object_get(command, "words"), k, word) {
			text = json_string_value(word);
			if (k > 0 && text && (text[0] == '/' || strncmp(text, "~/", 2) == 0))
				count_seen(seen, "path", word);
		}
	}
	json_object_foreach (seen, text, times) {
		buffer_puts(out, "# ");
		put_comment(text, out);
		if (json_integer_value(times) > 1)
			buffer_printf(out, "  (%lld times)", json_integer_value(times));
		buffer_putc(out, '\n');
	}
	json_decref(seen);
}

void learn_layer_print(struct learn_layer *l, const char *task, int exit_code,
                       const json_t *explained, struct buffer *out)
{
	struct destination d;
	bool any = false;

	if (l->count > 0)
		qsort(l->entries, l->count, sizeof(*l->entries), compare);
	for (size_t i = 0; i < l->count; i++)
		any |= is_entry(&l->entries[i], &d);
	buffer_printf(out,
	              "# Learned from task %s, which ended with exit code %d. Read it before you "
	              "use it.\n"
	              "# Names and ports are what this run reached; another run may reach others.\n"
	              "# Programs and paths are those that stand in the line: what programs start "
	              "and open is not seen.\n",
	              task, exit_code);
	put_line(explained, out);
	put_refused(l, out);
	if (l->records >= 1000)
		buffer_puts(out,
		            "# Only the first 1,000 records of the run were kept: names may be "
		            "missing.\n");
	if (!any) {
		buffer_puts(out, "# No public name was reached.\n{}\n");
		return;
	}
	put_allow(l, out);
	put_ask(l, out);
	put_wildcards(l, out);
}
