/*
 * A journal of changes: any bytes. What is read can be written, and is read as the same; each path
 * of it stays below the directory.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "change/change.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(change_list_freep) struct change_list *l = NULL;
	scoped(change_list_freep) struct change_list *again = NULL;
	scoped(buffer_donep) struct buffer bytes = {0};

	if (change_journal_read((const char *)data, size, &l, NULL) < 0)
		return 0;
	if (change_journal_write(l, &bytes) < 0)
		return 0;
	if (change_journal_read(bytes.data, bytes.len, &again, NULL) < 0 ||
	    again->count != l->count)
		abort();
	for (size_t i = 0; i < l->count; i++) {
		const struct change *c = &l->items[i];

		if (strcmp(c->path, again->items[i].path) != 0 ||
		    c->after.inode != again->items[i].after.inode)
			abort();
		if (!change_path_is_plain(c->path) &&
		    !(c->kind == CHANGE_DIRECTORY && strcmp(c->path, ".") == 0))
			abort();
	}
	return 0;
}
