/*
 * Runs one command and tells how long it took and how much memory each process of its tree had
 * resident at most.
 *
 *     watch FILE ARGV...
 *
 * The peaks are VmHWM of /proc, read every few milliseconds: the value only grows, so what is
 * missed is the growth in the last moment of a process. FILE gets "ns N" and a line "NAME KiB" per
 * process name, the largest of that name.
 */
#include <poll.h>
#include <sys/pidfd.h>
#include "harness.h"

#define NAMES_MAX 64
#define DEPTH_MAX 8
#define EVERY_MS  20

struct peak {
	char name[32];
	unsigned long kib;
};

struct watch {
	struct peak peaks[NAMES_MAX];
	size_t count;
};

static void note(struct watch *w, const char *name, unsigned long kib)
{
	size_t i;

	for (i = 0; i < w->count && strcmp(w->peaks[i].name, name) != 0; i++)
		;
	if (i == NAMES_MAX)
		return;
	if (i == w->count) {
		snprintf(w->peaks[i].name, sizeof(w->peaks[i].name), "%s", name);
		w->count++;
	}
	if (kib > w->peaks[i].kib)
		w->peaks[i].kib = kib;
}

static void read_status(struct watch *w, pid_t pid)
{
	char path[64], line[256], name[32] = "?";
	unsigned long kib;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Name:\t%31[^\n]", name) == 1)
			continue;
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1) {
			note(w, name, kib);
			break;
		}
	}
	fclose(f);
}

static void look(struct watch *w, pid_t pid, int depth)
{
	char path[64];
	int child;
	FILE *f;

	read_status(w, pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = depth < DEPTH_MAX ? fopen(path, "re") : NULL;
	if (!f)
		return;
	while (fscanf(f, "%d", &child) == 1)
		look(w, child, depth + 1);
	fclose(f);
}

int main(int argc, char **argv)
{
	struct watch w = {0};
	struct pollfd p = {.events = POLLIN};
	int64_t begin, took;
	pid_t pid;
	FILE *out;

	if (argc < 3)
		give_up("usage: watch FILE ARGV...", 0);
	begin = now_ns();
	pid = start(argv + 2, environ);
	p.fd = pidfd_open(pid, 0);
	if (p.fd < 0)
		give_up("pidfd_open", errno);
	while (poll(&p, 1, EVERY_MS) == 0)
		look(&w, pid, 0);
	wait_success(pid, argv[2]);
	took = now_ns() - begin;
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	fprintf(out, "ns %lld\n", (long long)took);
	for (size_t i = 0; i < w.count; i++)
		fprintf(out, "%s %lu\n", w.peaks[i].name, w.peaks[i].kib);
	return fclose(out) == 0 ? 0 : 1;
}
