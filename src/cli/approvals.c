/*
 * `nacre approvals`: what waits for the word of a person.
 */
#include <errno.h>
#include <getopt.h>
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
#include "cli/desk.h"
#include "cli/options.h"
#include "cli/table.h"
#include "engine/result.h"
#include "json/write.h"

#define LIST_BYTES ((size_t)512 << 20)
#define WATCH_MS   1000 /* where no event tells, and for what expires */

static int help(void)
{
	puts("usage: nacre approvals [--all] [--json] [--watch] [ID...]\n"
	     "       nacre approvals --grants [--json]\n"
	     "       nacre approvals --revoke [--json] ID...\n\n"
	     "Lists the commands that wait until a person approves them ('nacre approve') or\n"
	     "refuses them ('nacre deny'). With an ID: all that is to be known about it.\n\n"
	     "  --all      also those that were answered, or whose time is over\n"
	     "  --json     one JSON object; with --watch one for each, a line each\n"
	     "  --watch    show each one as it comes, until interrupted\n"
	     "  --grants   what was approved for sessions ('nacre approve --session')\n"
	     "  --revoke   take back what the approvals with these ids have granted\n"
	     "  --help     this text");
	return 0;
}

static int put_out(struct buffer *out)
{
	if (buffer_error(out) < 0 || fd_write_all(STDOUT_FILENO, out->data, out->len) < 0)
		return EXIT_NACRE_FAILED;
	return 0;
}

static void put_row(struct buffer *out, const struct approval *a, int64_t now, int width)
{
	scoped(buffer_donep) struct buffer what = {0};
	char left[32] = "-";
	size_t begin = out->len;

	if (a->state == APPROVAL_OPEN)
		number_format_duration((a->expires_ms - now) / 1000 * 1000, left);
	buffer_printf(out, "%-13s  %-8s %8s  %-10.10s  ", a->id, approval_state_name(a->state),
	              left, *a->principal ? a->principal : "you");
	approval_escape(a->command, strlen(a->command), false, &what);
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
	return put_out(&out);
}

static int show_some(int desk, char **ids, int count, bool json, struct arena *arena)
{
	int code = 0;

	for (int i = 0; i < count; i++) {
		scoped(buffer_donep) struct buffer out = {0};
		struct json_writer w = {.out = &out};
		struct error err = {.text = "there is no such approval"};
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
		if (put_out(&out))
			return EXIT_NACRE_FAILED;
	}
	return code;
}

/* What was open at the last look, by id, and was shown then: what is answered never comes again. */
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
	return put_out(&out);
}

static int watch(int desk, bool json, struct arena *arena)
{
	scoped(freep) struct seen *seen = calloc(1, sizeof(*seen));
	scoped(fd_closep) int changes = -1;
	int code = seen ? 0 : EXIT_NACRE_FAILED;

	while (desk < 0) { /* nobody has ever been asked here */
		(void)poll(NULL, 0, WATCH_MS);
		desk = cli_desk_open();
	}
	changes = desk_watch(desk);
	while (code == 0) {
		struct pollfd fds[] = {{.fd = changes, .events = POLLIN}, {.fd = STDOUT_FILENO}};

		code = show_new(desk, json, arena, seen);
		(void)poll(fds, 2, changes < 0 ? WATCH_MS : -1);
		if (fds[1].revents & (POLLERR | POLLHUP)) /* nobody reads any more */
			break;
		desk_watch_drain(changes);
	}
	return code;
}

int cli_approvals(int argc, char **argv)
{
	static const struct option options[] = {{"all", no_argument, NULL, 'a'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"watch", no_argument, NULL, 'w'},
	                                        {"grants", no_argument, NULL, 'g'},
	                                        {"revoke", no_argument, NULL, 'r'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	scoped(arena_freep) struct arena *arena = arena_new(LIST_BYTES);
	scoped(fd_closep) int desk = -1;
	static char name[] = "nacre approvals";
	bool all = false, json = false, watching = false, grants = false, revoke = false;
	int id;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1) {
		if (id == 'h')
			return help();
		if (id == '?')
			return EXIT_NACRE_FAILED;
		all |= id == 'a';
		json |= id == 'j';
		watching |= id == 'w';
		grants |= id == 'g';
		revoke |= id == 'r';
	}
	if (grants + revoke + watching + all > 1 || (grants && optind < argc)) {
		cli_complain("--all, --watch, --grants and --revoke go one by one, --grants "
		             "without ids");
		return EXIT_NACRE_FAILED;
	}
	if (revoke && optind == argc) {
		cli_complain("--revoke: give the id of an approval; --grants lists them");
		return EXIT_NACRE_FAILED;
	}
	if (watching && optind < argc) {
		cli_complain("--watch takes no ids, and shows only what is open");
		return EXIT_NACRE_FAILED;
	}
	desk = cli_desk_open();
	if (desk < 0 && desk != -ENOENT) {
		cli_complain("the approvals cannot be read: %s", strerrordesc_np(-desk));
		return EXIT_NACRE_FAILED;
	}
	if (!arena) {
		cli_complain("out of memory");
		return EXIT_NACRE_FAILED;
	}
	if (watching)
		return watch(desk, json, arena);
	if (grants)
		return cli_grants_show(desk, json, arena);
	if (revoke)
		return cli_grants_revoke(desk, argv + optind, argc - optind, json, arena);
	return optind < argc ? show_some(desk, argv + optind, argc - optind, json, arena)
	                     : show(desk, all, json, arena);
}
