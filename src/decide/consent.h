#pragma once
/*
 * Consent: what persons have approved, as both checks see it.
 *
 * A session's grants make a command allowed that would be asked about. An approval for once does
 * not change the verdict: it lets run what is exactly the object that a person has seen, and is
 * used up by that.
 */
#include "approval/object.h"
#include "decide/check.h"

/* Whether a grant can be given for this, or cover it: it is of a session, and reads nothing, from
 * its standard input or from a terminal, that nobody has seen when it is approved. */
bool consent_is_grantable(const struct question *q);

/* Decides as check_request() does, by the grants of the order's session and principal. */
int consent_check(struct arena *arena, struct question *q, struct check *ret_check,
                  struct error *err);

/* By which profile it is decided, and what its box is like: what a grant is bound to. */
int consent_terms(struct arena *arena, const struct question *q, struct digest *ret);

/* What would run: the answer was to ask, or to allow. */
int consent_object(struct arena *arena, const struct question *q, const struct check *check,
                   struct approval_object *ret, struct error *err);

/* Whether the approval that the order names is given for exactly this; SPEND: it is used up. An
 * error means that nothing may run. */
int consent_use(struct arena *arena, const struct keeper_order *order,
                const struct approval_object *object, bool spend, struct error *err);
