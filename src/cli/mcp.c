/*
 * `nacre mcp`: the Model Context Protocol on standard input and output.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/offer.h"
#include "cli/options.h"
#include "engine/dialect.h"
#include "engine/engine.h"
#include "engine/result.h"
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

struct mcp_arguments {
	const char *profiles[OFFERS_MAX];
	bool agents[OFFERS_MAX]; /* whether that is the name of an agent */
	size_t count;
	const char *policy, *workspace, *session;
	struct mcp_options mcp;
	uint64_t line_max;
	bool stop_tasks;
};

struct mcp_server_state {
	struct launcher launcher;
	struct engine engines[OFFERS_MAX];
	struct mcp_offer offers[OFFERS_MAX];
	size_t count;
};

static int help(void)
{
	puts("usage: nacre mcp [OPTIONS]\n\n"
	     "Serves the Model Context Protocol on standard input and output, for one client:\n"
	     "revisions 2024-11-05 to 2025-11-25 with a handshake, and 2026-07-28 without.\n\n"
	     "  --profile NAME        offer the tool of this profile; repeatable (default bash)\n"
	     "  --agent NAME          offer the tool of this agent; repeatable\n"
	     "  --policy FILE         a policy file of your own, above all others\n"
	     "  --workspace DIR       the directory to work in (default: the current one)\n"
	     "  --session ID          directory, variables and approvals of this session\n"
	     "                        (default: a new one for each start)\n"
	     "  --jobs N              how many commands run at the same time (default 16)\n"
	     "  --foreground-max DUR  a call that takes longer becomes a task (default 50s)\n"
	     "  --approval-timeout DUR\n"
	     "                        how long to wait for a person's answer (default 5m)\n"
	     "  --message-max SIZE    the longest message that is read (default 16M)\n"
	     "  --stop-tasks          end background tasks of this client with the server\n"
	     "  --help                this text\n\n"
	     "At the end of the input calls are cancelled; background tasks go on.");
	return 0;
}

static int add_profile(struct mcp_arguments *a, const char *name, bool agent)
{
	if (a->count == OFFERS_MAX) {
		cli_complain("mcp: too many profiles");
		return -EINVAL;
	}
	a->profiles[a->count] = name;
	a->agents[a->count++] = agent;
	return 0;
}

static int read_duration(const char *option, const char *text, int64_t *ret_ms)
{
	if (number_parse_duration_ms(text, ret_ms) == 0 && *ret_ms >= 10 && *ret_ms <= 86400000)
		return 0;
	cli_complain("--%s %s: expected a duration such as 500ms, 5s or 2m", option, text);
	return -EINVAL;
}

static int read_jobs(struct mcp_arguments *a, const char *text)
{
	uint64_t n;

	if (number_parse_u64(text, &n) < 0 || n < 1 || n > JOBS_MAX) {
		cli_complain("--jobs %s: expected a number from 1 to %d", text, JOBS_MAX);
		return -EINVAL;
	}
	a->mcp.running_max = (size_t)n;
	return 0;
}

static int read_size(struct mcp_arguments *a, const char *text)
{
	if (number_parse_size(text, &a->line_max) == 0 && a->line_max >= 1024 &&
	    a->line_max <= LINE_MAX_MAX)
		return 0;
	cli_complain("--message-max %s: expected a size from 1K to 64M", text);
	return -EINVAL;
}

static int read_option(struct mcp_arguments *a, int id, const char *value)
{
	switch (id) {
	case 'p':
		return add_profile(a, value, false);
	case 'a':
		return add_profile(a, value, true);
	case 'f':
		a->policy = value;
		return 0;
	case 'w':
		a->workspace = value;
		return 0;
	case 's':
		a->session = value;
		if (session_id_is_valid(value))
			return 0;
		cli_complain("--session %s: expected 1 to 64 letters, digits, '.', '_' or '-'",
		             value);
		return -EINVAL;
	case 'j':
		return read_jobs(a, value);
	case 'F':
		return read_duration("foreground-max", value, &a->mcp.foreground_max_ms);
	case 'A':
		return read_duration("approval-timeout", value, &a->mcp.approval_timeout_ms);
	case 'm':
		return read_size(a, value);
	case 'S':
		a->stop_tasks = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int offer(struct mcp_server_state *s, const struct mcp_arguments *a, size_t i)
{
	struct engine *e = &s->engines[s->count];
	const struct dialect *d;
	struct error err = {0};

	engine_init(e, (const char *const *)environ);
	e->launcher = &s->launcher;
	if (i < a->count && a->agents[i])
		e->wishes.agent = a->profiles[i];
	else if (i < a->count)
		e->wishes.profile = a->profiles[i];
	e->wishes.policy_file = a->policy;
	e->wishes.workspace = a->workspace;
	s->count++;
	d = cli_offer_find(&e->wishes, &err);
	if (!d) {
		cli_complain("mcp: %s", err.text);
		return -EINVAL;
	}
	for (size_t k = 0; k + 1 < s->count; k++)
		if (s->offers[k].dialect == d) {
			cli_complain("mcp: two profiles are offered as the tool '%s'",
			             dialect_tool(d));
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
	o.mcp.loop = loop;
	if (r == 0)
		r = secret_load(&s->engines[0].store, "mcp.key", o.mcp.key, sizeof(o.mcp.key),
		                &err);
	if (r == 0)
		r = stdio_serve(&o, &err);
	explicit_bzero(o.mcp.key, sizeof(o.mcp.key));
	if (r < 0)
		cli_complain("mcp: %s", err.text[0] ? err.text : strerrordesc_np(-r));
	return r < 0 ? EXIT_NACRE_FAILED : 0;
}

/* The launcher comes first, while this process is small. */
static int run(struct mcp_arguments *a)
{
	struct mcp_server_state s = {.launcher = {.socket = -1, .pidfd = -1}};
	scoped(fd_closep) int signal_fd = -1;
	struct error err = {0};
	size_t wanted = a->count > 0 ? a->count : 1;
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

int cli_mcp(int argc, char **argv)
{
	static const struct option options[] = {{"profile", required_argument, NULL, 'p'},
	                                        {"agent", required_argument, NULL, 'a'},
	                                        {"policy", required_argument, NULL, 'f'},
	                                        {"workspace", required_argument, NULL, 'w'},
	                                        {"session", required_argument, NULL, 's'},
	                                        {"jobs", required_argument, NULL, 'j'},
	                                        {"foreground-max", required_argument, NULL, 'F'},
	                                        {"approval-timeout", required_argument, NULL, 'A'},
	                                        {"message-max", required_argument, NULL, 'm'},
	                                        {"stop-tasks", no_argument, NULL, 'S'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	struct mcp_arguments a = {.mcp = mcp_options_default, .line_max = LINE_MAX_DEFAULT};
	static char name[] = "nacre mcp";
	int id;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "+h", options)) != -1) {
		if (id == 'h')
			return help();
		if (read_option(&a, id, optarg) < 0)
			return EXIT_NACRE_FAILED;
	}
	if (optind < argc) {
		cli_complain("mcp: unexpected argument '%s'", argv[optind]);
		return EXIT_NACRE_FAILED;
	}
	return run(&a);
}
