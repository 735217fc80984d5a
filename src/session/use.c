#include "session/use.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "session/place.h"

int session_use(struct arena *arena, const char *state, const char *id,
                struct session_use *ret_session, struct error *err)
{
	struct session_use s = {.hold = -1};
	struct error why = {0};
	int r;

	if (id && !session_id_is_valid(id))
		return error_set(err, ERROR_INPUT, EINVAL,
		                 "session: an id has 1 to %d letters, digits, '.', '_' or '-', and "
		                 "no '.' first",
		                 SESSION_ID_MAX);
	if (id && !state) {
		snprintf(s.notice, sizeof(s.notice),
		         "nothing can be stored: this call is no part of its session");
	} else if (id) {
		s.id = id;
		s.hold = session_hold(state, id); /* before it is read: what is read stays */
		r = session_load(state, id, arena, &s.state, &why);
		if (r == -ENOMEM)
			session_release(&s);
		if (r == -ENOMEM)
			return error_nomem(err);
		if (r < 0)
			snprintf(s.notice, sizeof(s.notice), "%.180s; the session starts anew",
			         why.text);
	}
	*ret_session = s;
	return 0;
}

void session_release(struct session_use *s)
{
	fd_close(take_fd(&s->hold));
}

int session_open_cwd(struct session_use *s, struct place *p, struct error *err)
{
	struct error why = {0};

	if (!s->id || !s->state.cwd)
		return place_open_cwd(p, NULL, err);
	if (!s->state.workspace || strcmp(s->state.workspace, p->workspace) != 0) {
		snprintf(s->notice, sizeof(s->notice),
		         "the session was in another workspace: it starts in the root of this one");
		return place_open_cwd(p, NULL, err);
	}
	if (s->state.cwd[0] != '/' && place_open_cwd(p, s->state.cwd, &why) == 0)
		return 0;
	fd_close(take_fd(&p->cwd_fd));
	snprintf(s->notice, sizeof(s->notice),
	         "the session's %.180s: it goes back to the workspace",
	         why.text[0] ? why.text : "working directory cannot be used");
	return place_open_cwd(p, NULL, err);
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

int session_environment(const struct session_use *s, struct arena *arena, const char *const *own,
                        const char *const **ret_env)
{
	size_t kept = count_of(s->state.set), owned = count_of(own);
	const char **env;

	if (kept == 0) {
		*ret_env = own;
		return 0;
	}
	env = arena_new_array(arena, const char *, kept + owned + 1);
	if (!env)
		return -ENOMEM;
	memcpy(env, s->state.set, kept * sizeof(*env));
	if (owned > 0)
		memcpy(env + kept, own, owned * sizeof(*env));
	*ret_env = env;
	return 0;
}
