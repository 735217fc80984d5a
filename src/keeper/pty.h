#pragma once
/*
 * Pty: the keeper's end of a command's terminal. What the command shows is read as any stream; what
 * is typed comes as orders, from the starter or from another client, and waits in a bounded queue
 * until the terminal takes it. Each size of the terminal is recorded, so that the screen can be
 * rebuilt from the raw log later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "output/reply.h"

struct keeper;
enum control_order;

struct keeper_pty {
	bool open; /* the terminal has come from init */
	struct buffer queue;
	size_t written;     /* bytes of the queue that the terminal has taken */
	size_t recorded;    /* bytes of the queue whose record is on the disk */
	uint64_t typed_seq; /* of the last record that is not; 0: none */
	unsigned resizes;
	struct reply reply; /* where the cursor is */
};

/* Init has sent the terminal. */
void keeper_pty_begin(struct keeper *k);

/* An order about the terminal. One that does not suit (no terminal, an impossible size, more input
 * than the queue holds, input that cannot be recorded) changes nothing. SEATED: a person uses the
 * terminal; their input is private and not recorded. */
void keeper_pty_order(struct keeper *k, enum control_order order, const char *bytes, size_t n,
                      bool seated);

/* The command has shown these bytes. If no person sits before the terminal, nobody else would
 * answer the questions among them. */
void keeper_pty_answer(struct keeper *k, const char *bytes, size_t n);

/* What to wait for on the first stream beside input. */
short keeper_pty_events(const struct keeper *k);

/* The terminal takes bytes. */
void keeper_pty_write(struct keeper *k);
