#include "decide/question.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "profile/profile.h"
#include "session/away.h"
#include "session/environment.h"
#include "session/place.h"
#include "session/search-path.h"
#include "session/use.h"
#include "task/order.h"
#include "task/request.h"

/* Profiles whose proof is about arguments share no home, and their sessions stay. */
static bool is_away(const struct session_use *session, const struct question_source *from)
{
	const struct session *s = &session->state;

	return s->away && s->workspace && strcmp(s->workspace, from->place->workspace) == 0 &&
	       from->profile->room.share == PROFILE_SHARE_ALL;
}

int question_of(struct arena *arena, const struct question_source *from, struct keeper_order *order,
                struct question *ret_question, struct error *err)
{
	static const struct session_use none = {.hold = -1};
	const struct session_use *session = from->session ? from->session : &none;
	const struct request *rq = from->request;
	struct keeper_request *asked = &order->request;
	struct search_ground ground;
	int r;

	order->cwd = arena_strdup(arena, from->place->cwd);
	order->base = arena_strdup(arena, from->place->base);
	asked->command = rq->command;
	if (rq->command && !rq->cwd && is_away(session, from))
		asked->command = session_away_line(arena, session->state.away, rq->command);
	if (rq->command && rq->away)
		asked->command = session_away_line(arena, rq->away, rq->command);
	asked->argv = rq->argv;
	asked->args = rq->command ? rq->args : NULL;
	asked->passing = rq->passing;
	asked->tells_cwd = rq->tells_cwd && rq->command;
	asked->force = rq->force;
	asked->session = arena_strdup(arena, session->id);
	asked->workspace = arena_strdup(arena, from->place->workspace);
	asked->root = arena_strdup(arena, from->place->root);
	asked->cwd = arena_strdup(arena, place_relative_cwd(from->place));
	if (!order->cwd || !order->base || !asked->workspace || !asked->root || !asked->cwd ||
	    (rq->command && !asked->command) ||
	    session_environment(session, arena, rq->env, &asked->env) < 0)
		return error_nomem(err);
	r = environment_build(
		arena,
		&(struct environment_wish){
			.base = from->environment,
			.pass = from->profile->environment_pass,
			.set = from->profile->environment_set,
			.kept = session->state.set,
			.dropped = session->state.unset,
			.extra = rq->env,
			.ground = search_ground_of(from->profile, asked->workspace, &ground),
			.cwd = order->cwd,
			.all = rq->all_variables && from->profile->room.share == PROFILE_SHARE_ALL,
			.terminal = rq->rows > 0},
		&order->envp, err);
	if (r < 0)
		return r;
	*ret_question = (struct question){.profile = from->profile,
	                                  .order = order,
	                                  .workspace_fd = from->place->workspace_fd,
	                                  .input_fd = -1};
	return 0;
}

int question_of_order(const struct keeper_order *order, const struct profile *profile, int input_fd,
                      struct question *ret_question, struct error *err)
{
	int fd = open(order->request.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, errno, "second check: workspace");
	*ret_question = (struct question){
		.profile = profile, .order = order, .workspace_fd = fd, .input_fd = input_fd};
	return 0;
}

void question_done(struct question *q)
{
	fd_close(take_fd(&q->workspace_fd));
}
