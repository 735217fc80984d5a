#pragma once
/*
 * Rate: how many requests somebody may make, as a bucket that fills with time.
 */
#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
	double per_second; /* 0: no limit */
	double burst;      /* at once, after a pause */
};

struct rate {
	double tokens;
	int64_t at_ms; /* 0: never used, so full */
};

/* Whether one more is fine now. If not, *ret_wait_s is when it will be, rounded up. */
bool rate_take(struct rate *r, const struct rate_limit *limit, int64_t now_ms, int *ret_wait_s);

/* A request that took longer than RATE_FREE_MS counts for more than one: at the limit are who use
 * half of the time that there is. */
#define RATE_FREE_MS 5
void rate_spend(struct rate *r, const struct rate_limit *limit, int64_t ms);
