/* The same, with inits that enter first and have their commands sent. */
#define TEST_AHEAD 1
#include "process/test-box.c" /* NOLINT(bugprone-suspicious-include) */
