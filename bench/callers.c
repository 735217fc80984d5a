/*
 * The same start and wait, by several callers at the same time, each a process of its own.
 *
 *     callers FILE CALLERS COUNT ARGV...
 *
 * FILE gets "total NANOSECONDS" for COUNT starts by each caller, and a line "0 NANOSECONDS" per
 * start.
 */
#include <sys/mman.h>
#include "harness.h"

static _Noreturn void call(int ready, int gate, int64_t *samples, size_t count, char **argv)
{
	char byte = 0;

	time_command(argv, environ); /* the first one is for the caches */
	if (write(ready, &byte, 1) != 1)
		_exit(1);
	while (read(gate, &byte, 1) < 0) /* end of file: all begin now */
		if (errno != EINTR)
			_exit(1);
	for (size_t i = 0; i < count; i++)
		samples[i] = time_command(argv, environ);
	_exit(0);
}

int main(int argc, char **argv)
{
	size_t callers, count;
	int64_t *samples, begin, total;
	pid_t *pids;
	int ready[2], gate[2];
	char byte;
	FILE *out;

	if (argc < 5)
		give_up("usage: callers FILE CALLERS COUNT ARGV...", 0);
	callers = number_argument(argv[2]);
	count = number_argument(argv[3]);
	pids = allocate(callers, sizeof(*pids));
	samples = mmap(NULL, callers * count * sizeof(*samples), PROT_READ | PROT_WRITE,
	               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (samples == MAP_FAILED || pipe(ready) < 0 || pipe(gate) < 0)
		give_up("memory or a pipe", errno);
	for (size_t i = 0; i < callers; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork", errno);
		if (pids[i] == 0) {
			close(gate[1]);
			call(ready[1], gate[0], samples + i * count, count, argv + 4);
		}
	}
	for (size_t i = 0; i < callers; i++)
		if (read(ready[0], &byte, 1) != 1)
			give_up("a caller", errno);
	begin = now_ns();
	close(gate[1]);
	for (size_t i = 0; i < callers; i++)
		wait_success(pids[i], "a caller");
	total = now_ns() - begin;
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	fprintf(out, "total %lld\n", (long long)total);
	for (size_t i = 0; i < callers * count; i++)
		fprintf(out, "0 %lld\n", (long long)samples[i]);
	return fclose(out) == 0 ? 0 : 1;
}
