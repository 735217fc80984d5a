#include "cli/leads.h"

#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/loop.h"
#include "decide/hosts.h"
#include "gateway/fit.h"
#include "gateway/peer.h"
#include "gateway/resolve.h"
#include "gateway/via.h"
#include "json/write.h"
#include "profile/profile.h"

#define PATIENCE_MS 2000

struct leads {
	const char *unasked; /* why it was not looked up; NULL: it was */
	struct resolve_answer answer;
	bool fit;
	struct fit_answer why;
	struct loop *loop;
	struct loop_timer late;
};

static void on_answer(void *owner, const struct resolve_answer *answer)
{
	struct leads *l = owner;

	l->answer = *answer;
	loop_stop(l->loop);
}

static int on_late(struct loop_timer *t)
{
	loop_stop(container_of(t, struct leads, late)->loop);
	return 0;
}

static void look_up(struct leads *l, const char *name)
{
	struct resolver *resolver = NULL;
	struct resolve *under_way = NULL;

	l->answer.end = RESOLVE_FAILED;
	if (loop_new(&l->loop, NULL) < 0)
		return;
	if (resolver_new(l->loop, &resolver, NULL) == 0 &&
	    resolver_ask(resolver, name, on_answer, l, &under_way) == 0 && under_way &&
	    loop_timer_set(l->loop, &l->late, loop_now(l->loop) + PATIENCE_MS, on_late) == 0)
		(void)loop_run(l->loop);
	loop_timer_clear(&l->late);
	resolver_free(resolver);
	loop_free(l->loop);
}

/* By the same steps as the gateway (gateway/dial.c). */
static void find(const struct profile *p, const struct host_seen *host, struct leads *ret)
{
	struct network_address own[RESOLVE_ADDRESSES_MAX];
	uint16_t port = host->port ? host->port : 443;
	struct fit_question q = {
		.rules = &p->network, .name = host->name, .port = port, .own = own};
	struct via via;

	*ret = (struct leads){.unasked = ""};
	if (p->sandbox.network != SANDBOX_NETWORK_NAMES || host->literal ||
	    strcmp(host->name, DESTINATION_HOST) == 0 ||
	    network_judge(&p->network, host->name, port).kind < NETWORK_VERDICT_ASK)
		return;
	via_read(&p->network, getenv, &via);
	if (via_takes(&via, &p->network, host->name, port)) {
		ret->unasked = "the proxy (sandbox.network.via) looks the name up";
		return;
	}
	ret->unasked = NULL;
	look_up(ret, host->name);
	q.own_count = peer_find_own(ret->answer.addresses, ret->answer.count, own);
	ret->fit = fit_all(&q, ret->answer.addresses, ret->answer.count, &ret->why);
}

void leads_put_json(const struct profile *p, const struct host_seen *host, struct json_writer *w)
{
	char text[NETWORK_ADDRESS_SIZE];
	struct leads l;

	find(p, host, &l);
	json_put_key(w, "leads_to");
	if (l.unasked || l.answer.end == RESOLVE_FAILED) {
		json_put_null(w);
	} else {
		json_array_begin(w);
		for (size_t i = 0; i < l.answer.count; i++) {
			network_address_format(&l.answer.addresses[i], text);
			json_put_string(w, text);
		}
		json_array_end(w);
	}
	json_put_key(w, "fit");
	if (l.unasked || l.answer.end != RESOLVE_FOUND)
		json_put_null(w);
	else
		json_put_bool(w, l.fit);
}

void leads_put_text(const struct profile *p, const struct host_seen *host, struct buffer *out)
{
	char text[NETWORK_ADDRESS_SIZE];
	struct leads l;

	find(p, host, &l);
	if (l.unasked) {
		if (*l.unasked)
			buffer_printf(out, "  %s\n", l.unasked);
		return;
	}
	if (l.answer.end != RESOLVE_FOUND) {
		buffer_puts(out, l.answer.end == RESOLVE_UNKNOWN
		                         ? "  leads nowhere: there is no such name\n"
		                         : "  leads to: not known, no name server has answered\n");
		return;
	}
	for (size_t i = 0; i < l.answer.count; i++) {
		network_address_format(&l.answer.addresses[i], text);
		buffer_printf(out, "%s%s", i ? ", " : "  leads to ", text);
	}
	buffer_putc(out, '\n');
	if (l.fit)
		return;
	network_address_format(&l.answer.addresses[l.why.which], text);
	buffer_printf(out, "  Connections are refused: %s is %s%s.\n", text, l.why.what,
	              l.why.reason == NETWORK_REASON_PRIVATE &&
	                              strcmp(l.why.what, "this machine") != 0 &&
	                              strcmp(l.why.what, "a metadata service") != 0
	                      ? ", and the name does not stand in sandbox.network.private"
	                      : "");
}
