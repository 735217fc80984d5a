/*
 * The same start and wait, by several callers at the same time, each a process of its own.
 *
 *     callers FILE CALLERS COUNT ARGV...
 *
 * FILE gets "total NANOSECONDS" for COUNT starts by each caller, and a line "0 NANOSECONDS" per
 * start.
 */
#include "harness.h"

static int64_t start_and_wait(void *context)
{
	return time_command(context, environ);
}

static void warm_up(void *context)
{
	(void)start_and_wait(context);
}

int main(int argc, char **argv)
{
	const struct caller_work work = {warm_up, start_and_wait, argv + 4};

	if (argc < 5)
		give_up("usage: callers FILE CALLERS COUNT ARGV...", 0);
	return run_callers(argv[1], number_argument(argv[2]), number_argument(argv[3]), &work);
}
