#pragma once
/*
 * Where a call of nsh belongs: session and workspace, from what the client says of itself.
 */
#include <stdbool.h>

struct arena;
struct error;

struct sh_place {
	const char *session;   /* NULL: none */
	const char *workspace; /* absolute, canonical */
	const char *cwd;       /* in the workspace; NULL: the call begins elsewhere */
	const char *away;      /* there; NULL */
	bool is_new;           /* the session has no workspace yet */
};

/* STATE is nacre's state directory. Strings live in the arena. */
int sh_place_find(const char *state, struct arena *arena, struct sh_place *ret, struct error *err);

/* The session keeps this workspace, wherever its calls begin. */
void sh_place_keep(const char *state, const struct sh_place *p);
