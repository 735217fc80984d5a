#pragma once
/*
 * The output of a task as text, and how the task stands, in words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct find_entry;

struct task_part {
	int stream; /* 0, 1; -1: both */
	uint64_t since;
	size_t max;                     /* bytes */
	bool raw;                       /* as they are; else clean text, and needed is */
	const struct find_entry *entry; /* how the task stands */
	uint64_t next;                  /* out: where to go on */
	uint64_t missing;               /* out: bytes that are in no file any more */
	uint64_t binary;  /* out: bytes that are not text, and were passed over; never if raw */
	const char *type; /* out: what these are; a constant */
};

/* Appends what there is now. A stream that begins like a binary file is passed over. */
int task_text_read(int dir_fd, struct task_part *part, struct buffer *into);

/* Appends one line that tells of PART's binary bytes, if there are any, and where all of it is. */
void task_text_say_binary(const struct task_part *part, const char *id, struct buffer *into);

/* The beginning and the end of it, with a line between them. */
void task_text_edges(int dir_fd, const struct find_entry *e, size_t edge, struct buffer *into);

/* "[task ID running]", "[exit 0 after 2 s]" ... */
void task_text_status(const struct find_entry *e, struct buffer *into);
