#pragma once
/*
 * Scan: the lines of one file of the log, one after the other, from any place on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/chain.h"

struct error;

/* A line without its newline, and where it begins. Other than 0 ends the scan. */
typedef int scan_visit(void *context, const char *line, size_t n, uint64_t offset);

/* All whole lines from FROM up to UNTIL (UINT64_MAX: the end). *ret_rest is where they end; what is
 * behind has no newline, or is longer than any record. */
int scan_lines(int fd, uint64_t from, uint64_t until, scan_visit *visit, void *context,
               uint64_t *ret_rest, struct error *err);

struct scan_end {
	uint64_t size; /* where the chain ends */
	struct audit_link link;
	int64_t opened_ms; /* of the first record that was read; 0: none was */
	uint64_t records;  /* that were read */
	bool whole_line;   /* what follows is a line with an end, not a part of one */
};

/* The same for bytes in memory, which begin where LINK ends; the size is counted from there. */
void scan_bytes(const char *bytes, size_t n, const struct audit_link *link,
                struct scan_end *ret_end);

/* How far the chain goes on from LINK at FROM. FRESH: the first record may be any. */
int scan_chain(int fd, uint64_t from, const struct audit_link *link, bool fresh,
               struct scan_end *ret_end, struct error *err);
