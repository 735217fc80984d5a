#include "keeper/container.h"

#include <assert.h>
#include <stdio.h>
#include <sys/wait.h>
#include "base/error.h"
#include "container/box.h"
#include "keeper/client.h"
#include "keeper/inside.h"
#include "process/spawn.h"
#include "profile/profile.h"

int keeper_container_make(struct keeper *k, struct arena *arena, struct error *err)
{
	struct engine_need need = keeper_engine_need(k);
	struct keeper_place at;
	const struct container_command command = {
		.spec = &k->profile->in_container,
		.need = &need,
		.box = &k->spec,
		.place = &at.place,
		.task_id = k->order.task_id,
		.cwd = k->order.cwd,
		.argv = k->order.argv,
		.envp = k->order.envp,
		.own = {k->order.request.env, k->profile->environment_set},
		.terminal = k->order.terminal.rows > 0,
		.open_home = keeper_open_home,
		.owner = k,
	};
	int r;

	assert(!k->container && !k->plan);
	k->container = container_box_new(arena);
	if (!k->container)
		return error_nomem(err);
	keeper_fill_place(k, &at);
	r = container_box_make(k->container, &command, err);
	k->report.sandbox = k->container->standing;
	keeper_note_engine(k, need.notice);
	return r;
}

void keeper_container_fill(const struct keeper *k, struct process_command *command)
{
	command->cwd = "/";
	command->paths = k->container->paths;
	command->argv = k->container->start;
	command->envp = k->container->envp;
	command->notes = false;
}

static void report_end(struct keeper *k, const struct container_end *e)
{
	k->report.limit_hit = e->hit;
	if (k->report.end != KEEPER_END_EXITED)
		return;
	if (e->perhaps_memory)
		snprintf(k->report.engine, sizeof(k->report.engine),
		         "something killed the command, most likely the limit on memory; %s does "
		         "not always tell",
		         k->container->client.program);
	if (e->fate == CONTAINER_EXITED) {
		k->report.status = W_EXITCODE(e->exit_code, 0);
		return;
	}
	k->report.end = KEEPER_END_FAILED;
	if (e->fate == CONTAINER_NOT_STARTED) {
		k->report.step = CHILD_EXEC;
		k->report.sys = e->sys;
	}
	if (e->why[0])
		snprintf(k->report.why, sizeof(k->report.why), "%s", e->why);
}

static void judge(struct keeper *k)
{
	struct container_end end;

	/* What was measured is the client. */
	k->report.cpu_ms = k->report.max_rss_kb = 0;
	k->report.processes = k->report.killed = 0;
	k->report.ended[0] = k->report.slain[0] = '\0';
	container_box_ask(k->container, k->report.status, &end);
	report_end(k, &end);
}

void keeper_container_end(struct keeper *k)
{
	struct container_box *b = k->container;

	if (!b)
		return;
	if (b->made && k->process) /* else it never came to a start */
		judge(k);
	if (!container_box_remove(b))
		snprintf(
			k->report.engine, sizeof(k->report.engine),
			"the container could not be removed: it is tried again, else `%s rm -f %s`",
			b->client.program, b->name);
	if (b->plan && k->process)
		keeper_look_for_planted(k, b->plan);
	container_box_done(b);
}

void keeper_container_sweep(struct keeper *k)
{
	if (k->container)
		container_box_sweep(k->container);
}
