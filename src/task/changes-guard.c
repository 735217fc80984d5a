#include <string.h>
#include "base/path.h"
#include "protect/protect.h"
#include "task/changes.h"

static bool touches(const struct change *c, const char *held)
{
	/* What is protected can also go with a directory above it. */
	return path_is_in(c->path, held) ||
	       (c->kind != CHANGE_DIRECTORY && path_is_in(held, c->path));
}

void changes_guard(struct change_list *l, const struct protect *p)
{
	size_t above = strlen(p->workspace) + 1;

	for (size_t i = 0; i < p->hold_count; i++) {
		const struct protect_hold *h = &p->holds[i];

		if (!h->readonly || strlen(h->path) <= above)
			continue;
		for (size_t j = 0; j < l->count; j++)
			if (touches(&l->items[j], h->path + above))
				change_forbid(l, l->items[j].path, "it is protected");
	}
}
