#include "serve/history.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "json/write.h"

static uint32_t resident_kb(void)
{
	char text[128], *end;

	if (fd_read_text(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) < 0)
		return 0;
	(void)strtoul(text, &end, 10);
	return (uint32_t)(strtoul(end, NULL, 10) * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

void history_take(const struct metrics *m, const struct metrics_now *now,
                  struct history_point *ret_point)
{
	struct history_point p = {
		.at_ms = clock_wall_ms(),
		.running = (uint32_t)now->running,
		.queued = (uint32_t)now->queued,
		.connections = (uint32_t)now->connections,
		.streams = (uint32_t)now->streams,
		.timed_out = m->timed_out,
		.stopped = m->stopped,
		.answers_4xx = m->answers[4],
		.answers_5xx = m->answers[5],
		.bytes = {m->bytes[0], m->bytes[1]},
		.p50_ms = metrics_percentile(m, 50),
		.p95_ms = metrics_percentile(m, 95),
		.rss_kb = resident_kb(),
		.cpu_ms = (uint64_t)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000)};

	for (size_t i = 0; i < m->profile_count; i++)
		for (int v = 0; v < METRICS_VERDICT_MAX; v++)
			p.verdicts[v] += m->profiles[i].commands[v];
	*ret_point = p;
}

void history_add(struct history *h, const struct history_point *p)
{
	h->points[(h->first + h->count) % HISTORY_POINTS] = *p;
	if (h->count < HISTORY_POINTS)
		h->count++;
	else
		h->first = (h->first + 1) % HISTORY_POINTS;
}

void history_put_point(struct json_writer *w, const struct history_point *p)
{
	uint64_t commands = 0;

	for (int v = 0; v < METRICS_VERDICT_MAX; v++)
		commands += p->verdicts[v];
	json_object_begin(w);
	json_member_int(w, "at_ms", p->at_ms);
	json_member_uint(w, "running", p->running);
	json_member_uint(w, "queued", p->queued);
	json_member_uint(w, "connections", p->connections);
	json_member_uint(w, "streams", p->streams);
	json_member_uint(w, "commands", commands);
	json_member_uint(w, "allowed", p->verdicts[METRICS_ALLOW]);
	json_member_uint(w, "asked", p->verdicts[METRICS_ASK]);
	json_member_uint(w, "denied", p->verdicts[METRICS_DENY]);
	json_member_uint(w, "nudged", p->verdicts[METRICS_NUDGE]);
	json_member_uint(w, "timed_out", p->timed_out);
	json_member_uint(w, "stopped", p->stopped);
	json_member_uint(w, "answers_4xx", p->answers_4xx);
	json_member_uint(w, "answers_5xx", p->answers_5xx);
	json_member_uint(w, "stdout_bytes", p->bytes[0]);
	json_member_uint(w, "stderr_bytes", p->bytes[1]);
	json_member_uint(w, "p50_ms", p->p50_ms);
	json_member_uint(w, "p95_ms", p->p95_ms);
	json_member_uint(w, "rss_kb", p->rss_kb);
	json_member_uint(w, "cpu_ms", p->cpu_ms);
	json_object_end(w);
}

void history_put(struct json_writer *w, const struct history *h)
{
	json_object_begin(w);
	json_member_int(w, "step_ms", HISTORY_STEP_MS);
	json_member_array(w, "points");
	for (size_t i = 0; i < h->count; i++)
		history_put_point(w, &h->points[(h->first + i) % HISTORY_POINTS]);
	json_array_end(w);
	json_object_end(w);
}
