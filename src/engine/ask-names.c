#include "engine/ask-names.h"

#include <string.h>
#include "decide/check.h"
#include "decide/hosts.h"
#include "profile/profile.h"
#include "task/order.h"
#include "task/request.h"

struct connection_asker ask_names_asker(const struct question *q)
{
	const struct keeper_order *o = q->order;

	return (struct connection_asker){.profile = q->profile,
	                                 .state = o->request.state,
	                                 .principal = o->principal,
	                                 .session = o->request.session,
	                                 .door = o->door,
	                                 .workspace = o->request.workspace};
}

static bool can_ask(const struct request *rq, const struct question *q)
{
	const struct profile *p = q->profile;

	return (rq->can_ask || rq->comes_back) && !p->ask.refused && q->order->request.state &&
	       p->sandbox.network == SANDBOX_NETWORK_NAMES &&
	       p->sandbox.tier == SANDBOX_TIER_STRICT;
}

int ask_names_find(struct arena *arena, const struct request *rq, const struct question *q,
                   const struct check *c, struct ask_names *ret)
{
	struct connection_asker by = ask_names_asker(q);
	const struct host_seen *hosts;
	struct network_verdict v;
	struct connection to;
	size_t count;
	int r;

	ret->count = 0;
	if (!can_ask(rq, q) || !c->facts)
		return 0;
	r = hosts_seen(arena, c->facts, &hosts, &count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!hosts[i].sure || hosts[i].literal || !hosts[i].port)
			continue;
		v = network_judge(&q->profile->network, hosts[i].name, hosts[i].port);
		to = (struct connection){hosts[i].name, hosts[i].port, v.rule};
		if (v.kind != NETWORK_VERDICT_ASK || connection_is_granted(&by, &to, arena))
			continue;
		if (ret->count == CONNECTIONS_MAX) { /* nobody reads so many */
			ret->count = 0;
			return 0;
		}
		ret->to[ret->count++] = to;
	}
	return r;
}
