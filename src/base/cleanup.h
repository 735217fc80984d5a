#pragma once
/*
 * Scoped ownership: a local owner releases what it holds when its scope ends, and a move is
 *visible.
 *
 *	scoped(freep) char *name = NULL;
 *	scoped(fd_closep) int fd = -1;
 *	return take_ptr(&name);
 */
#include <stdlib.h>

#define scoped(destructor) __attribute__((cleanup(destructor)))

/* Defines DESTRUCTORp(TYPE *), the form that scoped() wants; DESTRUCTOR accepts an empty owner. */
#define DEFINE_CLEANUP(type, destructor)                                                           \
	static inline void destructor##p(type *p)                                                  \
	{                                                                                          \
		destructor(*p);                                                                    \
	}                                                                                          \
	struct destructor##_needs_a_semicolon

#define take_ptr(pp)                                                                               \
	({                                                                                         \
		__typeof__(pp) take_pp_ = (pp);                                                    \
		__typeof__(*take_pp_) take_p_ = *take_pp_;                                         \
		*take_pp_ = NULL;                                                                  \
		take_p_;                                                                           \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void freep(void *pp)
{
	free(*(void **)pp);
}

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define array_size(a)                   (sizeof(a) / sizeof((a)[0]))
