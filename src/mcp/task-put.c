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
	json_put_key(w, key);
	json_put_string(w, text);
}

void task_put_times(struct json_writer *w, const char *id, const char *status, int64_t created_ms,
                    int64_t updated_ms, bool modern)
{
	json_put_key(w, "taskId");
	json_put_string(w, id);
	json_put_key(w, "status");
	json_put_string(w, status);
	put_time(w, "createdAt", created_ms);
	put_time(w, "lastUpdatedAt", updated_ms);
	json_put_key(w, modern ? "ttlMs" : "ttl");
	json_put_int(w, engine_wishes_default.state_age_ms);
	json_put_key(w, modern ? "pollIntervalMs" : "pollInterval");
	json_put_int(w, POLL_MS);
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
	json_put_key(meta, MCP_META "related-task");
	json_object_begin(meta);
	json_put_key(meta, "taskId");
	json_put_string(meta, id);
	json_object_end(meta);
}

void task_put_facts(struct json_writer *w, const struct find_entry *e)
{
	int code = find_exit_code(e), number = find_signal(e);
	int64_t end = e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms;

	json_put_key(w, "task_id");
	json_put_string(w, e->id);
	json_put_key(w, "state");
	json_put_string(w, find_state_name(e));
	json_put_key(w, "exit_code");
	if (code < 0)
		json_put_null(w);
	else
		json_put_int(w, code);
	json_put_key(w, "signal");
	json_put_string(w, number ? sigabbrev_np(number) : NULL);
	json_put_key(w, "duration_ms");
	json_put_int(w, end > e->started_ms ? end - e->started_ms : 0);
	json_put_key(w, "stdout_bytes");
	json_put_uint(w, e->bytes[0]);
	json_put_key(w, "stderr_bytes");
	json_put_uint(w, e->bytes[1]);
}
