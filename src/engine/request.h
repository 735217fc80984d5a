#pragma once
/*
 * Request: what somebody wants to be run. Plain data; strings belong to whoever made it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "output/view.h"

enum output_mode {
	OUTPUT_SEPARATE, /* both streams, each for itself */
	OUTPUT_MERGED,   /* both in one, in the order in which they were written */
	OUTPUT_STDOUT,   /* both are captured, this one is shown */
	OUTPUT_STDERR,
	OUTPUT_MODE_MAX,
};

struct request {
	const char *const *argv; /* executed directly; or NULL and */
	const char *command;     /* a line for bash */
	const char *workspace;   /* NULL: the current directory */
	const char *cwd; /* inside the workspace; relative to it, or absolute; NULL: its root */
	const char *const *env; /* NAME=VALUE, over the base environment; may be NULL */
	const char *input;      /* bytes for standard input; NULL: input_fd */
	size_t input_len;
	int input_fd; /* -1: standard input is empty */
	const char *description;
	int64_t timeout_ms; /* 0: the default */
	enum output_mode output_mode;
	bool follow; /* TASK_OUTPUT events are wanted */
};

/* What a profile decides and a request cannot. */
struct engine_settings {
	int64_t timeout_default_ms, timeout_max_ms, grace_ms;
	uint64_t spool_cap; /* bytes per stream on disk */
	uint64_t state_cap; /* bytes of all tasks together */
	uint64_t max_processes;
	struct view_limits view;
};

extern const struct engine_settings engine_settings_default;

/* Whether this stream (0: stdout, or all; 1: stderr) is part of the answer. */
bool output_mode_shows(enum output_mode mode, int stream);
const char *output_mode_name(enum output_mode mode);
int output_mode_parse(const char *name, enum output_mode *ret_mode);
