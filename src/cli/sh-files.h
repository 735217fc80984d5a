#pragma once
/*
 * The files that a client looks at after a command: the two things that nsh does outside of any
 * sandbox. Which files these can be is settled here, by their place and their name; what stands in
 * them is chosen by nsh.
 */
#include <limits.h>
#include <stdbool.h>

/* Where the directory at the end goes: "claude-1a2b-cwd" or "cwd-1a2b" in /tmp or TMPDIR, or below
 * "claude-UID" there. */
struct sh_cwd_file {
	int dir; /* held since before the command; -1: none */
	char name[NAME_MAX + 1];
};

/* False: it is no such file, and nothing will be written. */
bool sh_cwd_file_open(const char *path, struct sh_cwd_file *ret);
void sh_cwd_file_write(const struct sh_cwd_file *f, const char *cwd);
void sh_cwd_file_done(struct sh_cwd_file *f);

/* The file of aliases and functions that Claude Code makes when it starts, in its own directory for
 * these. No word of the client's script is run. The exit code of nsh. */
int sh_snapshot_make(const char *path);
