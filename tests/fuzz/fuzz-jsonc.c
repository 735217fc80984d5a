/*
 * JSONC: any bytes. A text that can be read can be changed; what is added can be taken out again;
 * and every byte of the old text is in the new one, in its order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "edit/jsonc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct jsonc_step path[] = {{.key = "hooks"}, {.key = "PreToolUse"}},
			       member[] = {{.key = "nacre-was-here"}};

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)64 << 20);
	scoped(buffer_donep) struct buffer more = {0}, less = {0}, list = {0};
	const char *text = size ? (const char *)data : "";
	struct jsonc_node *root;
	size_t at = 0;

	if (!arena)
		return 0;
	(void)jsonc_append(text, size, path, 2, "{\n \"command\": \"x\"\n}", &list, NULL);
	if (list.len)
		must(jsonc_read(list.data, list.len, arena, &root, NULL) == 0);
	(void)jsonc_remove(text, size, path, 1, &less, NULL);
	if (less.len)
		must(jsonc_read(less.data, less.len, arena, &root, NULL) == 0);
	buffer_clear(&less);
	if (jsonc_set(text, size, member, 1, "1", &more, NULL) < 0)
		return 0;
	must(jsonc_read(more.data, more.len, arena, &root, NULL) == 0 &&
	     jsonc_find(root, member, 1) != NULL);
	must(jsonc_remove(more.data, more.len, member, 1, &less, NULL) == 0);
	must(jsonc_read(buffer_str(&less), less.len, arena, &root, NULL) == 0 &&
	     !jsonc_find(root, member, 1));
	if (!memmem(text, size, "nacre-was-here", 14)) {
		for (size_t i = 0; i < more.len && at < size; i++)
			at += more.data[i] == text[at];
		must(at == size);
	}
	return 0;
}
