#pragma once
/*
 * A request as JSON: the field names of the specification, strictly.
 *
 *	{"id": any, "argv": [..] or "command": "..", "timeout_ms": 5000, ...}
 */
#include <stddef.h>
#include "task/request.h"

struct arena;
struct error;

/* Fills the members that TEXT names into *request and leaves the others. *ret_id is the JSON text
 * of the id, or NULL. All strings live in the arena. An unknown or ill-typed member is an error
 * that names it. */
int request_read_json(const char *text, size_t n, struct arena *arena, struct request *request,
                      const char **ret_id, struct error *err);
