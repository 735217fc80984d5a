/*
 * A stream is pulled: the library asks for bytes when the client can take some, and only then the
 * owner is asked for more. With nothing to send the connection is suspended, so that nothing spins,
 * and every write resumes it. What was written and not taken is bounded; a client beyond that is
 * left, since to forget something in the middle would be worse.
 */
#include <string.h>
#include "base/cleanup.h"
#include "http/inside.h"

#define BLOCK_BYTES 1024

static int on_heartbeat(struct loop_timer *t);

static void arm(struct http_exchange *x)
{
	struct loop *l = x->server->loop;

	(void)loop_timer_set(l, &x->heartbeat, loop_now(l) + x->server->limits.heartbeat_ms,
	                     on_heartbeat);
}

/* A comment keeps what stands between awake, and finds a client that vanished without a word. */
static int on_heartbeat(struct loop_timer *t)
{
	struct http_exchange *x = container_of(t, struct http_exchange, heartbeat);

	if (x->ended || x->broken)
		return 0;
	if (x->suspended)
		(void)http_stream_write(x, ":\n\n", 3);
	arm(x);
	return 0;
}

static ssize_t take(struct http_exchange *x, char *into, size_t max)
{
	size_t n = x->out.len - x->out_at;

	if (n > max)
		n = max;
	memcpy(into, x->out.data + x->out_at, n);
	x->out_at += n;
	if (x->out_at == x->out.len) {
		buffer_done(&x->out); /* thousands may wait: an idle one has no memory */
		x->out_at = 0;
		(void)http_hold(x, 0);
	}
	return (ssize_t)n;
}

static ssize_t on_read(void *cls, uint64_t at, char *into, size_t max)
{
	struct http_exchange *x = cls;
	struct http_server *s = x->server;

	if (!x->out.len && !x->ended && !x->broken && s->ops->drained) {
		x->pulling = true;
		s->ops->drained(s->owner, x);
		x->pulling = false;
	}
	if (x->broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (x->out.len > x->out_at)
		return take(x, into, max);
	if (x->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	http_suspend(x);
	return 0;
}

struct MHD_Response *http_stream_response(struct http_exchange *x)
{
	x->streams = true;
	x->out.max = x->server->limits.stream_bytes;
	arm(x);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, x, NULL);
}

size_t http_stream_waiting(const struct http_exchange *x)
{
	return x->out.len - x->out_at;
}

bool http_stream_write(struct http_exchange *x, const void *bytes, size_t n)
{
	if (!x->streams || x->ended || x->broken)
		return false;
	if (x->out_at > 0 && x->out_at >= x->out.len / 2) {
		memmove(x->out.data, x->out.data + x->out_at, x->out.len - x->out_at);
		x->out.len -= x->out_at;
		x->out_at = 0;
	}
	x->out.max = x->server->limits.stream_bytes;
	buffer_append(&x->out, bytes, n);
	if (buffer_error(&x->out) < 0 || !http_hold(x, x->out.len)) {
		http_break(x);
		return false;
	}
	if (x->state == HTTP_SENDING)
		http_resume(x);
	return true;
}

void http_stream_end(struct http_exchange *x)
{
	if (!x->streams || x->ended)
		return;
	x->ended = true;
	loop_timer_clear(&x->heartbeat);
	if (x->state == HTTP_SENDING)
		http_resume(x);
}

bool http_stream_event(struct http_exchange *x, const char *id, const char *name, const char *data,
                       size_t n)
{
	scoped(buffer_donep) struct buffer event = {.max = x->server->limits.stream_bytes};

	if (id)
		buffer_printf(&event, "id: %s\n", id);
	if (name)
		buffer_printf(&event, "event: %s\n", name);
	buffer_puts(&event, "data: ");
	buffer_append(&event, data, n);
	buffer_puts(&event, "\n\n");
	if (buffer_error(&event) < 0) {
		http_break(x);
		return false;
	}
	return http_stream_write(x, event.data, event.len);
}
