#pragma once
/*
 * Process: one command with its init, as its keeper sees it.
 */
#include <stdbool.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "process/child.h"
#include "process/message.h"

struct error;

struct process_command {
	const char *cwd;          /* absolute path of an existing directory */
	const char *const *paths; /* files to try, NULL at the end */
	const char *const *argv;
	const char *const *envp;
	int stdin_fd;             /* borrowed */
	struct pty_size terminal; /* if it has rows, all three streams are a terminal of this size
	                             instead */
	bool merged;              /* one pipe for both streams keeps the order of all writes */
	bool notes;               /* it gets CHILD_NOTES_FD to write to */
	bool tells_start;         /* INIT_STARTED is wanted */
	bool waits;               /* all is made ready, and nothing runs before process_go() */
	struct limit_value limits[LIMITS_MAX];
	int limit_count;
	struct sandbox_plan *sandbox; /* NULL: none; used up by one spawn */
};

struct process {
	pid_t init_pid; /* 0: not our child, but one of a held box */
	int init_pidfd;
	int socket;    /* packets: struct init_message in, enum init_order out */
	int output[2]; /* read ends of stdout and stderr, non-blocking; [1] is -1 when merged.
	                  [0] of a terminal comes with INIT_TERMINAL, to read and to write */
	int notes;     /* read end, non-blocking; -1: none */
	int asks;      /* where the filter asks us; -1: nowhere */
	int space;     /* init's pid namespace, once it has come; -1 */
	bool farewell; /* the last message has told that nothing is left, too */
	bool again;    /* init stands by for another command */
	bool ordered;  /* it was told to end the tree; some orders may be unread */
	struct init_message last;
};

/* Starts init, which starts the command. Whether the command could be executed comes later as a
 * message. The calling process becomes a child subreaper, so that the tree falls to it if init is
 * killed. The caller owns *ret_process. */
int process_spawn(const struct process_command *command, struct process **ret_process,
                  struct error *err);
/* The same in two parts: an init that enters its box, and then the command for it, once. What goes
 * wrong on its way into the box is told when there is a command. */
int process_begin(struct sandbox_plan *sandbox, struct process **ret_process, struct error *err);
int process_give(struct process *p, const struct process_command *command, struct error *err);
/* The same with an init that stands by in a held box. Takes its socket and its pidfd. The start
 * itself is told only if TELLS_START is set. */
int process_adopt(const struct process_command *command, int init_socket, int init_pidfd,
                  struct process **ret_process, struct error *err);
/* When the command has ended: waits until the init of a held box says that it stands by again, and
 * gives its socket and its pidfd back. -EPIPE: it does not. */
int process_await_again(struct process *p, int *ret_socket, int *ret_pidfd);
struct process *process_free(struct process *p); /* closes; kills nothing */
DEFINE_CLEANUP(struct process *, process_free);

/* 1: *ret_message was filled; 0: nothing yet; -EPIPE: init is gone without a farewell. */
int process_receive(struct process *p, struct init_message *ret_message);
void process_order(struct process *p, enum init_order order);
void process_go(struct process *p);

/* Ends init itself and then, as its heir, the tree. Used when init does not answer, or gave up.
 * Returns how many processes were killed; *ret_survivors is how many even that did not end. */
int process_take_over(struct process *p, int *ret_survivors);

/* Waits a little for the end of an init that has said goodbye. */
void process_reap(struct process *p);

/* Words for a failed start, such as "no such directory". */
const char *process_step_text(enum child_step step);
