#pragma once
/*
 * The processes between apart_execute() and the program: system calls on prepared data.
 */
#include <stddef.h>

struct apart_child {
	const char *path;
	char *const *argv, *const *envp;
	int input, null; /* 3 or higher */
	char *stacks;    /* two of them; ours is the lower one */
	size_t stack_bytes;
	int pidfd;  /* of what executes the program, in the table that we share with the host */
	int failed; /* errno; the memory is shared, too */
};

int apart_middle(void *child);
