/*
 * Access to /mcp: which messages need a session, who owns it, and when it ends. The room mcp
 * handles a message; mcp-post.c returns its answer.
 */
#include "serve/mcp-http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "engine/dialect.h"
#include "session/room.h"
#include "session/use.h"
#include "http/text.h"
#include "json/write.h"
#include "mcp/era.h"
#include "mcp/server.h"
#include "json/rpc.h"
#include "json/rpc-write.h"
#include "serve/mcp-inside.h"
#include "serve/mcp-names.h"
#include "serve/secret.h"
#include "task/find.h"

#define SESSIONS_MAX    1024
#define SESSIONS_EACH   256
#define SESSION_IDLE_MS (30 * 60 * 1000)
#define SWEEP_MS        30000

/* Sides */

static bool is_offered(const struct mcp_offer *offers, size_t count, const struct engine *engine)
{
	while (count > 0 && offers[count - 1].engine != engine)
		count--;
	return count > 0;
}

static size_t find_offers(struct call *c, struct mcp_offer offers[OFFERS_MAX])
{
	const char *const *roots = bench_roots(c), *const *profiles = c->serve->options.profiles;
	struct bench *b;
	size_t count = 0;

	for (size_t i = 0; profiles[i] && roots[0] && count < OFFERS_MAX; i++) {
		const struct dialect *d = c->serve->options.dialects[i];

		if (principal_may_use(&c->who, profiles[i]) &&
		    bench_at(c->serve, profiles[i], roots, roots[0], &b, NULL) == 0 &&
		    !is_offered(offers, count, &b->engine))
			offers[count++] = (struct mcp_offer){.dialect = d, .engine = &b->engine};
	}
	return count;
}

static bool on_task(void *owner)
{
	const struct side *side = owner;

	return run_may_begin_task(side->http->serve, side->client);
}

static void on_ended(void *owner, const char *profile, const struct result *r)
{
	const struct side *side = owner;

	metrics_count(&side->http->serve->metrics, profile, r);
}

/* NULL: the principal is not known any more. */
static const char *const *roots_of(const struct side *side)
{
	const struct serve *s = side->http->serve;
	const struct principal *p = principals_by_name(&s->principals, side->client->name);

	if (!p && side->client->name[0])
		return NULL;
	return p && p->workspaces ? p->workspaces : s->options.workspaces;
}

/* A principal may have several directories, and each its engine. One that is nobody's is refused by
 * the first. */
static struct engine *on_find(void *owner, const struct mcp_offer *offer, const char *workspace)
{
	const struct side *side = owner;
	struct serve *s = side->http->serve;
	const char *const *roots = roots_of(side);
	const char *root = roots && workspace[0] == '/' ? bench_root_of(roots, workspace) : NULL;
	struct bench *b;

	if (!root || bench_at(s, offer->engine->wishes.profile, roots, root, &b, NULL) < 0)
		return offer->engine;
	return &b->engine;
}

/* By the roots that the principal has now: they may have been taken away since. */
static bool on_sees(const void *owner, const struct find_origin *origin)
{
	const struct side *side = owner;
	const char *const *roots = roots_of(side);

	return roots &&
	       (bench_is_below(roots, origin->root) || bench_is_below(roots, origin->workspace));
}

static const struct mcp_house house = {
	.may_begin_task = on_task, .ended = on_ended, .find = on_find};

static void side_free(struct side *s)
{
	if (!s)
		return;
	mcp_peer_free(s->peer);
	if (s->id[0] && s->http->serve->options.state) /* nobody knows its name any more */
		room_end_idle(s->http->serve->options.state, s->id);
	post_forget(s, 0, true);
	if (s->back) {
		*s->back = s->next;
		if (s->next)
			s->next->back = s->back;
		s->http->sessions -= s->id[0] != '\0';
	}
	fd_close(s->hold);
	free(s);
}

/* Its directory and variables stay while its client may come back. */
static int hold_session(struct serve *serve, const char *id)
{
	char state[PATH_MAX];
	struct store *store;

	if (bench_store(serve, &store, NULL) < 0 || store->tasks_fd < 0 ||
	    (size_t)snprintf(state, sizeof(state), "%s/..", store->path) >= sizeof(state))
		return -1;
	return session_hold(state, id);
}

static int make_id(char into[SESSION_ID_CHARS + 1])
{
	unsigned char bytes[SESSION_ID_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	hex_write(bytes, sizeof(bytes), into);
	return 0;
}

static int side_new(struct call *c, bool session, struct side **ret, struct error *err)
{
	struct mcp_http *m = c->serve->mcp;
	struct side *s = calloc(1, sizeof(*s));
	struct mcp_peer_options options = {.principal = c->client->name[0] ? c->client->name : NULL,
	                                   .door = "http",
	                                   .has_person = principal_has_person(&c->who),
	                                   .shared = !session,
	                                   .send = post_send,
	                                   .share = &c->client->share,
	                                   .house = &house,
	                                   .sees = on_sees,
	                                   .owner = s};
	int r = 0;

	if (!s)
		return error_nomem(err);
	s->hold = -1;
	s->http = m;
	s->client = c->client;
	s->used_ms = loop_now(c->serve->loop);
	if (session && make_id(s->id) < 0)
		r = error_set(err, ERROR_SYSTEM, EIO, "random bytes");
	if (session) {
		options.session = s->id;
		s->hold = hold_session(c->serve, s->id);
	}
	s->token = c->who.digest;
	s->has_person = options.has_person;
	s->offer_count = find_offers(c, s->offers);
	options.offers = s->offers;
	options.offer_count = s->offer_count;
	if (r == 0 && s->offer_count == 0)
		r = error_set(err, ERROR_INPUT, EACCES, "no profile is offered to you");
	if (r == 0)
		r = mcp_peer_new(m->server, &options, &s->peer, err);
	if (r < 0) {
		side_free(s);
		return r;
	}
	s->next = m->sides;
	s->back = &m->sides;
	if (s->next)
		s->next->back = &s->next;
	m->sides = s;
	m->sessions += session;
	*ret = s;
	return 0;
}

/* What belongs to a session ends with it, on the wire, too. */
static void end_session(struct side *s)
{
	struct serve *serve = s->http->serve;

	for (struct call *c = serve->calls; c; c = c->next) {
		struct post *p = c->mcp;

		if (!p || p->side != s)
			continue;
		post_let_go(p);
		p->side = NULL;
		if (c->x && p->streaming && !p->ended)
			http_stream_end(c->x);
		else if (c->x && !p->ended && s->id[0])
			answer_error(c, 404, "input", "the session has ended");
		else if (c->x && !p->ended)
			answer_error(c, 503, "limit", "what you may do has changed meanwhile");
		p->ended = true;
	}
	side_free(s);
}

/* A principal is known by name, and what a token of that name may do can change: it was revoked and
 * made anew, or its file was edited. What was begun with other rights ends then. */
static bool is_current(struct call *c, const struct side *s)
{
	struct mcp_offer offers[OFFERS_MAX];

	if (memcmp(&s->token, &c->who.digest, sizeof(s->token)) != 0 ||
	    s->has_person != principal_has_person(&c->who) ||
	    find_offers(c, offers) != s->offer_count)
		return false;
	for (size_t i = 0; i < s->offer_count; i++)
		if (offers[i].dialect != s->offers[i].dialect ||
		    offers[i].engine != s->offers[i].engine)
			return false;
	return true;
}

static struct side *find_session(struct call *c, const char *id)
{
	struct side *s = c->serve->mcp->sides;

	while (s && (!s->id[0] || s->client != c->client || strcmp(s->id, id) != 0))
		s = s->next;
	if (!s || is_current(c, s))
		return s;
	end_session(s);
	return NULL;
}

static int find_shared(struct call *c, struct side **ret, struct error *err)
{
	struct side *s = c->serve->mcp->sides;

	while (s && (s->id[0] || s->client != c->client))
		s = s->next;
	if (s && !is_current(c, s)) {
		end_session(s);
		s = NULL;
	}
	*ret = s;
	return s ? 0 : side_new(c, false, ret, err);
}

static int on_sweep(struct loop_timer *t)
{
	struct mcp_http *m = container_of(t, struct mcp_http, sweep);
	int64_t now = loop_now(m->serve->loop);

	route_refresh(m->serve);
	for (struct side *s = m->sides, *next; s; s = next) {
		next = s->next;
		if (s->id[0] && !s->posts && !s->listener && now - s->used_ms > SESSION_IDLE_MS)
			end_session(s);
		else
			post_forget(s, now, false);
	}
	(void)loop_timer_set(m->serve->loop, t, now + SWEEP_MS, on_sweep);
	return 0;
}

/* POST */

static void answer_rpc(struct post *p, int status, const char *id, int code, const char *words,
                       const char *data)
{
	scoped(buffer_donep) struct buffer json = {0};

	rpc_write_error(&json, id, code, words, data);
	post_answer(p, status, &json);
}

static void answer_envelope(struct post *p, const struct rpc_message *m,
                            const struct mcp_envelope *e)
{
	scoped(buffer_donep) struct buffer data = {0};
	struct json_writer w = {.out = &data};

	if (e->code == MCP_UNSUPPORTED_VERSION)
		mcp_put_supported(&w, e->requested);
	answer_rpc(p, 400, m->id, e->code, e->problem, data.len ? data.data : NULL);
}

static void receive(struct post *p, struct side *s, const struct rpc_message *m, const char *header)
{
	p->side = s;
	s->posts++;
	s->used_ms = loop_now(s->http->serve->loop);
	if (mcp_peer_receive(s->peer, m, header, p) == MCP_TAKEN && !p->ended)
		post_answer(p, 202, NULL);
}

static void receive_modern(struct post *p, const struct rpc_message *m,
                           const struct mcp_envelope *e, const char *header)
{
	struct call *c = p->call;
	struct error err = {0};
	const char *wrong;
	struct side *s;

	p->modern = true;
	if (e->code == MCP_UNSUPPORTED_VERSION && m->kind == RPC_REQUEST && header &&
	    !mcp_names_equal(header, e->requested)) {
		answer_rpc(p, 400, m->id, MCP_HEADER_MISMATCH,
		           "MCP-Protocol-Version and the message do not agree", NULL);
		return;
	}
	if (e->code && m->kind == RPC_REQUEST) {
		answer_envelope(p, m, e);
		return;
	}
	p->revision = e->code ? NULL : mcp_revision_name(e->revision);
	wrong = m->kind == RPC_REQUEST ? mcp_names_check(c->x, m, p->revision) : NULL;
	if (wrong) {
		answer_rpc(p, 400, m->id, MCP_HEADER_MISMATCH, wrong, NULL);
		return;
	}
	if (find_shared(c, &s, &err) < 0 || !s)
		answer_failure(c, &err);
	else
		receive(p, s, m, header);
}

static bool is_initialize(const struct rpc_message *m)
{
	return m->kind == RPC_REQUEST && strcmp(m->method, "initialize") == 0;
}

/* Many clients never say that they are through: of too many sessions of a principal the one that
 * was not used for the longest time ends. False: all of them are in use. */
static bool make_room(struct mcp_http *m, const struct client *client)
{
	struct side *oldest = NULL;
	size_t own = 0;

	for (struct side *s = m->sides; s; s = s->next) {
		if (!s->id[0] || s->client != client)
			continue;
		own++;
		if (!s->posts && !s->listener && !mcp_peer_is_busy(s->peer) &&
		    (!oldest || s->used_ms <= oldest->used_ms))
			oldest = s;
	}
	if (m->sessions < SESSIONS_MAX && own < SESSIONS_EACH)
		return true;
	if (oldest)
		end_session(oldest);
	return oldest;
}

static void begin_session(struct post *p, const struct rpc_message *m, const char *header)
{
	struct call *c = p->call;
	struct mcp_http *http = c->serve->mcp;
	struct error err = {0};
	struct side *s = NULL;

	if (!make_room(http, c->client)) {
		answer_error(c, 503, "limit", "there are too many sessions");
		return;
	}
	if (side_new(c, true, &s, &err) < 0 || !s) {
		answer_failure(c, &err);
		return;
	}
	p->begins = true;
	receive(p, s, m, header);
	if (s->refused)
		end_session(s);
}

static void receive_legacy(struct post *p, const struct rpc_message *m, const char *header)
{
	struct call *c = p->call;
	const char *id = http_header(c->x, "Mcp-Session-Id");
	struct side *s;

	if (!id && is_initialize(m)) {
		begin_session(p, m, header);
		return;
	}
	if (!id) {
		answer_rpc(p, 400, m->id, RPC_INVALID_REQUEST, "Mcp-Session-Id is missing", NULL);
		return;
	}
	s = find_session(c, id);
	if (!s) {
		answer_rpc(p, 404, m->id, RPC_INVALID_REQUEST, "there is no such session", NULL);
		return;
	}
	if (header && mcp_revision_find(header) == MCP_REVISION_MAX) {
		answer_rpc(p, 400, m->id, RPC_INVALID_REQUEST,
		           "MCP-Protocol-Version names no revision that is known", NULL);
		return;
	}
	p->revision = mcp_peer_revision(s->peer);
	receive(p, s, m, header);
}

void mcp_http_post(struct call *c)
{
	const char *accept = http_header(c->x, "Accept"), *body,
		   *header = http_header(c->x, "MCP-Protocol-Version");
	scoped(rpc_message_donep) struct rpc_message m = {0};
	struct mcp_envelope e;
	struct post *p;
	size_t n;

	if (accept && !http_accepts(accept, "application/json", true) &&
	    !http_accepts(accept, "text/event-stream", true)) {
		answer_error(c, 406, "input", "answers are application/json or text/event-stream");
		return;
	}
	p = post_new(c);
	if (!p)
		return;
	p->wants_events = accept && !http_accepts(accept, "application/json", true);
	p->wants_json = accept && !http_accepts(accept, "text/event-stream", true);
	body = http_body(c->x, &n);
	rpc_message_read(body, n, &m);
	if (m.kind == RPC_INVALID) {
		answer_rpc(p, 400, m.id, m.code, m.problem, NULL);
		return;
	}
	mcp_envelope_read(&m, header, &e);
	if (e.modern)
		receive_modern(p, &m, &e, header);
	else
		receive_legacy(p, &m, header);
}

/* The session that the headers name; NULL: that is answered. A revision that has no sessions has
 * nothing but POST, and a GET is a stream or 405 in all of them. */
static struct side *named_session(struct call *c, bool streams)
{
	const char *id = http_header(c->x, "Mcp-Session-Id"),
		   *header = http_header(c->x, "MCP-Protocol-Version");
	struct side *s = id ? find_session(c, id) : NULL;

	c->allow = "POST";
	if (!id && (streams || (header && mcp_revision_is_modern(mcp_revision_find(header)))))
		answer_error(c, 405, "input", "without a session there is only POST");
	else if (!id)
		answer_error(c, 400, "input", "Mcp-Session-Id is missing");
	else if (!s)
		answer_error(c, 404, "input", "there is no such session");
	return s;
}

void mcp_http_get(struct call *c)
{
	const char *last = http_header(c->x, "Last-Event-ID");
	struct side *s = named_session(c, true);
	struct post *p;

	if (!s)
		return;
	if (!http_accepts(http_header(c->x, "Accept"), "text/event-stream", true)) {
		answer_error(c, 406, "input", "the answer is text/event-stream");
		return;
	}
	if (last) {
		post_resume(c, s, last);
		return;
	}
	if (s->listener) {
		answer_error(c, 409, "input", "somebody listens to this session already");
		return;
	}
	p = post_new(c);
	if (!p)
		return;
	p->side = s;
	p->listens = true;
	p->revision = mcp_peer_revision(s->peer);
	s->listener = c;
	post_begin_stream(p);
}

void mcp_http_delete(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct side *s = named_session(c, false);

	if (!s)
		return;
	end_session(s);
	buffer_puts(&json, "{}");
	answer_json(c, 200, &json);
}

/* The same as over stdio: what a client carries for one of them the other understands. */
static int load_key(struct serve *s, uint8_t key[MCP_KEY_BYTES], struct error *err)
{
	struct store store;
	int r;

	store_open(&store);
	r = secret_load(&store, "mcp.key", key, MCP_KEY_BYTES, err);
	store_done(&store);
	return r;
}

int mcp_http_new(struct serve *s, struct mcp_http **ret, struct error *err)
{
	struct mcp_options options = mcp_options_default;
	struct mcp_http *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return error_nomem(err);
	m->serve = s;
	options.loop = s->loop;
	r = load_key(s, options.key, err);
	if (r == 0)
		r = mcp_server_new(&options, &m->server, err);
	if (r == 0 &&
	    loop_timer_set(s->loop, &m->sweep, loop_now(s->loop) + SWEEP_MS, on_sweep) < 0)
		r = error_nomem(err);
	if (r < 0) {
		mcp_http_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct mcp_http *mcp_http_free(struct mcp_http *m)
{
	if (!m)
		return NULL;
	loop_timer_clear(&m->sweep);
	while (m->sides)
		side_free(m->sides);
	mcp_server_free(m->server);
	free(m);
	return NULL;
}

void mcp_http_stop(struct mcp_http *m, bool now)
{
	for (struct side *s = m->sides; s; s = s->next) {
		mcp_peer_say_goodbye(s->peer);
		if (s->listener && s->listener->x)
			http_stream_end(s->listener->x);
		if (now)
			mcp_peer_cancel_all(s->peer);
	}
}
