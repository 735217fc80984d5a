#pragma once
/*
 * Keeper: the process that owns one command. It outlives whoever started it, pumps the output,
 * keeps the time, ends the whole tree, and records how it all ended.
 */
#include <stdbool.h>
#include <stddef.h>

struct keeper_fds {
	int control; /* packet socket to the starter; its end does not end the command */
	int task;    /* the task's directory; -1: there is none, everything stays in memory */
	int input;   /* standard input of the command */
	bool hello;  /* the starter is not the parent and needs a pidfd */
};

/* Runs in a process of its own, right after the fork. ORDER is a keeper_order as JSON. Takes the
 * descriptors. Does not return. */
_Noreturn void keeper_main(const struct keeper_fds *fds, const char *order, size_t order_bytes);
