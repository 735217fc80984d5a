#pragma once
/*
 * Options of a subcommand as a table: a name, and where goes what is given with it.
 */
#include <stdbool.h>
#include <stddef.h>

#define CLI_OPTIONS_MAX 32

struct cli_option {
	const char *name; /* --name; NULL: there is only the letter */
	char letter;      /* -x; 0: there is only the name */
	/* One of these is set: */
	bool *flag;                                  /* takes no value, becomes true */
	const char **text;                           /* takes a value; the last one stays */
	int (*each)(void *owner, const char *value); /* takes values; negative: the end */
	void *owner;                                 /* of EACH */
};

struct option;

/* As getopt_long(), which complains about an option that nobody knows; then this adds the name that
 * was meant, if one is near. */
int cli_next_option(int argc, char **argv, const char *letters, const struct option *names);

/* Reads options up to the first operand, where optind is then. -EINVAL: getopt has complained about
 * one, else what EACH has returned. */
int cli_options_read(int argc, char **argv, const struct cli_option *options, size_t count);
