#pragma once
/*
 * Ready: before a command that needs the engine, see to it that the engine answers.
 *
 * An engine that is starting is waited for. One that is not running is started, if the profile says
 * by which command: once, however many callers come at the same time. They meet at a lock in the
 * state directory; who has it starts and waits, the others wait for the same end, and a failure is
 * told to all of them. Everything else is an error that says what to do next.
 */
#include <stdint.h>
#include "container/endpoint.h"
#include "container/ping.h"

struct docker_watch;
struct error;

struct docker_wish {
	const struct docker_endpoint *endpoint;
	const char *const *start; /* the command; NULL: it is not to be started */
	const char *const *envp;  /* for that */
	int64_t start_timeout_ms, ping_timeout_ms;
	int64_t most_ms;                  /* the caller has no more time than this; 0: it has */
	const char *state;                /* nacre's state directory; NULL: none */
	const struct docker_watch *watch; /* may be NULL */
};

#define DOCKER_NOTICE_MAX 200

/* 0: it is ready; NOTICE says what had to be done for that, if anything. -ECANCELED: the watch was
 * over. Else the words are for the caller. */
int docker_make_ready(const struct docker_wish *wish, struct docker_answer *ret_answer,
                      char notice[DOCKER_NOTICE_MAX], struct error *err);

/* Why an engine in this state cannot be used, and what to do. Returns the code, negative. */
int docker_explain(const struct docker_endpoint *e, enum docker_state state, struct error *err);
