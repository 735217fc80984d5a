#pragma once
/*
 * Explain: what would be decided about a request, and why. Runs nothing, and makes nothing.
 */
struct arena;
struct check;
struct engine;
struct error;
struct json_writer;
struct profile;
struct request;

/* The decision that engine_start() would make. A refusal is no error; an error means that there is
 * no decision (no such directory, a profile that cannot be used). The check lives in the arena, and
 * as long as the engine has no other request. */
int engine_explain(struct engine *e, const struct request *rq, struct arena *arena,
                   struct check *ret_check, struct error *err);

/* What only an explanation wants: the hosts that stand in the line. */
int explain_find_hosts(struct arena *arena, const struct profile *profile, struct check *c,
                       struct error *err);

/* For who is not on this host: of the files of rules only their names are left, of the places of
 * programs nothing. */
void explain_hide_places(struct check *c);

/* The members of one JSON object: verdict, reason, rule, recommended, left_to_sandbox, docker,
 * status, canonical, commands, hosts. The caller begins and ends the object. */
void explain_put_json(const struct check *c, struct json_writer *w);
