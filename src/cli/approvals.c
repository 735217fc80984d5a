/*
 * `nacre approvals`: the requests that wait for a person.
 *
 * Everything is read from the directory of approvals ("desk"); no server is asked. A watcher prints
 * each open request once: it remembers the ids that it has printed, and an answered one never opens
 * again. Words of a request are escaped before they reach a terminal.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "approval/desk.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/desk.h"
#include "cli/table.h"
#include "engine/result.h"
#include "json/write.h"

#define LIST_BYTES ((size_t)512 << 20)
#define WATCH_MS   1000 /* where no event tells, and for what expires */

struct approvals {
	bool all, json, watch, grants, revoke;
};

static void put_row(struct buffer *out, const struct approval *a, int64_t now, int width)
{
	scoped(buffer_donep) struct buffer what = {0};
	char left[32] = "-";
	size_t begin = out->len;

	if (a->state == APPROVAL_OPEN)
		number_format_duration((a->expires_ms - now) / 1000 * 1000, left);
	buffer_printf(out, "%-13s  %-8s %8s  %-10.10s  ", a->id, approval_state_name(a->state),
	              left, *a->principal ? a->principal : "you");
	/* Of a file the difference is among the details. */
	approval_escape(a->command, a->held ? strcspn(a->command, "\n") : strlen(a->command), false,
	                &what);
	table_end_row(out, begin, &what, width);
}

static void put_details(struct buffer *out, const struct approval *a, int64_t now)
{
	buffer_printf(out, "%s (%s)\n", a->id, approval_state_name(a->state));
	approval_print_details(a, now, out);
	if (*a->by) {
		buffer_printf(out, "  %-10s %s, by ", "Answer", approval_answer_name(a->answer));
		approval_escape(a->by, strlen(a->by), false, out);
		if (a->why) {
			buffer_puts(out, ": ");
			approval_escape(a->why, strlen(a->why), false, out);
		}
		buffer_putc(out, '\n');
	}
}

static void put_json(struct json_writer *w, const struct approval *a)
{
	json_object_begin(w);
	approval_put_json(w, a);
	json_object_end(w);
}

static int show(int desk, bool all, bool json, struct arena *arena)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct approval *list = NULL;
	struct error err = {0};
	size_t count = 0;
	int64_t now = clock_wall_ms();

	if (desk >= 0 && desk_list(desk, NULL, all, arena, &list, &count, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (json) {
		json_object_begin(&w);
		json_member_array(&w, "approvals");
		for (size_t i = 0; i < count; i++)
			put_json(&w, &list[i]);
		json_array_end(&w);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else if (count) {
		buffer_printf(&out, "%-13s  %-8s %8s  %-10s  %s\n", "APPROVAL", "STATE", "OPEN FOR",
		              "ASKED BY", "COMMAND");
		for (size_t i = 0; i < count; i++)
			put_row(&out, &list[i], now, table_width());
	} else {
		buffer_puts(&out, "nothing waits for approval\n");
	}
	return cli_print(&out);
}

static int show_some(int desk, char **ids, int count, bool json, struct arena *arena)
{
	int code = 0;

	for (int i = 0; i < count; i++) {
		scoped(buffer_donep) struct buffer out = {0};
		struct json_writer w = {.out = &out};
		struct error err = {.text = "there is no approval with this id"};
		struct approval a;

		if (desk < 0 || desk_read(desk, ids[i], arena, &a, &err) < 0) {
			cli_complain("%s: %s", ids[i], err.text);
			code = EXIT_NACRE_FAILED;
			continue;
		}
		if (json) {
			put_json(&w, &a);
			buffer_putc(&out, '\n');
		} else {
			put_details(&out, &a, clock_wall_ms());
		}
		if (cli_print(&out))
			return EXIT_NACRE_FAILED;
	}
	return code;
}

/* The ids that were open at the last look, and were printed then. */
struct seen {
	char ids[DESK_APPROVALS_MAX][APPROVAL_ID_MAX];
	size_t count;
};

static bool was_seen(const struct seen *s, const char *id)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->ids[i], id) == 0)
			return true;
	return false;
}

static void see(struct seen *s, const struct approval *list, size_t count)
{
	s->count = count < DESK_APPROVALS_MAX ? count : DESK_APPROVALS_MAX;
	for (size_t i = 0; i < s->count; i++)
		memcpy(s->ids[i], list[i].id, APPROVAL_ID_MAX);
}

static int show_new(int desk, bool json, struct arena *arena, struct seen *seen)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct approval *list;
	struct error err = {0};
	size_t count;

	arena_reset(arena);
	if (desk_list(desk, NULL, false, arena, &list, &count, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	for (size_t i = count; i-- > 0;) { /* the oldest first */
		struct json_writer w = {.out = &out};

		if (was_seen(seen, list[i].id))
			continue;
		if (json)
			put_json(&w, &list[i]);
		else
			put_details(&out, &list[i], clock_wall_ms());
		buffer_putc(&out, '\n');
	}
	see(seen, list, count);
	return cli_print(&out);
}

static int watch(int desk, bool json, struct arena *arena)
{
	scoped(freep) struct seen *seen = calloc(1, sizeof(*seen));
	scoped(fd_closep) int changes = -1;
	int code = seen ? 0 : EXIT_NACRE_FAILED;

	while (desk < 0) { /* there was never an approval here */
		(void)poll(NULL, 0, WATCH_MS);
		desk = cli_desk_open();
	}
	changes = desk_watch(desk);
	while (code == 0) {
		struct pollfd fds[] = {{.fd = changes, .events = POLLIN}, {.fd = STDOUT_FILENO}};

		code = show_new(desk, json, arena, seen);
		(void)poll(fds, 2, changes < 0 ? WATCH_MS : -1);
		if (fds[1].revents & (POLLERR | POLLHUP)) /* the reader is gone */
			break;
		desk_watch_drain(changes);
	}
	return code;
}

/* Complains of options that contradict each other. */
static bool is_sound(const struct approvals *o, int argc)
{
	if (o->grants + o->revoke + o->watch + o->all > 1)
		cli_complain("--all, --watch, --grants and --revoke cannot be combined");
	else if ((o->grants || o->watch) && argc > 0)
		cli_complain("--%s takes no ids", o->grants ? "grants" : "watch");
	else if (o->revoke && argc == 0)
		cli_complain("--revoke needs the id of an approval; --grants lists them");
	else
		return true;
	return false;
}

static int approvals(void *options, int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = arena_new(LIST_BYTES);
	scoped(fd_closep) int desk = -1;
	const struct approvals *o = options;

	if (!is_sound(o, argc))
		return EXIT_NACRE_FAILED;
	desk = cli_desk_open();
	if ((desk < 0 && desk != -ENOENT) || !arena) {
		cli_complain("the approvals cannot be read: %s",
		             strerrordesc_np(arena ? -desk : ENOMEM));
		return EXIT_NACRE_FAILED;
	}
	if (o->watch)
		return watch(desk, o->json, arena);
	if (o->grants)
		return cli_grants_show(desk, o->json, arena);
	if (o->revoke)
		return cli_grants_revoke(desk, argv, argc, o->json, arena);
	return argc > 0 ? show_some(desk, argv, argc, o->json, arena)
	                : show(desk, o->all, o->json, arena);
}

static const struct cli_option options[] = {
	{"all", NULL, "also list answered and expired requests", CLI_FLAG(struct approvals, all)},
	{"watch", NULL, "print each request as it comes, until interrupted",
         CLI_FLAG(struct approvals, watch)},
	{"grants", NULL, "list what was approved for sessions ('nacre approve --session')",
         CLI_FLAG(struct approvals, grants)},
	{"revoke", NULL, "revoke what these approvals have granted",
         CLI_FLAG(struct approvals, revoke)},
	{"json", NULL, "print one JSON object; with --watch or ids one per line",
         CLI_FLAG(struct approvals, json)},
	{0},
};

const struct cli_command cli_approvals = {
	.name = "approvals",
	.summary = "list the requests that wait for approval",
	.usage = "[OPTIONS] [APPROVAL...]\n--grants [OPTIONS]\n--revoke [OPTIONS] APPROVAL...",
	.about = "Lists the requests that wait until a person approves them ('nacre approve') or "
		 "refuses them ('nacre deny'). With ids: shows these in full.",
	.operand = "APPROVAL",
	.options = options,
	.most = -1,
	.size = sizeof(struct approvals),
	.main = approvals,
};
