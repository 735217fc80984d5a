#include "keeper/container-parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "keeper/inside.h"
#include "sandbox/plan.h"
#include "protect/protect.h"

/* A command that could not be executed has no status of its own. The client tells by its own, as a
 * shell would. */
static void judge_start(struct keeper *k, const struct container_state *s)
{
	int code = WIFEXITED(k->report.status) ? WEXITSTATUS(k->report.status) : 0;

	k->report.end = KEEPER_END_FAILED;
	k->report.step = CHILD_EXEC;
	k->report.sys = code == 126 ? EACCES : ENOENT;
	if (code != 126 && code != 127)
		snprintf(k->report.why, sizeof(k->report.why),
		         "%s could not start the container%s%s", k->container->client.program,
		         s->error[0] ? ": " : "; its own words are in the output", s->error);
}

static void judge_end(struct keeper *k, const struct container_state *s)
{
	const struct sandbox_limits *l = &k->spec.limits;
	enum limit_hit hit = LIMIT_HIT_NONE;

	if (s->oom_killed)
		hit = LIMIT_HIT_MEMORY;
	else if (s->exit_code == 128 + SIGXCPU && l->cpu_seconds)
		hit = LIMIT_HIT_CPU;
	else if (s->exit_code == 128 + SIGXFSZ && l->file_bytes)
		hit = LIMIT_HIT_FILE_SIZE;
	k->report.limit_hit = hit;
	/* Neither engine always knows: docker forgets it when it hears of the end first. */
	if (s->exit_code == 128 + SIGKILL && !hit && l->memory_bytes &&
	    k->report.end == KEEPER_END_EXITED)
		snprintf(k->report.engine, sizeof(k->report.engine),
		         "something killed the command, most likely the limit on memory; %s does "
		         "not always tell",
		         k->container->client.program);
	if (k->report.end != KEEPER_END_EXITED)
		return;
	if (!s->started) {
		judge_start(k, s);
	} else if (s->running) {
		k->report.end = KEEPER_END_FAILED;
		snprintf(k->report.why, sizeof(k->report.why),
		         "%s lost its container while that was running; it was removed, and its "
		         "status is not known",
		         k->container->client.program);
	} else {
		k->report.status = W_EXITCODE(s->exit_code & 0xff, 0);
	}
}

static void judge(struct keeper *k, const struct keeper_container *c)
{
	scoped(buffer_donep) struct buffer out = {.max = CONTAINER_WORDS_MAX};
	struct container_state state;
	const char *const *argv;

	if (!k->process) /* it never came to a start */
		return;
	/* What was measured is the client. */
	k->report.cpu_ms = k->report.max_rss_kb = 0;
	k->report.processes = k->report.killed = 0;
	k->report.ended[0] = k->report.slain[0] = '\0';
	if (container_state_words(&c->client, c->name, c->arena, &argv) == 0 &&
	    container_run(c, argv, CONTAINER_ASK_MS, NULL, &out, NULL, NULL) == 0 &&
	    container_state_read(buffer_str(&out), out.len, &state, NULL) == 0) {
		judge_end(k, &state);
	} else if (k->report.end == KEEPER_END_EXITED) {
		k->report.end = KEEPER_END_FAILED;
		snprintf(k->report.why, sizeof(k->report.why),
		         "%s does not answer any more: how the command ended is not known",
		         c->client.program);
	}
}

static void remove_container(struct keeper *k, struct keeper_container *c)
{
	const char *const *argv;

	if (!c->made ||
	    (!c->uncertain && container_remove_words(&c->client, c->name, c->arena, &argv) == 0 &&
	     container_run(c, argv, CONTAINER_ASK_MS, NULL, NULL, NULL, NULL) == 0)) {
		guard_dismiss(&c->guard);
		return;
	}
	/* Its guard goes on trying. */
	guard_release(&c->guard);
	if (c->uncertain)
		return;
	snprintf(k->report.engine, sizeof(k->report.engine),
	         "the container could not be removed: it is tried again, else `%s rm -f %s`",
	         c->client.program, c->name);
}

void keeper_container_end(struct keeper *k)
{
	struct keeper_container *c = k->container;

	if (!c)
		return;
	if (c->made)
		judge(k, c);
	remove_container(k, c);
	if (c->plan && k->process) {
		keeper_look_for_planted(k, c->plan);
	}
	c->plan = sandbox_plan_free(c->plan);
}

void keeper_container_sweep(struct keeper *k)
{
	const struct keeper_container *c = k->container;

	if (c && c->made)
		removal_sweep(&(struct removal_wish){
			.client = &c->client, .envp = c->envp, .state = k->order.request.state});
}
