#pragma once
/*
 * Variables of an environment: their values, and which nobody may set for a command.
 */
#include <stdbool.h>
#include <stddef.h>

/* Letters, digits and '_', no digit first. */
bool variable_is_name(const char *name, size_t n);

/* Whether a variable of the operator's own may be seen by a command: neither its name nor its value
 * is like that of a secret, it leads to no agent that holds some, and it is not refused. */
bool variable_is_harmless(const char *assignment, size_t n);

/* These change what bash or the dynamic loader runs, before the first word of the command does. */
bool variable_is_refused(const char *name, size_t n);

/* A pattern that ends in '*' stands for all names that begin so. */
bool variable_matches(const char *pattern, const char *name, size_t n);
