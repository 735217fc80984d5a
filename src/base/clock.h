#pragma once
/*
 * Clock: time for measuring (monotonic) and time for people (wall).
 */
#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t clock_now_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / 1000000;
}

static inline int64_t clock_wall_ms(void)
{
	return clock_read_ns(CLOCK_REALTIME) / 1000000;
}
