#pragma once
/*
 * Batches of a subcommand: one request a line in, one answer a line out.
 */
#include <stdio.h>

struct buffer;

/* One line without its newline into LINE, which has a limit. 0: the end of the input; -E2BIG:
 * longer than the limit, and skipped; else 1. */
int cli_line_read(FILE *in, struct buffer *line);
