#include "approval/connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/grants.h"
#include "approval/text.h"
#include "base/arena.h"

static int digest_of(const char *name, uint16_t port, struct digest *ret)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", port);
	return object_digest_strings((const char *const[]){"connection", name, number, NULL}, ret);
}

int connection_fill(struct approval *a, const char *name, uint16_t port, struct arena *arena)
{
	static const char *const no_env[] = {NULL};
	const char *shown = approval_escaped(arena, name, false);
	struct digest *digest = arena_new_object(arena, struct digest);
	int r;

	if (!shown || !digest)
		return -ENOMEM;
	a->command = arena_printf(arena, "connect to %s, port %u", shown, port);
	a->env = no_env;
	if (!a->command)
		return -ENOMEM;
	r = digest_of(name, port, digest);
	if (r < 0)
		return r;
	a->object.parts[OBJECT_ARGV] = *digest;
	a->exact = (struct approval_grants){.digests = digest, .count = 1};
	return 0;
}

bool approval_is_connection(const struct approval *a)
{
	return !a->held && !a->sandbox && a->network && strcmp(a->network, "names") == 0;
}

bool connection_granted(const struct grants *g, const char *name, uint16_t port)
{
	struct digest wanted, has;

	if (!g->policy || digest_of(name, port, &wanted) < 0)
		return false;
	for (size_t i = 0; i < policy_grants_count(g->policy); i++) {
		policy_grants_at(g->policy, i, &has);
		if (memcmp(&has, &wanted, sizeof(has)) == 0)
			return true;
	}
	return false;
}
