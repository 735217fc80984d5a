/*
 * Every request passes the same checks in the same order, before its body is read: the name of the
 * host and the origin (a page in a browser must not reach us under a name of its own), the
 * principal, the rate, and only then the path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "http/text.h"
#include "serve/inside.h"
#include "serve/mcp-http.h"
#include "serve/page.h"

#define CLIENTS_MAX (PRINCIPALS_MAX + 1)
#define AUTH_WORDS  "a valid bearer token is needed"

static const struct route routes[] = {
	{"POST", "/shell", run_shell, "Run one read-only command, as a sandbox server does.",
         .takes_body = true, .body_schema = run_put_shell_schema, .gives = "Shell",
         .fails = "ShellError", .answers = "400 403 503"},
	{"POST", "/v1/run", run_any,
         "Run a command. With 'Accept: text/event-stream' output comes as events, then the result.",
         .takes_body = true, .body_schema = run_put_schema, .gives = "Result",
         .events = "output:Text asked:Approval result:Result", .answers = "400 403 404 503"},
	{"POST", "/v1/explain", run_explain, "Tell what would be decided about a command, and why.",
         .takes_body = true, .body_schema = run_put_schema, .gives = "Explanation",
         .answers = "400 403 404"},
	{"GET", "/v1/tasks", tasks_list, "The tasks of the caller, running and past.",
         .query = {"limit", "state"}, .gives = "Tasks", .answers = "400"},
	{"GET", "/v1/tasks/*", tasks_one, "One task.", .gives = "Task", .answers = "404"},
	{"GET", "/v1/tasks/*/output", tasks_output,
         "What a task has printed. With 'follow' or 'Accept: text/event-stream' as events.",
         .query = {"since", "wait_ms", "stream", "follow", "tail", "grep", "colour"},
         .gives = "Output", .events = "output:Text end:Task", .answers = "400 404"},
	{"GET", "/v1/tasks/*/raw", tasks_raw, "The bytes of one stream of a task, as they are.",
         .query = {"stream"}, .gives = "bytes", .answers = "400 404"},
	{"GET", "/v1/tasks/*/screen", tasks_screen, "What the terminal of a task shows, as rows.",
         .gives = "Screen", .answers = "404 409"},
	{"POST", "/v1/tasks/*/stop", tasks_stop_one, "End a task with all that it started.",
         .takes_body = true, .bare = true, .body_schema = tasks_put_stop_schema, .gives = "Order",
         .answers = "400 404"},
	{"POST", "/v1/tasks/*/input", tasks_input, "Type on the terminal of a task.",
         .takes_body = true, .body_schema = tasks_put_input_schema, .gives = "Order",
         .answers = "400 404 409"},
	{"GET", "/v1/approvals", approvals_list, "What waits for an answer of a person.",
         .query = {"all"}, .gives = "Approvals", .answers = "400"},
	{"GET", "/v1/approvals/*", approvals_one, "One approval.", .gives = "Approval",
         .answers = "404"},
	{"POST", "/v1/approvals/*", approvals_answer, "Answer.", .takes_body = true,
         .body_schema = approvals_put_schema, .gives = "Approval", .answers = "400 403 404 409"},
	{"GET", "/v1/sessions", sessions_list, "The caller's sessions that have files.",
         .gives = "Sessions", .answers = ""},
	{"GET", "/v1/sessions/*", sessions_one, "One session, with the size of its files.",
         .gives = "Sessions", .answers = "404"},
	{"DELETE", "/v1/sessions/*", sessions_end, "End a session: its files are removed.",
         .gives = "Sessions", .answers = "404 409"},
	{"GET", "/v1/events", events_open,
         "One stream for all that a page shows: first a snapshot, then what changes.",
         .query = {"topics", "output", "screen"},
         .events = "snapshot:Snapshot task:Task task-gone:TaskGone approval:Approval audit:Record "
                   "metrics:MetricsPoint output:OutputPiece output-end:OutputEnd screen:Screen "
                   "screen-end:ScreenEnd bye:Bye",
         .answers = "400 503"},
	{"POST", "/v1/events/*", events_change, "Change what a stream of events follows.",
         .takes_body = true, .body_schema = events_put_schema, .gives = "Stream",
         .answers = "400 404"},
	{"GET", "/v1/me", console_me, "Who asks, and what they may do.", .gives = "Me",
         .answers = ""},
	{"POST", "/v1/console/link", console_link, "A link that logs a browser in, once.",
         .takes_body = true, .bare = true, .body_schema = console_put_link_schema, .gives = "Link",
         .answers = "400 403 404 409"},
	{"POST", "/v1/console/login", console_login, "Log a browser in, by a link or a token.",
         .takes_body = true, .body_schema = console_put_login_schema, .open = true,
         .gives = "Login", .answers = "400 401 403"},
	{"POST", "/v1/console/logout", console_logout, "End the login of this page.",
         .takes_body = true, .bare = true, .body_schema = console_put_empty_schema,
         .gives = "Ended", .answers = "400 403"},
	{"GET", "/v1/console/logins", console_logins, "Where the caller is logged in.",
         .gives = "Logins", .answers = "403"},
	{"DELETE", "/v1/console/logins/*", console_end_login, "End a login.", .gives = "Logins",
         .answers = "403 404"},
	{"GET", "/v1/grants", grants_show, "What persons have approved for sessions.",
         .gives = "Grants", .answers = ""},
	{"DELETE", "/v1/grants/*", grants_end, "Take back what an approval has granted.",
         .gives = "Grants", .answers = "404"},
	{"GET", "/v1/profiles", profiles_list, "The profiles that the caller may use.",
         .gives = "Profiles", .answers = ""},
	{"GET", "/v1/profiles/*", profiles_one, "One profile: its text, its rules, examples.",
         .gives = "Profile", .answers = "404"},
	{"GET", "/v1/doctor", checks_doctor, "What the sandbox can use on this machine.",
         .gives = "Doctor", .answers = "503"},
	{"GET", "/v1/audit", audit_show, "What was asked, decided and run.",
         .query = {"limit", "task_id", "event", "verdict", "profile", "since", "until", "before"},
         .gives = "Records", .answers = "400"},
	{"GET", "/v1/audit/verify", checks_verify, "Check the whole log: whether it is intact.",
         .events = "progress:Progress result:Verdict", .answers = "403 503"},
	{"GET", "/v1/health", about_health, "Whether the server works.", .gives = "Health",
         .open = true, .free = true},
	{"GET", "/v1/metrics", about_metrics, "Numbers, as Prometheus reads them.", .free = true},
	{"GET", "/v1/metrics/history", about_history, "The numbers of the last hour.",
         .gives = "History", .answers = ""},
	{"GET", "/v1/openapi.json", about_openapi, "This document.", .gives = "Document",
         .open = true},
	{"POST", "/mcp", mcp_http_post, "Model Context Protocol.", .raw = true, .takes_body = true,
         .gives = "(Message|Message[])", .events = "message:Message", .answers = "202 400 404"},
	{"GET", "/mcp", mcp_http_get, "Its stream of notifications.", .raw = true,
         .events = "message:Message", .answers = "400 404 405"},
	{"DELETE", "/mcp", mcp_http_delete, "The end of a session.", .raw = true,
         .gives = "Nothing", .answers = "400 404 405"},
};

const struct route *route_at(size_t i)
{
	return i < array_size(routes) ? &routes[i] : NULL;
}

/* Whether PATH is PATTERN, whose '*' stands for one id. */
static bool matches(const char *pattern, const char *path, char *id, size_t size)
{
	size_t n;

	for (; *pattern && *pattern != '*'; pattern++, path++)
		if (*pattern != *path)
			return false;
	if (!*pattern)
		return !*path;
	n = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
	if (n == 0 || n >= size || strcmp(path + n, pattern + 1) != 0)
		return false;
	memcpy(id, path, n);
	id[n] = '\0';
	return true;
}

static bool is_our_host(const struct serve *s, const char *authority)
{
	for (size_t i = 0; i < s->host_count; i++)
		if (http_host_matches(authority, s->hosts[i]))
			return true;
	if (s->options.public_url &&
	    http_host_matches(authority, http_origin_authority(s->options.public_url)))
		return true;
	for (const char *const *h = s->options.hosts; h && *h; h++)
		if (http_host_matches(authority, *h))
			return true;
	return false;
}

/* On a unix socket a name means nothing, and no browser gets there; an origin would be a lie. */
static bool check_names(struct call *c)
{
	const char *host = http_header(c->x, "Host"), *origin = http_header(c->x, "Origin");
	const char *authority = origin ? http_origin_authority(origin) : NULL;

	if (http_tag(c->x) == SERVE_TCP && !is_our_host(c->serve, host)) {
		answer_error(c, 403, "host", "this server does not have that name");
		return false;
	}
	if (origin && (!authority || !is_our_host(c->serve, authority))) {
		answer_error(c, 403, "origin", "pages of that origin may not use this server");
		return false;
	}
	return true;
}

static struct client *client_of(struct serve *s, const char *name)
{
	struct client *c;

	for (c = s->clients; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	if (s->client_count == CLIENTS_MAX)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	strncpy(c->name, name, sizeof(c->name) - 1);
	c->share = (struct permit_share){.permits = &s->permits,
	                                 .running_max = s->options.running_each};
	c->next = s->clients;
	s->clients = c;
	s->client_count++;
	return c;
}

/* The user who runs nacre, or root, on the other end of a unix socket. */
static bool is_owner(const struct call *c)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return http_tag(c->x) == SERVE_UNIX &&
	       getsockopt(http_fd(c->x), SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	       n == sizeof(peer) && (peer.uid == geteuid() || peer.uid == 0);
}

/* Whether the token by which this call came in is none any more; another one may have its name. */
static bool is_revoked(const struct call *c)
{
	const struct principal *p;

	if (c->login[0] && !logins_by_id(&c->serve->logins, c->login))
		return true;
	if (!c->client || !c->client->name[0])
		return false;
	p = principals_by_name(&c->serve->principals, c->client->name);
	return !p || memcmp(&p->digest, &c->who.digest, sizeof(p->digest)) != 0;
}

void route_end_revoked(struct serve *s)
{
	for (struct call *c = s->calls; c; c = c->next) {
		if (!c->x || !is_revoked(c))
			continue;
		if (c->stream)
			events_bye(c, "login");
		else
			http_stream_end(c->x);
	}
}

/* A file that cannot be read lets nobody in but the owner. */
void route_refresh(struct serve *s)
{
	struct error err = {0};
	bool changed = false, ended = false;

	if (principals_refresh(&s->principals, s->options.state_fd, &changed, &err) < 0)
		serve_log(s, "%s", err.text);
	if (logins_refresh(&s->logins, s->options.state_fd, &ended, &err) < 0)
		serve_log(s, "%s", err.text);
	if (changed || ended)
		route_end_revoked(s);
}

/* Whoever tries tokens is slowed down, and nobody else with them. */
static bool turn_away(struct call *c)
{
	int seconds = 1;

	if (c->route && c->route->open)
		return true;
	if (rate_take(&c->serve->strangers, &c->serve->options.rate, loop_now(c->serve->loop),
	              &seconds)) {
		answer_error(c, 401, "auth", AUTH_WORDS);
	} else {
		c->retry_s = seconds;
		answer_error(c, 429, "limit", "too many requests");
	}
	return false;
}

struct principal route_owner(void)
{
	return (struct principal){.name = "", .approve = true, .audit = true, .person = true};
}

/* A page in a browser. False: it is answered, or there is nobody. */
static const struct principal *page_user(struct call *c)
{
	const struct principal *found;
	const struct login *login;
	bool foreign = false;

	if (!console_find_login(c, &login, &foreign)) {
		if (foreign)
			answer_error(c, 403, "origin",
			             "pages of that origin may not use this server");
		return NULL;
	}
	strcpy(c->login, login->id);
	if (!login->principal[0]) {
		c->who = route_owner();
		return &c->who;
	}
	found = principals_by_name(&c->serve->principals, login->principal);
	if (!found || memcmp(&found->digest, &login->token, sizeof(login->token)) != 0)
		return NULL;
	c->who = *found;
	return found;
}

static bool check_principal(struct call *c)
{
	const char *given = http_header(c->x, "Authorization"), *token;
	const struct principal *found = NULL;

	route_refresh(c->serve);
	if (given) {
		token = http_bearer(given);
		found = token ? principals_by_token(&c->serve->principals, token) : NULL;
		if (found)
			c->who = *found;
	} else if (is_owner(c)) {
		c->who = route_owner();
		found = &c->who;
	} else {
		found = page_user(c);
		if (http_is_answered(c->x))
			return false;
	}
	if (!found)
		return turn_away(c);
	c->client = client_of(c->serve, c->who.name);
	if (!c->client)
		answer_error(c, 503, "limit", "there are too many clients");
	return c->client != NULL;
}

static bool check_rate(struct call *c)
{
	int seconds = 1;

	if (!c->client || (c->route && c->route->free) ||
	    rate_take(&c->client->rate, &c->serve->options.rate, loop_now(c->serve->loop),
	              &seconds))
		return true;
	c->retry_s = seconds;
	answer_error(c, 429, "limit", "too many requests");
	return false;
}

/* Whoever may GET something may ask for its head; the library leaves the body out. A stream of MCP
 * has nothing to tell by its head alone. */
static bool serves(const struct route *r, const char *method)
{
	if (strcmp(method, "HEAD") == 0)
		return !r->raw && strcmp(r->method, "GET") == 0;
	return strcmp(r->method, method) == 0;
}

static void find_route(struct call *c, bool *ret_path, char allow[64])
{
	*ret_path = false;
	allow[0] = '\0';
	for (size_t i = 0; i < array_size(routes); i++) {
		if (!matches(routes[i].path, http_path(c->x), c->id, sizeof(c->id)))
			continue;
		*ret_path = true;
		if (serves(&routes[i], http_method(c->x)))
			c->route = &routes[i];
		if (allow[0])
			strcat(allow, ", ");
		strcat(allow, routes[i].method);
		if (serves(&routes[i], "HEAD"))
			strcat(allow, ", HEAD");
	}
}

static void check_body(struct call *c)
{
	const char *type = http_header(c->x, "Content-Type");
	const char *coding = http_header(c->x, "Content-Encoding");

	if (c->route->takes_body && !c->route->bare && !http_header(c->x, "Content-Length") &&
	    !http_header(c->x, "Transfer-Encoding"))
		answer_error(c, 411, "input", "the length of the body is missing");
	else if (!c->route->takes_body && http_has_body(c->x))
		answer_error(c, 400, "input", "there must not be a body");
	else if (c->route->takes_body && (!type || !http_is_json(type)) &&
	         (http_has_body(c->x) || c->route->raw))
		answer_error(c, 415, "input", "the body must be application/json");
	else if (coding && strcasecmp(coding, "identity") != 0)
		answer_error(c, 415, "input", "the body must not be encoded");
	else if (!http_query_is_known(http_query(c->x), c->route->query))
		answer_error(c, 400, "input", "there is an unknown parameter in the query");
}

void route_begin(void *owner, struct http_exchange *x)
{
	struct serve *s = owner;
	struct call *c = calloc(1, sizeof(*c));
	char allow[64];
	bool path;

	if (!c) {
		http_answer(x, &(struct http_answer){.status = 503});
		return;
	}
	c->serve = s;
	c->x = x;
	c->task_fd = -1;
	c->next = s->calls;
	c->back = &s->calls;
	if (c->next)
		c->next->back = &c->next;
	s->calls = c;
	http_set_user(x, c);
	find_route(c, &path, allow);
	if (!check_names(c))
		return;
	c->is_page = !path && page_has(c);
	if (c->is_page || !check_principal(c) || !check_rate(c))
		return;
	if (!path) {
		answer_error(c, 404, "input", "there is nothing under this path");
	} else if (!c->route) {
		c->allow = allow;
		answer_error(c, 405, "input", "there is no such method under this path");
	} else if (s->stopping) {
		answer_error(c, 503, "limit", "the server is about to stop");
	} else {
		if (c->route->raw)
			http_set_body_max(x, MCP_HTTP_BODY_MAX);
		check_body(c);
	}
}

void route_request(void *owner, struct http_exchange *x)
{
	struct serve *s = owner;
	struct call *c = http_user(x);
	struct client *client;
	int64_t began;

	if (c->is_page) {
		page_serve(c);
		return;
	}
	/* What was read in begin() may be gone: the file of tokens has been changed since. */
	if (is_revoked(c)) {
		answer_error(c, 401, "auth", AUTH_WORDS);
		return;
	}
	if (c->client && c->client->name[0])
		c->who = *principals_by_name(&c->serve->principals, c->client->name);
	client = c->client;
	began = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	c->route->handle(c);
	if (client) /* meanwhile nobody else was served */
		rate_spend(&client->rate, &s->options.rate,
		           (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began) / 1000000);
}

void route_drained(void *owner, struct http_exchange *x)
{
	struct call *c = http_user(x);

	if (c->stream)
		events_drained(c);
	else
		run_pump(c);
}

/* The client has its answer, or has left. What still runs for it decides itself what to do. */
void route_gone(void *owner, struct http_exchange *x)
{
	struct call *c = http_user(x);

	if (!c)
		return;
	c->x = NULL;
	events_gone(c);
	mcp_http_gone(c);
	tasks_client_gone(c);
	run_client_gone(c);
}

void call_free(struct call *c)
{
	loop_timer_clear(&c->timer);
	watch_remove(&c->watcher);
	fd_close(c->task_fd);
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	buffer_done(&c->result);
	arena_free(c->arena);
	free(c);
}
