/*
 * The console: who may come in by a browser.
 *
 * A cookie alone must not be enough: a browser sends it to every port of a host, and an agent may
 * serve a page on one of them. So a login gives two halves, and a request needs both: the cookie,
 * which no script can read, and a key, which only scripts of this origin can read, and which no
 * form, link or picture can send. A browser also says where a request comes from; what does not
 * come from our own page is refused whatever it brings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "http/text.h"
#include "json/schema.h"
#include "json/write.h"
#include "serve/inside.h"
#include "serve/page.h"

#define COOKIE_NAME_SIZE 32
#define KEY_HEADER       "Nacre-Page"

/* Whether this request came by the address of --public-url, and that has TLS. */
static bool is_behind_tls(const struct call *c)
{
	const char *url = c->serve->options.public_url, *host = http_header(c->x, "Host");
	const char *authority =
		url && strncmp(url, "https://", 8) == 0 ? http_origin_authority(url) : NULL;

	return authority && host && strcasecmp(authority, host) == 0;
}

/* The port in its name keeps two servers on one host apart. */
static void cookie_name(const struct call *c, char into[COOKIE_NAME_SIZE])
{
	unsigned port = http_port(http_header(c->x, "Host"));

	if (is_behind_tls(c))
		snprintf(into, COOKIE_NAME_SIZE, "__Host-nacre");
	else
		snprintf(into, COOKIE_NAME_SIZE, "nacre-%u", port ? port : 80);
}

/* Whether a browser says that it comes from somewhere else than our own page. */
static bool is_foreign(const struct call *c)
{
	const char *site = http_header(c->x, "Sec-Fetch-Site");
	const char *origin = http_header(c->x, "Origin"), *host = http_header(c->x, "Host");
	const char *authority = origin ? http_origin_authority(origin) : NULL;

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return true;
	return origin && (!authority || !host || strcasecmp(authority, host) != 0);
}

bool console_find_login(struct call *c, const struct login **ret, bool *ret_foreign)
{
	const char *header = http_header(c->x, "Cookie"), *key = http_header(c->x, KEY_HEADER);
	char name[COOKIE_NAME_SIZE], cookie[LOGIN_SECRET_SIZE];
	const struct login *found = NULL;

	*ret_foreign = false;
	cookie_name(c, name);
	if (!header || http_cookie_get(header, name, cookie, sizeof(cookie)) < 0)
		return false;
	*ret_foreign = is_foreign(c);
	if (!*ret_foreign && key)
		found = logins_find(&c->serve->logins, cookie, key);
	*ret = found;
	return found != NULL;
}

/* The way in */

static void answer_login(struct call *c, const struct login *l, const struct login_secrets *secrets)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct http_answer a = {.status = 200, .type = "application/json", .body = &json};
	char name[COOKIE_NAME_SIZE], cookie[200];

	cookie_name(c, name);
	snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%d%s",
	         name, secrets->cookie, LOGIN_SECONDS, is_behind_tls(c) ? "; Secure" : "");
	json_object_begin(&w);
	json_member_string(&w, "key", secrets->key);
	json_member_string(&w, "login", l->id);
	json_member_string(&w, "principal", l->principal);
	json_member_int(&w, "expires_ms", l->expires_ms);
	json_object_end(&w);
	a.headers[0][0] = "Cache-Control";
	a.headers[0][1] = "no-store";
	a.headers[1][0] = "Set-Cookie";
	a.headers[1][1] = cookie;
	page_guard(&a, false);
	metrics_count_answer(&c->serve->metrics, 200);
	http_answer(c->x, &a);
	explicit_bzero(cookie, sizeof(cookie));
}

/* Who tries is slowed down with all others that are nobody. */
static void refuse_login(struct call *c, const char *words)
{
	if (rate_take(&c->serve->strangers, &c->serve->options.rate, loop_now(c->serve->loop),
	              &c->retry_s))
		answer_error(c, 401, "auth", words);
	else
		answer_error(c, 429, "limit", "too many requests");
}

/* Whose the code or the token is; *RET_TOKEN is nothing for who runs nacre. */
static bool find_person(struct call *c, const char *code, const char *token,
                        char ret_name[PRINCIPAL_NAME_MAX + 1], struct digest *ret_token)
{
	const struct principal *p;
	struct login_code taken;

	*ret_token = (struct digest){0};
	if (token) {
		p = principals_by_token(&c->serve->principals, token);
		if (!p)
			return false;
		snprintf(ret_name, PRINCIPAL_NAME_MAX + 1, "%s", p->name);
		*ret_token = p->digest;
		return true;
	}
	if (!logins_take_code(&c->serve->logins, code, clock_now_ms(), &taken))
		return false;
	snprintf(ret_name, PRINCIPAL_NAME_MAX + 1, "%s", taken.principal);
	*ret_token = taken.token;
	p = principals_by_name(&c->serve->principals, taken.principal);
	return !taken.principal[0] ||
	       (p && memcmp(&p->digest, &taken.token, sizeof(taken.token)) == 0);
}

void console_login(struct call *c)
{
	scoped(json_decrefp) json_t *root = NULL;
	const char *code = NULL, *token = NULL;
	char name[PRINCIPAL_NAME_MAX + 1];
	struct login_secrets secrets;
	struct error err = {0};
	struct digest digest;
	struct login l;

	if (!answer_read_body(c, &root))
		return;
	if (json_unpack(root, "{s?s, s?s !}", "code", &code, "token", &token) < 0 ||
	    !code == !token) {
		answer_error(c, 400, "input", "give either 'code' or 'token', a string");
		return;
	}
	if (is_foreign(c)) {
		answer_error(c, 403, "origin", "pages of that origin may not use this server");
		return;
	}
	if (!find_person(c, code, token, name, &digest)) {
		refuse_login(c, token ? "there is no such token"
		                      : "this link was used, or is too old: 'nacre console' makes "
		                        "another");
		return;
	}
	if (logins_begin(&c->serve->logins, c->serve->options.state_fd, name, &digest, &l, &secrets,
	                 &err) < 0)
		answer_failure(c, &err);
	else
		answer_login(c, &l, &secrets);
	explicit_bzero(&secrets, sizeof(secrets));
}

/* The way out */

void console_logout(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct http_answer a = {.status = 200, .type = "application/json", .body = &json};
	char name[COOKIE_NAME_SIZE], cookie[120];
	struct error err = {0};

	if (!c->login[0]) {
		answer_error(c, 400, "input", "this request came without a login of a browser");
		return;
	}
	if (logins_end(&c->serve->logins, c->serve->options.state_fd, c->login, &err) < 0 &&
	    err.sys != ENOENT) {
		answer_failure(c, &err);
		return;
	}
	cookie_name(c, name);
	snprintf(cookie, sizeof(cookie), "%s=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0%s",
	         name, is_behind_tls(c) ? "; Secure" : "");
	buffer_puts(&json, "{\"ended\":true}");
	a.headers[0][0] = "Cache-Control";
	a.headers[0][1] = "no-store";
	a.headers[1][0] = "Set-Cookie";
	a.headers[1][1] = cookie;
	page_guard(&a, false);
	metrics_count_answer(&c->serve->metrics, 200);
	http_answer(c->x, &a);
	route_end_revoked(c->serve);
}

static bool may_see(const struct call *c, const struct login *l)
{
	return !c->client->name[0] || strcmp(c->client->name, l->principal) == 0;
}

void console_logins(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	const struct logins *all = &c->serve->logins;

	json_object_begin(&w);
	json_member_array(&w, "logins");
	for (size_t i = 0; i < all->count; i++) {
		const struct login *l = &all->list[i];

		if (!may_see(c, l) || l->expires_ms <= clock_wall_ms())
			continue;
		json_object_begin(&w);
		json_member_string(&w, "id", l->id);
		json_member_string(&w, "principal", l->principal);
		json_member_int(&w, "created_ms", l->created_ms);
		json_member_int(&w, "expires_ms", l->expires_ms);
		json_member_bool(&w, "current", strcmp(l->id, c->login) == 0);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

void console_end_login(struct call *c)
{
	const struct login *l = logins_by_id(&c->serve->logins, c->id);
	struct error err = {0};

	if (!l || !may_see(c, l)) {
		answer_error(c, 404, "input", "there is no such login");
		return;
	}
	if (logins_end(&c->serve->logins, c->serve->options.state_fd, c->id, &err) < 0 &&
	    err.sys != ENOENT) {
		answer_failure(c, &err);
		return;
	}
	console_logins(c);
	route_end_revoked(c->serve);
}

/* Links */

static int make_link(struct serve *s, const struct principal *who, char **ret_url,
                     char ret_code[LOGIN_CODE_SIZE], struct error *err)
{
	const char *url = s->options.public_url;
	int r;

	if (!url && !s->address)
		return error_set(err, ERROR_INPUT, ENOENT,
		                 "no browser can reach this server: it listens on no address. "
		                 "Start it with --listen 127.0.0.1:7878");
	r = logins_make_code(&s->logins, who, clock_now_ms(), ret_code, err);
	if (r < 0)
		return r;
	if (asprintf(ret_url, "%s%s/#in=%s", url ? url : "http://", url ? "" : s->address,
	             ret_code) < 0)
		return error_nomem(err);
	return 0;
}

int serve_link(struct serve *s, char **ret_url, struct error *err)
{
	const struct principal owner = route_owner();
	char code[LOGIN_CODE_SIZE];

	return make_link(s, &owner, ret_url, code, err);
}

/* A token makes links for itself, and who runs nacre for any: neither gives more than it has. */
void console_link(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	scoped(json_decrefp) json_t *root = NULL;
	scoped(freep) char *url = NULL;
	struct json_writer w = {.out = &json};
	struct principal who = c->who;
	const struct principal *found;
	char code[LOGIN_CODE_SIZE];
	const char *as = NULL;
	struct error err = {0};

	if (!answer_read_body(c, &root))
		return;
	if (json_unpack(root, "{s?s !}", "as", &as) < 0) {
		answer_error(c, 400, "input", "the only member is 'as', the name of a token");
		return;
	}
	if (c->login[0] || (as && c->client->name[0] && strcmp(as, c->client->name) != 0)) {
		answer_error(c, 403, "scope",
		             "a link for another principal is made by who runs nacre");
		return;
	}
	if (as) {
		found = principals_by_name(&c->serve->principals, as);
		if (!found) {
			answer_error(c, 404, "input", "there is no token of that name");
			return;
		}
		who = *found;
	}
	if (make_link(c->serve, &who, &url, code, &err) < 0) {
		if (err.kind == ERROR_INPUT && err.sys == ENOENT)
			answer_error(c, 409, "input", err.text);
		else
			answer_failure(c, &err);
		return;
	}
	json_object_begin(&w);
	json_member_string(&w, "url", url);
	json_member_string(&w, "code", code);
	json_member_string(&w, "principal", who.name);
	json_member_bool(&w, "approve", who.approve);
	json_member_bool(&w, "audit", who.audit);
	json_member_int(&w, "expires_ms", clock_wall_ms() + LOGIN_CODE_MS);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

/* Who asks */

void console_me(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	const struct login *l = logins_by_id(&c->serve->logins, c->login);
	int64_t now = clock_wall_ms();
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	json_object_begin(&w);
	json_member_string(&w, "principal", c->client->name);
	json_member_bool(&w, "owner", !c->client->name[0]);
	json_member_bool(&w, "approve", c->who.approve);
	json_member_bool(&w, "audit", c->who.audit);
	json_member_bool(&w, "person", c->who.person);
	json_member_text(&w, "login", c->login);
	json_put_key(&w, "expires_ms");
	if (l)
		json_put_int(&w, l->expires_ms);
	else
		json_put_null(&w);
	json_member_array(&w, "profiles");
	for (const char *const *p = c->serve->options.profiles; *p; p++)
		if (principal_may_use(&c->who, *p))
			json_put_string(&w, *p);
	json_array_end(&w);
	json_member_strings(&w, "roots", bench_roots(c));
	json_member_string(&w, "version", NACRE_VERSION);
	json_member_string(&w, "host", host);
	json_member_int(&w, "now_ms", now);
	json_member_int(&w, "started_ms", now - (loop_now(c->serve->loop) - c->serve->started_ms));
	json_object_end(&w);
	answer_json(c, 200, &json);
}

static void put_text(struct json_writer *w, const char *name, const char *words)
{
	json_member_object(w, name);
	json_schema_type(w, "string");
	json_member_text(w, "description", words);
	json_object_end(w);
}

void console_put_login_schema(struct json_writer *w)
{
	json_schema_begin(w);
	put_text(w, "code", "of a link");
	put_text(w, "token", "or a token");
	json_schema_required(w);
	json_schema_end(w, false);
}

void console_put_link_schema(struct json_writer *w)
{
	json_schema_begin(w);
	put_text(w, "as", "the token whose rights the login has (default: the caller's)");
	json_schema_required(w);
	json_schema_end(w, false);
}

void console_put_empty_schema(struct json_writer *w)
{
	json_schema_begin(w);
	json_schema_required(w);
	json_schema_end(w, false);
}
