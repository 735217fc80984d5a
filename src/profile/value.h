#pragma once
/*
 * Values: what the keys of the table have become in the struct, read and written by their width.
 */
#include <stdint.h>

struct key;

uint64_t value_load(const struct key *key, const void *base);
void value_store(const struct key *key, void *base, uint64_t value);
/* As a person would write it: 120s, 2G, 512. */
void value_format_number(const struct key *key, uint64_t value, char into[32]);
