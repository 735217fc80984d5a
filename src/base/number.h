#pragma once
/*
 * Numbers from text: the whole text or nothing, no sign tricks, no overflow.
 */
#include <stdint.h>

int number_parse_u64(const char *text, uint64_t *ret_value);

/* A whole number with a unit: 500ms, 5s, 2m, 1h, 7d; "1.5s" too. A bare number has no unit and is
 * refused, since seconds and milliseconds are too easily mistaken for each other; 0 is 0. */
int number_parse_duration_ms(const char *text, int64_t *ret_ms);

/* 123456 -> "2m 3s", 1500 -> "1.5s", 20 -> "20ms". */
void number_format_duration(int64_t ms, char into[32]);
/* 1536 -> "1.5 KiB". */
void number_format_bytes(uint64_t bytes, char into[32]);
/* A size with an optional unit: 4096, 64K, 16M, 2G (powers of 1024; KiB, MiB, GiB too). */
int number_parse_size(const char *text, uint64_t *ret_bytes);
