#pragma once
/*
 * The subcommands. Each gets its own arguments, with its name as argv[0], and returns the exit
 * code.
 */
int cli_run(int argc, char **argv);
int cli_analyse(int argc, char **argv);

/* "nacre: FORMAT" on standard error. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
