#pragma once
/*
 * Policy: what the commands about policy files and profiles share.
 */
#include <stdbool.h>
#include "profile/profile.h"

struct policy_options {
	struct profile_request request;
	const char *workspace; /* NULL: the current directory */
	bool json, strict, doc;
	char user_dir[4096]; /* of the request */
};

void policy_options_prepare(void *options); /* for an entry, as is policy_test() */

/* Compares the verdicts that files expect for their examples with the real ones. */
int policy_test(void *options, int argc, char **names);

/* Loads what is named: a file, a file of a project, or a profile. *ret_file is what its rules call
 * it, NULL for a profile with all its layers. */
int policy_load_named(const struct policy_options *o, const char *name,
                      struct profile **ret_profile, const char **ret_file, struct error *err);
