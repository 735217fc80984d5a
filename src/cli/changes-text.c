#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/changes.h"
#include "cli/cli.h"
#include "engine/changes.h"
#include "engine/result.h"

#define SHOWN     40
#define DIFF_MAX  ((size_t)1 << 20)
#define NAME_SIZE 4200

static void put_path(const char *path, struct buffer *into)
{
	cli_put_clean(path, into);
}

static bool is_old_name(const struct change_list *l, const struct change *c)
{
	for (size_t i = 0; c->kind == CHANGE_DELETED && i < l->count; i++)
		if (l->items[i].from && strcmp(l->items[i].from, c->path) == 0)
			return true;
	return false;
}

static void put_change(const struct change *c, struct buffer *into)
{
	const struct change_meta *m = c->after.inode ? &c->after : &c->before;

	buffer_printf(into, "  %c ", change_letter(c));
	put_path(c->path, into);
	if (S_ISDIR(m->mode))
		buffer_putc(into, '/');
	if (c->from) {
		buffer_puts(into, " (was ");
		put_path(c->from, into);
		buffer_putc(into, ')');
	}
	if (change_letter(c) == 'm' && c->before.mode != c->after.mode)
		buffer_printf(into, " (mode %o, was %o)", c->after.mode & 07777,
		              c->before.mode & 07777);
	if (c->kind == CHANGE_CONTENTS && c->before.links > 1)
		buffer_puts(into, " (other names of the file keep the old contents)");
	buffer_putc(into, '\n');
}

void cli_put_changes(const struct change_list *l, size_t most, struct buffer *into)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct change *c = &l->items[i];

		if (!change_letter(c) || !c->chosen || (l->count < 1000 && is_old_name(l, c)))
			continue;
		if (shown++ < most)
			put_change(c, into);
		else
			left++;
	}
	if (left > 0)
		buffer_printf(into, "  and %zu more\n", left);
	for (size_t i = 0; i < l->conflict_count && i < CHANGE_CONFLICTS_MAX && i < most; i++) {
		buffer_puts(into, "  conflict: ");
		put_path(l->conflicts[i].path, into);
		buffer_printf(into, ": %s\n", l->conflicts[i].why);
	}
}

bool cli_has_colours(int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

static const char *colour_of(const char *line)
{
	if (strncmp(line, "+++", 3) == 0 || strncmp(line, "---", 3) == 0)
		return "\033[1m";
	return *line == '+'   ? "\033[32m"
	       : *line == '-' ? "\033[31m"
	       : *line == '@' ? "\033[36m"
	                      : NULL;
}

void cli_put_diff(const char *text, size_t n, bool colour, struct buffer *into)
{
	scoped(buffer_donep) struct buffer line = {0};

	for (const char *at = text, *end; at < text + n; at = end + 1) {
		const char *code;

		end = memchr(at, '\n', (size_t)(text + n - at));
		end = end ? end : text + n;
		buffer_clear(&line);
		buffer_append(&line, at, (size_t)(end - at));
		code = colour ? colour_of(buffer_str(&line)) : NULL;
		if (code)
			buffer_puts(into, code);
		cli_put_clean(buffer_str(&line), into);
		if (code)
			buffer_puts(into, "\033[0m");
		buffer_putc(into, '\n');
	}
}

static void put_counts(struct buffer *out, uint64_t added, uint64_t changed, uint64_t deleted)
{
	buffer_printf(out, "%llu added, %llu changed, %llu deleted", (unsigned long long)added,
	              (unsigned long long)changed, (unsigned long long)deleted);
}

static void print_to(int fd, struct buffer *out)
{
	if (buffer_error(out) == 0)
		(void)fd_write_all(fd, out->data, out->len);
}

void cli_print_changes(const struct result *r, bool dry_run)
{
	const struct keeper_changes_report *c = &r->report.changes;
	scoped(buffer_donep) struct buffer out = {0};

	if (!c->state[0] || !r->ran || (!dry_run && c->conflicts == 0))
		return;
	if (strcmp(c->state, "nothing") == 0) {
		cli_complain("it would change nothing");
		return;
	}
	if (!r->changes)
		return;
	buffer_puts(&out, dry_run ? "nacre: it would change the workspace: "
	                          : "nacre: what it would have changed: ");
	put_counts(&out, c->added, c->changed, c->deleted);
	buffer_putc(&out, '\n');
	cli_put_changes(r->changes, SHOWN, &out);
	print_to(STDERR_FILENO, &out);
}

/* One line from the terminal, wherever standard input leads. */
static char read_answer(int tty)
{
	char line[64];
	ssize_t n = read(tty, line, sizeof(line));

	return n > 0 ? line[0] : 0;
}

static void show_diff(const struct task_changes *t, const struct change_list *l, int tty)
{
	scoped(buffer_donep) struct buffer diff = {.max = DIFF_MAX};
	scoped(buffer_donep) struct buffer out = {0};

	task_changes_put_diff(t, l, &diff);
	cli_put_diff(buffer_str(&diff), diff.len, cli_has_colours(tty), &out);
	print_to(tty, &out);
}

int cli_ask_apply(const struct task_changes *t, const struct change_list *l)
{
	scoped(fd_closep) int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	scoped(buffer_donep) struct buffer list = {0};
	char answer;

	if (tty < 0 || tcgetpgrp(tty) != getpgrp())
		return -1;
	cli_put_changes(l, SHOWN, &list);
	show_diff(t, l, tty);
	print_to(tty, &list);
	for (;;) {
		static const char question[] = "Apply these changes? [y/N/d(iff)] ";

		(void)fd_write_all(tty, question, sizeof(question) - 1);
		answer = (char)(read_answer(tty) | 32);
		if (answer != 'd')
			return answer == 'y';
		show_diff(t, l, tty);
	}
}
