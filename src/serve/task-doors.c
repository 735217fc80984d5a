/*
 * Tasks over HTTP. The owner of a task is in its spec.json, which is written before the command
 * starts. A task of another principal is answered like one that does not exist. Ids must be
 * complete: trying beginnings would be a way to find the ids of others.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "task/errand.h"
#include "http/text.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/write.h"
#include "sandbox/layers.h"
#include "serve/inside.h"

#define LIST_MAX  1000
#define TYPED_MAX ((size_t)64 << 10)

int tasks_store(struct call *c, struct store **ret)
{
	struct error err = {0};
	int r = bench_store(c->serve, ret, &err);

	if (r < 0)
		answer_failure(c, &err);
	return r;
}

bool tasks_may_see(const struct call *c, const struct find_origin *origin)
{
	const char *const *roots = bench_roots(c);

	if (!c->client->name[0])
		return true;
	return strcmp(c->client->name, origin->principal) == 0 &&
	       (bench_is_below(roots, origin->root) || bench_is_below(roots, origin->workspace));
}

static bool wants(const void *owner, const struct find_origin *origin)
{
	return tasks_may_see(owner, origin);
}

static void put_number(struct json_writer *w, const char *key, int64_t value, bool known)
{
	json_put_key(w, key);
	if (known)
		json_put_int(w, value);
	else
		json_put_null(w);
}

static void put_layers(struct json_writer *w, const char *key, uint32_t bits)
{
	json_member_array(w, key);
	for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
		if (bits & (1U << i))
			json_put_string(w, sandbox_layer_name((enum sandbox_layer)(1 << i)));
	json_array_end(w);
}

static void put_details(struct json_writer *w, int dir_fd, const struct find_entry *e)
{
	const struct sandbox_standing *box = &e->report.sandbox;
	bool ended = e->state == FIND_ENDED;
	struct find_details d = {0};

	if (dir_fd >= 0)
		find_details(dir_fd, &d);
	json_member_text(w, "door", e->origin.door);
	json_member_text(w, "profile", d.profile);
	json_member_text(w, "session", d.session);
	json_member_text(w, "workspace", e->origin.workspace);
	json_member_text(w, "cwd", d.cwd);
	json_put_key(w, "terminal");
	if (d.rows) {
		json_object_begin(w);
		json_member_int(w, "rows", d.rows);
		json_member_int(w, "cols", d.cols);
		json_object_end(w);
	} else {
		json_put_null(w);
	}
	json_member_string(w, "tier", ended ? sandbox_tier_name(box->tier) : NULL);
	put_layers(w, "layers", ended ? box->layers : 0);
	put_layers(w, "missing", ended ? box->missing : 0);
	put_number(w, "cpu_ms", e->report.cpu_ms, ended);
	put_number(w, "max_rss_kb", e->report.max_rss_kb, ended);
	put_number(w, "timeout_ms", (int64_t)e->timeout_ms, e->timeout_ms > 0);
	json_member_text(w, "approval", d.approval);
	put_number(w, "processes", e->processes, e->processes > 0);
}

void tasks_put_member(struct json_writer *w, int dir_fd, const struct find_entry *e)
{
	int code = find_exit_code(e), number = find_signal(e);
	int64_t end = e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms;
	char name[32] = "";

	if (number)
		snprintf(name, sizeof(name), "SIG%s",
		         sigabbrev_np(number) ? sigabbrev_np(number) : "?");
	json_member_text(w, "task_id", e->id);
	json_member_text(w, "state", find_state_name(e));
	json_member_bool(w, "running", e->state == FIND_RUNNING);
	json_member_text(w, "command", e->command);
	json_member_text(w, "description", e->description);
	json_member_text(w, "principal", e->origin.principal);
	json_member_bool(w, "background", e->background);
	json_member_int(w, "started_ms", e->started_ms);
	json_member_int(w, "duration_ms", end > e->started_ms ? end - e->started_ms : 0);
	json_put_key(w, "exit_code");
	if (code < 0)
		json_put_null(w);
	else
		json_put_int(w, code);
	json_member_text(w, "signal", name);
	json_member_int(w, "stdout_bytes", (int64_t)e->bytes[0]);
	json_member_int(w, "stderr_bytes", (int64_t)e->bytes[1]);
	put_details(w, dir_fd, e);
	find_put_ports(e, w);
}

/* A number of the query, if it is there. False: it is wrong, and that is answered. */
bool tasks_get_number(struct call *c, const char *name, uint64_t *ret)
{
	char text[24], words[64];
	int r = http_query_get(http_query(c->x), name, text, sizeof(text));

	if (r == -ENOENT || (r == 0 && number_parse_u64(text, ret) == 0))
		return true;
	snprintf(words, sizeof(words), "'%s' must be a number", name);
	answer_error(c, 400, "input", words);
	return false;
}

void tasks_list(struct call *c)
{
	scoped(find_list_donep) struct find_list list = {0};
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct find_query q = {.wants = c->client->name[0] ? wants : NULL, .owner = c};
	uint64_t limit = 100;
	struct error err = {0};
	char state[16] = "all";
	struct store *store;
	int r;

	if (!tasks_get_number(c, "limit", &limit))
		return;
	if (limit == 0 || limit > LIST_MAX) {
		answer_error(c, 400, "input", "'limit' must be a number from 1 to 1000");
		return;
	}
	r = http_query_get(http_query(c->x), "state", state, sizeof(state));
	if (r != -ENOENT &&
	    (r < 0 || (strcmp(state, "running") != 0 && strcmp(state, "all") != 0))) {
		answer_error(c, 400, "input", "'state' must be running or all");
		return;
	}
	if (tasks_store(c, &store) < 0)
		return;
	q.limit = (size_t)limit;
	q.only_running = strcmp(state, "running") == 0;
	if (find_tasks(store, &q, &list, &err) < 0) {
		answer_failure(c, &err);
		return;
	}
	json_object_begin(&w);
	json_member_array(&w, "tasks");
	for (size_t i = 0; i < list.count; i++) {
		scoped(fd_closep) int dir_fd = find_open(store, list.entries[i].id, NULL);

		json_object_begin(&w);
		tasks_put_member(&w, dir_fd, &list.entries[i]);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

int tasks_open(struct call *c)
{
	scoped(fd_closep) int fd = -1;
	struct find_entry e = {0};
	struct store *store;

	if (tasks_store(c, &store) < 0)
		return -ENOMEM;
	if (strlen(c->id) < STORE_ID_MAX)
		fd = find_open(store, c->id, NULL);
	if (fd >= 0)
		find_look(fd, c->id, &e);
	if (fd < 0 || !tasks_may_see(c, &e.origin)) {
		answer_error(c, 404, "input", "there is no such task");
		return -ENOENT;
	}
	return take_fd(&fd);
}

void tasks_one(struct call *c)
{
	scoped(buffer_donep) struct buffer json = {0};
	scoped(fd_closep) int fd = tasks_open(c);
	struct json_writer w = {.out = &json};
	struct find_entry e = {0};

	if (fd < 0)
		return;
	find_look(fd, c->id, &e);
	json_object_begin(&w);
	tasks_put_member(&w, fd, &e);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

/* Orders */

static void on_order_done(void *owner, int code)
{
	scoped(buffer_donep) struct buffer json = {0};
	struct json_writer w = {.out = &json};
	struct call *c = owner;
	struct find_entry e = {0};

	c->errand = NULL;
	if (!c->x) {
		call_free(c);
		return;
	}
	find_look(c->task_fd, c->id, &e);
	if (code == -ESRCH && strcmp(c->route->path, "/v1/tasks/*/input") == 0) {
		answer_error(c, 409, "input", "the task is not running");
		return;
	}
	if (code == -ENOTTY) {
		answer_error(c, 409, "input", "the task has no terminal");
		return;
	}
	if (code < 0 && code != -ESRCH) {
		serve_log(c->serve, "order to task %s: %s", c->id, strerrordesc_np(-code));
		answer_error(c, 500, "system", "the task cannot be reached");
		return;
	}
	json_object_begin(&w);
	json_member_bool(&w, "was_running", code == 0);
	tasks_put_member(&w, c->task_fd, &e);
	json_object_end(&w);
	answer_json(c, 200, &json);
}

static void give_order(struct call *c, const struct errand_order *order)
{
	struct error err = {0};

	c->task_fd = tasks_open(c);
	if (c->task_fd >= 0 &&
	    errand_start(c->serve->loop, c->task_fd, order, on_order_done, c, &c->errand, &err) < 0)
		answer_failure(c, &err);
}

void tasks_stop_one(struct call *c)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct errand_order order = {.stop = true};
	int now = 0;

	if (!answer_read_body(c, &root))
		return;
	if (json_unpack(root, "{s?b !}", "now", &now) < 0) {
		answer_error(c, 400, "input", "the only member is 'now', true or false");
		return;
	}
	order.now = now;
	give_order(c, &order);
}

void tasks_input(struct call *c)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct errand_order order = {0};
	const char *text = "";
	json_t *high = NULL, *wide = NULL;
	json_int_t rows = 0, cols = 0;
	size_t n = 0;

	if (!answer_read_body(c, &root))
		return;
	if (json_unpack(root, "{s?s%, s?o, s?o !}", "text", &text, &n, "rows", &high, "cols",
	                &wide) < 0 ||
	    (high && !json_whole(high, &rows)) || (wide && !json_whole(wide, &cols)) ||
	    n > TYPED_MAX || rows < 0 || cols < 0 || rows > 1000 || cols > 1000 || !rows != !cols ||
	    (n == 0 && rows == 0)) {
		answer_error(c, 400, "input",
		             "give 'text' of up to 64 KiB, or 'rows' and 'cols' from 1 to 1000");
		return;
	}
	order.typed = text;
	order.typed_len = n;
	order.rows = (uint16_t)rows;
	order.cols = (uint16_t)cols;
	give_order(c, &order);
}

static void put_schema(struct json_writer *w, const char *const members[][3])
{
	json_schema_begin(w);
	for (size_t i = 0; members[i][0]; i++) {
		json_member_object(w, members[i][0]);
		json_schema_type(w, members[i][1]);
		json_member_text(w, "description", members[i][2]);
		json_object_end(w);
	}
	json_schema_required(w);
	json_schema_end(w, false);
}

void tasks_put_stop_schema(struct json_writer *w)
{
	static const char *const members[][3] = {{"now", "boolean", "without SIGTERM and grace"},
	                                         {NULL}};

	put_schema(w, members);
}

void tasks_put_input_schema(struct json_writer *w)
{
	static const char *const members[][3] = {{"text", "string", "what is typed"},
	                                         {"rows", "integer", "of the terminal"},
	                                         {"cols", "integer", "of the terminal"},
	                                         {NULL}};

	put_schema(w, members);
}
