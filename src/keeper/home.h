#pragma once
/*
 * Home: the directory of one task, where others find its order, its output and its end.
 *
 * It is made when it is needed first: by output that its starter has to find in a file, when the
 * command has run for a moment, or when nobody took the result. Most commands of an agent end
 * before any of this, and cost the disk nothing.
 */
#include <stdbool.h>
#include <stddef.h>

struct home {
	int tasks_fd;      /* the directory of all tasks; -1: nothing is stored */
	int fd;            /* ours; -1: not made */
	int spec_fd;       /* spec.json, whose lock says that the task lives */
	int sys;           /* why it could not be made */
	bool is_there;     /* the starter has made it, and holds its lock until it has our word */
	const char *id;    /* its name; borrowed, as is */
	const char *order; /* what spec.json says */
	size_t order_bytes;
};

#define HOME_NONE                                                                                  \
	{                                                                                          \
		.tasks_fd = -1, .fd = -1, .spec_fd = -1                                            \
	}

/* The directory, made by the first call; -1: it cannot be. */
int home_make(struct home *h);

/* Closes what is open, the directory of all tasks included; nothing is deleted. */
void home_done(struct home *h);
