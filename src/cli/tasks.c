/*
 * `nacre tasks`: the commands of this user that run, and those whose output is kept.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "session/use.h"
#include "task/tasks.h"
#include "json/write.h"

#define LIMIT_DEFAULT 20

struct tasks_options {
	bool json, all, running, clean;
	uint64_t limit;
	int64_t older_ms;
	uint64_t keep_bytes;
	bool older_given, keep_given;
};

static int help(void)
{
	puts("usage: nacre tasks [OPTIONS]\n\n"
	     "Lists the commands that run, and those that ended and whose output is kept.\n\n"
	     "  --running           only those that run\n"
	     "  --limit N           at most N that have ended (default 20)\n"
	     "  --all               all that have ended; with --clean: delete all of these\n"
	     "  --json              one JSON object\n"
	     "  --clean             delete what is old, or too much\n"
	     "  --older-than DUR    with --clean: what ended longer ago (default 7 days)\n"
	     "  --keep SIZE         with --clean: how much may stay (default 2G)\n"
	     "  --help              this text\n\n"
	     "States: running; finished; failed, with its exit code; killed; timed out; stopped;\n"
	     "refused; lost: its keeper was killed, or the machine was switched off.");
	return 0;
}

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
	if (buffer_error(&out) < 0 || fd_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return EXIT_NACRE_FAILED;
	if (!o->json && !o->running && tasks.running + tasks.ended > tasks.count)
		fprintf(stderr, "%zu more have ended; --all shows them\n",
		        tasks.running + tasks.ended - tasks.count);
	return 0;
}

static int clean(struct store *store, const struct tasks_options *o)
{
	int64_t age = o->older_given ? o->older_ms : engine_wishes_default.state_age_ms;
	uint64_t keep = o->keep_given ? o->keep_bytes : engine_wishes_default.state_cap;
	/* By age, too: a start that was cut off has no bytes. */
	int removed = store_sweep(store, o->all ? 0 : keep, o->all ? 1 : age);
	char state[PATH_MAX];

	/* Sessions are no tasks: they are not counted, and --all is not about them. */
	if (store->tasks_fd >= 0 &&
	    (size_t)snprintf(state, sizeof(state), "%s/..", store->path) < sizeof(state))
		(void)session_sweep(state, age);
	printf(o->json ? "{\"deleted\":%d}\n" : "%d deleted\n", removed);
	return fflush(stdout) == 0 ? 0 : EXIT_NACRE_FAILED;
}

static int read_option(struct tasks_options *o, int id, const char *value)
{
	switch (id) {
	case 'j':
		o->json = true;
		return 0;
	case 'a':
		o->all = true;
		return 0;
	case 'r':
		o->running = true;
		return 0;
	case 'c':
		o->clean = true;
		return 0;
	case 'l':
		if (number_parse_u64(value, &o->limit) == 0 && o->limit > 0)
			return 0;
		cli_complain("--limit %s: expected a number from 1 on", value);
		return -EINVAL;
	case 'o':
		o->older_given = true;
		if (number_parse_duration_ms(value, &o->older_ms) == 0 && o->older_ms > 0)
			return 0;
		cli_complain("--older-than %s: expected a duration such as 30m or 48h", value);
		return -EINVAL;
	case 'k':
		o->keep_given = true;
		if (number_parse_size(value, &o->keep_bytes) == 0)
			return 0;
		cli_complain("--keep %s: expected a size such as 16M or 2G", value);
		return -EINVAL;
	default:
		return -EINVAL;
	}
}

int cli_tasks(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
	                                        {"all", no_argument, NULL, 'a'},
	                                        {"running", no_argument, NULL, 'r'},
	                                        {"limit", required_argument, NULL, 'l'},
	                                        {"clean", no_argument, NULL, 'c'},
	                                        {"older-than", required_argument, NULL, 'o'},
	                                        {"keep", required_argument, NULL, 'k'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	struct tasks_options o = {.limit = LIMIT_DEFAULT};
	static char name[] = "nacre tasks";
	struct store store;
	int id, code;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1) {
		if (id == 'h')
			return help();
		if (read_option(&o, id, optarg) < 0)
			return EXIT_NACRE_FAILED;
	}
	if (optind < argc) {
		cli_complain("nacre tasks takes no words; 'nacre output %s' shows one task",
		             argv[optind]);
		return EXIT_NACRE_FAILED;
	}
	store_look(&store);
	code = o.clean ? clean(&store, &o) : list(&store, &o);
	store_done(&store);
	return code;
}
