#pragma once
/* What box.c and box-tree.c share. */
#include "container/box.h"

/* Fills the mounts, and the plan that they come from. */
int container_plan_mounts(struct container_box *b, const struct container_command *c,
                          struct error *err);

/* Writes what can go there into the file, and says what cannot. */
int container_split_environment(struct container_box *b, const struct container_command *c,
                                const char *const **ret_rest);
