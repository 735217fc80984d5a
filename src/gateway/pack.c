/*
 * Rules as bytes, to be sent to another process of the same build. The reader believes nothing: a
 * number out of its range or a text without an end is an error.
 */
#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "gateway/rules.h"

#define MAGIC    0x6e726c31U
#define NO_TEXT  UINT32_MAX
#define TEXT_MAX 8192

static void put_number(struct buffer *into, uint32_t number)
{
	buffer_append(into, &number, sizeof(number));
}

static void put_text(struct buffer *into, const char *text)
{
	size_t whole = text ? strlen(text) : 0;
	uint32_t n = whole < TEXT_MAX ? (uint32_t)whole : TEXT_MAX;

	put_number(into, text ? n : NO_TEXT);
	buffer_append(into, text ? text : "", n);
}

int network_rules_pack(const struct network_rules *rules, struct buffer *into, struct error *err)
{
	put_number(into, MAGIC);
	for (int list = 0; list < NETWORK_LIST_MAX; list++) {
		put_number(into, (uint32_t)rules->lists[list].count);
		for (size_t i = 0; i < rules->lists[list].count; i++) {
			const struct network_rule *r = &rules->lists[list].rules[i];

			buffer_append(into, &r->to, sizeof(r->to));
			put_text(into, r->file);
			put_number(into, r->line);
			put_text(into, r->set);
			put_text(into, r->source);
		}
	}
	put_number(into, rules->via.environment);
	put_number(into, rules->via.port);
	put_text(into, rules->via.host);
	put_number(into, (uint32_t)rules->publish_count);
	if (rules->publish_count)
		buffer_append(into, rules->publish, rules->publish_count * sizeof(*rules->publish));
	return buffer_error(into) ? error_nomem(err) : 0;
}

struct reader {
	const char *at;
	size_t left;
	struct arena *arena;
	bool broken;
};

static void get(struct reader *r, void *into, size_t n)
{
	if (r->broken || n > r->left) {
		r->broken = true;
		memset(into, 0, n);
		return;
	}
	memcpy(into, r->at, n);
	r->at += n;
	r->left -= n;
}

static uint32_t get_number(struct reader *r, uint32_t max)
{
	uint32_t number;

	get(r, &number, sizeof(number));
	if (number > max) {
		r->broken = true;
		return 0;
	}
	return number;
}

static const char *get_text(struct reader *r)
{
	uint32_t n = get_number(r, NO_TEXT);
	char *text;

	if (n == NO_TEXT || r->broken)
		return NULL;
	if (n > TEXT_MAX || n > r->left || memchr(r->at, '\0', n)) {
		r->broken = true;
		return NULL;
	}
	text = arena_strndup(r->arena, r->at, n);
	r->broken |= !text;
	r->at += n;
	r->left -= n;
	return text;
}

static void check_destination(struct reader *r, const struct destination *d)
{
	unsigned int most = d->address.family == 4 ? 32 : 128;
	bool number = d->kind == DESTINATION_ADDRESS || d->kind == DESTINATION_RANGE;
	bool family = d->address.family == 4 || d->address.family == 6;

	if ((unsigned int)d->kind > DESTINATION_RANGE || d->port < DESTINATION_PORT_ANY ||
	    d->port > 65535 || !memchr(d->name, '\0', sizeof(d->name)) || d->bits > most ||
	    number != family)
		r->broken = true;
}

static void get_list(struct reader *r, struct network_rule_list *list)
{
	size_t count = get_number(r, NETWORK_RULES_MAX);
	struct network_rule *rules = arena_new_array(r->arena, struct network_rule, count + 1);

	if (!rules)
		r->broken = true;
	for (size_t i = 0; i < count && !r->broken; i++) {
		get(r, &rules[i].to, sizeof(rules[i].to));
		check_destination(r, &rules[i].to);
		rules[i].file = get_text(r);
		rules[i].line = get_number(r, UINT32_MAX);
		rules[i].set = get_text(r);
		rules[i].source = get_text(r);
	}
	list->rules = rules;
	list->count = count;
}

int network_rules_unpack(const void *bytes, size_t n, struct arena *arena,
                         struct network_rules *ret_rules, struct error *err)
{
	struct reader r = {.at = bytes, .left = n, .arena = arena};
	struct network_rules rules = {0};
	struct network_publish *publish;
	const char *host;

	if (get_number(&r, UINT32_MAX) != MAGIC)
		r.broken = true;
	for (int list = 0; list < NETWORK_LIST_MAX; list++)
		get_list(&r, &rules.lists[list]);
	rules.via.environment = get_number(&r, 1);
	rules.via.port = (uint16_t)get_number(&r, 65535);
	host = get_text(&r);
	if (host && strlen(host) < sizeof(rules.via.host))
		strcpy(rules.via.host, host);
	else
		r.broken = true;
	rules.publish_count = get_number(&r, NETWORK_PUBLISH_MAX);
	publish = arena_new_array(arena, struct network_publish, rules.publish_count + 1);
	if (!publish)
		r.broken = true;
	if (!r.broken)
		get(&r, publish, rules.publish_count * sizeof(*publish));
	rules.publish = publish;
	if (r.broken || r.left)
		return error_set(err, ERROR_INPUT, EBADMSG, "these are no network rules");
	*ret_rules = rules;
	return 0;
}
