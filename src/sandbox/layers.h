#pragma once
/*
 * Layers: the parts of a box by name, and what to do about one that is missing. The names and their
 * parsing are declared with the bits, in sandbox/spec.h.
 */
#include <stdint.h>
#include "sandbox/spec.h"

struct buffer;

/* How to get this layer, as the end of a sentence. */
const char *sandbox_layer_remedy(enum sandbox_layer layer);

/* "strict", "landlock", "none", "container": the words of the key sandbox.mode. */
extern const char *const sandbox_tier_names[SANDBOX_TIER_MAX];
const char *sandbox_tier_name(enum sandbox_tier tier); /* NULL: there is no such tier */

/* "namespaces, seccomp". */
void sandbox_layers_print(uint32_t bits, struct buffer *into);
