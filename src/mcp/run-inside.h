#pragma once
/*
 * What the files about running a command share.
 */
#include "task/request.h"
#include "base/loop.h"
#include "mcp/inside.h"
#include "mcp/last-line.h"
#include "base/digest.h"

struct arena;
struct dialect;
struct engine;
struct job;

struct mcp_run {
	struct mcp_call *call;
	struct engine *engine;
	const struct dialect *dialect;
	struct arena *arena; /* until the job has it */
	struct request request;
	struct job *job;
	struct loop_timer progress, patience;
	struct last_line last;
	int64_t told_at;
	bool dirty;            /* there is output that was not told of */
	bool separate;         /* the streams are wanted apart */
	bool as_task;          /* of the handshake era */
	struct mcp_memo *memo; /* of a task that waits for a person; NULL: it does not */
	bool form;             /* a person is asked by the answer; see ask.c */
	struct digest digest;  /* of what was called */
};
