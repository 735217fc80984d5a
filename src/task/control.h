#pragma once
/*
 * Control: the packets between a keeper and its starter.
 */
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct error;

/* From the keeper. */
enum control_kind {
	CONTROL_OUTPUT,  /* there is more in the spool files */
	CONTROL_HELLO,   /* a pidfd of the keeper, for a starter that is not its parent */
	CONTROL_STARTED, /* a background command runs, or what CONTROL_KEEP wanted is done */
	CONTROL_LET_GO,  /* the time is over and the command goes on: do not wait for it */
	CONTROL_NOTE,    /* words about what is waited for before the command starts */
	CONTROL_HELD,    /* the id of the approval that a connection of the command waits for; "":
	                    of none any more */
	CONTROL_REPORT,  /* the end: a report as JSON, and both captures, behind a NUL that follows
	                    it, or, where they are long, in a file whose descriptor comes along */
	CONTROL_LEFT,    /* the same of a command that has ended, but not what it left running:
	                    that goes on as a task */
};

/* To the keeper. */
enum control_order {
	CONTROL_STOP,     /* SIGTERM, grace, SIGKILL */
	CONTROL_STOP_NOW, /* SIGKILL */
	CONTROL_INPUT,    /* bytes typed on the command's terminal follow */
	CONTROL_RESIZE,   /* a struct control_size for it follows */
	CONTROL_TAKEN,    /* the report was delivered: it need not be on the disk */
	CONTROL_KEEP,     /* it has not: put it on the disk. While the command runs: let others
	                     find it as a task; CONTROL_STARTED is the answer */
	CONTROL_GIVE_UP,  /* nobody will answer here: connections do not wait for a person */
	CONTROL_RELAY,    /* before the order: one pipe or two, for its output as it comes */
	CONTROL_ROOM,     /* answered on a task's socket by a packet of the same kind, with the user
	                     and the network namespace of its room, or with no descriptor */
};

#define CONTROL_INPUT_MAX   4096  /* bytes of one packet */
#define CONTROL_CAPTURE_MAX 16384 /* longer ones need a file */

struct control_size {
	uint16_t rows, cols;
};

/* TEXT may be NULL; FD -1. Never waits: 0, -EAGAIN when the peer does not read, -EPIPE when it is
 * gone. */
int control_send(int socket, enum control_kind kind, const char *text, size_t n, int fd);

/* 1: a packet came (its text replaces *TEXT, *ret_fd is -1 or owned by the caller); 0: nothing yet;
 * -EPIPE: the keeper is gone; -EBADMSG. */
int control_receive(int socket, enum control_kind *ret_kind, struct buffer *text, int *ret_fd);
