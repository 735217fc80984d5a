#pragma once
/*
 * An engine for tests: in a new directory DIR it has a state of its own ("state") and a workspace.
 */
#include <sys/stat.h>
#include "base/test-support.h"
#include "engine/engine.h"

static inline void test_engine_make(struct engine *e, char dir[64], char workspace[80],
                                    const char *const *environment)
{
	char state[80];

	test_directory_make(dir);
	snprintf(state, sizeof(state), "%s/state", dir);
	setenv("NACRE_STATE_DIR", state, 1);
	snprintf(workspace, 80, "%s/work", dir);
	assert_int_equal(mkdir(workspace, 0700), 0);
	engine_init(e, environment);
	e->wishes.workspace = workspace;
}

static inline void test_engine_remove(struct engine *e, char dir[64])
{
	engine_done(e);
	test_directory_remove(dir);
}
