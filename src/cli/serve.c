/*
 * `nacre serve`: nacre behind HTTP, on a socket of the user and on addresses that are named.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/offer.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "engine/result.h"
#include "base/loop.h"
#include "serve/config.h"
#include "serve/listen.h"
#include "serve/principal.h"
#include "serve/server.h"
#include "launch/launcher.h"
#include "task/store.h"
#include "yaml/yaml.h"

#define LIST_MAX 32

static const char usage[] =
	"usage: nacre serve [OPTIONS]\n"
	"\n"
	"Serves HTTP: POST /shell, the interface under /v1 (see /v1/openapi.json), and MCP under\n"
	"/mcp. Without options it listens on a socket that only its user can reach.\n"
	"\n"
	"  --config FILE        a file with the options below (see nacre(1)); what is given here "
	"as well\n"
	"                       stands above it\n"
	"  --listen ADDR:PORT   listen on an address of this machine, e.g. 127.0.0.1:7878; "
	"repeatable.\n"
	"                       Everybody needs a token there (see nacre token); the first start\n"
	"                       makes one and leaves it in the state directory, in the file "
	"'token'\n"
	"  --allow-remote       also on addresses that other machines can reach; there is no TLS\n"
	"  --unix PATH          the socket (default: nacre.sock in the state directory)\n"
	"  --no-unix            no such socket\n"
	"  --profile P          offer this profile; repeatable, the first is the default\n"
	"                       (default: bash, readonly, verify, universal, workspace)\n"
	"  --policy FILE        a file of rules above all others\n"
	"  --workspace DIR      clients may work below this directory; repeatable, the first is "
	"the\n"
	"                       default (default: the current one)\n"
	"  --host NAME          a further name that Host and Origin may have; repeatable\n"
	"  --rate N             requests per second of one principal (default 1000; 0: no limit)\n"
	"  --jobs N             commands at a time (default 64)\n"
	"  --queue N            commands that may wait (default 256)\n"
	"  --tasks N            background tasks of one principal (default 256)\n"
	"  --stop-time DUR      at the end, for running calls to end (default 5s); what still "
	"runs\n"
	"                       then goes on as a task\n"
	"  --help               this text\n"
	"\n"
	"Sockets of a service manager (LISTEN_FDS) are used instead of --listen and --unix.\n"
	"SIGTERM ends the server; a second one does not wait for running calls.\n";

struct setup {
	const char *listens[LIST_MAX + 1], *profiles[LIST_MAX + 1], *hosts[LIST_MAX + 1];
	const char *workspaces[LIST_MAX + 1];
	const struct dialect *dialects[LIST_MAX + 1]; /* of the profiles */
	char *made[LIST_MAX];
	int listen_count, profile_count, host_count, workspace_count;
	const char *unix_path, *config_path;
	bool no_unix, remote, help;
	struct arena *arena; /* of the file */
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

static int add(const char **list, int *count, const char *value)
{
	if (*count == LIST_MAX) {
		cli_complain("serve: too many of one option");
		return -E2BIG;
	}
	list[(*count)++] = value;
	return 0;
}

static int add_workspace(struct setup *s, const char *path)
{
	char *real = realpath(path, NULL);

	if (!real) {
		cli_complain("serve: workspace '%s': %s", path, strerrordesc_np(errno));
		return -EINVAL;
	}
	if (add(s->workspaces, &s->workspace_count, real) < 0) {
		free(real);
		return -E2BIG;
	}
	s->made[s->workspace_count - 1] = real;
	return 0;
}

static int read_count(const char *name, const char *value, uint64_t least, size_t *ret)
{
	uint64_t n;

	if (number_parse_u64(value, &n) < 0 || n < least || n > 100000) {
		cli_complain("serve: --%s %s: expected a number from %llu to 100000", name, value,
		             (unsigned long long)least);
		return -EINVAL;
	}
	*ret = (size_t)n;
	return 0;
}

static struct rate_limit rate_of(uint64_t per_second)
{
	return (struct rate_limit){(double)per_second, 2 * (double)per_second};
}

static int read_option(struct setup *s, int id, const char *value)
{
	size_t n = 0;

	switch (id) {
	case 'l':
		return add(s->listens, &s->listen_count, value);
	case 'p':
		return add(s->profiles, &s->profile_count, value);
	case 'H':
		return add(s->hosts, &s->host_count, value);
	case 'w':
		return add_workspace(s, value);
	case 'R':
		s->remote = true;
		return 0;
	case 'u':
		s->unix_path = value;
		return 0;
	case 'U':
		s->no_unix = true;
		return 0;
	case 'P':
		s->options.policy_file = value;
		return 0;
	case 'r':
		if (read_count("rate", value, 0, &n) < 0)
			return -EINVAL;
		s->options.rate = rate_of(n);
		return 0;
	case 'n':
		return read_count("jobs", value, 1, &s->options.running_max);
	case 'q':
		return read_count("queue", value, 0, &s->options.queued_max);
	case 'b':
		return read_count("tasks", value, 1, &s->options.background_each);
	case 't':
		if (number_parse_duration_ms(value, &s->options.stop_ms) == 0)
			return 0;
		cli_complain("serve: --stop-time %s: expected a duration such as 5s", value);
		return -EINVAL;
	case 'c': /* read already */
		return 0;
	case 'h':
		s->help = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Lists of the file that the command line has none of its own for. */
static int add_listed(struct setup *s, const struct serve_config *c)
{
	const char *const *listen = s->listen_count ? NULL : c->listen;
	const char *const *profile = s->profile_count ? NULL : c->profile;
	const char *const *host = s->host_count ? NULL : c->host;
	const char *const *workspace = s->workspace_count ? NULL : c->workspace;
	int r = 0;

	for (; listen && *listen && r == 0; listen++)
		r = add(s->listens, &s->listen_count, *listen);
	for (; profile && *profile && r == 0; profile++)
		r = add(s->profiles, &s->profile_count, *profile);
	for (; host && *host && r == 0; host++)
		r = add(s->hosts, &s->host_count, *host);
	for (; workspace && *workspace && r == 0; workspace++)
		r = add_workspace(s, *workspace);
	return r;
}

/* What the file says comes first, so that what the command line says stands above it. */
static int read_config(struct setup *s, struct serve_config *c)
{
	struct serve_options *o = &s->options;
	struct error err = {0};

	*c = (struct serve_config){.rate = (uint64_t)o->rate.per_second,
	                           .jobs = o->running_max,
	                           .queue = o->queued_max,
	                           .tasks = o->background_each,
	                           .stop_ms = (uint64_t)o->stop_ms};
	if (!s->config_path)
		return 0;
	s->arena = arena_new(YAML_ARENA_MAX);
	if (!s->arena) {
		cli_complain("serve: out of memory");
		return -ENOMEM;
	}
	if (serve_config_read(s->config_path, getenv("HOME"), s->arena, c, &err) < 0) {
		cli_complain("serve: %s", err.text);
		return -EINVAL;
	}
	o->rate = rate_of(c->rate);
	o->running_max = (size_t)c->jobs;
	o->queued_max = (size_t)c->queue;
	o->background_each = (size_t)c->tasks;
	o->stop_ms = (int64_t)c->stop_ms;
	o->policy_file = c->policy;
	s->unix_path = c->unix_path;
	s->no_unix = c->no_unix;
	s->remote = c->allow_remote;
	return 0;
}

/* Wrong options are told by the second look. */
static void find_config(int argc, char **argv, const struct option *options, struct setup *s)
{
	int id;

	opterr = 0;
	optind = 0;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1)
		if (id == 'c')
			s->config_path = optarg;
	opterr = 1;
}

/* An error has been told. */
static int read_options(int argc, char **argv, struct setup *s)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"listen", required_argument, NULL, 'l'},
		{"allow-remote", no_argument, NULL, 'R'},
		{"unix", required_argument, NULL, 'u'},
		{"no-unix", no_argument, NULL, 'U'},
		{"profile", required_argument, NULL, 'p'},
		{"policy", required_argument, NULL, 'P'},
		{"workspace", required_argument, NULL, 'w'},
		{"host", required_argument, NULL, 'H'},
		{"rate", required_argument, NULL, 'r'},
		{"jobs", required_argument, NULL, 'n'},
		{"queue", required_argument, NULL, 'q'},
		{"stop-time", required_argument, NULL, 't'},
		{"tasks", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static const char *const all[] = {"bash", "readonly", "verify", "universal", "workspace"};
	static char name[] = "nacre serve";
	struct serve_config config;
	int id;

	argv[0] = name;
	find_config(argc, argv, options, s);
	if (read_config(s, &config) < 0)
		return -EINVAL;
	optind = 0;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1)
		if (read_option(s, id, optarg) < 0)
			return -EINVAL;
	if (optind < argc) {
		cli_complain("serve: '%s' is one word too many", argv[optind]);
		return -EINVAL;
	}
	if (add_listed(s, &config) < 0)
		return -EINVAL;
	for (size_t i = 0; s->profile_count == 0 && i < array_size(all); i++)
		s->profiles[i] = all[i];
	if (s->workspace_count == 0 && !s->help && add_workspace(s, ".") < 0)
		return -EINVAL;
	/* One principal leaves some places to the others. */
	s->options.running_each = s->options.running_max - s->options.running_max / 4;
	return 0;
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
	scoped(fd_closep) int fd = listen_tcp(text, s->remote, address, err);
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

	if (s->unix_path)
		n = snprintf(s->socket_path, sizeof(s->socket_path), "%s", s->unix_path);
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
	if (!s->no_unix)
		r = open_unix(s, err);
	for (int i = 0; i < s->listen_count && r == 0; i++)
		r = open_tcp(s, s->listens[i], err);
	if (r == 0 && s->no_unix && s->listen_count == 0)
		r = error_set(err, ERROR_INPUT, EINVAL, "there is nothing to listen on");
	return r;
}

/* No token, no service on TCP: the first start makes one. */
static int make_token(struct setup *s, struct error *err)
{
	bool made = false;
	int r = principals_begin(s->options.state_fd, &made, err);

	if (r == 0 && made)
		fprintf(stderr, "nacre: a token was made: %s/token\n", s->options.state);
	return r;
}

static int run(struct setup *s, struct launcher *launcher, int signal_fd, int inherited,
               struct error *err)
{
	scoped(loop_freep) struct loop *loop = NULL;
	int r;

	r = loop_new(&loop, err);
	if (r == 0 && (s->listen_count > 0 || inherited > 0))
		r = make_token(s, err);
	if (r == 0)
		r = serve_new(loop, launcher, &s->options, &s->serve, err);
	if (r == 0)
		r = loop_add(loop, &s->signals, signal_fd, EPOLLIN, on_signal, err);
	if (r == 0)
		r = open_all(s, inherited, err);
	if (r == 0) {
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

/* In the first of the directories: those of clients are looked at when they come. */
static int find_tools(struct setup *s, struct error *err)
{
	struct engine_wishes w = engine_wishes_default;

	w.policy_file = s->options.policy_file;
	w.workspace = s->workspaces[0];
	for (int i = 0; s->profiles[i]; i++) {
		w.profile = s->profiles[i];
		s->dialects[i] = cli_offer_find(&w, err);
		if (!s->dialects[i])
			return -EINVAL;
	}
	return 0;
}

static int serve(struct setup *s)
{
	struct launcher launcher = {.socket = -1, .pidfd = -1};
	scoped(fd_closep) int signal_fd = -1;
	int inherited = listen_inherited();
	struct error err = {0};
	sigset_t set;
	int r;

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

int cli_serve(int argc, char **argv)
{
	struct setup s = {.options = serve_options_default, .signals = {.fd = -1}, .lock = -1};
	int code;

	s.options.profiles = s.profiles;
	s.options.dialects = s.dialects;
	s.options.workspaces = s.workspaces;
	s.options.hosts = s.hosts;
	s.options.http = http_limits_default;
	s.options.environment = (const char *const *)environ;
	s.options.log = write_log;
	if (read_options(argc, argv, &s) < 0)
		code = EXIT_NACRE_FAILED;
	else if (s.help)
		code = fputs(usage, stdout) < 0 ? EXIT_NACRE_FAILED : 0;
	else
		code = serve(&s);
	for (int i = 0; i < s.workspace_count; i++)
		free(s.made[i]);
	arena_free(s.arena);
	return code;
}
