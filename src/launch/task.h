#pragma once
/*
 * Task: one command under its keeper, as the process that started it sees it.
 */
#include <stdbool.h>
#include <sys/types.h>
#include "keeper/keeper.h"
#include "task/order.h"
#include "task/report.h"
#include "output/capture.h"
#include "task/store.h"

struct error;
struct launcher;

struct task {
	char id[STORE_ID_MAX];
	int control;   /* packets from the keeper; wait for input here */
	int tasks_fd;  /* the store's; -1: nothing can be stored */
	int dir_fd;    /* see task_dir() */
	pid_t keeper;  /* 0: a child of the launcher */
	int keeper_fd; /* pidfd; with a launcher -1 until the keeper says hello */
	bool lost;     /* the keeper was killed: there is no report */
	bool merged;   /* there is one stream */
	bool goes_on;  /* the command has ended, but not what it left running */
	bool on_disk;  /* the captures did not come: the output is in the files */
	struct keeper_report report;
	struct capture_snapshot captures[2];
	char note[256]; /* TASK_NOTE */
	char held[32];  /* TASK_HELD */
};

enum task_event {
	TASK_NOTHING,
	TASK_OUTPUT,  /* the spool files have grown */
	TASK_STARTED, /* a background command runs */
	TASK_NOTE,    /* note says what is waited for */
	TASK_HELD,    /* held is the approval that a connection waits for; "": none does any more */
	TASK_LET_GO,  /* its time is over, and it goes on as a task: do not wait for it */
	TASK_ENDED,   /* report and captures are filled */
	TASK_LOST,    /* the keeper was killed; its init ends the command */
};

/* Gives ORDER a task id if it has none (it lives as long as the task), and starts its keeper: as a
 * child, or through LAUNCHER if that is not NULL.
 * INPUT_FD stays the caller's. The caller owns *ret_task. */
int task_start(struct store *store, struct launcher *launcher, struct keeper_order *order,
               int input_fd, struct task **ret_task, struct error *err);

/* The directory of the task; -1: there is none, or none yet. Stays the task's. */
int task_dir(struct task *t);

/* One event, without waiting. */
enum task_event task_receive(struct task *t);

/* Frees the task and leaves the command alone: it goes on under its keeper. */
void task_leave(struct task *t);

void task_stop(struct task *t, bool now); /* now: without SIGTERM and grace */
void task_kill_keeper(struct task *t);    /* for a keeper that does not answer */
bool task_keep(struct task *t); /* others cannot find it yet: TASK_STARTED follows when they can */
void task_give_up(struct task *t); /* its connections do not wait for a person */
/* What is typed on the command's terminal, at most CONTROL_INPUT_MAX bytes, and its new size.
 * -EAGAIN: the keeper does not take it at this time. */
int task_input(struct task *t, const void *bytes, size_t n);
int task_resize(struct task *t, uint16_t rows, uint16_t cols);

/* We cannot listen to the keeper, or it does not answer: it is killed, and its init ends the
 * command. */
void task_abandon(struct task *t);

/* Frees the task. Its directory is deleted, or never made, unless KEEP. Waits for a keeper that has
 * reported, which is about to end. */
void task_done(struct task *t, struct store *store, bool keep);
