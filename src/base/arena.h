#pragma once
/*
 * Arena: many small allocations that live and die together, up to a limit.
 *
 * Memory is zeroed. After a failure (memory, or the limit) every later call returns NULL too, so a
 * builder may check once per step.
 */
#include <stddef.h>
#include "base/cleanup.h"

struct arena;

struct arena *arena_new(size_t max_bytes); /* NULL: no memory */
struct arena *arena_free(struct arena *a); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct arena *, arena_free);

void *arena_alloc(struct arena *a, size_t n);          /* aligned for any object */
char *arena_strdup(struct arena *a, const char *text); /* of NULL: NULL */
char *arena_strndup(struct arena *a, const char *bytes, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(struct arena *a); /* forgets all, keeps one block for the next user */

#define arena_new_object(a, type)   ((type *)arena_alloc((a), sizeof(type)))
#define arena_new_array(a, type, n) ((type *)arena_alloc_array((a), sizeof(type), (n)))
void *arena_alloc_array(struct arena *a, size_t size, size_t n);
