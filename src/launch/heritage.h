#pragma once
/*
 * Heritage: everything that a process passes on to those that it starts, as one digest.
 *
 * A command that is started by a launcher of an earlier call must have what its own caller would
 * have given it: limits, priority, processors, control group, namespaces, rights, umask. So a
 * launcher serves only processes with the same heritage as its own. It looks for itself: a process
 * cannot lie about its namespaces, and a boxed command has others.
 */
#include <sys/types.h>
#include "base/digest.h"
#include "task/standby.h"

/* Of the process, 0: this one. -EPERM: it may gain no privileges (no_new_privs). Then it may be in
 * a Landlock domain, which nobody can see, and is not served. */
int heritage_read(pid_t pid, struct digest *ret_digest);

/* The name of the launcher for this process: by its program, the variables that launchers and
 * keepers look at, and what of its heritage usually differs. Processes of one name may differ in
 * the rest, which the launcher finds out. -EPERM as above. */
int heritage_name(char into[STANDBY_NAME_MAX + 1]);

/* Whether a launcher gets the assignment VARIABLE. */
bool heritage_has_variable(const char *variable);
