#include "engine/engine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "audit/audit.h"
#include "base/arena.h"
#include "base/error.h"
#include "engine/inside.h"
#include "sandbox/plan.h"
#include "session/place.h"
#include "session/use.h"

const struct engine_wishes engine_wishes_default = {
	.grace_ms = -1,
	.spool_cap = UINT64_MAX,
	.state_cap = (uint64_t)2 << 30,
	.state_age_ms = (int64_t)7 * 24 * 3600 * 1000,
};

void engine_init(struct engine *e, const char *const *environment)
{
	*e = (struct engine){.wishes = engine_wishes_default, .environment = environment};
	store_open(&e->store);
}

void engine_done(struct engine *e)
{
	e->profile = profile_free(e->profile);
	e->audit = audit_free(e->audit);
	free(take_ptr(&e->policy_path));
	store_done(&e->store);
}

/* The keeper reads it again, from another directory. */
static int make_policy_absolute(struct engine *e, struct error *err)
{
	char path[PATH_MAX];

	if (!e->wishes.policy_file || e->policy_path)
		return 0;
	if (!realpath(e->wishes.policy_file, path))
		return error_set(err, ERROR_INPUT, errno, "policy file '%.150s': %s",
		                 e->wishes.policy_file, strerrordesc_np(errno));
	e->policy_path = strdup(path);
	if (!e->policy_path)
		return error_nomem(err);
	e->wishes.policy_file = e->policy_path;
	return 0;
}

/* The profile for this workspace: the one of the last request while no file of it has changed. */
static int load_profile(struct engine *e, const struct place *place, struct error *err)
{
	struct profile_request rq;
	char buffer[PATH_MAX];
	struct stat st;
	int r;

	if (fstat(place->workspace_fd, &st) < 0)
		return error_sys(err, errno, "workspace");
	r = make_policy_absolute(e, err);
	if (r < 0)
		return r;
	if (e->profile && e->profile_device == st.st_dev && e->profile_inode == st.st_ino &&
	    strcmp(e->profile_root, place->root) == 0 && profile_is_current(e->profile))
		return 0;
	e->audit = audit_free(e->audit); /* as the next profile wants it */
	e->profile = profile_free(e->profile);
	e->profile_number++;
	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.name = e->wishes.profile;
	rq.fallback = e->wishes.fallback;
	rq.agent = e->wishes.agent;
	rq.policy_file = e->wishes.policy_file;
	rq.workspace_fd = place->workspace_fd;
	rq.root = place->root;
	r = profile_load(&rq, &e->profile, err);
	/* What is wrong with a file of the operator is nothing for who is not on this host. */
	if (r < 0 && err && e->wishes.output_prefix && !profile_blames_project(err->text))
		err->kind = ERROR_SYSTEM;
	e->profile_device = st.st_dev;
	e->profile_inode = st.st_ino;
	memcpy(e->profile_root, place->root, sizeof(e->profile_root));
	return r;
}

static bool confined(const struct engine *e, const struct request *rq)
{
	return e->wishes.confined && rq->workspace;
}

/* The roots of the profile say what is good for a workspace, ours whose it may be. */
static int choose_confined(struct engine *e, struct place *p, const char *asked, struct error *err)
{
	char ours[PATH_MAX];
	int r;

	memcpy(ours, p->workspace, sizeof(ours));
	r = place_choose_workspace(p, e->profile, asked, NULL, err);
	if (r == 0 && !place_is_inside(p->workspace, ours))
		r = error_set(err, ERROR_INPUT, EXDEV,
		              "workspace '%.100s' lies outside of what may be used", asked);
	return r;
}

/* Whether the profile protects what a caller has named. The keeper looks again. */
static int check_place(const struct engine *e, const struct place *p, const char *asked,
                       const char *state, struct error *err)
{
	const char *hidden[3] = {0};
	const struct sandbox_place place = {.workspace = p->workspace,
	                                    .root = p->root,
	                                    .resolved = true,
	                                    .home = getenv("HOME"),
	                                    .hidden = hidden};
	struct profile_request files;
	char buffer[PATH_MAX];
	int n = 0, r;

	profile_request_init(&files, buffer, sizeof(buffer));
	if (files.user_dir)
		hidden[n++] = files.user_dir;
	if (state)
		hidden[n++] = state;
	r = sandbox_place_check(&e->profile->sandbox, &place, err);
	return r < 0 ? error_wrap(err, "workspace '%.60s'", asked ? asked : ".") : 0;
}

/* A workspace that a caller names has to suit the profile, and the project files on the way to it
 * tighten that. */
int engine_choose_place(struct engine *e, const struct request *rq, const char *state,
                        struct session_use *session, struct place *p, struct error *err)
{
	int r;

	r = place_open_workspace(e->wishes.workspace, e->wishes.root, p, err);
	if (r == 0)
		r = load_profile(e, p, err);
	if (r < 0)
		return r;
	r = confined(e, rq) ? choose_confined(e, p, rq->workspace, err)
	                    : place_choose_workspace(p, e->profile, rq->workspace,
	                                             rq->session ? rq->session : rq->job, err);
	if (r == 0)
		r = load_profile(e, p, err);
	if (r == 0 && (rq->workspace || strcmp(p->root, p->workspace) != 0))
		r = check_place(e, p, rq->workspace, state, err);
	if (r < 0)
		return r;
	return rq->cwd ? place_open_cwd(p, rq->cwd, err) : session_open_cwd(session, p, err);
}

/* The directory above that of the tasks. */
const char *engine_state_of(struct arena *arena, const struct store *store)
{
	const char *end = strrchr(store->path, '/');

	return store->tasks_fd >= 0 && end && end > store->path
	               ? arena_strndup(arena, store->path, (size_t)(end - store->path))
	               : NULL;
}
