#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "base/path.h"
#include "protect/broker.h"
#include "protect/protect.h"
#include "task/changes.h"

/* "a/b" is in "a" and in "a/b". */
static bool is_in(const char *path, const char *above)
{
	size_t n = strlen(above);

	return strncmp(path, above, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool touches(const struct change *c, const char *held)
{
	/* What is protected can also go with a directory above it. */
	return is_in(c->path, held) || (c->kind != CHANGE_DIRECTORY && is_in(held, c->path));
}

/* Git has replaced its configuration by one in which it would run nothing more. */
static bool is_harmless(const struct change_place *at, const struct protect *p,
                        const struct change *c, const char *held)
{
	scoped(fd_closep) int upper = -1;

	if (strcmp(c->path, held) != 0 || (c->kind != CHANGE_CONTENTS && c->kind != CHANGE_META))
		return false;
	upper = openat(at->store, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return upper >= 0 && broker_may_replace(p, held, at->directory, upper);
}

void changes_guard(struct change_list *l, const struct change_place *at, const struct protect *p)
{
	size_t above = strlen(p->workspace) + 1;

	for (size_t i = 0; i < p->hold_count; i++) {
		const struct protect_hold *h = &p->holds[i];

		if (!h->readonly || !path_is_in(h->path, p->workspace) || strlen(h->path) <= above)
			continue;
		for (size_t j = 0; j < l->count; j++)
			if (touches(&l->items[j], h->path + above) &&
			    !is_harmless(at, p, &l->items[j], h->path + above))
				change_forbid(l, l->items[j].path, "it is protected");
	}
}
