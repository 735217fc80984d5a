/*
 * What is protected in the workspace, as steps of the tree. The list is protect's own; here it is
 * fed, and each hold becomes a step at the time when it was found: what is hidden in it is mounted
 * over it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include "base/arena.h"
#include "base/path.h"
#include "sandbox/box.h"

void box_protect_begin(struct sandbox_plan *p)
{
	p->protect = (struct protect){.arena = p->arena,
	                              .witnesses = p->witnesses,
	                              .paths = p->spec->protected_,
	                              .workspace = p->workspace,
	                              .workspace_fd = p->workspace_fd,
	                              .workspace_device = p->workspace_device,
	                              .workspace_inode = p->workspace_inode,
	                              .workspace_changed = p->workspace_changed,
	                              .workspace_settled = p->workspace_settled,
	                              .home = p->home,
	                              .other_homes = p->other_homes,
	                              .other_home_count = p->other_home_count,
	                              .above = p->above,
	                              .above_count = p->above_count,
	                              .readonly = p->spec->workspace_readonly,
	                              .has_company = p->has_company};
}

/* What git may replace by something harmless: in a view it does, and before that comes into the
 * workspace it is looked at (task/changes.h). PATH begins with a slash. */
static bool is_offer(const struct sandbox_plan *p, const char *path)
{
	for (size_t i = 0; *path && i < p->protect.offer_count; i++)
		if (strcmp(p->protect.offers[i].path, path + 1) == 0)
			return true;
	return false;
}

/* The Nth hold is the Nth step of its kind. */
static int take_holds(struct sandbox_plan *p)
{
	uint64_t always = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	size_t n = 0;

	for (size_t i = 0; i < p->steps.count; i++)
		if (p->steps.items[i].kind == BOX_HOLD && p->protect.holds[n++].readonly)
			p->steps.items[i].attr |= MOUNT_ATTR_RDONLY;
	assert(n <= p->protect.hold_count);
	for (; n < p->protect.hold_count; n++) {
		const struct protect_hold *h = &p->protect.holds[n];
		struct box_step *s = box_step_add(p, BOX_MASKS, BOX_HOLD, h->path + 1);

		if (!s)
			return -ENOMEM;
		s->attr = always | (h->readonly ? MOUNT_ATTR_RDONLY : 0);
		s->device = h->device;
		s->inode = h->inode;
		if (p->view) {
			s->source = arena_printf(p->arena, BOX_VIEW_LOWER "%s",
			                         h->path + strlen(p->workspace));
			if (!s->source)
				return -ENOMEM;
			s->idle = is_offer(p, h->path + strlen(p->workspace));
		}
	}
	return 0;
}

/* R is what a call of the list has said. */
static int finish(struct sandbox_plan *p, int r)
{
	if (p->protect.refusal)
		p->refusal = p->protect.refusal;
	return r < 0 ? r : take_holds(p);
}

int box_protect_plan(struct sandbox_plan *p)
{
	int r;

	assert(p->protect.workspace == p->workspace && p->protect.hold_count == 0);
	p->protect.mounts = p->clone_flags != 0;
	r = protect_plan(&p->protect);
	return finish(p, r == 0 ? protect_above_plan(&p->protect) : r);
}

int box_protect_path(struct sandbox_plan *p, const char *path)
{
	/* Most secrets lie elsewhere. */
	return path_is_in(path, p->workspace) ? finish(p, protect_path(&p->protect, path)) : 0;
}

int box_protect_hidden(struct sandbox_plan *p, const char *path)
{
	int r = protect_pin_parents(&p->protect, path);

	return finish(p, r == 0 ? protect_same(&p->protect, path) : r);
}

struct protect *sandbox_plan_protect(struct sandbox_plan *p)
{
	return &p->protect;
}
