#pragma once
/*
 * For the tests of the filter: the least and the most that it forbids.
 */
#include "sandbox/seccomp.h"

static const struct seccomp_options loose = {0};
static const struct seccomp_options strict = {
	.sockets = SECCOMP_SOCKETS_PAIRS,
	.no_anonymous_exec = true,
	.no_namespaces = true,
	.no_setgid = true,
};
