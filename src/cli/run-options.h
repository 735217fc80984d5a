#pragma once
/*
 * The options of `nacre run`, read into a request.
 */
#include <stdbool.h>
#include "engine/engine.h"
#include "engine/request.h"

#define RUN_ENV_MAX 256

struct arena;

struct run_options {
	struct request request;
	struct engine_wishes wishes;
	struct arena *arena; /* strings that are made while reading */
	const char *env[RUN_ENV_MAX + 1];
	int env_count;
	bool json, quiet, batch, help;
	int jobs;
};

/* The caller releases *o with run_options_done(), whatever this returns.
 * 0: go on; else the process ends with *ret_exit (after --help, or a complaint). */
int run_options_read(int argc, char **argv, struct run_options *o, int *ret_exit);
void run_options_done(struct run_options *o);
static inline void run_options_donep(struct run_options *o)
{
	run_options_done(o);
}
