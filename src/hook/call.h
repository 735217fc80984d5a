#pragma once
/*
 * Call: what a client tells a hook on its standard input: which command it is about to run.
 *
 * The bytes come from another program and repeat a model's words. Whatever is not exactly as the
 * client's documents have it is an error, and an error is a refusal.
 */
#include <stddef.h>
#include <jansson.h>
#include "base/cleanup.h"

struct arena;
struct error;
struct hook_client;

#define HOOK_BYTES_MAX ((size_t)2 << 20)

struct hook_call {
	const char *command;
	const char *session; /* the client's id of it */
	const char *cwd;     /* absolute */
	const char *mode;    /* the client's permission mode; NULL: not said */
	json_t *input;       /* the arguments of the tool; owned */
};

/* Strings live in the arena, or in INPUT. */
int hook_call_read(const struct hook_client *client, const char *bytes, size_t n,
                   struct arena *arena, struct hook_call *ret_call, struct error *err);
void hook_call_done(struct hook_call *call);

struct buffer;

/* What the client would send about this command: for a proof that its hook answers. */
int hook_call_write(const struct hook_client *client, const struct hook_call *call,
                    struct buffer *into);
