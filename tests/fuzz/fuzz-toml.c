/*
 * TOML: any bytes. What is set is found, and every byte of the old text is in the new one, in its
 * order; a table that was added goes without a trace.
 */
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "edit/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const key[] = {"features", "nacre-was-here", NULL},
			 *const table[] = {"servers", "nacre-was-here", NULL},
			 *const in_table[] = {"servers", "nacre-was-here", "command", NULL};

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)64 << 20);
	scoped(buffer_donep) struct buffer more = {0}, less = {0};
	const char *text = size ? (const char *)data : "", *value = NULL;
	size_t at = 0;

	if (!arena || memmem(text, size, "nacre-was-here", 14))
		return 0;
	if (toml_set(text, size, key, "false", &more, NULL) == 0) {
		must(toml_find(more.data, more.len, key, arena, &value, NULL) == 0 && value &&
		     strcmp(value, "false") == 0);
		for (size_t i = 0; i < more.len && at < size; i++)
			at += more.data[i] == text[at];
		must(at == size);
		must(toml_remove(more.data, more.len, key, &less, NULL) == 0);
	}
	buffer_clear(&more);
	buffer_clear(&less);
	if (toml_set(text, size, in_table, "1", &more, NULL) == 0) {
		must(toml_remove_table(more.data, more.len, table, &less, NULL) == 0);
		must(less.len >= size && memcmp(buffer_str(&less), text, size) == 0);
	}
	return 0;
}
