#pragma once
/*
 * Metrics: numbers about a server, counted since it started.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gateway/rules.h"

struct buffer;
struct result;

#define METRICS_PROFILES_MAX 32
#define METRICS_BUCKETS      12
#define METRICS_STATUSES     6

enum metrics_verdict {
	METRICS_ALLOW,
	METRICS_ASK,
	METRICS_DENY,
	METRICS_NUDGE,
	METRICS_NONE, /* it did not come to a decision */
	METRICS_VERDICT_MAX,
};

struct metrics {
	struct metrics_profile {
		char name[64];
		uint64_t commands[METRICS_VERDICT_MAX];
	} profiles[METRICS_PROFILES_MAX];
	size_t profile_count;
	uint64_t buckets[METRICS_BUCKETS + 1]; /* of durations; the last: longer */
	uint64_t duration_ms, durations;
	uint64_t bytes[2];                  /* that commands have printed */
	uint64_t answers[METRICS_STATUSES]; /* by the hundreds of their status */
	uint64_t unauthorized, limited, full;
	uint64_t timed_out, stopped;
	struct {
		uint64_t connections, sent, received, held, questions;
		/* The last: those whose reason is not in the report, which names ten. */
		uint64_t refused[NETWORK_REASON_MAX + 1];
	} network;
};

/* What does not change by counting. */
struct metrics_now {
	size_t running, queued, connections, streams;
	size_t gateways; /* of the user of the server */
	int64_t up_ms;
};

void metrics_count(struct metrics *m, const char *profile, const struct result *r);
void metrics_count_answer(struct metrics *m, int status);

/* So many of a hundred commands took no longer, by the edges of the buckets; 0: there were none. */
uint32_t metrics_percentile(const struct metrics *m, unsigned percent);

/* As Prometheus reads it. */
void metrics_write(const struct metrics *m, const struct metrics_now *now, struct buffer *b);
