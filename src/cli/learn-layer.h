#pragma once
/* Learn: the layer of a policy that a run would have needed, from its records. */
#include <jansson.h>

struct buffer;
struct profile;

struct learn_layer;

struct learn_layer *learn_layer_new(const struct profile *profile);
void learn_layer_free(struct learn_layer *l);
/* A record `network` or `network-ended`. 0, or a negative errno. */
int learn_layer_add(struct learn_layer *l, const json_t *record);
/* EXPLAINED is what `nacre explain --json` says of the line; or NULL. */
void learn_layer_print(struct learn_layer *l, const char *task, int exit_code,
                       const json_t *explained, struct buffer *out);
