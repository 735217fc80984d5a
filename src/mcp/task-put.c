#include "mcp/task-put.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "engine/engine.h"
#include "json/write.h"
#include "mcp/era.h"
#include "task/find.h"

#define POLL_MS 1000

static void put_time(struct json_writer *w, const char *key, int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm at;
	char text[40] = "";

	if (gmtime_r(&s, &at))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &at);
	json_member_string(w, key, text);
}

void task_put_times(struct json_writer *w, const char *id, const char *status, int64_t created_ms,
                    int64_t updated_ms, bool modern)
{
	json_member_string(w, "taskId", id);
	json_member_string(w, "status", status);
	put_time(w, "createdAt", created_ms);
	put_time(w, "lastUpdatedAt", updated_ms);
	json_member_int(w, modern ? "ttlMs" : "ttl", engine_wishes_default.state_age_ms);
	json_member_int(w, modern ? "pollIntervalMs" : "pollInterval", POLL_MS);
}

/* In the extension a failure is one of the protocol; what a command did is in its result. */
static const char *status_of(const struct find_entry *e, bool modern)
{
	if (e->state == FIND_RUNNING)
		return "working";
	if (e->state == FIND_ENDED && e->report.end == KEEPER_END_STOPPED)
		return "cancelled";
	if (!modern && (e->state == FIND_LOST || e->report.end != KEEPER_END_EXITED))
		return "failed";
	return "completed";
}

void task_put(struct json_writer *w, const struct find_entry *e, bool modern)
{
	task_put_times(w, e->id, status_of(e, modern), e->started_ms,
	               e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms, modern);
}

void task_put_related(struct json_writer *meta, const char *id)
{
	json_member_object(meta, MCP_META "related-task");
	json_member_string(meta, "taskId", id);
	json_object_end(meta);
}

void task_put_facts(struct json_writer *w, const struct find_entry *e)
{
	int code = find_exit_code(e), number = find_signal(e);
	int64_t end = e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms;

	json_member_string(w, "task_id", e->id);
	json_member_string(w, "state", find_state_name(e));
	json_put_key(w, "exit_code");
	if (code < 0)
		json_put_null(w);
	else
		json_put_int(w, code);
	json_member_string(w, "signal", number ? sigabbrev_np(number) : NULL);
	json_member_int(w, "duration_ms", end > e->started_ms ? end - e->started_ms : 0);
	json_member_uint(w, "stdout_bytes", e->bytes[0]);
	json_member_uint(w, "stderr_bytes", e->bytes[1]);
	find_put_ports(e, w);
}
