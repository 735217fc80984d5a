/*
 * `nacre stop`: ends tasks, each with all that it started.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "engine/result.h"
#include "task/tasks.h"
#include "json/write.h"

static int help(void)
{
	puts("usage: nacre stop [--now] [--json] TASK...\n\n"
	     "Ends tasks: SIGTERM to all of their processes, after the grace of their profile\n"
	     "SIGKILL. TASK is an id of 'nacre tasks', or as much of its beginning as is "
	     "needed.\n\n"
	     "  --now     SIGKILL at once\n"
	     "  --json    one JSON object for each task, a line each\n"
	     "  --help    this text\n\n"
	     "A task that has ended already is no error.");
	return 0;
}

static int say(const struct store *store, const struct find_entry *e, bool ended_before, bool json)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	if (json) {
		json_object_begin(&w);
		tasks_put_entry(&w, store, e);
		json_object_end(&w);
	} else {
		buffer_printf(&out, "%s %s%s", e->id, find_state_name(e),
		              ended_before ? " already" : "");
	}
	buffer_putc(&out, '\n');
	return fd_write_all(STDOUT_FILENO, out.data, out.len);
}

static int stop_one(struct store *store, const char *id, bool now, bool json)
{
	struct find_entry e = {0};
	struct error err = {0};
	int r = tasks_stop(store, id, now, &e, &err);

	if (r < 0 && r != -ESRCH) {
		cli_complain("%s: %s", id, err.text);
		return EXIT_NACRE_FAILED;
	}
	return say(store, &e, r == -ESRCH, json) < 0 ? EXIT_NACRE_FAILED : 0;
}

int cli_stop(int argc, char **argv)
{
	static const struct option options[] = {{"now", no_argument, NULL, 'n'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	static char name[] = "nacre stop";
	bool now = false, json = false;
	int id, code = 0;
	struct store store;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1) {
		if (id == 'h')
			return help();
		if (id == '?')
			return EXIT_NACRE_FAILED;
		now |= id == 'n';
		json |= id == 'j';
	}
	if (optind == argc) {
		cli_complain("give the id of a task; 'nacre tasks --running' lists them");
		return EXIT_NACRE_FAILED;
	}
	store_look(&store);
	for (int i = optind; i < argc; i++) {
		int r = stop_one(&store, argv[i], now, json);

		code = code ? code : r;
	}
	store_done(&store);
	return code;
}
