/*
 * The file of an approval: written by nacre, read as if it were not. What is read can be written
 * and shown, and is the same then.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_clean(const struct buffer *text)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < 0x20 && text->data[i] != '\n')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new(16 * APPROVAL_BYTES_MAX);
	scoped(buffer_donep) struct buffer text = {0};
	scoped(buffer_donep) struct buffer shown = {0};
	struct approval a, b;

	if (!arena || size > 65536 || approval_read((const char *)data, size, arena, &a, NULL) < 0)
		return 0;
	approval_print_details(&a, 0, &shown);
	expect_clean(&shown);
	if (approval_write(&a, &text) < 0 ||
	    approval_read(text.data, text.len, arena, &b, NULL) < 0 || strcmp(a.id, b.id) != 0 ||
	    strcmp(a.command, b.command) != 0 || object_compare(&a.object, &b.object, NULL) < 0 ||
	    a.expires_ms != b.expires_ms || a.exact.count != b.exact.count)
		abort();
	return 0;
}
