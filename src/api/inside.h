#pragma once
/*
 * What the files of the library share: the objects behind the public names, and the ways between
 * the two kinds of structs.
 */
#include <pthread.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "engine/engine.h"
#include "task/request.h"
#include "launch/launcher.h"

struct approval;
struct arena;
struct nacre_error;
struct nacre_request;
struct error;
struct nacre_result;
struct result;

struct nacre_context {
	pthread_mutex_t lock; /* engine and launcher; nobody waits for a command under it */
	struct engine engine;
	struct launcher launcher;
	struct arena *strings; /* of the options */
	const char *program, *principal;
};

/* Copies a struct that a caller passed in, whose first member is its size, into ours of SIZE bytes.
 * OLDEST is the least that makes sense. What ours has and theirs has not is zero; what
 * theirs has and ours has not must be zero. */
int api_take(void *into, size_t size, size_t oldest, const void *given, struct error *err);

/* Gives the words of a failure to the caller, who may not want them. Returns the code. */
int api_fail(struct nacre_error *to, int code, const struct error *err);

/* The request of the caller as the engine wants it. With ARENA, strings are copied into it, and
 * the result outlives the call. */
int api_read_request(const struct nacre_context *c, const struct nacre_request *given,
                     struct arena *arena, struct request *ret_request, struct error *err);

/* A list of strings in the arena; NULL is an empty one. */
const char *const *api_copy_list(struct arena *arena, const char *const *list);

int api_result_new(const struct result *r, struct nacre_result **ret_result);

/* NULL: no memory. */
struct nacre_question *api_question_new(const struct approval *a);
void api_question_free(struct nacre_question *q);

/* The directory of a task that the context may see; its id is written to RET_ID. */
int api_open_task(struct nacre_context *c, const char *id, char ret_id[STORE_ID_MAX], int *ret_fd,
                  struct error *err);
