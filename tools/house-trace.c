/*
 * Preloaded into an instrumented nacre by tools/house: notes which function of which process
 * begins. All processes write into one file that they share as memory, so nothing is lost by a
 * fork, an end or a filter of system calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLAIN      __attribute__((no_instrument_function))
#define EVENTS_MAX (1 << 22)

struct event {
	uint64_t process, function;
};

static struct {
	_Atomic uint64_t count;
	uint64_t unused;
	struct event events[EVENTS_MAX];
} * trace;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

PLAIN __attribute__((constructor)) static void start(void)
{
	const char *path = getenv("HOUSE_TRACE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		trace = memory;
	close(fd);
}

PLAIN void __cyg_profile_func_enter(void *function, void *caller)
{
	uint64_t n;

	(void)caller;
	if (!trace)
		return;
	n = atomic_fetch_add(&trace->count, 1);
	if (n < EVENTS_MAX)
		trace->events[n] =
			(struct event){(uint64_t)syscall(SYS_getpid), (uint64_t)function};
}

PLAIN void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
}
