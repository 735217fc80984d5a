#pragma once
/*
 * `nsh`: nacre as the shell of an agent. The binary is nacre's own, under another name.
 */
#include <stdbool.h>

/* Whether this name of a program asks for the shell: "nsh", "nsh-bash", or "bash", for a client
 * that takes the first of that name; with or without a path, or as a login shell, with a '-' in
 * front. */
bool sh_is_meant(const char *argv0);

/* Runs what the words ask for, and returns the exit code, or dies as the command did. */
int sh_main(int argc, char **argv);
