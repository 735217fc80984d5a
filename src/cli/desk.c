#include "cli/desk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "approval/desk.h"
#include "base/error.h"
#include "base/fd.h"
#include "task/store.h"

int cli_desk_open(void)
{
	struct error err = {0};
	struct store store;
	char *end;
	int fd = -ENOENT;

	store_look(&store);
	end = strrchr(store.path, '/');
	if (store.tasks_fd >= 0 && end) {
		*end = '\0';
		fd = desk_open(store.path, false, &err);
	}
	fd_close(take_fd(&store.tasks_fd));
	return fd;
}

/* The parent of a process and its name; 0: nothing is known of it. */
static pid_t parent_of(pid_t pid, char name[32])
{
	char path[64], line[512] = "";
	const char *open, *close;
	long parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close || strlen(close) < 5) /* ") S 1" */
		return 0;
	parent = strtol(close + 4, NULL, 10);
	if (parent <= 0 || parent > INT_MAX)
		return 0;
	snprintf(name, 32, "%.*s", (int)(close - open - 1 < 31 ? close - open - 1 : 31), open + 1);
	return (pid_t)parent;
}

/*
 * In a box the approvals are not there, whatever anybody asks for. This is for commands that run
 * without one: whoever hangs below a keeper is refused. They could write the files themselves, and
 * nothing but a box can prevent that.
 */
int cli_is_inside(void)
{
	char name[32];
	pid_t pid = getppid();

	for (int depth = 0; pid > 1 && depth < 1000; depth++) {
		pid_t parent = parent_of(pid, name);

		if (!parent)
			break;
		if (strcmp(name, "nacre-keeper") == 0 || strcmp(name, "nacre-init") == 0)
			return 1;
		pid = parent;
	}
	return 0;
}

void cli_name_person(int tty, const char *how, char *into, size_t size)
{
	char name[64] = "";

	if (tty < 0 || ttyname_r(tty, name, sizeof(name)) != 0)
		name[0] = '\0';
	snprintf(into, size, "uid %u%s%s%s%s", (unsigned)getuid(), name[0] ? " on " : "", name,
	         how ? ", " : "", how ? how : "");
}
