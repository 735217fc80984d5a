#pragma once
/*
 * JSON from outside, read strictly by jansson: duplicate keys, bad UTF-8 and NUL in strings are
 * errors, and a text may be as long as the caller says.
 */
#include <stddef.h>
#include <jansson.h>
#include "base/cleanup.h"

struct error;

/* The caller owns *ret_value (scoped(json_decrefp), jansson's own). WHAT names the text in error
 * messages. */
int json_read(const char *bytes, size_t n, size_t max, const char *what, json_t **ret_value,
              struct error *err);
