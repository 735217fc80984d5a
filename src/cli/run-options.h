#pragma once
/*
 * The options of `nacre run`, read into a request.
 */
#include <stdbool.h>
#include "engine/engine.h"
#include "task/request.h"

#define RUN_ENV_MAX 256

struct arena;
struct cli_option;

/* What came of it, for who goes on with it. */
struct run_outcome {
	char task_id[STORE_ID_MAX];
	bool kept; /* its changes wait to be applied or discarded */
};

struct run_options {
	struct request request;
	struct engine_wishes wishes;
	struct arena *arena; /* strings that are made while reading */
	const char *env[RUN_ENV_MAX + 1];
	int env_count;
	bool json, events, quiet, batch;
	uint64_t jobs;
	struct run_outcome *outcome; /* NULL: nobody goes on */
};

/* What is left to check after the options are read. Complains and returns -EINVAL. */
int run_options_check(struct run_options *o, int argc, char **argv);
void run_options_done(struct run_options *o);
/* The session of the environment, if no option names one. Complains and returns -EINVAL. */
int run_options_session(struct run_options *o);

void run_options_prepare(struct run_options *o);
int run_options_read_env(void *options, const struct cli_option *row, const char *value);
int run_options_read_input(void *options, const struct cli_option *row, const char *value);
int run_options_read_stdin(void *options, const struct cli_option *row, const char *value);

/* An option that takes the id of a session. */
int cli_read_session(void *options, const struct cli_option *row, const char *value);
#define CLI_SESSION(holder, member)                                                                \
	CLI_BY(cli_read_session), .at = CLI_AT(const char *, holder, member)

/* The options that say which rules apply and where; WISHES are struct engine_wishes. */
#define CLI_WISHES(holder, wishes, otherwise)                                                      \
	{"profile", "PROFILE", "the profile whose rules apply (default: " otherwise ")",           \
	 CLI_TEXT(holder, wishes.profile)},                                                        \
		{"agent", "AGENT", "an agent: a profile for one role",                             \
	         CLI_TEXT(holder, wishes.agent)},                                                  \
		{"policy", "FILE", "your own policy file, above all others",                       \
	         CLI_TEXT(holder, wishes.policy_file)},                                            \
	{                                                                                          \
		"workspace", "DIR", "the directory to work in (default: the current one)",         \
			CLI_TEXT(holder, wishes.workspace)                                         \
	}
