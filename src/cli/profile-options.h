#pragma once
/*
 * The options that name a profile, and what holds the memory behind them.
 */
#include <stdbool.h>
#include "base/cleanup.h"
#include "base/fd.h"
#include "profile/profile.h"

struct profile_options {
	struct profile_request request;
	const char *workspace; /* NULL: none */
	int workspace_fd;
	bool json, help, strict, doc;
	char user_dir[4096];
};

/* Reads --profile, --agent, --policy, --workspace, --json, --strict, --doc and --help; optind is
 * behind them. Complains about what it does not know. */
int profile_options_read(int argc, char **argv, struct profile_options *o);
void profile_options_done(struct profile_options *o);
static inline void profile_options_donep(struct profile_options *o)
{
	profile_options_done(o);
}
