#pragma once
/*
 * Ask: a run that a person has to approve first: the question is put on the desk, and looked at
 * until somebody has answered or the time is over.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "approval/approval.h"

struct arena;
struct check;
struct error;
struct question;
struct request;

enum ask_state {
	ASK_NONE, /* nobody had to be asked */
	ASK_WAITING,
	ASK_APPROVED,
	ASK_REFUSED,
};

struct ask {
	enum ask_state state;
	struct approval
		approval; /* its memory is in the run's arena; id "": it could not be kept */
	int desk, watch;  /* -1: none; open until ask_done() */
	int64_t until_ms; /* clock_now_ms() when nobody waits any longer */
	char by[256];     /* who has approved, or refused */
	char words[700];  /* why it is refused */
};

struct ask_question {
	const struct request *request;
	const struct question *question; /* that was decided */
	const struct check *check;
	const struct ask_names *names; /* that the yes is for, too */
	bool only_names;               /* the command itself is allowed */
	bool passing;                  /* the state directory is one that goes with this process */
};

void ask_init(struct ask *a);
void ask_done(struct ask *a);

/* Asks, or finds what was asked before. A question that nobody can be asked is no error: it is
 * refused, in words. */
int ask_begin(struct ask *a, struct arena *arena, const struct ask_question *q, struct error *err);

/* A question that the gate of a running command has put on the desk. -ENOENT: it is no question any
 * more. */
int ask_join(struct ask *a, struct arena *arena, const char *state, const char *id);

/* Looks for an answer, and at the time. */
void ask_look(struct ask *a);

/* A person has answered here. -EALREADY: another was first; ask_look() tells what they said. */
int ask_answer(struct ask *a, enum approval_answer answer, const char *by, const char *why,
               struct error *err);

/* Nobody here will answer: it is refused, and stays open for others. */
void ask_give_up(struct ask *a);
