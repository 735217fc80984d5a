#pragma once
/*
 * `nacre policy test`: what a policy says will come of some commands, compared with what does.
 */
struct error;
struct profile;
struct profile_options;

int policy_test(const struct profile_options *o, char **names);

/* Loads what is named: a file, a file of a project, or a profile. *ret_file is what its rules call
 * it, NULL for a profile with all its layers. */
int policy_load_named(const struct profile_options *o, const char *name,
                      struct profile **ret_profile, const char **ret_file, struct error *err);
