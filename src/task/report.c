#include "task/report.h"

#include <limits.h>
#include "base/buffer.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"
#include "sandbox/layers.h"

static const char *const end_names[KEEPER_END_MAX] = {
	[KEEPER_END_EXITED] = "exited",   [KEEPER_END_TIMEOUT] = "timeout",
	[KEEPER_END_IDLE] = "idle",       [KEEPER_END_STOPPED] = "stopped",
	[KEEPER_END_CROWDED] = "crowded", [KEEPER_END_FAILED] = "failed",
	[KEEPER_END_REFUSED] = "refused", [KEEPER_END_LOST] = "lost",
};

#define OF       struct keeper_report
#define STANDING struct sandbox_standing
#define STREAM   struct keeper_stream
#define LAYERS   ((1 << SANDBOX_LAYER_COUNT) - 1)

static const struct json_field sandbox_fields[] = {
	JSON_NAME("tier", STANDING, tier, JSON_REQUIRED, sandbox_tier_names),
	JSON_NUMBER("layers", STANDING, layers, JSON_REQUIRED, 0, LAYERS),
	JSON_NUMBER("missing", STANDING, missing, JSON_REQUIRED, 0, LAYERS),
	{0},
};

static const struct json_field stream_fields[] = {
	JSON_NUMBER("bytes", STREAM, bytes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("file_bytes", STREAM, file_bytes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("dropped_at", STREAM, dropped_at, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("dropped_bytes", STREAM, dropped_bytes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("lost_bytes", STREAM, lost_bytes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("lost_errno", STREAM, lost_errno, JSON_REQUIRED, 0, INT_MAX),
	{0},
};

#define ROOM struct keeper_room_report
static const struct json_field room_fields[] = {
	JSON_CHARS("id", ROOM, id, JSON_REQUIRED),
	JSON_NUMBER("generation", ROOM, generation, JSON_REQUIRED, 0, INT64_MAX),
	JSON_BOOL("fresh", ROOM, fresh, JSON_REQUIRED),
	JSON_CHARS("notice", ROOM, notice, JSON_REQUIRED),
	{0},
};

#define NETWORK struct keeper_network_report
static const struct json_field network_fields[] = {
	JSON_BOOL("named", NETWORK, named, JSON_REQUIRED),
	JSON_NUMBER("connections", NETWORK, connections, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("refused", NETWORK, refused, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("sent", NETWORK, sent, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("received", NETWORK, received, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("held", NETWORK, held, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_NUMBER("questions", NETWORK, questions, JSON_OPTIONAL, 0, INT64_MAX),
	JSON_CHARS("list", NETWORK, list, JSON_REQUIRED),
	JSON_CHARS("notice", NETWORK, notice, JSON_REQUIRED),
	{0},
};

#define CHANGES struct keeper_changes_report
static const struct json_field changes_fields[] = {
	JSON_CHARS("state", CHANGES, state, JSON_REQUIRED),
	JSON_CHARS("key", CHANGES, key, JSON_REQUIRED),
	JSON_NUMBER("added", CHANGES, added, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("changed", CHANGES, changed, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("deleted", CHANGES, deleted, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("bytes", CHANGES, bytes, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("count", CHANGES, count, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("conflicts", CHANGES, conflicts, JSON_REQUIRED, 0, INT64_MAX),
	JSON_CHARS("why", CHANGES, why, JSON_REQUIRED),
	JSON_NUMBER("keep_ms", CHANGES, keep_ms, JSON_REQUIRED, 0, INT64_MAX),
	{0},
};

/* The optional ones came later: a report of before is still one. */
static const struct json_field report_fields[] = {
	JSON_NAME("end", OF, end, JSON_REQUIRED, end_names),
	JSON_NUMBER("step", OF, step, JSON_REQUIRED, 0, CHILD_STEP_MAX - 1),
	JSON_NUMBER("errno", OF, sys, JSON_REQUIRED, 0, INT_MAX),
	JSON_NUMBER("status", OF, status, JSON_REQUIRED, INT_MIN, INT_MAX),
	JSON_NUMBER("killed", OF, killed, JSON_REQUIRED, 0, INT_MAX),
	JSON_NUMBER("survivors", OF, survivors, JSON_REQUIRED, 0, INT_MAX),
	JSON_NUMBER("processes", OF, processes, JSON_OPTIONAL, 0, INT_MAX),
	JSON_NUMBER("processes_bounded", OF, processes_bounded, JSON_REQUIRED, INT_MIN, INT_MAX),
	JSON_NUMBER("started_ms", OF, started_ms, JSON_REQUIRED, INT64_MIN, INT64_MAX),
	JSON_NUMBER("duration_ms", OF, duration_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("cpu_ms", OF, cpu_ms, JSON_REQUIRED, 0, INT64_MAX),
	JSON_NUMBER("max_rss_kb", OF, max_rss_kb, JSON_REQUIRED, 0, INT64_MAX),
	JSON_OBJECT("sandbox", OF, sandbox, sandbox_fields),
	JSON_NUMBER("limit_hit", OF, limit_hit, JSON_REQUIRED, 0, LIMIT_HIT_MAX - 1),
	{.name = "room",
         .type = JSON_FIELD_OBJECT,
         .presence = JSON_OPTIONAL,
         .offset = offsetof(OF, room),
         .sub = room_fields},
	{.name = "network",
         .type = JSON_FIELD_OBJECT,
         .presence = JSON_OPTIONAL,
         .offset = offsetof(OF, network),
         .sub = network_fields},
	{.name = "changes",
         .type = JSON_FIELD_OBJECT,
         .presence = JSON_OPTIONAL,
         .offset = offsetof(OF, changes),
         .sub = changes_fields},
	JSON_CHARS("planted", OF, planted, JSON_REQUIRED),
	JSON_CHARS("replaced", OF, replaced, JSON_OPTIONAL),
	JSON_CHARS("held", OF, held, JSON_OPTIONAL),
	JSON_CHARS("ungranted", OF, ungranted, JSON_OPTIONAL),
	JSON_CHARS("ended", OF, ended, JSON_OPTIONAL),
	JSON_CHARS("slain", OF, slain, JSON_OPTIONAL),
	JSON_CHARS("left", OF, left, JSON_OPTIONAL),
	JSON_CHARS("cwd", OF, cwd, JSON_SPARSE),
	JSON_CHARS("stages", OF, stages, JSON_OPTIONAL),
	JSON_CHARS("quiet", OF, quiet, JSON_OPTIONAL),
	JSON_CHARS("session", OF, session, JSON_OPTIONAL),
	JSON_CHARS("engine", OF, engine, JSON_OPTIONAL),
	JSON_CHARS("audit", OF, audit, JSON_OPTIONAL),
	JSON_CHARS("why", OF, why, JSON_REQUIRED),
	JSON_NUMBER("why_public", OF, why_public, JSON_OPTIONAL, 0, 1),
	JSON_OBJECT("out", OF, streams[0], stream_fields),
	JSON_OBJECT("err", OF, streams[1], stream_fields),
	{0},
};

const char *keeper_end_name(enum keeper_end end)
{
	return end_names[end];
}

int keeper_report_write(const struct keeper_report *r, struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_fields_write(&w, report_fields, r);
	buffer_putc(into, '\n');
	return buffer_error(into);
}

int keeper_report_read(const char *bytes, size_t n, struct keeper_report *ret_report,
                       struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	struct keeper_report report = {0};
	int r;

	r = json_read(bytes, n, REPORT_BYTES_MAX, "report", &root, err);
	if (r == 0)
		r = json_fields_read(root, "report", report_fields, NULL, &report, err);
	if (r == 0)
		*ret_report = report;
	return r;
}
