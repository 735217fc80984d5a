#pragma once
/*
 * Session, as a request sees it: where it starts and which variables it has from calls before. What
 * lies on disk, and how it comes there, is keeper/session.h.
 */
#include "session/session.h"

struct place;
struct store;

struct session_use {
	const char *id;       /* NULL: there is no session */
	struct session state; /* as it was last written */
	int hold;             /* until session_release(); -1: none */
	char notice[SESSION_NOTICE_MAX];
};

/* A wrong id is an error. A state that cannot be read is not: the session starts anew and the
 * notice says so. */
int session_use(struct arena *arena, const char *state, const char *id,
                struct session_use *ret_session, struct error *err);

/* The session is in use until then. */
void session_release(struct session_use *s);

/* The working directory of a request that names none. One that is gone, or leads out of the
 * workspace by now, is replaced by the workspace, and the notice says so. */
int session_open_cwd(struct session_use *s, struct place *p, struct error *err);

/* What the session has set, and then what the request sets: the policy decides about both. */
int session_environment(const struct session_use *s, struct arena *arena, const char *const *own,
                        const char *const **ret_env);
