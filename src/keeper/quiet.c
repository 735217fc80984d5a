#include "keeper/quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "keeper/quiet-inside.h"

/* Whether git waits for what P does: an editor, for a message or a list. */
static bool is_editor_of_git(const struct tree_view *t, const struct process_view *p)
{
	static const char *const files[] = {"COMMIT_EDITMSG", "MERGE_MSG", "TAG_EDITMSG",
	                                    "git-rebase-todo", "addp-hunk-edit.diff"};
	char text[TEXT_MAX];
	bool edits = false, git = false;
	ssize_t n;

	for (const struct process_view *up = p;; up = &t->list[up->parent]) {
		git |= strcmp(up->name, "git") == 0;
		n = quiet_read(up->pid, "cmdline", text);
		for (ssize_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		for (size_t i = 0; i < array_size(files); i++)
			edits |= strstr(text, files[i]) != NULL;
		if (up->parent < 0)
			break;
	}
	return git && edits && strcmp(p->name, "git") != 0;
}

static void describe(const struct tree_view *t, const struct process_view *p,
                     char text[QUIET_TEXT_MAX])
{
	static const char *const words[] = {
		[DOING_NOTHING] = "",
		[DOING_CHILD] = "waiting for a process of its own",
		[DOING_INTERNAL] = "waiting for another of its processes or threads",
		[DOING_OTHER] = "waiting",
		[DOING_SLEEP] = "sleeping",
		[DOING_DISK] = "waiting for a disk or another device",
		[DOING_STOPPED] = "stopped by a signal",
		[DOING_NETWORK] = "waiting for the network",
		[DOING_LOCK] = "waiting for a lock",
		[DOING_TERMINAL] = "waiting for input on the terminal",
		[DOING_STDIN] = "waiting for input on standard input",
		[DOING_BUSY] = "busy",
	};

	if ((p->doing == DOING_TERMINAL || p->doing == DOING_STDIN) && is_editor_of_git(t, p))
		snprintf(text, QUIET_TEXT_MAX,
		         "%s: git is running an editor (%s); set GIT_EDITOR=true or %s",
		         words[p->doing], p->name,
		         p->doing == DOING_STDIN ? "use pty" : "type into it (nacre input)");
	else if (p->doing == DOING_STDIN)
		snprintf(text, QUIET_TEXT_MAX, "%s: %s reads it, and nobody writes",
		         words[p->doing], p->name);
	else
		snprintf(text, QUIET_TEXT_MAX, "%s: %s%s%s", words[p->doing], p->name,
		         p->detail[0] ? " " : "", p->detail);
}

void quiet_look(pid_t root, char text[QUIET_TEXT_MAX])
{
	struct tree_view *t = calloc(1, sizeof(*t));
	const struct process_view *best = NULL;

	text[0] = '\0';
	if (!t)
		return;
	t->until = clock_now_ms() + LOOK_MAX_MS;
	quiet_read_tree(root, t);
	for (int i = 0; i < t->count; i++)
		quiet_look_at(t, &t->list[i]);
	quiet_look_for_busy(t);
	/* Of equals the deepest: it is what the others wait for. */
	for (int i = 0; i < t->count; i++)
		if (!best || t->list[i].doing >= best->doing)
			best = &t->list[i];
	if (best && best->doing != DOING_NOTHING)
		describe(t, best, text);
	free(t);
}

void quiet_names(pid_t root, char *into, size_t size)
{
	struct tree_view *t = calloc(1, sizeof(*t));
	size_t at = 0;

	into[0] = '\0';
	if (!t)
		return;
	t->until = clock_now_ms() + NAMES_MAX_MS;
	quiet_read_tree(root, t);
	for (int i = 0; i < t->count; i++) {
		size_t n = strlen(t->list[i].name);

		if (n == 0 || at + n + 2 > size)
			continue;
		memcpy(into + at, t->list[i].name, n);
		into[at + n] = '\n';
		at += n + 1;
	}
	into[at] = '\0';
	free(t);
}
