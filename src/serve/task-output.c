/*
 * The output of a task over HTTP: as one answer, at once or when something new has come, or as a
 * stream of events.
 *
 * Output is read from the files of the task at the pace of the client, so a slow client costs no
 * memory and does not delay the command. A client that leaves ends the reading, not the task.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "http/text.h"
#include "json/write.h"
#include "serve/helper.h"
#include "serve/inside.h"
#include "serve/page.h"
#include "serve/show.h"
#include "serve/tail.h"

#define TEXT_MAX ((size_t)1 << 20)  /* of one answer; since= goes on from there */
#define READ_MAX ((size_t)16 << 20) /* bytes that are looked through for one answer */
#define LOOK_MS  100                /* and time, in which nobody else is served */
#define WAIT_MAX 60000
#define RAW_MAX  ((size_t)16 << 20)

/* What was read is not read again when more comes: with an expression that finds nothing it could
 * be much, and come often. */
struct reading {
	struct tasks_reader *reader;
	struct buffer text[2];
	size_t taken;
	bool both;
};

static struct reading *reading_free(struct reading *g)
{
	if (!g)
		return NULL;
	tasks_reader_free(g->reader);
	buffer_done(&g->text[0]);
	buffer_done(&g->text[1]);
	free(g);
	return NULL;
}

static int on_text(void *owner, const struct tasks_text *t)
{
	struct reading *g = owner;
	struct buffer *b = &g->text[g->both && t->stream];

	if (t->missing > 0)
		buffer_printf(b, "[%llu bytes are missing here]\n", (unsigned long long)t->missing);
	else
		buffer_append(b, t->text, t->len);
	return buffer_error(b);
}

static void put_output(struct call *c, const struct reading *g, bool cut)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct find_entry e;

	tasks_reader_look(g->reader, &e);
	json_object_begin(&w);
	json_member_bytes(&w,
	                  e.merged                        ? "output"
	                  : c->query.stream == FOLLOW_ERR ? "stderr"
	                                                  : "stdout",
	                  buffer_str(&g->text[0]), g->text[0].len);
	if (!e.merged && g->both)
		json_member_bytes(&w, "stderr", buffer_str(&g->text[1]), g->text[1].len);
	json_member_bool(&w, "truncated", cut);
	json_member_uint(&w, "next", tasks_reader_next(g->reader));
	tasks_put_member(&w, tasks_reader_dir(g->reader), &e);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

/* False: that it failed is answered. */
static bool begin_reading(struct call *c)
{
	struct error err = {0};
	struct store *store;

	c->query.id = c->id;
	c->query.pick.regex = c->grep[0] ? c->grep : NULL;
	if (tasks_store(c, &store) < 0)
		return false;
	c->reading = calloc(1, sizeof(*c->reading));
	if (!c->reading) {
		answer_error(c, 503, "system", "out of memory");
		return false;
	}
	c->reading->both = c->query.stream == FOLLOW_BOTH;
	if (tasks_reader_new(store, &c->query, on_text, c->reading, &c->reading->reader, &err) <
	    0) {
		answer_failure(c, &err);
		return false;
	}
	follow_unwatch(tasks_reader_follow(c->reading->reader));
	return true;
}

/* True: there was nothing yet, and somebody can wait. */
static bool read_output(struct call *c, bool may_wait)
{
	struct reading *g = c->reading;
	int64_t end = clock_now_ms() + LOOK_MS;
	uint64_t before;
	int r = TASKS_MORE;

	while (r == TASKS_MORE && g->text[0].len + g->text[1].len < TEXT_MAX &&
	       g->taken < READ_MAX && clock_now_ms() < end) {
		before = tasks_reader_next(g->reader);
		r = tasks_reader_step(g->reader);
		g->taken += (size_t)(tasks_reader_next(g->reader) - before);
	}
	if (r == TASKS_WAIT && may_wait && g->text[0].len + g->text[1].len == 0)
		return true;
	if (r >= 0) {
		int code = tasks_reader_end(g->reader);

		r = code < 0 ? code : r;
	}
	if (r == -ETIME)
		answer_error(c, 400, "input", "'grep' takes too long on this output");
	else if (r < 0)
		answer_error(c, 500, "system", "the output cannot be read");
	else
		put_output(c, g, r == TASKS_MORE);
	return false;
}

static void stop_waiting(struct call *c)
{
	loop_timer_clear(&c->timer);
	watch_remove(&c->watcher);
	c->reading = reading_free(c->reading);
}

static void on_grown(struct watcher *w)
{
	struct call *c = container_of(w, struct call, watcher);

	if (c->x && !read_output(c, true))
		stop_waiting(c);
}

static int on_late(struct loop_timer *t)
{
	struct call *c = container_of(t, struct call, timer);

	if (c->x)
		(void)read_output(c, false);
	stop_waiting(c);
	return 0;
}

static void poll_output(struct call *c, int64_t wait_ms)
{
	struct loop *l = c->serve->loop;
	bool waits = begin_reading(c) && read_output(c, wait_ms > 0);

	if (waits && (watch_add(c->serve->watch, c->task_fd, &c->watcher, on_grown) < 0 ||
	              loop_timer_set(l, &c->timer, loop_now(l) + wait_ms, on_late) < 0))
		waits = read_output(c, false);
	else if (waits) /* it may have come between the look and the watch */
		waits = read_output(c, true);
	if (!waits)
		stop_waiting(c);
}

static void on_wake(void *owner)
{
	run_pump(owner);
}

static void follow(struct call *c)
{
	struct error err = {0};
	struct store *store;

	c->query.id = c->id;
	c->query.pick.regex = c->grep[0] ? c->grep : NULL;
	if (tasks_store(c, &store) < 0)
		return;
	if (tail_new(store, c->serve->watch, &c->query, c->x, on_wake, c, &c->tail, &err) < 0) {
		answer_failure(c, &err);
		return;
	}
	fd_close(take_fd(&c->task_fd));
	c->streams = true;
	answer_stream(c);
}

static bool get_stream(struct call *c)
{
	char text[8];
	int r = http_query_get(http_query(c->x), "stream", text, sizeof(text));

	c->query.stream = FOLLOW_BOTH;
	if (r == -ENOENT || (r == 0 && follow_stream_parse(text, &c->query.stream) == 0))
		return true;
	answer_error(c, 400, "input", "'stream' must be stdout, stderr or both");
	return false;
}

static bool get_flag(struct call *c, const char *name, bool *ret)
{
	char text[8] = "0", words[64];
	int r = http_query_get(http_query(c->x), name, text, sizeof(text));

	*ret = r == 0 && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
	if (r == -ENOENT ||
	    (r == 0 && (*ret || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)))
		return true;
	snprintf(words, sizeof(words), "'%s' must be true or false", name);
	answer_error(c, 400, "input", words);
	return false;
}

static bool get_follow(struct call *c, bool *ret)
{
	char text[8];
	int r = http_query_get(http_query(c->x), "follow", text, sizeof(text));

	*ret = http_accepts(http_header(c->x, "Accept"), "text/event-stream", false);
	if (strcmp(http_method(c->x), "HEAD") == 0) { /* there is nothing to follow */
		*ret = false;
		return true;
	}
	if (r == -ENOENT)
		return true;
	*ret = *ret || (r == 0 && (!*text || strcmp(text, "1") == 0 || strcmp(text, "true") == 0));
	if (r == 0 && (*ret || strcmp(text, "0") == 0 || strcmp(text, "false") == 0))
		return true;
	answer_error(c, 400, "input", "'follow' must be true or false");
	return false;
}

void tasks_output(struct call *c)
{
	const char *last = http_header(c->x, "Last-Event-ID");
	uint64_t wait = 0;
	bool follows;
	int r;

	if (!get_flag(c, "colour", &c->query.keep_escapes) ||
	    !tasks_get_number(c, "since", &c->query.since) ||
	    !tasks_get_number(c, "wait_ms", &wait) ||
	    !tasks_get_number(c, "tail", &c->query.pick.tail) || !get_stream(c) ||
	    !get_follow(c, &follows))
		return;
	r = http_query_get(http_query(c->x), "grep", c->grep, sizeof(c->grep));
	if (r < 0 && r != -ENOENT) {
		answer_error(c, 400, "input",
		             "'grep' must be a regular expression of 1 to 255 "
		             "bytes");
		return;
	}
	if (r == -ENOENT)
		c->grep[0] = '\0';
	if (last && number_parse_u64(last, &c->query.since) < 0) {
		answer_error(c, 400, "input", "Last-Event-ID must be an offset");
		return;
	}
	c->task_fd = tasks_open(c);
	if (c->task_fd < 0)
		return;
	if (follows)
		follow(c);
	else
		poll_output(c, wait > WAIT_MAX ? WAIT_MAX : (int64_t)wait);
}

/* Bytes: of a large file the end. */

static int open_stream(struct call *c, int stream)
{
	return fd_open_regular(c->task_fd, stream ? "err" : "out");
}

void tasks_raw(struct call *c)
{
	scoped(buffer_donep) struct buffer bytes = {.max = RAW_MAX + 1};
	struct http_answer a = {
		.status = 200,
		.type = "application/octet-stream",
		.body = &bytes,
		.headers = {{"Cache-Control", "no-store"}, {"Content-Disposition", "attachment"}}};
	scoped(fd_closep) int fd = -1;
	struct stat st;
	int r = 0;

	if (!get_stream(c))
		return;
	if (c->query.stream == FOLLOW_BOTH)
		c->query.stream = FOLLOW_OUT;
	c->task_fd = tasks_open(c);
	if (c->task_fd < 0)
		return;
	fd = open_stream(c, c->query.stream == FOLLOW_ERR);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > (off_t)RAW_MAX)
		(void)lseek(fd, st.st_size - (off_t)RAW_MAX, SEEK_SET);
	if (fd >= 0)
		r = fd_read_all(fd, &bytes);
	if (r < 0 && r != -E2BIG) {
		answer_error(c, 500, "system", "the output cannot be read");
		return;
	}
	page_guard(&a, false);
	metrics_count_answer(&c->serve->metrics, 200);
	http_answer(c->x, &a);
}

/* A terminal, once */

static void on_frame(void *owner, struct buffer *json)
{
	answer_json(owner, 200, json);
}

static void on_ended(void *owner, const char *reason)
{
	struct call *c = owner;

	if (c->x && !http_is_answered(c->x))
		answer_error(c, 500, "system", "the screen cannot be shown");
	c->shot = show_free(c->shot);
}

static bool wants_frame(void *owner)
{
	const struct call *c = owner;

	return c->x && !http_is_answered(c->x);
}

void tasks_screen(struct call *c)
{
	static const struct show_ops ops = {
		.frame = on_frame, .ended = on_ended, .has_room = wants_frame};
	int r;

	c->task_fd = tasks_open(c);
	if (c->task_fd < 0)
		return;
	r = show_new(c->serve->loop, c->serve->watch, take_fd(&c->task_fd), c->id, &ops, c,
	             &c->shot);
	if (r == -ENOTTY)
		answer_error(c, 409, "input", "the task has no terminal");
	else if (r < 0)
		answer_error(c, 500, "system", "the screen cannot be shown");
}

void tasks_client_gone(struct call *c)
{
	c->shot = show_free(c->shot);
	c->helper = helper_free(c->helper);
	stop_waiting(c);
}
