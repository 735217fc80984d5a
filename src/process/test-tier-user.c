/* The same, done by an ordinary user. */
#define TEST_AS_USER 1
#include "process/test-tier.c" /* NOLINT(bugprone-suspicious-include) */
