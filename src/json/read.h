#pragma once
/*
 * JSON from outside, read strictly by jansson: duplicate keys, bad UTF-8 and NUL in strings are
 * errors, and a text may be as long as the caller says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>
#include "base/cleanup.h"

struct error;

/* The caller owns *ret_value (scoped(json_decrefp), jansson's own). WHAT names the text in error
 * messages. */
int json_read(const char *bytes, size_t n, size_t max, const char *what, json_t **ret_value,
              struct error *err);

/* An "integer" of JSON Schema, however it is spelled: 30 and 30.0 are the same number, and there
 * are clients whose numbers are all of the second kind. False: VALUE is none. */
bool json_whole(const json_t *value, json_int_t *ret_number);
