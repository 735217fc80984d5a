#pragma once
/*
 * Broker: what git does with its configuration in a box where that is bound read-only.
 *
 * Git writes a new file config.lock and renames it to config. On a mount that fails, so the filter
 * asks the keeper about every renaming. The keeper lets all go on, and the mount stays the wall.
 * Only if the renaming is git's own, the keeper takes its place: it reads the new content once,
 * judges it, and writes it into the same file. What the command does meanwhile changes nothing,
 * since what was judged is what is written. What is not harmless is held: it is given to the
 * caller.
 */
#include <stdbool.h>
#include <stddef.h>

struct checkout;
struct history;
struct protect;

struct broker_file {
	const char *path; /* relative to the workspace; lives for the call */
	const char *now, *was;
	size_t now_bytes, was_bytes;
	bool made; /* nothing was there */
	bool runs; /* it shall be executable */
};

struct broker_told {
	/* The command wanted another content. */
	void (*held)(void *owner, const struct broker_file *f);
	/* It wanted to replace PATH in another way, and was refused. */
	void (*refused)(void *owner, const char *path);
	/* What is trusted in the repository; NULL: nothing. */
	struct history *(*history)(void *owner);
	struct checkout *checkout; /* of the command; NULL: none */
	void *owner;
};

/* Answers some of the questions that wait. False: nobody asks any longer. */
bool broker_answer(struct protect *p, int listener, const struct broker_told *told);

/* Whether a file that git may replace, PATH relative to both directories, would be harmless as it
 * is below NOW, in the place of what is below WAS. */
bool broker_may_replace(const struct protect *p, const char *path, int was_root, int now_root);
