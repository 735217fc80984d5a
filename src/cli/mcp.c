/*
 * `nacre mcp`: the Model Context Protocol on standard input and output.
 *
 * One engine per offered profile; all share one launcher, which starts first, while this process is
 * small. The session is held for as long as the client is connected, so that nobody deletes it.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/offer.h"
#include "cli/run-options.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "session/room.h"
#include "session/use.h"
#include "base/loop.h"
#include "mcp/server.h"
#include "profile/profile.h"
#include "serve/secret.h"
#include "serve/stdio.h"
#include "launch/launcher.h"

#define OFFERS_MAX       16
#define LINE_MAX_DEFAULT ((uint64_t)16 << 20)
#define LINE_MAX_MAX     ((uint64_t)64 << 20)
#define JOBS_MAX         256
#define ANSWER_MIN       1024
#define ANSWER_MAX       ((uint64_t)1 << 20)

struct mcp_arguments {
	struct cli_list profiles;
	bool agents[OFFERS_MAX]; /* whether that is the name of an agent */
	const char *policy, *workspace, *session;
	struct mcp_options mcp;
	uint64_t jobs, line_max, answer_bytes;
	bool stop_tasks;
};

struct mcp_server_state {
	struct launcher launcher;
	struct engine engines[OFFERS_MAX];
	struct mcp_offer offers[OFFERS_MAX];
	size_t count;
};

/* An agent stands in the same list, since the first offer is the default. */
static int add_agent(void *options, const struct cli_option *o, const char *value)
{
	struct mcp_arguments *a = options;

	if (a->profiles.count == OFFERS_MAX) {
		cli_complain("mcp: more than %d profiles and agents", OFFERS_MAX);
		return -E2BIG;
	}
	a->agents[a->profiles.count] = true;
	a->profiles.items[a->profiles.count++] = value;
	return 0;
}

/* Several may be the same tool: each then has its name in that of the tool. */
static bool is_named_twice(const struct mcp_arguments *a, size_t i)
{
	for (size_t k = 0; i < a->profiles.count && k < i; k++)
		if (strcmp(a->profiles.items[k], a->profiles.items[i]) == 0) {
			cli_complain("mcp: '%s' is named twice", a->profiles.items[i]);
			return true;
		}
	return false;
}

static int offer(struct mcp_server_state *s, const struct mcp_arguments *a, size_t i)
{
	struct engine *e = &s->engines[s->count];
	const struct dialect *d;
	struct error err = {0};

	if (is_named_twice(a, i))
		return -EINVAL;
	engine_init(e, (const char *const *)environ);
	e->launcher = &s->launcher;
	if (i < a->profiles.count && a->agents[i])
		e->wishes.agent = a->profiles.items[i];
	else if (i < a->profiles.count)
		e->wishes.profile = a->profiles.items[i];
	e->wishes.policy_file = a->policy;
	e->wishes.workspace = a->workspace;
	s->count++;
	d = cli_offer_find(&e->wishes, &err);
	if (!d) {
		cli_complain("mcp: %s", err.text);
		return -EINVAL;
	}
	if (dialect_is_discreet(d))
		e->wishes.output_prefix = "nacre://output/";
	s->offers[i] = (struct mcp_offer){.dialect = d, .engine = e};
	return 0;
}

static int serve(struct mcp_server_state *s, struct mcp_arguments *a, int signal_fd)
{
	scoped(loop_freep) struct loop *loop = NULL;
	scoped(fd_closep) int hold = -1; /* the session stays while its client is there */
	char session[SESSION_ID_MAX], state[PATH_MAX];
	struct error err = {0};
	struct stdio_options o = {.offers = s->offers,
	                          .offer_count = s->count,
	                          .workspace = a->workspace,
	                          .session = a->session ? a->session : session,
	                          .line_max = (size_t)a->line_max,
	                          .stop_tasks = a->stop_tasks,
	                          .signal_fd = signal_fd};
	int r;

	r = id_new("mcp-", session, sizeof(session));
	if (r == 0)
		r = loop_new(&loop, &err);
	if (r == 0 && s->engines[0].store.tasks_fd >= 0 &&
	    (size_t)snprintf(state, sizeof(state), "%s/..", s->engines[0].store.path) <
	            sizeof(state))
		hold = session_hold(state, o.session);
	o.mcp = a->mcp;
	o.mcp.running_max = (size_t)a->jobs;
	o.mcp.answer_bytes = (size_t)a->answer_bytes;
	o.mcp.loop = loop;
	if (r == 0)
		r = secret_load(&s->engines[0].store, "mcp.key", o.mcp.key, sizeof(o.mcp.key),
		                &err);
	if (r == 0)
		r = stdio_serve(&o, &err);
	explicit_bzero(o.mcp.key, sizeof(o.mcp.key));
	if (hold >= 0 && !a->session) /* nobody knows its name any more */
		room_end_idle(state, o.session);
	if (r < 0)
		cli_complain("mcp: %s", err.text[0] ? err.text : strerrordesc_np(-r));
	return r < 0 ? EXIT_NACRE_FAILED : 0;
}

/* The launcher comes first, while this process is small. */
static int mcp(void *options, int argc, char **argv)
{
	struct mcp_arguments *a = options;
	struct mcp_server_state s = {.launcher = {.socket = -1, .pidfd = -1}};
	scoped(fd_closep) int signal_fd = -1;
	struct error err = {0};
	size_t wanted = a->profiles.count > 0 ? a->profiles.count : 1;
	sigset_t set;
	int code = 0;

	if (launcher_start(&s.launcher, &err) < 0) {
		cli_complain("mcp: %s", err.text);
		return EXIT_NACRE_FAILED;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal_fd = loop_signal_fd(&set);
	for (size_t i = 0; i < wanted && code == 0; i++)
		code = offer(&s, a, i) < 0 ? EXIT_NACRE_FAILED : 0;
	if (code == 0)
		code = signal_fd < 0 ? EXIT_NACRE_FAILED : serve(&s, a, signal_fd);
	for (size_t i = 0; i < s.count; i++)
		engine_done(&s.engines[i]);
	launcher_done(&s.launcher);
	return code;
}

static void prepare(void *options)
{
	*(struct mcp_arguments *)options =
		(struct mcp_arguments){.mcp = mcp_options_default,
	                               .jobs = mcp_options_default.running_max,
	                               .line_max = LINE_MAX_DEFAULT};
	/* No proxy stands between: the client itself knows how long it waits. */
	((struct mcp_arguments *)options)->mcp.foreground_max_ms = 0;
}

#define MCP   struct mcp_arguments
#define A_DAY 86400000
static const struct cli_option options[] = {
	{"profile", "PROFILE", "offer the tool of this profile; repeatable (default bash)",
         CLI_LIST(MCP, profiles, OFFERS_MAX)},
	{"agent", "AGENT", "offer the tool of this agent; repeatable", CLI_BY(add_agent)},
	{"policy", "FILE", "your own policy file, above all others", CLI_TEXT(MCP, policy)},
	{"workspace", "DIR", "the directory to work in (default: the current one)",
         CLI_TEXT(MCP, workspace)},
	{"session", "ID", "use this session: directory, variables, approvals (default: a new one)",
         CLI_SESSION(MCP, session)},
	{"jobs", "N", "how many commands run at a time (default 16)",
         CLI_COUNT(MCP, jobs, 1, JOBS_MAX)},
	{"foreground-max", "DUR",
         "turn a call that takes longer into a task (default: its time limit)",
         CLI_DURATION(MCP, mcp.foreground_max_ms, 10, A_DAY)},
	{"approval-timeout", "DUR", "how long to wait for a person's answer (default 5m)",
         CLI_DURATION(MCP, mcp.approval_timeout_ms, 10, A_DAY)},
	{"answer-bytes", "SIZE",
         "the longest text of an answer (default: what the client shows its model)",
         CLI_SIZE(MCP, answer_bytes, ANSWER_MIN, ANSWER_MAX)},
	{"message-max", "SIZE", "the longest message that is read (default 16M)",
         CLI_SIZE(MCP, line_max, 1024, LINE_MAX_MAX)},
	{"stop-tasks", NULL, "stop the background tasks of this client when the server ends",
         CLI_FLAG(MCP, stop_tasks)},
	{0},
};
#undef MCP

const struct cli_command cli_mcp = {
	.name = "mcp",
	.summary = "serve MCP to one client, on standard input and output",
	.usage = "[OPTIONS]",
	.about = "Serves the Model Context Protocol to one client on standard input and output: "
		 "revisions 2024-11-05 to 2025-11-25 with a handshake, and 2026-07-28 without.",
	.notes = "If several profiles or agents offer the same tool, each tool has its name: "
		 "run_command_writer, run_command_coder. At the end of the input, running calls "
		 "are cancelled and background tasks continue.",
	.options = options,
	.size = sizeof(struct mcp_arguments),
	.prepare = prepare,
	.main = mcp,
};
