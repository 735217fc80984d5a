/*
 * Git's objects lie in files that commands write: any bytes, as a loose object, as a delta with its
 * base, as a tree and as a commit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "protect/git.h"
#include "protect/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_into(const struct git_text *text, size_t id_bytes)
{
	struct git_id id;
	unsigned mode;
	size_t at = 0, before = 0;

	for (; git_header_next(text, "parent ", id_bytes, &at, &id); before = at)
		if (at <= before || at > text->n || id.n != id_bytes)
			abort();
	if (git_tree_find(text, ".envrc", 6, id_bytes, &mode, &id) && id.n != id_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(buffer_donep) struct buffer object = {.max = GIT_OBJECT_MAX + 64};
	scoped(buffer_donep) struct buffer made = {.max = GIT_OBJECT_MAX + 64};
	const struct git_text whole = {(const char *)data, size};
	size_t half = size > 0 ? data[0] % size : 0;
	enum git_kind kind;

	look_into(&whole, 20);
	look_into(&whole, 32);
	if (git_loose_parse(&whole, &kind, &object) == 0) {
		if (object.len > GIT_OBJECT_MAX + 32 || kind < GIT_COMMIT || kind > GIT_TAG)
			abort();
		look_into(&(struct git_text){buffer_str(&object), object.len}, 20);
	}
	if (git_delta_apply(&(struct git_text){(const char *)data, half},
	                    &(struct git_text){(const char *)data + half, size - half},
	                    &made) == 0 &&
	    made.len > GIT_OBJECT_MAX)
		abort();
	return 0;
}
