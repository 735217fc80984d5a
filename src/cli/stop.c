/*
 * `nacre stop`: stops tasks, each with everything that it started.
 */
#include <errno.h>
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "task/tasks.h"
#include "json/write.h"

struct stop {
	bool now, json;
};

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
	return cli_print(&out);
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
	return say(store, &e, r == -ESRCH, json);
}

static int stop(void *options, int argc, char **argv)
{
	const struct stop *o = options;
	struct store store;
	int code = 0;

	store_look(&store);
	for (int i = 0; i < argc; i++) {
		int r = stop_one(&store, argv[i], o->now, o->json);

		code = code ? code : r;
	}
	store_done(&store);
	return code;
}

static const struct cli_option options[] = {
	{"now", NULL, "send SIGKILL at once", CLI_FLAG(struct stop, now)},
	{"json", NULL, "print one JSON object per task, one per line", CLI_FLAG(struct stop, json)},
	{0},
};

const struct cli_command cli_stop = {
	.name = "stop",
	.summary = "stop tasks and everything that they started",
	.usage = "[OPTIONS] TASK...",
	.about = "Stops tasks: sends SIGTERM to all their processes, and SIGKILL after the grace "
		 "period of the profile. TASK is an id that 'nacre tasks' lists, or a unique "
		 "beginning of it.",
	.notes = "It is not an error if a task has ended already.",
	.operand = "TASK",
	.options = options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct stop),
	.main = stop,
};
