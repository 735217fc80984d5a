#include "task/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/buffer.h"
#include "base/error.h"
#include "json/read.h"
#include "json/write.h"

static const char *const end_names[KEEPER_END_MAX] = {
	[KEEPER_END_EXITED] = "exited",   [KEEPER_END_TIMEOUT] = "timeout",
	[KEEPER_END_IDLE] = "idle",       [KEEPER_END_STOPPED] = "stopped",
	[KEEPER_END_CROWDED] = "crowded", [KEEPER_END_FAILED] = "failed",
	[KEEPER_END_REFUSED] = "refused", [KEEPER_END_LOST] = "lost",
};

static const char *const tier_names[SANDBOX_TIER_MAX] = {
	[SANDBOX_TIER_FULL] = "full",
	[SANDBOX_TIER_LANDLOCK] = "landlock",
	[SANDBOX_TIER_NONE] = "none",
	[SANDBOX_TIER_CONTAINER] = "container",
};

static const char *const stream_names[2] = {"out", "err"};

const char *keeper_end_name(enum keeper_end end)
{
	return end_names[end];
}

static void put(struct json_writer *w, const char *key, int64_t value)
{
	json_put_key(w, key);
	json_put_int(w, value);
}

int keeper_report_write(const struct keeper_report *r, struct buffer *into)
{
	struct json_writer w = {.out = into};

	json_object_begin(&w);
	json_put_key(&w, "end");
	json_put_string(&w, end_names[r->end]);
	put(&w, "step", r->step);
	put(&w, "errno", r->sys);
	put(&w, "status", r->status);
	put(&w, "killed", r->killed);
	put(&w, "survivors", r->survivors);
	put(&w, "processes", r->processes);
	put(&w, "processes_bounded", r->processes_bounded);
	put(&w, "started_ms", r->started_ms);
	put(&w, "duration_ms", r->duration_ms);
	put(&w, "cpu_ms", r->cpu_ms);
	put(&w, "max_rss_kb", r->max_rss_kb);
	json_put_key(&w, "sandbox");
	json_object_begin(&w);
	json_put_key(&w, "tier");
	json_put_string(&w, tier_names[r->sandbox.tier]);
	put(&w, "layers", r->sandbox.layers);
	put(&w, "missing", r->sandbox.missing);
	json_object_end(&w);
	put(&w, "limit_hit", r->limit_hit);
	json_put_key(&w, "planted");
	json_put_string(&w, r->planted);
	json_put_key(&w, "replaced");
	json_put_string(&w, r->replaced);
	json_put_key(&w, "ungranted");
	json_put_string(&w, r->ungranted);
	json_put_key(&w, "ended");
	json_put_string(&w, r->ended);
	json_put_key(&w, "slain");
	json_put_string(&w, r->slain);
	json_put_key(&w, "quiet");
	json_put_string(&w, r->quiet);
	json_put_key(&w, "session");
	json_put_string(&w, r->session);
	json_put_key(&w, "engine");
	json_put_string(&w, r->engine);
	json_put_key(&w, "audit");
	json_put_string(&w, r->audit);
	json_put_key(&w, "why");
	json_put_string(&w, r->why);
	for (int i = 0; i < 2; i++) {
		const struct keeper_stream *s = &r->streams[i];

		json_put_key(&w, stream_names[i]);
		json_object_begin(&w);
		put(&w, "bytes", (int64_t)s->bytes);
		put(&w, "file_bytes", (int64_t)s->file_bytes);
		put(&w, "dropped_at", (int64_t)s->dropped_at);
		put(&w, "dropped_bytes", (int64_t)s->dropped_bytes);
		put(&w, "lost_bytes", (int64_t)s->lost_bytes);
		put(&w, "lost_errno", s->lost_errno);
		json_object_end(&w);
	}
	json_object_end(&w);
	buffer_putc(into, '\n');
	return buffer_error(into);
}

static int read_stream(json_t *object, struct keeper_stream *ret_stream)
{
	json_int_t bytes, file, dropped_at, dropped, lost;
	json_error_t e;
	int code;

	if (json_unpack_ex(object, &e, JSON_STRICT, "{s:I, s:I, s:I, s:I, s:I, s:i}", "bytes",
	                   &bytes, "file_bytes", &file, "dropped_at", &dropped_at, "dropped_bytes",
	                   &dropped, "lost_bytes", &lost, "lost_errno", &code) < 0)
		return -EINVAL;
	if (bytes < 0 || file < 0 || dropped_at < 0 || dropped < 0 || lost < 0 || code < 0)
		return -EINVAL;
	*ret_stream = (struct keeper_stream){
		.bytes = (uint64_t)bytes,
		.file_bytes = (uint64_t)file,
		.dropped_at = (uint64_t)dropped_at,
		.dropped_bytes = (uint64_t)dropped,
		.lost_bytes = (uint64_t)lost,
		.lost_errno = code,
	};
	return 0;
}

static int read_sandbox(json_t *object, struct sandbox_standing *ret_standing)
{
	json_int_t layers, missing, all = (1 << SANDBOX_LAYER_COUNT) - 1;
	const char *tier;
	json_error_t e;

	if (json_unpack_ex(object, &e, JSON_STRICT, "{s:s, s:I, s:I}", "tier", &tier, "layers",
	                   &layers, "missing", &missing) < 0)
		return -EINVAL;
	if (layers < 0 || layers > all || missing < 0 || missing > all)
		return -EINVAL;
	for (int i = 0; i < SANDBOX_TIER_MAX; i++)
		if (strcmp(tier, tier_names[i]) == 0) {
			*ret_standing = (struct sandbox_standing){.tier = (enum sandbox_tier)i,
			                                          .layers = (uint32_t)layers,
			                                          .missing = (uint32_t)missing};
			return 0;
		}
	return -EINVAL;
}

/* Cut to what fits: these are words for people. */
static void copy_text(char *into, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memcpy(into, text, n);
	into[n] = '\0';
}

int keeper_report_read(const char *bytes, size_t n, struct keeper_report *ret_report,
                       struct error *err)
{
	scoped(json_decrefp) json_t *root = NULL;
	json_int_t started, duration, cpu, rss;
	struct keeper_report report = {0};
	json_t *streams[2];
	/* A report of before these were told is still one. */
	const char *ended = "", *slain = "", *quiet = "", *session = "", *engine = "", *audit = "";
	const char *replaced = "", *ungranted = "";
	const char *end, *planted, *why;
	json_t *sandbox;
	json_error_t e;
	int r, step, hit;

	r = json_read(bytes, n, REPORT_BYTES_MAX, "report", &root, err);
	if (r < 0)
		return r;
	if (json_unpack_ex(root, &e, JSON_STRICT,
	                   "{s:s, s:i, s:i, s:i, s:i, s:i, s?i, s:i, s:I, s:I, s:I, s:I, s:o, s:i, "
	                   "s:s, s?s, s?s, s?s, s?s, s?s, s?s, s?s, s?s, s:s, s:o, s:o}",
	                   "end", &end, "step", &step, "errno", &report.sys, "status",
	                   &report.status, "killed", &report.killed, "survivors", &report.survivors,
	                   "processes", &report.processes, "processes_bounded",
	                   &report.processes_bounded, "started_ms", &started, "duration_ms",
	                   &duration, "cpu_ms", &cpu, "max_rss_kb", &rss, "sandbox", &sandbox,
	                   "limit_hit", &hit, "planted", &planted, "replaced", &replaced,
	                   "ungranted", &ungranted, "ended", &ended, "slain", &slain, "quiet",
	                   &quiet, "session", &session, "engine", &engine, "audit", &audit, "why",
	                   &why, "out", &streams[0], "err", &streams[1]) < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "report: %s", e.text);
	report.end = KEEPER_END_MAX;
	for (int i = 0; i < KEEPER_END_MAX; i++)
		if (strcmp(end, end_names[i]) == 0)
			report.end = (enum keeper_end)i;
	if (report.end == KEEPER_END_MAX || report.killed < 0 || report.processes < 0 ||
	    report.survivors < 0 || report.sys < 0 || duration < 0 || cpu < 0 || rss < 0 ||
	    step < 0 || step >= CHILD_STEP_MAX || hit < 0 || hit >= LIMIT_HIT_MAX ||
	    read_sandbox(sandbox, &report.sandbox) < 0 ||
	    read_stream(streams[0], &report.streams[0]) < 0 ||
	    read_stream(streams[1], &report.streams[1]) < 0)
		return error_set(err, ERROR_INPUT, EINVAL, "report: a value is out of range");
	report.step = (enum child_step)step;
	report.limit_hit = (enum limit_hit)hit;
	copy_text(report.planted, sizeof(report.planted), planted);
	copy_text(report.replaced, sizeof(report.replaced), replaced);
	copy_text(report.ungranted, sizeof(report.ungranted), ungranted);
	copy_text(report.ended, sizeof(report.ended), ended);
	copy_text(report.slain, sizeof(report.slain), slain);
	copy_text(report.quiet, sizeof(report.quiet), quiet);
	copy_text(report.session, sizeof(report.session), session);
	copy_text(report.engine, sizeof(report.engine), engine);
	copy_text(report.audit, sizeof(report.audit), audit);
	copy_text(report.why, sizeof(report.why), why);
	report.started_ms = started;
	report.duration_ms = duration;
	report.cpu_ms = cpu;
	report.max_rss_kb = rss;
	*ret_report = report;
	return 0;
}
