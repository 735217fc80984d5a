#include "decide/consent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "approval/desk.h"
#include "approval/grants.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/order.h"
#include "profile/profile.h"

static const char *principal_of(const struct keeper_order *o)
{
	return o->principal ? o->principal : "";
}

/* What the person takes for granted beside the command: by which rules, and in which box. The last
 * is about this request alone. */
static const char *const *terms_of(struct arena *arena, const struct question *q)
{
	const struct keeper_order *o = q->order;
	const struct profile *p = q->profile;
	const char **terms = arena_new_array(arena, const char *, 7);

	if (!terms)
		return NULL;
	terms[0] = p->name;
	terms[1] = p->base ? p->base : "";
	terms[2] = o->request.agent ? o->request.agent : "";
	terms[3] = o->request.policy_file ? o->request.policy_file : "";
	terms[4] = arena_printf(arena, "%d %d %d %d %d", (int)p->mode, (int)p->sandbox.network,
	                        (int)p->sandbox.exec, (int)p->sandbox.workspace_readonly,
	                        (int)p->docker.allow);
	terms[5] = arena_printf(arena, "%d %d", (int)o->request.force, (int)(o->terminal.rows > 0));
	return terms[4] && terms[5] ? terms : NULL;
}

int consent_terms(struct arena *arena, const struct question *q, struct digest *ret)
{
	const char *const *all = terms_of(arena, q);
	const char *lasting[6] = {0};

	if (!all)
		return -ENOMEM;
	memcpy(lasting, all, 5 * sizeof(*lasting));
	return object_digest_strings(lasting, ret);
}

bool consent_is_grantable(const struct question *q)
{
	return q->order->request.session && !q->order->terminal.rows &&
	       object_input_is_empty(q->input_fd);
}

static int check_by_grants(struct arena *arena, struct question *q, struct check *ret_check,
                           struct error *err)
{
	scoped(grants_donep) struct grants grants = {0};
	struct grants_of of = {.state = q->order->request.state,
	                       .session = q->order->request.session,
	                       .principal = principal_of(q->order)};
	int r;

	if (consent_terms(arena, q, &of.terms) < 0)
		return error_nomem(err);
	r = grants_load(&of, arena, &grants, err);
	if (r < 0)
		return r;
	q->grants = grants.policy;
	r = check_request(arena, q, ret_check, err);
	q->grants = NULL;
	/* A name that leads to another program by now is not what was approved. */
	if (r == 0 && grants.policy && !grants_hold(&grants, &ret_check->answer))
		r = check_request(arena, q, ret_check, err);
	return r;
}

int consent_check(struct arena *arena, struct question *q, struct check *ret_check,
                  struct error *err)
{
	return consent_is_grantable(q) ? check_by_grants(arena, q, ret_check, err)
	                               : check_request(arena, q, ret_check, err);
}

int consent_object(struct arena *arena, const struct question *q, const struct check *check,
                   struct approval_object *ret, struct error *err)
{
	const struct keeper_order *order = q->order;
	scoped(fd_closep) int cwd = open(order->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct object_subject s = {
		.argv = check->argv,
		.envp = order->envp,
		.input_fd = q->input_fd,
		.workspace_fd = q->workspace_fd,
		.cwd_fd = cwd,
		.workspace = order->request.workspace,
		.cwd = order->cwd,
		.facts = check->facts,
		.answer = &check->answer,
		.terms = terms_of(arena, q),
	};

	if (cwd < 0)
		return error_sys(err, errno, "working directory");
	if (!s.terms)
		return error_nomem(err);
	return object_make(&s, arena, ret, err);
}

int consent_use(struct arena *arena, const struct keeper_order *order,
                const struct approval_object *object, bool spend, struct error *err)
{
	scoped(fd_closep) int desk = -1;
	struct approval given;

	if (!order->request.state)
		return error_set(err, ERROR_INPUT, EACCES, "there are no approvals");
	desk = desk_open(order->request.state, false, err);
	if (desk < 0)
		return desk;
	return (spend ? desk_spend : desk_check)(desk, order->request.approval, principal_of(order),
	                                         object, arena, &given, err);
}
