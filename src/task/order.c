/*
 * An order on the wire and on disk. Writer and reader share the tables below; members are written
 * in the order of the rows. Lists read only the beginning of a spec.json (find.c), so what they
 * want stands before all that a caller can make long.
 */
#include "task/order.h"

#include <errno.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"
#include "session/session.h"

#define OF struct keeper_order

/* Bound to the whole order: what is asked for and executed is not written twice. */
static const struct json_field request_fields[] = {
	JSON_BYTES("profile", OF, request.profile, JSON_OPTIONAL),
	JSON_BYTES("agent", OF, request.agent, JSON_OPTIONAL),
	JSON_BYTES("policy_file", OF, request.policy_file, JSON_OPTIONAL),
	JSON_BYTES("command", OF, request.command, JSON_OPTIONAL),
	JSON_BYTES("workspace", OF, request.workspace, JSON_REQUIRED),
	JSON_BYTES("state", OF, request.state, JSON_OPTIONAL),
	JSON_BYTES("cwd", OF, request.cwd, JSON_REQUIRED),
	JSON_BYTES("session", OF, request.session, JSON_OPTIONAL),
	JSON_BYTES("approval", OF, request.approval, JSON_OPTIONAL),
	JSON_WORDS("argv", OF, request.argv, JSON_OPTIONAL, 1, JSON_UNLESS(OF, argv)),
	JSON_WORDS("env", OF, request.env, JSON_OPTIONAL, 0),
	JSON_WORDS("args", OF, request.args, JSON_OPTIONAL, 0),
	JSON_BOOL("force", OF, request.force, JSON_REQUIRED),
	JSON_BOOL("passing", OF, request.passing, JSON_SPARSE),
	JSON_BOOL("tells_cwd", OF, request.tells_cwd, JSON_SPARSE),
	{0},
};

static const struct json_field order_fields[] = {
	JSON_TEXT("task_id", OF, task_id, JSON_REQUIRED),
	JSON_TEXT("principal", OF, principal, JSON_OPTIONAL),
	JSON_TEXT("door", OF, door, JSON_OPTIONAL),
	JSON_BYTES("root", OF, request.root, JSON_REQUIRED),
	JSON_BYTES("base", OF, base, JSON_OPTIONAL, JSON_UNLESS(OF, request.root)),
	/* For lists; the one of the request is required and replaces it. */
	JSON_BYTES("workspace", OF, request.workspace, JSON_OPTIONAL,
                   JSON_UNLESS(OF, request.root)),
	JSON_TEXT("command", OF, command, JSON_REQUIRED),
	JSON_TEXT("description", OF, description, JSON_OPTIONAL),
	JSON_BYTES("cwd", OF, cwd, JSON_REQUIRED),
	JSON_BOOL("merged", OF, merged, JSON_REQUIRED),
	JSON_BOOL("follow", OF, follow, JSON_REQUIRED),
	JSON_BOOL("findable", OF, findable, JSON_SPARSE),
	JSON_BOOL("relay", OF, relay, JSON_SPARSE),
	JSON_BOOL("interactive", OF, interactive, JSON_SPARSE),
	JSON_BOOL("dry_run", OF, dry_run, JSON_SPARSE),
	JSON_BOOL("undoable", OF, undoable, JSON_SPARSE),
	JSON_BOOL("background", OF, background, JSON_REQUIRED),
	JSON_BOOL("timeout_lets_go", OF, timeout_lets_go, JSON_REQUIRED),
	JSON_BOOL("keep_leftover", OF, keep_leftover, JSON_SPARSE),
	JSON_BOOL("timeout_asked", OF, timeout_asked, JSON_SPARSE),
	JSON_NUMBER("timeout_ms", OF, timeout_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("ask_ms", OF, ask_ms, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("idle_timeout_ms", OF, idle_timeout_ms, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("grace_ms", OF, grace_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("spool_cap", OF, spool_cap, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("max_processes", OF, max_processes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("patience", OF, patience, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("head_bytes", OF, kept.head, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("tail_bytes", OF, kept.tail, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("middle_bytes", OF, kept.middle, JSON_SPARSE, 0, INT64_MAX),
	JSON_NUMBER("rows", OF, terminal.rows, JSON_SPARSE, 0, PTY_SIDE_MAX),
	JSON_NUMBER("cols", OF, terminal.cols, JSON_SPARSE, 0, PTY_SIDE_MAX),
	JSON_WORDS("argv", OF, argv, JSON_REQUIRED, 1),
	JSON_WORDS("env", OF, envp, JSON_REQUIRED, 0),
	{.name = "request", .type = JSON_FIELD_OBJECT, .sub = request_fields},
	{0},
};

int keeper_order_write(const struct keeper_order *o, struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_fields_write(&w, order_fields, o);
	buffer_putc(into, '\n');
	return buffer_error(into);
}

/* What no row can say: members that must fit each other. */
static const char *conflict_in(const struct keeper_order *o)
{
	const struct keeper_request *rq = &o->request;

	if (o->dry_run && o->undoable)
		return "both 'dry_run' and 'undoable'";
	if (o->patience > o->kept.head)
		return "'patience' is more than 'head_bytes'";
	if (o->terminal.rows && !pty_size_is_valid(o->terminal.rows, o->terminal.cols))
		return "'rows' without 'cols'";
	if (rq->command && rq->argv)
		return "the request has both 'command' and 'argv'";
	if (rq->session && !session_id_is_valid(rq->session))
		return "'session' is not the id of a session";
	return NULL;
}

int keeper_order_read(const char *bytes, size_t n, struct arena *arena,
                      struct keeper_order *ret_order, struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct keeper_order o = {0};
	const char *conflict;
	int r;

	r = json_read(bytes, n, ORDER_BYTES_MAX, "order", &root, err);
	if (r == 0)
		r = json_fields_read(root, "order", order_fields, arena, &o, err);
	if (r < 0)
		return r;
	conflict = conflict_in(&o);
	if (conflict)
		return error_set(err, ERROR_INPUT, EINVAL, "order: %s", conflict);
	if (!o.request.command && !o.request.argv)
		o.request.argv = o.argv;
	*ret_order = o;
	return 0;
}
