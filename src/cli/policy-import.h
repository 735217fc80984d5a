#pragma once
/*
 * Import: what the keys of another shell tool's configuration become; see policy-import.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include "base/buffer.h"

struct yaml_node;

#define IMPORT_KEY_MAX 256

/* What is to be printed, a buffer for each part that several keys may add to. */
struct import {
	const char *file, *base, *name, *description;
	struct buffer shell, allow, deny, danger, never, ask, ban, timeout, output, workspace,
		docker, other, report;
	size_t taken;
	bool has_default;
};

/* One line of the report: where the key stands, and what came of it. */
void import_tell(struct import *m, const struct yaml_node *node, const char *key,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A scalar in double quotes, which any text can stand in. */
void import_put_text(struct buffer *out, const char *text);

/* Takes a key that has a counterpart; KEY is its path. False: it has none. */
bool import_take(struct import *m, const struct yaml_node *node, const char *key);

/* The profile of the first tool that is named anywhere below a node; NULL: there is none. */
const char *import_profile_of(const struct yaml_node *node);
