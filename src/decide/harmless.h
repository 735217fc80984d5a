#pragma once
/*
 * Harmless: whether it is known of a line that it writes no file. A line of which this is not known
 * may write.
 */
#include <stdbool.h>

struct shell_facts;

bool check_writes_nothing(const struct shell_facts *f);
