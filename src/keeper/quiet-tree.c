#include "keeper/quiet-inside.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

bool quiet_is_late(const struct tree_view *t)
{
	return clock_now_ms() >= t->until;
}

ssize_t quiet_read(pid_t pid, const char *file, char text[TEXT_MAX])
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return fd_read_text(AT_FDCWD, path, text, TEXT_MAX);
}

void quiet_make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = *text == '\n' && !text[1] ? '\0' : '?';
}

/* State, name and processor time. */
bool quiet_read_stat(struct process_view *p)
{
	char text[TEXT_MAX], *name, *end;
	size_t n;

	if (quiet_read(p->pid, "stat", text) <= 0)
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end[1] != ' ')
		return false;
	n = (size_t)(end - name - 1);
	if (n > NAME_MAX_SHOWN)
		n = NAME_MAX_SHOWN;
	memcpy(p->name, name + 1, n);
	p->name[n] = '\0';
	quiet_make_printable(p->name);
	p->state = end[2];
	p->ticks = 0;
	end += 3;
	for (int field = 4; field <= 15; field++) {
		uint64_t value = strtoull(end, &end, 10);

		if (field >= 14)
			p->ticks += value;
	}
	return true;
}

static void add_children(struct tree_view *t, int parent, const char *text)
{
	char *end;

	for (; t->count < PROCESSES_MAX; text = end) {
		long pid = strtol(text, &end, 10);
		struct process_view p = {.pid = (pid_t)pid, .parent = parent};

		if (end == text || pid <= 0)
			return;
		if (quiet_read_stat(&p) && p.state != 'Z' && p.state != 'X')
			t->list[t->count++] = p;
	}
}

void quiet_for_each_thread(pid_t pid, thread_visitor visit, void *owner)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while (n < THREADS_MAX && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0])) {
			visit(owner, pid, (pid_t)strtol(d->d_name, NULL, 10));
			n++;
		}
	closedir(dir);
}

struct growing {
	struct tree_view *tree;
	int parent;
};

/* A thread has children of its own. */
static void visit_children(void *owner, pid_t pid, pid_t thread)
{
	struct growing *g = owner;
	char file[64], text[TEXT_MAX];

	snprintf(file, sizeof(file), "task/%d/children", (int)thread);
	if (!quiet_is_late(g->tree) && quiet_read(pid, file, text) > 0)
		add_children(g->tree, g->parent, text);
}

void quiet_read_tree(pid_t root, struct tree_view *t)
{
	struct growing g = {.tree = t, .parent = -1};

	quiet_for_each_thread(root, visit_children, &g);
	for (g.parent = 0; g.parent < t->count; g.parent++)
		quiet_for_each_thread(t->list[g.parent].pid, visit_children, &g);
}
