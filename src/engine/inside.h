#pragma once
/*
 * What the files of the engine share.
 */
struct engine;
struct error;
struct place;
struct request;
struct session_use;

/* Loads the profile for the workspace that the request is for, and opens that and the working
 * directory. A workspace that a caller names has to suit the profile, and its own project file
 * tightens that. */
int engine_choose_place(struct engine *e, const struct request *rq, const char *state,
                        struct session_use *session, struct place *p, struct error *err);
