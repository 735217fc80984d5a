/*
 * `nacre serve`: nacre behind HTTP, on a Unix socket of the user and on named addresses.
 *
 * This file settles what the server is made of, and opens what it listens on. Defaults, the file of
 * --config and the command line are merged once, before anything is opened: the later overrides the
 * earlier. No address is served without a token, and none that other machines can reach without
 * --allow-remote. The launcher starts while this process is small, and keeps its limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/offer.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "base/loop.h"
#include "http/text.h"
#include "serve/config.h"
#include "serve/listen.h"
#include "serve/principal.h"
#include "serve/server.h"
#include "launch/launcher.h"
#include "task/store.h"
#include "yaml/yaml.h"

#define LIST_MAX   32
#define NUMBER_MAX 100000
#define UNSET      UINT64_MAX

struct setup {
	struct cli_list listen, profile, host, workspace;
	struct serve_config given; /* on the command line; UNSET: a number that is not */
	int64_t stop_ms;           /* likewise */
	const char *config_path;
	struct serve_config config; /* what holds: defaults, then the file, then what is given */
	const struct dialect *dialects[LIST_MAX + 1]; /* of the profiles */
	struct arena *arena;                          /* of the file, and of canonical paths */
	struct serve_options options;
	/* While it runs */
	struct serve *serve;
	struct loop_source signals;
	char socket_path[PATH_MAX], state[PATH_MAX];
	int lock;
};

static void write_log(const char *line)
{
	struct timespec now;
	struct tm tm;
	char at[32] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &tm))
		(void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	cli_complain("%s serve: %s", at, line);
}

static void take_number(uint64_t *value, uint64_t given)
{
	if (given != UNSET)
		*value = given;
}

static void take_text(const char **value, const char *given)
{
	if (given)
		*value = given;
}

static void take_list(const char *const **value, const struct cli_list *given,
                      const char *const *otherwise)
{
	if (given->count)
		*value = given->items;
	if (!*value || !**value)
		*value = otherwise;
}

/* Defaults, the file, the command line: each overrides the one before. */
static int settle(struct setup *s)
{
	static const char *const profiles[] = {"bash",      "readonly",  "verify",
	                                       "universal", "workspace", NULL};
	static const char *const here[] = {".", NULL};
	const struct serve_options *o = &s->options;
	struct serve_config *c = &s->config, *given = &s->given;
	struct error err = {0};
	int r = 0;

	*c = (struct serve_config){.rate = (uint64_t)o->rate.per_second,
	                           .jobs = o->running_max,
	                           .queue = o->queued_max,
	                           .tasks = o->background_each,
	                           .stop_ms = (uint64_t)o->stop_ms};
	s->arena = arena_new(YAML_ARENA_MAX);
	if (!s->arena)
		r = error_nomem(&err);
	else if (s->config_path)
		r = serve_config_read(s->config_path, getenv("HOME"), s->arena, c, &err);
	if (r < 0) {
		cli_complain("serve: %s", err.text);
		return -EINVAL;
	}
	take_list(&c->listen, &s->listen, NULL);
	take_list(&c->profile, &s->profile, profiles);
	take_list(&c->host, &s->host, s->host.items);
	take_list(&c->workspace, &s->workspace, here);
	take_text(&c->unix_path, given->unix_path);
	take_text(&c->policy, given->policy);
	take_text(&c->public_url, given->public_url);
	c->no_unix |= given->no_unix;
	c->allow_remote |= given->allow_remote;
	take_number(&c->rate, given->rate);
	take_number(&c->jobs, given->jobs);
	take_number(&c->queue, given->queue);
	take_number(&c->tasks, given->tasks);
	take_number(&c->stop_ms, (uint64_t)s->stop_ms);
	if (c->public_url && !http_origin_authority(c->public_url)) {
		cli_complain(
			"serve: --public-url '%.100s': expected https://NAME or http://NAME:PORT, "
			"with nothing behind it",
			c->public_url);
		return -EINVAL;
	}
	return cli_resolve(c->workspace, s->arena, "serve", &c->workspace);
}

static int on_signal(struct loop_source *source, uint32_t events)
{
	struct setup *s = container_of(source, struct setup, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	listen_notify("STOPPING=1");
	serve_stop(s->serve);
	return 0;
}

static int open_tcp(struct setup *s, const char *text, struct error *err)
{
	char address[LISTEN_ADDRESS_MAX];
	scoped(fd_closep) int fd = listen_tcp(text, s->config.allow_remote, address, err);
	int r;

	if (fd < 0)
		return fd;
	r = serve_listen(s->serve, fd, SERVE_TCP, address, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd); /* the server's */
	fprintf(stderr, "nacre: listening on http://%s\n", address);
	return 0;
}

static int open_unix(struct setup *s, struct error *err)
{
	scoped(fd_closep) int fd = -1;
	int n, r;

	if (s->config.unix_path)
		n = snprintf(s->socket_path, sizeof(s->socket_path), "%s", s->config.unix_path);
	else
		n = snprintf(s->socket_path, sizeof(s->socket_path), "%s/nacre.sock",
		             s->options.state);
	if (n < 0 || (size_t)n >= sizeof(s->socket_path))
		s->socket_path[0] = '\0';
	fd = listen_unix(s->socket_path, &s->lock, err);
	if (fd < 0) {
		s->socket_path[0] = '\0';
		return fd;
	}
	r = serve_listen(s->serve, fd, SERVE_UNIX, s->socket_path, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd); /* the server's */
	fprintf(stderr, "nacre: listening on %s\n", s->socket_path);
	return 0;
}

static int open_inherited(struct setup *s, int count, struct error *err)
{
	char address[LISTEN_ADDRESS_MAX];
	enum serve_door door;
	int r = 0;

	for (int fd = 3; fd < 3 + count && r == 0; fd++) {
		r = listen_look(fd, &door, address, err);
		if (r == 0)
			r = serve_listen(s->serve, fd, door, address, err);
		if (r == 0)
			fprintf(stderr, "nacre: listening on %s\n", address);
	}
	return r;
}

static int open_all(struct setup *s, int inherited, struct error *err)
{
	int r = 0;

	if (inherited > 0)
		return open_inherited(s, inherited, err);
	if (!s->config.no_unix)
		r = open_unix(s, err);
	for (const char *const *to = s->config.listen; to && *to && r == 0; to++)
		r = open_tcp(s, *to, err);
	if (r == 0 && s->config.no_unix && !s->config.listen)
		r = error_set(err, ERROR_INPUT, EINVAL,
		              "there is nothing to listen on; give --listen or omit --no-unix");
	return r;
}

/* No token, no service on TCP: the first start makes one. */
static int make_token(struct setup *s, struct error *err)
{
	bool made = false;
	int r = principals_begin(s->options.state_fd, &made, err);

	if (r == 0 && made)
		fprintf(stderr, "nacre: created a token: %s/token\n", s->options.state);
	return r;
}

/* For a person who has started it by hand. A log must not have it. */
static void show_link(struct setup *s)
{
	scoped(freep) char *url = NULL;

	if (!isatty(STDERR_FILENO) || serve_link(s->serve, &url, NULL) < 0)
		return;
	fprintf(stderr,
	        "nacre: console: %s\n"
	        "nacre: (it works once, within 2 minutes; 'nacre console' prints another)\n",
	        url);
}

static int run(struct setup *s, struct launcher *launcher, int signal_fd, int inherited,
               struct error *err)
{
	scoped(loop_freep) struct loop *loop = NULL;
	int r;

	r = loop_new(&loop, err);
	if (r == 0 && (s->config.listen || inherited > 0))
		r = make_token(s, err);
	if (r == 0)
		r = serve_new(loop, launcher, &s->options, &s->serve, err);
	if (r == 0)
		r = loop_add(loop, &s->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = open_all(s, inherited, err);
	if (r == 0) {
		show_link(s);
		listen_notify("READY=1");
		r = loop_run(loop);
		if (r < 0)
			error_sys(err, -r, "loop");
	}
	loop_remove(&s->signals);
	s->serve = serve_free(s->serve);
	if (s->socket_path[0])
		(void)unlink(s->socket_path);
	fd_close(s->lock);
	return r;
}

static int open_state(struct setup *s, struct error *err)
{
	struct store store;
	char *end;

	store_open(&store);
	if (store.tasks_fd >= 0 && !store.temporary) {
		s->options.state_fd =
			openat(store.tasks_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		snprintf(s->state, sizeof(s->state), "%s", store.path);
		end = strrchr(s->state, '/');
		if (end)
			*end = '\0';
	}
	store_done(&store);
	s->options.state = s->state;
	return s->options.state_fd >= 0
	               ? 0
	               : error_set(err, ERROR_SYSTEM, EROFS,
	                           "the state directory cannot be used: %.150s", store.notice);
}

/* A follower needs several descriptors, and there may be thousands. The launcher, and so every
 * command, keeps the limit that we were started with. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* In the first of the directories; those of clients are looked at with each request. */
static int find_tools(struct setup *s, struct error *err)
{
	struct engine_wishes w = engine_wishes_default;

	w.policy_file = s->options.policy_file;
	w.workspace = s->config.workspace[0];
	for (size_t i = 0; s->config.profile[i]; i++) {
		if (i == LIST_MAX)
			return error_set(err, ERROR_LIMIT, E2BIG, "more than %d profiles",
			                 LIST_MAX);
		w.profile = s->config.profile[i];
		s->dialects[i] = cli_offer_find(&w, err);
		if (!s->dialects[i])
			return -EINVAL;
	}
	return 0;
}

/* What holds, as the server wants it. */
static void apply(struct setup *s)
{
	const struct serve_config *c = &s->config;
	struct serve_options *o = &s->options;

	o->rate = (struct rate_limit){(double)c->rate, 2 * (double)c->rate};
	o->running_max = (size_t)c->jobs;
	o->running_each = o->running_max - o->running_max / 4; /* some are left to the others */
	o->queued_max = (size_t)c->queue;
	o->background_each = (size_t)c->tasks;
	o->stop_ms = (int64_t)c->stop_ms;
	o->policy_file = c->policy;
	o->public_url = c->public_url;
	o->profiles = c->profile;
	o->dialects = s->dialects;
	o->workspaces = c->workspace;
	o->hosts = c->host;
	o->http = http_limits_default;
	o->environment = (const char *const *)environ;
	o->log = write_log;
}

static int serve(void *options, int argc, char **argv)
{
	struct setup *s = options;
	struct launcher launcher = {.socket = -1, .pidfd = -1};
	scoped(fd_closep) int signal_fd = -1;
	int inherited = listen_inherited();
	struct error err = {0};
	sigset_t set;
	int r;

	if (settle(s) < 0)
		return EXIT_NACRE_FAILED;
	apply(s);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal_fd = loop_signal_fd(&set);
	r = signal_fd < 0 ? error_sys(&err, -signal_fd, "signals") : 0;
	if (r == 0)
		r = launcher_start(&launcher, &err);
	if (r == 0) {
		raise_limit();
		r = find_tools(s, &err);
	}
	if (r == 0)
		r = open_state(s, &err);
	if (r == 0)
		r = run(s, &launcher, signal_fd, inherited, &err);
	launcher_done(&launcher);
	fd_close(s->options.state_fd);
	if (r < 0)
		cli_complain("serve: %s", err.text);
	return r < 0 ? EXIT_NACRE_FAILED : 0;
}

static void prepare(void *options)
{
	*(struct setup *)options = (struct setup){
		.given = {.rate = UNSET, .jobs = UNSET, .queue = UNSET, .tasks = UNSET},
		.stop_ms = (int64_t)UNSET,
		.options = serve_options_default,
		.signals = {.fd = -1},
		.lock = -1};
}

static void done(void *options)
{
	arena_free(((struct setup *)options)->arena);
}

#define SERVE struct setup
static const struct cli_option options[] = {
	{"config", "FILE", "a YAML file with the options below; the command line overrides it",
         CLI_TEXT(SERVE, config_path)},
	{"listen", "ADDR:PORT", "also listen on this address, such as 127.0.0.1:7878; repeatable",
         CLI_LIST(SERVE, listen, LIST_MAX)},
	{"allow-remote", NULL, "allow addresses that other machines can reach; there is no TLS",
         CLI_FLAG(SERVE, given.allow_remote)},
	{"unix", "FILE", "the Unix socket (default: nacre.sock in the state directory)",
         CLI_TEXT(SERVE, given.unix_path)},
	{"no-unix", NULL, "do not listen on a Unix socket", CLI_FLAG(SERVE, given.no_unix)},
	{"profile", "PROFILE", "offer this profile; repeatable, the first is the default",
         CLI_LIST(SERVE, profile, LIST_MAX)},
	{"web", "DIR", "serve the page from this directory, for work on it",
         CLI_TEXT(SERVE, options.web)},
	{"public-url", "URL",
         "the address of the page behind a proxy, such as https://nacre.example",
         CLI_TEXT(SERVE, given.public_url)},
	{"policy", "FILE", "your own policy file, above all others", CLI_TEXT(SERVE, given.policy)},
	{"workspace", "DIR",
         "clients may work below this directory; repeatable (default: the current one)",
         CLI_LIST(SERVE, workspace, LIST_MAX)},
	{"host", "NAME", "accept this name in Host and Origin; repeatable",
         CLI_LIST(SERVE, host, LIST_MAX)},
	{"rate", "N", "requests per second of one principal (default 1000; 0: no limit)",
         CLI_COUNT(SERVE, given.rate, 0, NUMBER_MAX)},
	{"jobs", "N", "how many commands run at a time (default 64)",
         CLI_COUNT(SERVE, given.jobs, 1, NUMBER_MAX)},
	{"queue", "N", "how many commands may wait (default 256)",
         CLI_COUNT(SERVE, given.queue, 0, NUMBER_MAX)},
	{"tasks", "N", "background tasks of one principal (default 256)",
         CLI_COUNT(SERVE, given.tasks, 1, NUMBER_MAX)},
	{"stop-time", "DUR", "time for running calls to end at shutdown (default 5s)",
         CLI_DURATION(SERVE, stop_ms, 0, 3600000)},
	{0},
};
#undef SERVE

const struct cli_command cli_serve = {
	.name = "serve",
	.summary = "serve HTTP: POST /shell, /v1 and MCP",
	.usage = "[OPTIONS]",
	.about = "Serves HTTP: POST /shell, the API under /v1 (see /v1/openapi.json), and MCP "
		 "under /mcp. Without options it listens on a Unix socket that only its user can "
		 "reach. On an address every client needs a token (see 'nacre token'); the first "
		 "start creates one, in the file 'token' of the state directory. The default "
		 "profiles are bash, readonly, verify, universal and workspace.",
	.notes = "Sockets of a service manager (LISTEN_FDS) replace --listen and --unix. SIGTERM "
		 "stops the server; a second one does not wait for running calls. Calls that still "
		 "run then continue as tasks.",
	.options = options,
	.size = sizeof(struct setup),
	.prepare = prepare,
	.done = done,
	.main = serve,
};
