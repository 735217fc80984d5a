#pragma once
/*
 * Prompt: a job waits for the word of a person: on this terminal by a single key, from anywhere
 * else by 'nacre approve'. Whoever is first has decided.
 */
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>
#include "base/guard.h"
#include "base/loop.h"

struct error;
struct job;

struct prompt {
	struct job *job; /* NULL: nobody is asked here */
	struct loop *loop;
	struct loop_source keys;
	int tty; /* -1: nobody is asked here */
	bool raw;
	struct termios before;
	struct guard guard; /* puts the terminal back if we cannot */
	int64_t deaf_until; /* the time of the loop */
	bool answered;      /* here */
};

/* Whether a person can be asked here: there is a terminal, and it is ours at this moment. */
bool prompt_is_possible(void);

/* Asks the person at this terminal what the job waits for, and answers it with what they say. It is
 * left with prompt_end(), also after a failure. */
int prompt_begin(struct prompt *p, struct loop *loop, struct job *job, struct error *err);

/* The question is answered, or over. One that was never asked is fine. */
void prompt_end(struct prompt *p);
