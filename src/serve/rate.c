#include "serve/rate.h"

bool rate_take(struct rate *r, const struct rate_limit *limit, int64_t now_ms, int *ret_wait_s)
{
	double wait;

	if (limit->per_second <= 0)
		return true;
	if (r->at_ms == 0)
		r->tokens = limit->burst;
	else if (now_ms > r->at_ms)
		r->tokens += (double)(now_ms - r->at_ms) / 1000 * limit->per_second;
	if (r->tokens > limit->burst)
		r->tokens = limit->burst;
	r->at_ms = now_ms > 0 ? now_ms : 1;
	if (r->tokens >= 1) {
		r->tokens -= 1;
		return true;
	}
	wait = (1 - r->tokens) / limit->per_second;
	*ret_wait_s = wait >= 3600 ? 3600 : (int)wait + 1;
	return false;
}

void rate_spend(struct rate *r, const struct rate_limit *limit, int64_t ms)
{
	if (ms > RATE_FREE_MS)
		r->tokens -= (double)(ms - RATE_FREE_MS) / 1000 * 2 * limit->per_second;
}
