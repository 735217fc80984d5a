#include "sandbox/covers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include "base/path.h"
#include "sandbox/box.h"

static bool is_grant(const struct box_step *s)
{
	return s->phase == BOX_GRANTS && (s->kind == BOX_TREE || s->kind == BOX_ATTACH);
}

/* Whether a path lies in what the box has of the host beside the system. */
static bool is_granted(const struct sandbox_plan *p, const char *path)
{
	char granted[PATH_MAX];

	for (size_t i = 0; i < p->steps.count; i++) {
		if (!is_grant(&p->steps.items[i]))
			continue;
		snprintf(granted, sizeof(granted), "/%s", p->steps.items[i].path);
		if (path_is_in(path, granted))
			return true;
	}
	return false;
}

/* False: it is of no interest to others. */
static bool kind_of(const struct sandbox_plan *p, const struct box_step *s, const char *path,
                    enum sandbox_cover_kind *ret_kind)
{
	bool readonly = (s->attr & MOUNT_ATTR_RDONLY) != 0;

	if (is_grant(s)) {
		*ret_kind = readonly ? SANDBOX_COVER_READONLY : SANDBOX_COVER_WRITABLE;
		return true;
	}
	if (s->phase != BOX_MASKS || !is_granted(p, path))
		return false;
	if (s->kind == BOX_HOLD)
		*ret_kind = readonly ? SANDBOX_COVER_READONLY : SANDBOX_COVER_PINNED;
	else if (s->kind == BOX_BIND || s->kind == BOX_COVER)
		*ret_kind = s->source == p->mask_directory ? SANDBOX_COVER_DIRECTORY
		                                           : SANDBOX_COVER_FILE;
	else
		return false;
	return true;
}

int sandbox_plan_covers(const struct sandbox_plan *p, sandbox_cover_visit *visit, void *context)
{
	char path[PATH_MAX];
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->steps.count; i++) {
		struct sandbox_cover cover = {.path = path};

		if ((size_t)snprintf(path, sizeof(path), "/%s", p->steps.items[i].path) >=
		    sizeof(path))
			return -ENAMETOOLONG;
		if (kind_of(p, &p->steps.items[i], path, &cover.kind))
			r = visit(context, &cover);
	}
	return r < 0 ? r : 0;
}
