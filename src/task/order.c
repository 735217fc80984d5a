#include "task/order.h"

#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/write.h"
#include "session/session.h"

/* A word of a command line is bytes, not text: one that JSON cannot hold as it is goes as hex. */
static void write_exact(struct json_writer *w, const char *bytes)
{
	scoped(buffer_donep) struct buffer hex = {.max = ORDER_BYTES_MAX};
	size_t n = strlen(bytes);

	if (utf8_valid_prefix(bytes, n) == n) {
		json_put_string(w, bytes);
		return;
	}
	for (size_t i = 0; i < n; i++)
		buffer_printf(&hex, "%02x", (unsigned char)bytes[i]);
	if (buffer_error(&hex) < 0)
		w->out->failed = buffer_error(&hex);
	json_object_begin(w);
	json_put_key(w, "hex");
	json_put_string(w, buffer_str(&hex));
	json_object_end(w);
}

static void write_strings(struct json_writer *w, const char *key, const char *const *strings)
{
	if (!strings)
		return;
	json_put_key(w, key);
	json_array_begin(w);
	for (; *strings; strings++)
		write_exact(w, *strings);
	json_array_end(w);
}

/* An order of words asks for what it executes: these are not written twice. */
static void write_request(struct json_writer *w, const struct keeper_order *o)
{
	const struct keeper_request *rq = &o->request;
	const struct {
		const char *key, *text;
	} strings[] = {
		{"profile", rq->profile},
		{"agent", rq->agent},
		{"policy_file", rq->policy_file},
		{"command", rq->command},
		{"workspace", rq->workspace},
		{"state", rq->state},
		{"cwd", rq->cwd},
		{"session", rq->session},
		{"approval", rq->approval},
	};

	json_put_key(w, "request");
	json_object_begin(w);
	for (size_t i = 0; i < array_size(strings); i++)
		if (strings[i].text) {
			json_put_key(w, strings[i].key);
			write_exact(w, strings[i].text);
		}
	if (rq->argv != o->argv)
		write_strings(w, "argv", rq->argv);
	write_strings(w, "env", rq->env);
	json_put_key(w, "force");
	json_put_bool(w, rq->force);
	json_object_end(w);
}

/* What the door serves and the workspace only where they are not the root itself. Before all that a
 * caller can make long: lists read only the beginning. */
static void write_origin(struct json_writer *w, const struct keeper_order *o)
{
	const char *root = o->request.root;

	if (!root || !o->request.workspace)
		return;
	json_put_key(w, "root");
	write_exact(w, root);
	if (o->base && strcmp(root, o->base) != 0) {
		json_put_key(w, "base");
		write_exact(w, o->base);
	}
	if (strcmp(root, o->request.workspace) == 0)
		return;
	json_put_key(w, "workspace");
	write_exact(w, o->request.workspace);
}

static void write_optional(struct json_writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	json_put_key(w, key);
	json_put_string(w, text);
}

int keeper_order_write(const struct keeper_order *o, struct buffer *into)
{
	struct json_writer w = {.out = into};
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{"timeout_ms", (uint64_t)o->timeout_ms},
		{"idle_ms", (uint64_t)o->idle_ms},
		{"grace_ms", (uint64_t)o->grace_ms},
		{"spool_cap", o->spool_cap},
		{"max_processes", o->max_processes},
		{"patience", o->patience},
		{"head_bytes", o->kept.head},
		{"tail_bytes", o->kept.tail},
		{"rows", o->terminal.rows}, /* from here on only with a terminal */
		{"cols", o->terminal.cols},
	};
	size_t count = array_size(numbers) - (o->terminal.rows ? 0 : 2);

	json_object_begin(&w);
	json_put_key(&w, "task_id");
	json_put_string(&w, o->task_id);
	write_optional(&w, "principal", o->principal);
	write_optional(&w, "door", o->door);
	write_origin(&w, o);
	json_put_key(&w, "command");
	json_put_string(&w, o->command);
	write_optional(&w, "description", o->description);
	json_put_key(&w, "cwd");
	write_exact(&w, o->cwd);
	json_put_key(&w, "merged");
	json_put_bool(&w, o->merged);
	json_put_key(&w, "follow");
	json_put_bool(&w, o->follow);
	if (o->findable) {
		json_put_key(&w, "findable");
		json_put_bool(&w, true);
	}
	if (o->interactive) {
		json_put_key(&w, "interactive");
		json_put_bool(&w, true);
	}
	json_put_key(&w, "background");
	json_put_bool(&w, o->background);
	json_put_key(&w, "timeout_lets_go");
	json_put_bool(&w, o->timeout_lets_go);
	for (size_t i = 0; i < count; i++) {
		json_put_key(&w, numbers[i].key);
		json_put_uint(&w, numbers[i].value);
	}
	write_strings(&w, "argv", o->argv);
	write_strings(&w, "env", o->envp);
	write_request(&w, o);
	json_object_end(&w);
	buffer_putc(into, '\n');
	return buffer_error(into);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The word that write_exact() wrote, or NULL. */
static char *read_exact(const json_t *value, struct arena *arena)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n;
	char *bytes;

	if (json_is_string(value))
		return arena_strndup(arena, json_string_value(value), json_string_length(value));
	n = hex ? strlen(hex) : 1;
	if (n % 2)
		return NULL;
	bytes = arena_alloc(arena, n / 2 + 1);
	for (size_t i = 0; bytes && i < n; i += 2) {
		int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);

		if (high < 0 || low < 0 || high + low == 0)
			return NULL;
		bytes[i / 2] = (char)(high << 4 | low);
	}
	return bytes;
}

static int read_strings(json_t *array, struct arena *arena, const char *const **ret_strings)
{
	size_t n = json_array_size(array);
	const char **strings = arena_new_array(arena, const char *, n + 1);

	if (!strings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		strings[i] = read_exact(json_array_get(array, i), arena);
		if (!strings[i])
			return -EINVAL;
	}
	*ret_strings = strings;
	return 0;
}

/* Absent members stay NULL; ARGV is what the order executes. */
static int read_request(const json_t *object, struct arena *arena, const char *const *argv,
                        struct keeper_request *ret)
{
	struct keeper_request rq = {.force = json_is_true(json_object_get(object, "force"))};
	const struct {
		const char *key;
		const char **text;
	} strings[] = {
		{"profile", &rq.profile},
		{"agent", &rq.agent},
		{"policy_file", &rq.policy_file},
		{"command", &rq.command},
		{"workspace", &rq.workspace},
		{"state", &rq.state},
		{"cwd", &rq.cwd},
		{"session", &rq.session},
		{"approval", &rq.approval},
	};
	const struct {
		const char *key;
		const char *const **list;
	} lists[] = {{"argv", &rq.argv}, {"env", &rq.env}};

	for (size_t i = 0; i < array_size(strings); i++) {
		const json_t *value = json_object_get(object, strings[i].key);

		if (value && !(*strings[i].text = read_exact(value, arena)))
			return -EINVAL;
	}
	for (size_t i = 0; i < array_size(lists); i++) {
		json_t *value = json_object_get(object, lists[i].key);

		if (value &&
		    (!json_is_array(value) || read_strings(value, arena, lists[i].list) < 0))
			return -EINVAL;
	}
	if (!rq.command && !rq.argv)
		rq.argv = argv;
	if (rq.session && !session_id_is_valid(rq.session))
		return -EINVAL;
	if (!rq.workspace || !rq.cwd || !rq.command == !rq.argv || (rq.argv && !rq.argv[0]))
		return -EINVAL;
	*ret = rq;
	return 0;
}

static const char *copy(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

int keeper_order_read(const char *bytes, size_t n, struct arena *arena,
                      struct keeper_order *ret_order, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	const char *id, *command, *description = NULL, *principal = NULL, *door = NULL;
	json_int_t timeout, patience = 0, idle = 0, grace, cap, processes, head, tail, rows = 0,
			    cols = 0;
	struct keeper_order o = {0};
	json_t *argv, *env, *cwd, *request, *origin, *workspace = NULL, *base = NULL;
	json_error_t e;
	int r, interactive = 0, findable = 0, merged, follow, background, lets_go;

	r = json_read(bytes, n, ORDER_BYTES_MAX, "order", &root, err);
	if (r < 0)
		return r;
	r = json_unpack_ex(
		root, &e, JSON_STRICT,
		"{s:s, s?s, s?s, s:o, s?o, s?o, s:s, s?s, s:o, s:b, s:b, s:b, s:b, s:I, s?I, "
		"s:I, s:I, s:I, s:I, "
		"s:I, s?I, s?I, s?I, s?b, s?b, "
		"s:o, s:o, s:o}",
		"task_id", &id, "principal", &principal, "door", &door, "root", &origin, "base",
		&base, "workspace", &workspace, "command", &command, "description", &description,
		"cwd", &cwd, "merged", &merged, "follow", &follow, "background", &background,
		"timeout_lets_go", &lets_go, "timeout_ms", &timeout, "idle_ms", &idle, "grace_ms",
		&grace, "spool_cap", &cap, "max_processes", &processes, "head_bytes", &head,
		"tail_bytes", &tail, "patience", &patience, "rows", &rows, "cols", &cols,
		"interactive", &interactive, "findable", &findable, "argv", &argv, "env", &env,
		"request", &request);
	if (r < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "order: %s", e.text);
	if (timeout < 0 || idle < 0 || grace < 0 || cap < 0 || processes < 0 || head < 0 ||
	    tail < 0 || patience < 0 || patience > head ||
	    (rows != 0 && !pty_size_is_valid(rows, cols)) || !json_is_array(argv) ||
	    !json_is_array(env) || json_array_size(argv) == 0)
		return error_set(err, ERROR_INPUT, EINVAL, "order: a value is out of range");
	o.task_id = copy(arena, id);
	o.command = copy(arena, command);
	o.principal = copy(arena, principal);
	o.door = copy(arena, door);
	o.base = base ? read_exact(base, arena) : NULL;
	o.description = copy(arena, description);
	o.cwd = read_exact(cwd, arena);
	o.terminal = (struct pty_size){.rows = (uint16_t)rows, .cols = (uint16_t)cols};
	o.interactive = interactive;
	o.findable = findable;
	o.merged = merged;
	o.follow = follow;
	o.background = background;
	o.timeout_lets_go = lets_go;
	o.timeout_ms = timeout;
	o.idle_ms = idle;
	o.grace_ms = grace;
	o.spool_cap = (uint64_t)cap;
	o.max_processes = (uint64_t)processes;
	o.patience = (size_t)patience;
	o.kept = (struct capture_limits){.head = (size_t)head, .tail = (size_t)tail};
	if (!o.task_id || !o.command || !o.cwd || (principal && !o.principal) ||
	    read_strings(argv, arena, &o.argv) < 0 || read_strings(env, arena, &o.envp) < 0 ||
	    read_request(request, arena, o.argv, &o.request) < 0)
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "order: a string is damaged, or memory ran out");
	o.request.root = read_exact(origin, arena);
	if (!o.request.root)
		return error_set(err, ERROR_INPUT, EINVAL, "order: the root is damaged");
	*ret_order = o;
	return 0;
}
