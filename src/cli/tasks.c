/*
 * `nacre tasks`: the running tasks of this user, and those whose output is kept.
 *
 * The list is read from the state directory; no server is asked. Words of a command are cleaned
 * before they reach the terminal. Cleaning up never touches a running task.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "session/room.h"
#include "session/use.h"
#include "task/tasks.h"
#include "json/write.h"

#define LIMIT_DEFAULT 20

struct tasks_options {
	bool json, all, running, clean;
	uint64_t limit;
	int64_t older_ms;
	uint64_t keep_bytes;
};

static void format_age(int64_t ms, char into[32])
{
	static const struct {
		int64_t ms;
		char unit;
	} units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};

	for (size_t i = 0; i < array_size(units); i++)
		if (ms >= 2 * units[i].ms || i == array_size(units) - 1) {
			snprintf(into, 32, "%lld%c", (long long)(ms / units[i].ms), units[i].unit);
			return;
		}
}

static void put_state(const struct find_entry *e, char into[32])
{
	int code = find_exit_code(e);

	if (strcmp(find_state_name(e), "failed") == 0)
		snprintf(into, 32, "failed (%d)", code);
	else
		snprintf(into, 32, "%s", find_state_name(e));
}

/* Whose it is: the name of a token, else the door that it came by. */
static const char *client_of(const struct find_entry *e)
{
	if (e->origin.principal[0])
		return e->origin.principal;
	return e->origin.door[0] ? e->origin.door : "-";
}

static void put_row(struct buffer *out, const struct find_entry *e, int64_t now, int width)
{
	scoped(buffer_donep) struct buffer what = {0};
	int64_t end = e->state == FIND_RUNNING ? now : e->ended_ms;
	char state[32], age[32], took[32], size[32];
	size_t begin = out->len;

	put_state(e, state);
	format_age(now > e->started_ms ? now - e->started_ms : 0, age);
	number_format_duration(end > e->started_ms ? end - e->started_ms : 0, took);
	number_format_bytes(e->bytes[0] + e->bytes[1], size);
	buffer_printf(out, "%-22s %-13s %5s %9s %10s  %-8s  ", e->id, state, age, took, size,
	              client_of(e));
	cli_put_clean(e->command, &what);
	if (e->description[0]) {
		buffer_puts(&what, "  # ");
		cli_put_clean(e->description, &what);
	}
	for (int i = 0; i < e->port_count; i++)
		buffer_printf(&what, "%s%u", i ? ", " : "  port ", e->ports[i]);
	for (int i = 0; i < e->published_count; i++)
		buffer_printf(&what, "%s127.0.0.1:%u", i ? ", " : " at ", e->published[i].host);
	if (e->quiet[0]) {
		buffer_puts(&what, "  [");
		cli_put_clean(e->quiet, &what);
		buffer_putc(&what, ']');
	}
	if (e->origin.workspace[0]) {
		buffer_puts(&what, "  in ");
		cli_put_clean(e->origin.workspace, &what);
	}
	table_end_row(out, begin, &what, width);
}

static void put_table(struct buffer *out, const struct find_list *l)
{
	int64_t now = clock_wall_ms();
	int width = table_width();

	if (l->count > 0)
		buffer_printf(out, "%-22s %-13s %5s %9s %10s  %-8s  %s\n", "TASK", "STATE", "AGE",
		              "TIME", "OUTPUT", "CLIENT", "COMMAND, WORKSPACE");
	for (size_t i = 0; i < l->count; i++)
		put_row(out, &l->entries[i], now, width);
}

static void put_json(struct buffer *out, const struct store *store, const struct find_list *l)
{
	struct json_writer w = {.out = out};

	json_object_begin(&w);
	json_member_array(&w, "tasks");
	for (size_t i = 0; i < l->count; i++) {
		json_object_begin(&w);
		tasks_put_entry(&w, store, &l->entries[i]);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_member_uint(&w, "running", l->running);
	json_member_uint(&w, "ended", l->ended);
	json_object_end(&w);
	buffer_putc(out, '\n');
}

static int list(struct store *store, const struct tasks_options *o)
{
	scoped(find_list_donep) struct find_list tasks = {0};
	scoped(buffer_donep) struct buffer out = {0};
	struct find_query q = {
		.limit = o->all ? 0 : o->limit, .beside_running = true, .only_running = o->running};
	struct error err = {0};

	if (find_tasks(store, &q, &tasks, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (o->json)
		put_json(&out, store, &tasks);
	else
		put_table(&out, &tasks);
	if (cli_print(&out))
		return EXIT_NACRE_FAILED;
	if (!o->json && !o->running && tasks.running + tasks.ended > tasks.count)
		fprintf(stderr, "%zu more tasks have ended; --all shows them\n",
		        tasks.running + tasks.ended - tasks.count);
	return 0;
}

static int clean(struct store *store, const struct tasks_options *o)
{
	/* By age as well: a start that was cut off has no bytes. */
	int removed = store_sweep(store, o->all ? 0 : o->keep_bytes, o->all ? 1 : o->older_ms);
	char state[PATH_MAX];

	/* Sessions are not tasks: they are not counted, and --all does not affect them. */
	if (store->tasks_fd >= 0 &&
	    (size_t)snprintf(state, sizeof(state), "%s/..", store->path) < sizeof(state)) {
		(void)session_sweep(state, o->older_ms);
		(void)room_sweep(state);
	}
	printf(o->json ? "{\"deleted\":%d}\n" : "%d deleted\n", removed);
	return fflush(stdout) == 0 ? 0 : EXIT_NACRE_FAILED;
}

static int tasks(void *options, int argc, char **argv)
{
	const struct tasks_options *o = options;
	struct store store;
	int code;

	store_look(&store);
	code = o->clean ? clean(&store, o) : list(&store, o);
	store_done(&store);
	return code;
}

static void prepare(void *options)
{
	*(struct tasks_options *)options =
		(struct tasks_options){.limit = LIMIT_DEFAULT,
	                               .older_ms = engine_wishes_default.state_age_ms,
	                               .keep_bytes = engine_wishes_default.state_cap};
}

static const struct cli_option options[] = {
	{"running", NULL, "list only running tasks", CLI_FLAG(struct tasks_options, running)},
	{"limit", "N", "list at most N tasks that have ended (default 20)",
         CLI_COUNT(struct tasks_options, limit, 1, INT64_MAX)},
	{"all", NULL, "list all tasks that have ended; with --clean: delete them all",
         CLI_FLAG(struct tasks_options, all)},
	{"json", NULL, "print one JSON object", CLI_FLAG(struct tasks_options, json)},
	{"clean", NULL, "delete old output, and the oldest if there is too much",
         CLI_FLAG(struct tasks_options, clean)},
	{"older-than", "DUR", "with --clean: delete tasks that ended longer ago (default 7d)",
         CLI_DURATION(struct tasks_options, older_ms, 1, CLI_FOREVER)},
	{"keep", "SIZE", "with --clean: how much output may stay (default 2G)",
         CLI_SIZE(struct tasks_options, keep_bytes, 0, CLI_FOREVER)},
	{0},
};

const struct cli_command cli_tasks = {
	.name = "tasks",
	.summary = "list running tasks and those whose output is kept",
	.usage = "[OPTIONS]\n--clean [OPTIONS]",
	.notes = "States: running, finished, failed (with the exit code), killed, timed out, "
		 "stopped, refused, and lost: the keeper was killed, or the machine lost power.",
	.options = options,
	.size = sizeof(struct tasks_options),
	.prepare = prepare,
	.main = tasks,
};
