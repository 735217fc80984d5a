#pragma once
/*
 * Engine: what all requests to one profile in one workspace share. job.h is the way to run one.
 */
#include <limits.h>
#include "base/cleanup.h"
#include "task/request.h"
#include "output/view.h"
#include "profile/profile.h"
#include "task/store.h"

struct error;
struct audit;
struct launcher;

/* What the person who runs nacre wants otherwise than the profile has it. */
struct engine_wishes {
	const char *profile, *agent, *policy_file; /* NULL: the default */
	const char *fallback;    /* the profile if neither these nor the policy file name one */
	const char *workspace;   /* NULL: the current directory */
	const char *root;        /* a directory around it whose protections hold; NULL: none */
	int64_t grace_ms;        /* -1: the profile's */
	uint64_t spool_cap;      /* bytes per stream on disk; UINT64_MAX: the profile's */
	uint64_t state_cap;      /* bytes of all tasks together */
	int64_t state_age_ms;    /* how long finished tasks are kept; 0: for ever */
	uint64_t max_processes;  /* only ever lowers the profile's; 0: that */
	struct view_limits view; /* used if view_given */
	bool view_given, keep_escapes;
	const char *output_prefix; /* not NULL: a result has no paths and no system words of this
	                              host, and what is kept is named by this and the task's id */
	bool confined; /* a workspace that is asked for lies in this one, whatever the profile's
	                  roots are */
};

extern const struct engine_wishes engine_wishes_default;

struct engine {
	struct engine_wishes wishes;
	struct store store;
	struct launcher *launcher; /* NULL: keepers are children of this process */
	bool ahead; /* without a launcher: a box is made while its command is decided about */
	const char *const *environment; /* nacre's own, from which a command's is built */
	char *policy_path;              /* wishes.policy_file, made absolute */
	struct profile *profile;        /* of the last request; reused while nothing changed */
	uint64_t profile_number;        /* counts how often it was loaded */
	struct audit *audit;            /* the log of the profile; NULL: not opened yet */
	dev_t profile_device;           /* the workspace that it was loaded for */
	ino_t profile_inode;
	char profile_root[PATH_MAX]; /* and its root */
};

void engine_init(struct engine *e, const char *const *environment);
void engine_done(struct engine *e);

/* The directory above that of the tasks, in the arena; NULL: there is none. */
struct arena;
const char *engine_state_of(struct arena *arena, const struct store *store);
