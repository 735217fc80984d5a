#include "engine/hint-left.h"

#include <stdbool.h>
#include <string.h>
#include "base/buffer.h"
#include "base/number.h"
#include "engine/hint.h"
#include "process/living.h"
#include "task/report.h"

#define NAMES_SHOWN 4
#define ENDED_SHOWN 3

/* "%" is the id of the task, "@" the numbers of lines. MCP over HTTP has the same door as REST. */
#define TASK_LINES(TOOL) TOOL " {\"task_id\": \"%\", \"lines\": \"@\"}"
static const struct {
	const char *door, *tool; /* NULL: any */
	const char *words[HINT_TOOL_MAX];
} doors[] = {
	{"cli",
         NULL,
         {"`nacre tasks`", "`nacre output %`", "`nacre stop %`", "nacre output % --lines @"}},
	{"nsh",
         NULL,
         {"`nacre tasks`", "`nacre output %`", "`nacre stop %`", "nacre output % --lines @"}},
	{"library", NULL, {"`nacre tasks`", "nacre_output()", "nacre_stop()", ""}},
	{"http",
         "Bash",
         {"TaskList (REST: GET /v1/tasks)", "TaskOutput (REST: GET /v1/tasks/%/output)",
          "TaskStop (REST: POST /v1/tasks/%/stop)", TASK_LINES("TaskOutput")}},
	{"http",
         NULL,
         {"shell_list (REST: GET /v1/tasks)", "shell_output (REST: GET /v1/tasks/%/output)",
          "shell_kill (REST: POST /v1/tasks/%/stop)", TASK_LINES("shell_output")}},
	{NULL, "Bash", {"TaskList", "TaskOutput", "TaskStop", TASK_LINES("TaskOutput")}},
	{NULL, NULL, {"shell_list", "shell_output", "shell_kill", TASK_LINES("shell_output")}},
};

static bool is_or_any(const char *want, const char *have)
{
	return !want || (have && strcmp(want, have) == 0);
}

void hint_put_tool(const struct hint_facts *f, enum hint_tool which, struct buffer *into)
{
	size_t i = 0;

	while (!is_or_any(doors[i].door, f->door) || !is_or_any(doors[i].tool, f->tool))
		i++;
	for (const char *p = doors[i].words[which]; *p; p++) {
		if (*p == '%')
			buffer_puts(into, f->task_id ? f->task_id : "ID");
		else
			buffer_putc(into, *p);
	}
}

static void put_process(const struct living_process *p, struct buffer *into)
{
	buffer_printf(into, "%s (pid %d", p->name, (int)p->inner);
	for (int i = 0; i < p->port_count; i++)
		buffer_printf(into, "%s%u",
		              i                   ? ", "
		              : p->port_count > 1 ? ", ports "
		                                  : ", port ",
		              p->ports[i]);
	buffer_putc(into, ')');
}

void hint_put_left(const struct hint_facts *f, struct buffer *into)
{
	const char *line = f->report->left;
	struct living_process p;
	int count = 0;
	char limit[32];

	for (; (line = living_parse(line, &p)); count++) {
		if (count >= NAMES_SHOWN)
			continue;
		buffer_puts(into, count ? ", " : "");
		put_process(&p, into);
	}
	if (count > NAMES_SHOWN)
		buffer_printf(into, " and %d more", count - NAMES_SHOWN);
	buffer_printf(into, "%s still running and %s on as task %s.",
	              count == 0   ? "A process of the command is"
	              : count == 1 ? " is"
	                           : " are",
	              count > 1 ? "go" : "goes", f->task_id ? f->task_id : "");
	if (f->timeout_asked && f->timeout_ms > 0) {
		number_format_duration(f->timeout_ms, limit);
		buffer_printf(into, " Its time limit stays %s.", limit);
	}
	buffer_putc(into, ' ');
	hint_put_tool(f, HINT_TOOL_OUTPUT, into);
	buffer_puts(into, " shows its output, ");
	hint_put_tool(f, HINT_TOOL_STOP, into);
	buffer_puts(into, " ends it.");
}

void hint_put_names(const struct hint_facts *f, struct buffer *into)
{
	const char *name = f->report->ended, *end;
	int count = 0;

	for (; *name; name = end + (*end == '\n'), count++) {
		end = strchrnul(name, '\n');
		if (count >= ENDED_SHOWN)
			continue;
		buffer_puts(into, count ? ", " : "");
		for (const char *p = name; p < end && p < name + 32; p++)
			buffer_putc(into, *p > ' ' && *p <= '~' ? *p : '?');
	}
	if (count > ENDED_SHOWN)
		buffer_printf(into, " and %d more", count - ENDED_SHOWN);
	buffer_puts(into, count == 1 ? " was" : " were");
}
