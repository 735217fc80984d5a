/*
 * The life of an exchange, as the library calls: once with the request line, once with the head,
 * with pieces of the body, and once more when all is there. If there is no answer by then, the
 * connection is suspended, and the library calls again after it was resumed.
 *
 * The library takes an answer only before the body or after it. A refusal in the middle waits until
 * the rest of the body has been read and thrown away, up to a bound: a client that is still writing
 * would otherwise see a reset connection instead of its answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "http/gate.h"
#include "http/inside.h"

#define DISCARD_MAX ((size_t)4 << 20) /* of a body that nobody wants */

const char *http_reason(int status)
{
	return MHD_get_reason_phrase_for((unsigned)status);
}

/* A few small ones are nothing, and must not be refused because somebody else has large ones. */
bool http_hold(struct http_exchange *x, size_t n)
{
	struct http_server *s = x->server;
	size_t beyond = n > HTTP_SMALL ? n - HTTP_SMALL : 0;

	if (beyond > x->held && s->held - x->held + beyond > s->limits.held_bytes)
		return false;
	s->held = s->held - x->held + beyond;
	x->held = beyond;
	return true;
}

static struct http_connection *link_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void *http_on_target(void *cls, const char *uri, struct MHD_Connection *c)
{
	struct http_listener *l = cls;
	struct http_server *s = l->server;
	struct http_connection *link = link_of(c);
	struct http_exchange *x = link ? calloc(1, sizeof(*x)) : NULL;

	if (!x)
		return NULL;
	x->target = strdup(uri);
	if (!x->target) {
		free(x);
		return NULL;
	}
	x->server = s;
	x->listener = l;
	x->connection = c;
	x->link = link;
	x->body_max = s->limits.body_bytes;
	x->next = s->exchanges;
	x->back = &s->exchanges;
	if (x->next)
		x->next->back = &x->next;
	s->exchanges = x;
	s->exchange_count++;
	link->exchange = x;
	http_deadline(link, link->left ? HTTP_SOON_MS : s->limits.head_ms);
	return x;
}

void http_on_done(void *cls, struct MHD_Connection *c, void **state,
                  enum MHD_RequestTerminationCode code)
{
	struct http_exchange *x = *state;

	*state = NULL;
	if (x)
		http_end(x);
}

void http_end(struct http_exchange *x)
{
	struct http_server *s = x->server;

	if (x->known)
		s->ops->gone(s->owner, x);
	loop_timer_clear(&x->heartbeat);
	*x->back = x->next;
	if (x->next)
		x->next->back = x->back;
	s->exchange_count--;
	x->link->exchange = NULL;
	http_deadline(x->link, s->quiet || x->link->left ? HTTP_SOON_MS : s->limits.idle_ms);
	if (x->response)
		MHD_destroy_response(x->response);
	buffer_done(&x->body);
	buffer_done(&x->out);
	(void)http_hold(x, 0);
	free(x->target);
	free(x);
}

void http_suspend(struct http_exchange *x)
{
	x->suspended = true;
	MHD_suspend_connection(x->connection);
	if (x->link->left)
		http_break(x);
}

void http_resume(struct http_exchange *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	MHD_resume_connection(x->connection);
	http_listener_kick(x->listener);
}

void http_break(struct http_exchange *x)
{
	x->broken = true;
	/* The library holds bytes that the client does not take: it would wait for that. */
	if (x->state == HTTP_SENDING && !x->suspended)
		(void)shutdown(x->link->fd, SHUT_RDWR);
	http_resume(x);
}

static enum MHD_Result put_field(void *cls, enum MHD_ValueKind kind, const char *name,
                                 size_t name_len, const char *value, size_t value_len)
{
	struct http_head *h = cls;
	struct http_field *f;

	if (h->field_count++ >= HTTP_FIELDS_MAX)
		return MHD_NO;
	f = (struct http_field *)(uintptr_t)&h->fields[h->field_count - 1];
	*f = (struct http_field){name, value ? value : "", name_len, value ? value_len : 0};
	return MHD_YES;
}

/* The gate's own words; nothing of the request is repeated. */
static void refuse(struct http_exchange *x, int status, const char *why)
{
	scoped(buffer_donep) struct buffer body = {0};

	buffer_printf(&body, "{\"error\":{\"kind\":\"%s\",\"message\":\"%s\"}}\n",
	              status == 413 || status == 503 ? "limit" : "input", why);
	http_answer(x, &(struct http_answer){.status = status,
	                                     .type = "application/json",
	                                     .body = &body,
	                                     .close = true});
}

static void check_head(struct http_exchange *x, const char *method, const char *version)
{
	struct http_field fields[HTTP_FIELDS_MAX];
	struct http_head head = {
		.method = method, .version = version, .target = x->target, .fields = fields};
	struct http_facts facts;
	const char *why;
	int status;

	(void)MHD_get_connection_values_n(x->connection, MHD_HEADER_KIND, put_field, &head);
	status = http_gate(&head, &facts, &why);
	if (status) {
		refuse(x, status, why);
		return;
	}
	x->method = method;
	x->path = facts.path;
	x->query = facts.query;
	if (facts.query > facts.path + facts.path_len) /* there is a '?' */
		x->target[facts.path + facts.path_len - x->target] = '\0';
	x->length = facts.length;
	x->has_length = facts.has_length;
	x->chunked = facts.chunked;
	x->known = true;
	x->server->ops->begin(x->server->owner, x);
	if (!x->response && x->length > x->body_max)
		refuse(x, 413, "the body is larger than what is taken here");
}

static enum MHD_Result queue(struct http_exchange *x)
{
	struct MHD_Response *response = take_ptr(&x->response);
	enum MHD_Result r;

	x->state = HTTP_SENDING;
	http_deadline(x->link, 0);
	r = MHD_queue_response(x->connection, (unsigned)x->status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result take_body(struct http_exchange *x, const char *bytes, size_t n)
{
	bool refused = x->response || x->too_large || x->too_much;

	if (!refused) {
		x->too_large = x->body.len + n > x->body_max;
		x->too_much = !x->too_large && !http_hold(x, x->body.len + n);
		refused = x->too_large || x->too_much;
	}
	if (refused) {
		x->discarded += n;
		buffer_done(&x->body);
		(void)http_hold(x, 0);
		return x->discarded > DISCARD_MAX ? MHD_NO : MHD_YES;
	}
	x->body.max = x->body_max;
	buffer_append(&x->body, bytes, n);
	return buffer_error(&x->body) < 0 ? MHD_NO : MHD_YES;
}

static enum MHD_Result begin(struct http_exchange *x, const char *method, const char *version)
{
	bool short_body;

	x->state = HTTP_BODY;
	check_head(x, method, version);
	short_body = x->has_length && x->length > 0 && x->length <= DISCARD_MAX;
	if (x->response && !short_body) {
		x->link->unread = x->chunked || x->length > 0;
		return queue(x);
	}
	http_deadline(x->link, x->link->left ? HTTP_SOON_MS : x->server->limits.body_ms);
	return MHD_YES;
}

enum MHD_Result http_on_call(void *cls, struct MHD_Connection *c, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state)
{
	struct http_exchange *x = *state;
	struct http_server *s;

	if (!x)
		return MHD_NO;
	s = x->server;
	if (x->state == HTTP_HEAD)
		return begin(x, method, version);
	if (*upload_size > 0) {
		size_t n = *upload_size;

		*upload_size = 0;
		return take_body(x, upload, n);
	}
	if (x->state == HTTP_BODY) {
		x->state = HTTP_WAITING;
		http_deadline(x->link, 0);
		if (x->too_large && !x->response)
			refuse(x, 413, "the body is larger than what is taken here");
		else if (x->too_much && !x->response)
			refuse(x, 503, "the server has too much to hold at this time");
		else if (!x->response)
			s->ops->request(s->owner, x);
		buffer_done(&x->body);
		if (!x->response || x->streams)
			(void)http_hold(x, x->out.len);
	}
	if (x->broken)
		return MHD_NO;
	if (x->response)
		return queue(x);
	http_suspend(x);
	return MHD_YES;
}

static void put_headers(struct http_exchange *x, const struct http_answer *a)
{
	for (int i = 0; i < HTTP_HEADERS_MAX && a->headers[i][0]; i++)
		(void)MHD_add_response_header(x->response, a->headers[i][0], a->headers[i][1]);
	if (a->type)
		(void)MHD_add_response_header(x->response, "Content-Type", a->type);
	(void)MHD_add_response_header(x->response, "X-Content-Type-Options", "nosniff");
	if (a->close || x->server->quiet)
		(void)MHD_add_response_header(x->response, "Connection", "close");
	x->status = a->status;
	if (x->state == HTTP_WAITING)
		http_resume(x);
}

void http_answer(struct http_exchange *x, const struct http_answer *a)
{
	size_t n = a->body ? a->body->len : 0;
	char *bytes = a->body ? buffer_take(a->body) : NULL;

	if (http_is_answered(x)) {
		free(bytes);
		return;
	}
	if (!http_hold(x, n)) {
		free(bytes);
		refuse(x, 503, "the server has too much to hold at this time");
		return;
	}
	if (n > 0 && bytes) {
		x->response = MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
	} else {
		free(bytes);
		x->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	}
	if (x->response)
		put_headers(x, a);
	else
		http_break(x);
}

void http_stream(struct http_exchange *x, const struct http_answer *a)
{
	if (http_is_answered(x))
		return;
	x->response = http_stream_response(x);
	if (x->response)
		put_headers(x, a);
	else
		http_break(x);
}

bool http_is_answered(const struct http_exchange *x)
{
	return x->response || x->state == HTTP_SENDING || x->streams;
}

const char *http_method(const struct http_exchange *x)
{
	return x->method;
}

const char *http_path(const struct http_exchange *x)
{
	return x->path;
}

const char *http_query(const struct http_exchange *x)
{
	return x->query;
}

const char *http_header(const struct http_exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *http_body(const struct http_exchange *x, size_t *ret_len)
{
	*ret_len = x->body.len;
	return buffer_str(&x->body);
}

bool http_has_body(const struct http_exchange *x)
{
	return x->chunked || x->length > 0;
}

int http_tag(const struct http_exchange *x)
{
	return x->listener->tag;
}

int http_fd(const struct http_exchange *x)
{
	return x->link->fd;
}

void http_set_user(struct http_exchange *x, void *user)
{
	x->user = user;
}

void *http_user(const struct http_exchange *x)
{
	return x->user;
}

void http_set_body_max(struct http_exchange *x, size_t bytes)
{
	x->body_max = bytes;
}
