#pragma once
/*
 * Uri: what a resource's address means. It maps to a task's id or to nothing, never to a path.
 */
#include <stdbool.h>
#include <stdint.h>
#include "task/follow.h"
#include "task/store.h"

enum uri_kind { URI_NONE, URI_POLICY, URI_SESSION, URI_OUTPUT };

struct uri {
	enum uri_kind kind;
	char id[STORE_ID_MAX];
	uint64_t offset;
	uint64_t length; /* 0: as much as may be */
	enum follow_stream stream;
};

/* URI_NONE: it is none of ours. */
void uri_read(const char *text, struct uri *ret_uri);
