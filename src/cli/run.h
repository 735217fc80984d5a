#pragma once
/*
 * One request in the foreground, for every subcommand that runs something.
 */
#include <stdbool.h>

struct dialect;
struct engine;
struct run_options;

/* Prints the result (in the shape of DIALECT if that is not NULL) and returns the exit code. */
int cli_run_one(struct engine *engine, struct run_options *o, const struct dialect *dialect,
                int signal_fd);

/* `nacre run` itself, for its entry. */
int cli_run_main(void *options, int argc, char **argv);

/* The signals that end a command, blocked and to be read, and if STOPPABLE that of Ctrl-Z;
 * complains and returns a negative errno. */
int cli_signal_fd(bool stoppable);
