/*
 * What a command writes for its session comes from inside the box: any bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "session/session.h"
#include "session/variables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new(8 * SESSION_RECORD_MAX);
	struct session_record r;

	if (!arena || size > SESSION_RECORD_MAX ||
	    session_read_record((const char *)data, size, arena, &r) < 0)
		return 0;
	if (strlen(r.cwd) > size)
		abort();
	for (size_t i = 0; i < r.count; i++) {
		size_t n = strcspn(r.set[i], "=");

		if (r.set[i][n] != '=' || !variable_is_name(r.set[i], n) || strlen(r.set[i]) > size)
			abort();
	}
	return 0;
}
