#pragma once
/*
 * Home: the directory of one task, where others find its order, its output and its end.
 *
 * It is made when it is needed first: for output that the starter must find in a file, when the
 * command has run for a moment, or when the result was not taken. Most commands of an agent end
 * before any of this, and cost the disk nothing.
 */
#include <stdbool.h>
#include <stddef.h>

struct home {
	int tasks_fd;      /* the directory of all tasks; -1: nothing is stored */
	int fd;            /* ours; -1: not made; the starter may have done so */
	int spec_fd;       /* spec.json, whose lock says that the task lives */
	int sys;           /* why it could not be made */
	bool written;      /* spec.json, or it was tried */
	const char *id;    /* its name; borrowed, as is */
	const char *order; /* what spec.json says */
	size_t order_bytes;
};

#define HOME_NONE                                                                                  \
	{                                                                                          \
		.tasks_fd = -1, .fd = -1, .spec_fd = -1                                            \
	}

/* Below it: the number and the start time of the process that all of the command are below. */
#define HOME_ROOT "root"
/* Which ports of the host lead to which of the box: a line each, HOST BOX. */
#define HOME_PUBLISHED "published"

/* Makes the directory of a task and takes its lock, which whoever has the descriptor holds: a task
 * without spec.json is being started as long as that is so. It has its name when it is locked, and
 * until then one that begins with HOME_UNBORN. A descriptor, or a negative errno. */
#define HOME_UNBORN "."
int home_create(int tasks_fd, const char *id);

/* The directory, made by the first call; -1: it cannot be. */
int home_make(struct home *h);

/* Closes what is open, the directory of all tasks included; nothing is deleted. */
void home_done(struct home *h);
