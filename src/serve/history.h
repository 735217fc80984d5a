#pragma once
/*
 * History: what the numbers of a server were in the last hour, for people who look at curves.
 */
#include <stddef.h>
#include <stdint.h>
#include "serve/metrics.h"

struct json_writer;

#define HISTORY_STEP_MS 5000
#define HISTORY_POINTS  720

/* Counts are those since the start of the server. */
struct history_point {
	int64_t at_ms; /* wall clock */
	uint32_t running, queued, connections, streams;
	uint64_t verdicts[METRICS_VERDICT_MAX];
	uint64_t timed_out, stopped, answers_4xx, answers_5xx, bytes[2];
	uint32_t p50_ms, p95_ms; /* upper edges of the durations so far; 0: none yet */
	uint32_t rss_kb;
	uint64_t cpu_ms;
};

struct history {
	struct history_point points[HISTORY_POINTS];
	size_t first, count;
};

void history_take(const struct metrics *m, const struct metrics_now *now,
                  struct history_point *ret_point);
void history_add(struct history *h, const struct history_point *p);
void history_put_point(struct json_writer *w, const struct history_point *p);
void history_put(struct json_writer *w, const struct history *h);
