#include "task/request.h"

#include <errno.h>
#include <string.h>

static const char *const mode_names[OUTPUT_MODE_MAX] = {
	[OUTPUT_SEPARATE] = "separate",
	[OUTPUT_MERGED] = "merged",
	[OUTPUT_STDOUT] = "stdout",
	[OUTPUT_STDERR] = "stderr",
};

const char *output_mode_name(enum output_mode mode)
{
	return mode_names[mode];
}

int output_mode_parse(const char *name, enum output_mode *ret_mode)
{
	for (int i = 0; i < OUTPUT_MODE_MAX; i++)
		if (strcmp(name, mode_names[i]) == 0) {
			*ret_mode = (enum output_mode)i;
			return 0;
		}
	return -EINVAL;
}
