#pragma once
/*
 * Away: a session whose working directory lies outside of the workspace, as after `cd /tmp/x`.
 *
 * No such directory is opened outside of the sandbox. The next line begins with a cd to it instead,
 * which the policy reads, the audit log shows and bash runs like one that the caller wrote: being
 * away permits nothing that a line with that cd would not permit.
 */
#include <stdbool.h>

struct arena;

/* Absolute, and text without control characters. */
bool session_away_is_valid(const char *path);

/* The line as it runs there: it ends if the directory is gone. NULL: out of memory. */
const char *session_away_line(struct arena *arena, const char *path, const char *line);
