/*
 * What of a profile the network of a session depends on. Rules for commands are no part of it: a
 * change of them must not take the servers of a session out of reach. Nor are lines of files, and
 * the remotes of the repository: an agent can add one, and a person is asked about it in any case.
 */
#include <inttypes.h>
#include <string.h>
#include "base/buffer.h"
#include "base/digest.h"
#include "base/hex.h"
#include "gateway/rules.h"
#include "profile/network.h"
#include "profile/profile.h"

static void put_rules(const struct network_rules *n, struct buffer *into)
{
	char text[DESTINATION_TEXT_SIZE];

	for (enum network_list list = 0; list < NETWORK_LIST_MAX; list++)
		for (size_t i = 0; i < n->lists[list].count; i++) {
			const struct network_rule *r = &n->lists[list].rules[i];

			if (list == NETWORK_ASK && network_source_is_remote(r->source))
				continue;
			destination_format(&r->to, list, text);
			buffer_printf(into, "%s %s\n", network_list_word(list), text);
		}
	buffer_printf(into, "via %d %s %u\n", n->via.environment, n->via.host, n->via.port);
	for (size_t i = 0; i < n->publish_count; i++)
		buffer_printf(into, "publish %u %u\n", n->publish[i].host, n->publish[i].box);
}

static void put_settings(const struct profile *p, struct buffer *into)
{
	const struct profile_audit *a = &p->audit;

	buffer_printf(into, "ask %" PRId64 " %d\n", p->ask.keep_ms, p->ask.refused);
	buffer_printf(into, "audit %d %d %" PRIu64 " %" PRId64 " %" PRIu64 "\n", a->off,
	              a->optional, a->log.max_bytes, a->log.max_age_ms, a->log.keep);
	for (size_t i = 0; a->log.mask && a->log.mask[i]; i++)
		buffer_printf(into, "mask %zu %s\n", strlen(a->log.mask[i]), a->log.mask[i]);
}

bool profile_network_digest(const struct profile *p, char into[PROFILE_DIGEST_SIZE])
{
	scoped(buffer_donep) struct buffer text = {0};
	struct digest all;

	buffer_printf(&text, "%s\n%s\n%s\n", NACRE_VERSION, p->base ? p->base : "",
	              p->name ? p->name : "");
	put_rules(&p->network, &text);
	put_settings(p, &text);
	if (buffer_error(&text))
		return false;
	digest_make(buffer_str(&text), text.len, &all);
	hex_write(all.bytes, (PROFILE_DIGEST_SIZE - 1) / 2, into);
	return true;
}
