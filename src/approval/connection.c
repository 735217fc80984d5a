#include "approval/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/desk.h"
#include "approval/grants.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "policy/policy.h"
#include "profile/profile.h"

static int digest_of(const char *name, uint16_t port, struct digest *ret)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", port);
	return object_digest_strings((const char *const[]){"connection", name, number, NULL}, ret);
}

/* A grant is for the names of this profile. */
static bool terms_of(const struct profile *p, struct digest *ret)
{
	char digest[PROFILE_DIGEST_SIZE];

	return profile_network_digest(p, digest) &&
	       object_digest_strings((const char *const[]){"connection", digest, NULL}, ret) == 0;
}

const char *connection_list(const struct connection *to, size_t count, struct arena *arena)
{
	scoped(buffer_donep) struct buffer b = {0};

	for (size_t i = 0; i < count; i++)
		buffer_printf(&b, "%s%s:%u", i ? ", " : "", to[i].name, to[i].port);
	return buffer_error(&b) < 0 ? NULL : arena_strndup(arena, buffer_str(&b), b.len);
}

int connection_read_list(const char *text, struct arena *arena,
                         struct connection into[CONNECTIONS_MAX], size_t *ret_count)
{
	size_t count = 0;

	for (size_t n; text && *text; text += n + 2 * (text[n] == ',')) {
		const char *colon;
		char *end;
		unsigned long port;

		n = strcspn(text, ",");
		colon = memrchr(text, ':', n);
		port = colon ? strtoul(colon + 1, &end, 10) : 0;
		if (port == 0 || port > 65535 || end != text + n || count == CONNECTIONS_MAX ||
		    (text[n] && text[n + 1] != ' '))
			return -EINVAL;
		into[count] = (struct connection){
			.name = arena_strndup(arena, text, (size_t)(colon - text)),
			.port = (uint16_t)port,
			.rule = {.index = -1}};
		if (!into[count++].name)
			return -ENOMEM;
	}
	*ret_count = count;
	return 0;
}

/* For one it is what the gate asks about. */
static int fill_object(struct approval *a, const struct connection *to, size_t count,
                       struct arena *arena)
{
	struct digest *digests = arena_new_array(arena, struct digest, count);
	scoped(buffer_donep) struct buffer words = {0};
	const char *shown;

	if (!digests)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		shown = approval_escaped(arena, to[i].name, false);
		if (!shown || digest_of(to[i].name, to[i].port, &digests[i]) < 0)
			return -ENOMEM;
		buffer_printf(&words, "%sconnect to %s, port %u", i ? "\n" : "", shown, to[i].port);
	}
	a->exact = (struct approval_grants){.digests = digests, .count = count};
	if (count == 1)
		a->object.parts[OBJECT_ARGV] = digests[0];
	else
		digest_make(digests, count * sizeof(*digests), &a->object.parts[OBJECT_ARGV]);
	a->command = buffer_error(&words) < 0 ? NULL
	                                      : arena_strndup(arena, buffer_str(&words), words.len);
	a->reaches = connection_list(to, count, arena);
	return a->command && a->reaches ? 0 : -ENOMEM;
}

int connection_question(const struct connection_asker *by, const struct connection *to,
                        size_t count, struct arena *arena, struct approval *ret)
{
	static const char *const no_env[] = {NULL};
	const struct profile *p = by->profile;
	const struct network_rule *rule = network_rule_at(&p->network, to->rule);
	char text[DESTINATION_TEXT_SIZE];

	*ret = (struct approval){.principal = by->principal ? by->principal : "",
	                         .door = approval_escaped(arena, by->door, false),
	                         .session = by->session,
	                         .profile = approval_escaped(arena, p->name, false),
	                         .workspace = approval_escaped(arena, by->workspace, false),
	                         .cwd = approval_escaped(arena, by->workspace, false),
	                         .network = "names",
	                         .env = no_env,
	                         .created_ms = clock_wall_ms(),
	                         .reason = "sandbox.network.ask: a person decides about names",
	                         .audited = !p->audit.off,
	                         .mask = p->audit.log.mask};
	ret->expires_ms = ret->created_ms + p->ask.keep_ms;
	if (rule) {
		destination_format(&rule->to, to->rule.list, text);
		ret->rule_id = arena_strdup(arena, text);
		ret->rule_file = rule->file;
		ret->rule_line = rule->line;
	}
	if (!ret->profile || !ret->workspace || !terms_of(p, &ret->terms))
		return -ENOMEM;
	return fill_object(ret, to, count, arena);
}

bool approval_is_connection(const struct approval *a)
{
	return !a->held && !a->sandbox && a->network && strcmp(a->network, "names") == 0;
}

bool connection_is_granted(const struct connection_asker *by, const struct connection *to,
                           struct arena *arena)
{
	scoped(grants_donep) struct grants grants = {.policy = NULL};
	struct grants_of of = {.state = by->state,
	                       .session = by->session,
	                       .principal = by->principal ? by->principal : ""};
	struct digest wanted, has;

	if (!by->session || !terms_of(by->profile, &of.terms) ||
	    digest_of(to->name, to->port, &wanted) < 0 ||
	    grants_load(&of, arena, &grants, NULL) < 0 || !grants.policy)
		return false;
	for (size_t i = 0; i < policy_grants_count(grants.policy); i++) {
		policy_grants_at(grants.policy, i, &has);
		if (memcmp(&has, &wanted, sizeof(has)) == 0)
			return true;
	}
	return false;
}

/* The question about one, as it lies on the desk; one that is not there is put there. */
static int find_or_put(int desk, const struct connection_asker *by, const struct connection *to,
                       bool put, struct arena *arena, struct approval *ret)
{
	struct approval wanted;
	int r = connection_question(by, to, 1, arena, &wanted);

	if (r == 0)
		r = desk_find(desk, &wanted, arena, ret, NULL);
	if (r != -ENOENT || !put)
		return r;
	*ret = wanted;
	return desk_put(desk, ret, NULL);
}

int connection_answer_each(int desk, const struct connection_asker *by, const struct approval *a,
                           struct arena *arena)
{
	struct desk_answer answer = {.answer = a->answer == APPROVAL_ONCE ? APPROVAL_ONCE
	                                                                  : APPROVAL_SESSION,
	                             .by = a->by};
	struct connection to[CONNECTIONS_MAX];
	struct approval one, now;
	size_t count;
	int r = connection_read_list(a->reaches, arena, to, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = find_or_put(desk, by, &to[i], true, arena, &one);
		if (r == 0 && one.state == APPROVAL_OPEN)
			r = desk_answer(desk, one.id, NULL, &answer, arena, &now, NULL);
	}
	return r;
}

void connection_end_each(int desk, const struct connection_asker *by, const char *reaches,
                         struct arena *arena)
{
	struct connection to[CONNECTIONS_MAX];
	struct approval one, now;
	size_t count;

	if (connection_read_list(reaches, arena, to, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (find_or_put(desk, by, &to[i], false, arena, &one) == 0 &&
		    one.state == APPROVAL_GIVEN && one.answer == APPROVAL_ONCE)
			(void)desk_spend(desk, one.id, one.principal, &one.object, arena, &now,
			                 NULL);
}
