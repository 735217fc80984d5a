/*
 * The text of an agent, with or without what its client puts around it: any bytes. What comes out
 * is no longer than what went in, and a text of no known shape is left as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "shell/unwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_short(const char *text, size_t most)
{
	if (text && strlen(text) > most)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new(8 * size + (1 << 16));
	char *text = arena ? arena_strndup(arena, (const char *)data, size) : NULL;
	struct unwrap u;
	size_t n = text ? strlen(text) : 0;

	if (!text || unwrap_text(text, arena, &u) < 0)
		return 0;
	expect_short(u.command, n);
	expect_short(u.cwd_file, n);
	expect_short(u.snapshot, n);
	if (u.shape == UNWRAP_NONE && (u.command != text || u.cwd_file || u.snapshot))
		abort();
	if (u.shape == UNWRAP_CLAUDE &&
	    (!u.command || !u.cwd_file || !strstr(text, "eval ") || !strstr(text, "pwd -P >| ")))
		abort();
	if (u.shape == UNWRAP_SNAPSHOT && (u.command || !u.snapshot))
		abort();
	return 0;
}
