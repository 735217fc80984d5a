/*
 * A socket belongs to who has its inode among its descriptors; where it listens stands in the table
 * of its network namespace, which /proc/PID/net shows. All processes of a tree have one namespace
 * as a rule, so the table of the first is read and asked for each.
 */
#include "process/living.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#define LOOK_MAX_MS   300
#define SEEN_MAX      256 /* processes that are walked through */
#define THREADS_MAX   32
#define FDS_MAX       1024
#define LINES_MAX     4096 /* of a table of the kernel */
#define LISTENERS_MAX 256
#define TEXT_MAX      4096

struct listener {
	unsigned long long inode;
	uint16_t port;
};

struct look {
	int64_t until;
	pid_t seen[SEEN_MAX];
	int count;
	struct listener listeners[LISTENERS_MAX];
	int listener_count;
};

static bool is_late(const struct look *l)
{
	return clock_now_ms() >= l->until;
}

static bool read_text(pid_t pid, const char *file, char text[TEXT_MAX])
{
	scoped(fd_closep) int fd = -1;
	char path[96];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The fields of stat from the state on; the name may hold anything, also ") ". */
static const char *read_stat(pid_t pid, char text[TEXT_MAX])
{
	const char *end = read_text(pid, "stat", text) ? strrchr(text, ')') : NULL;

	return end && end[1] == ' ' ? end + 2 : NULL;
}

unsigned long long living_start(pid_t pid)
{
	char text[TEXT_MAX];
	const char *p = read_stat(pid, text);

	for (int field = 3; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

static void add_children(struct look *l, const char *text)
{
	char *end;

	for (; l->count < SEEN_MAX; text = end) {
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0)
			return;
		l->seen[l->count++] = (pid_t)pid;
	}
}

/* A thread has children of its own. */
static void find_children(struct look *l, pid_t parent)
{
	char path[64], text[TEXT_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
	dir = opendir(path);
	for (int n = 0; dir && n < THREADS_MAX && !is_late(l) && (d = readdir(dir));) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		n++;
		snprintf(path, sizeof(path), "task/%.20s/children", d->d_name);
		if (read_text(parent, path, text))
			add_children(l, text);
	}
	if (dir)
		closedir(dir);
}

/* The last number of NSpid is that of the innermost namespace. */
static void read_status(struct living_process *p)
{
	char text[TEXT_MAX], *at, *end;

	if (!read_text(p->pid, "status", text) || !(at = strstr(text, "\nNSpid:")))
		return;
	for (at += 7;; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || memchr(at, '\n', (size_t)(end - at)))
			return;
		p->inner = (pid_t)pid;
	}
}

/* From the state, which is field 3, on: minflt 10, majflt 12, utime 14, stime 15. */
static uint64_t work_of(const char *fields)
{
	uint64_t work = 0;

	for (int field = 3; field <= 15 && fields; field++) {
		if (field == 10 || field == 12 || field >= 14)
			work += strtoull(fields, NULL, 10);
		fields = strchr(fields, ' ');
		fields = fields ? fields + 1 : NULL;
	}
	return work;
}

static bool read_process(struct living_process *p)
{
	char text[TEXT_MAX];
	const char *state = read_stat(p->pid, text), *name = strchr(text, '(');
	size_t n;

	if (!state || !name || *state == 'Z' || *state == 'X')
		return false;
	n = (size_t)(state - 2 - (name + 1));
	if (n > LIVING_NAME_MAX)
		n = LIVING_NAME_MAX;
	for (size_t i = 0; i < n; i++)
		p->name[i] = name[1 + i] > ' ' && name[1 + i] <= '~' ? name[1 + i] : '?';
	p->name[n] = '\0';
	p->work = work_of(state);
	p->inner = p->pid;
	read_status(p);
	return true;
}

static void read_table(struct look *l, pid_t pid, const char *table)
{
	char path[64], line[512];
	struct listener found;
	unsigned port, state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	f = fopen(path, "re");
	for (int n = 0; f && n < LINES_MAX && l->listener_count < LISTENERS_MAX &&
	                fgets(line, sizeof(line), f);
	     n++) {
		/* The kernel's own numbers. NOLINTNEXTLINE(cert-err34-c) */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%4x %*s %2x %*s %*s %*s %*s %*s %llu", &port,
		           &state, &found.inode) != 3 ||
		    state != 0x0a)
			continue;
		found.port = (uint16_t)port;
		l->listeners[l->listener_count++] = found;
	}
	if (f)
		fclose(f);
}

static void add_port(struct living_process *p, uint16_t port)
{
	int i = 0;

	while (i < p->port_count && p->ports[i] < port)
		i++;
	if ((i < p->port_count && p->ports[i] == port) || p->port_count == LIVING_PORTS_MAX)
		return;
	memmove(&p->ports[i + 1], &p->ports[i], (size_t)(p->port_count - i) * sizeof(*p->ports));
	p->ports[i] = port;
	p->port_count++;
}

static void find_ports(struct look *l, struct living_process *p)
{
	char path[64], link[64];
	unsigned long long inode;
	struct dirent *d;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->pid);
	dir = l->listener_count > 0 ? opendir(path) : NULL;
	for (int i = 0; dir && i < FDS_MAX && !is_late(l) && (d = readdir(dir)); i++) {
		n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (strncmp(link, "socket:[", 8) != 0)
			continue;
		inode = strtoull(link + 8, NULL, 10);
		for (int k = 0; k < l->listener_count; k++)
			if (l->listeners[k].inode == inode)
				add_port(p, l->listeners[k].port);
	}
	if (dir)
		closedir(dir);
}

void living_look(pid_t root, struct living *ret_living)
{
	struct look l = {.until = clock_now_ms() + LOOK_MAX_MS};

	*ret_living = (struct living){0};
	find_children(&l, root);
	for (int i = 0; i < l.count; i++)
		find_children(&l, l.seen[i]);
	for (int i = 0; i < l.count; i++) {
		struct living_process p = {.pid = l.seen[i]};

		if (!read_process(&p))
			continue;
		if (ret_living->count == LIVING_MAX) {
			ret_living->more++;
			continue;
		}
		if (ret_living->count == 0) {
			read_table(&l, p.pid, "tcp");
			read_table(&l, p.pid, "tcp6");
		}
		find_ports(&l, &p);
		ret_living->list[ret_living->count++] = p;
	}
}

void living_print(const struct living *l, char *into, size_t size)
{
	char line[128];
	size_t at = 0;

	into[0] = '\0';
	for (int i = 0; i < l->count; i++) {
		const struct living_process *p = &l->list[i];
		int n = snprintf(line, sizeof(line), "%d %s", (int)p->inner, p->name);

		for (int k = 0; k < p->port_count; k++)
			n += snprintf(line + n, sizeof(line) - (size_t)n, " %u", p->ports[k]);
		n += snprintf(line + n, sizeof(line) - (size_t)n, "\n");
		if (at + (size_t)n + 1 > size)
			return;
		memcpy(into + at, line, (size_t)n + 1);
		at += (size_t)n;
	}
}

const char *living_parse(const char *lines, struct living_process *ret_process)
{
	const char *end = strchr(lines, '\n');
	struct living_process p = {0};
	char *at;
	size_t n;

	p.inner = p.pid = (pid_t)strtol(lines, &at, 10);
	if (!end || at == lines || *at != ' ')
		return NULL;
	n = strcspn(++at, " \n");
	if (n > LIVING_NAME_MAX)
		return NULL;
	memcpy(p.name, at, n);
	for (at += n; at < end && p.port_count < LIVING_PORTS_MAX;)
		p.ports[p.port_count++] = (uint16_t)strtoul(at, &at, 10);
	*ret_process = p;
	return end + 1;
}
