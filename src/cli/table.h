#pragma once
/*
 * Table: rows for a person, no wider than the terminal: then it stays a table.
 */
#include <stddef.h>

struct buffer;

/* Columns of the terminal that standard output is; 0: it is none. */
int table_width(void);

/* Adds the last column, as much of it as fits, and a newline to the row that begins at BEGIN. */
void table_end_row(struct buffer *out, size_t begin, struct buffer *last, int width);
