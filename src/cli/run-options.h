#pragma once
/*
 * The options of `nacre run`, read into a request.
 */
#include <stdbool.h>
#include "engine/request.h"

#define RUN_ENV_MAX 256

struct run_options {
	struct request request;
	struct engine_settings settings;
	const char *env[RUN_ENV_MAX + 1];
	int env_count;
	bool json, quiet, batch;
	int jobs;
};

/* 0: go on; else the process ends with *ret_exit (after --help, or a complaint). */
int run_options_read(int argc, char **argv, struct run_options *o, int *ret_exit);
