#pragma once
/*
 * Prompt: a run waits for the word of a person: on this terminal by a single key, from anywhere
 * else by 'nacre approve'. Whoever is first has decided.
 */
#include <stdbool.h>

struct engine;
struct engine_run;
struct error;

/* Whether a person can be asked here: there is a terminal, and it is ours at this moment. */
bool prompt_is_possible(void);

/* Returns when the run has a task, or is at its end. HERE: the person at this terminal is asked,
 * too. *RET_SIGNAL is what has ended the waiting; 0: nothing has. */
int prompt_wait(struct engine *e, struct engine_run *run, bool here, int signal_fd, int *ret_signal,
                struct error *err);
