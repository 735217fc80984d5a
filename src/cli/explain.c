/*
 * nacre explain: what would be decided about a command, and by which rule. Runs nothing.
 *
 * The decision is the one that a run makes: check_request(), on the same profile, place and
 * environment. A batch loads each profile once per workspace, since the project's file is part of
 * it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/explain-answer.h"
#include "cli/leads.h"
#include "cli/lines.h"
#include "cli/run-options.h"
#include "decide/hosts.h"
#include "engine/dialect.h"
#include "engine/explain-network.h"
#include "engine/explain.h"
#include "session/place.h"
#include "engine/result.h"
#include "json/read.h"
#include "json/write.h"
#include "decide/check.h"
#include "task/order.h"
#include "task/request.h"
#include "profile/profile.h"
#include "shell/facts.h"

#define LINE_BYTES_MAX ((size_t)1 << 20)
#define PROFILES_MAX   32

struct arguments {
	const char *line, *cwd, *network;
	struct engine_wishes wishes;
	const char *const *argv;
	struct cli_list env;
	bool json, batch, force;
};

struct loaded {
	char *name, *agent, *root;
	dev_t device;
	ino_t inode;
	struct profile *profile;
};

struct explain {
	const struct arguments *arguments;
	struct arena *arena;
	struct loaded loaded[PROFILES_MAX];
	size_t count;
};

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Profiles are loaded once per workspace, whose own file is a part of them. */
static int get_profile(struct explain *x, const char *name, const char *agent,
                       const struct place *place, const struct profile **ret, struct error *err)
{
	struct profile_request rq;
	struct loaded *l;
	char buffer[PATH_MAX];
	struct stat st;
	int r;

	if (fstat(place->workspace_fd, &st) < 0)
		return error_sys(err, errno, "workspace");
	for (size_t i = 0; i < x->count; i++) {
		l = &x->loaded[i];
		if (same(l->name, name) && same(l->agent, agent) && same(l->root, place->root) &&
		    l->device == st.st_dev && l->inode == st.st_ino) {
			*ret = x->loaded[i].profile;
			return 0;
		}
	}
	if (x->count == PROFILES_MAX)
		return error_set(err, ERROR_LIMIT, E2BIG, "too many profiles in one batch");
	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.name = name;
	rq.agent = agent;
	rq.policy_file = x->arguments->wishes.policy_file;
	rq.workspace_fd = place->workspace_fd;
	rq.root = place->root;
	l = &x->loaded[x->count];
	r = profile_load(&rq, &l->profile, err);
	if (r < 0)
		return r;
	l->device = st.st_dev;
	l->inode = st.st_ino;
	l->name = name ? strdup(name) : NULL;
	l->agent = agent ? strdup(agent) : NULL;
	l->root = strdup(place->root);
	x->count++;
	*ret = l->profile;
	return 0;
}

static void done(struct explain *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->loaded[i].name);
		free(x->loaded[i].agent);
		free(x->loaded[i].root);
		profile_free(x->loaded[i].profile);
	}
}

/* A line of a batch has the members of the profile's tool: its command may be a program alone. */
static int take_name(struct explain *x, const struct profile *profile, struct request *rq,
                     struct error *err)
{
	const struct dialect *d = dialect_find(profile->tool);
	const char **argv;

	if (!x->arguments->batch || !rq->command || !d || !dialect_takes_name(d))
		return 0;
	argv = arena_new_array(x->arena, const char *, 2);
	if (!argv)
		return error_nomem(err);
	argv[0] = rq->command;
	rq->argv = argv;
	rq->command = NULL;
	return 0;
}

static int decide(struct explain *x, const struct request *wanted, const char *workspace,
                  const char *profile, const char *agent, struct check *ret, struct error *err)
{
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	struct request rq = *wanted;
	struct question_source from = {
		.request = &rq, .place = &place, .environment = (const char *const *)environ};
	struct keeper_order order = {0};
	struct question q;
	int r = place_open_workspace(workspace, NULL, &place, err);

	if (r == 0)
		r = get_profile(x, profile, agent, &place, &from.profile, err);
	if (r == 0 && place_raise_root(&place, from.profile))
		r = get_profile(x, profile, agent, &place, &from.profile, err);
	if (r == 0)
		r = place_open_cwd(&place, rq.cwd, err);
	if (r == 0)
		r = take_name(x, from.profile, &rq, err);
	if (r == 0)
		r = question_of(x->arena, &from, &order, &q, err);
	if (r == 0)
		r = check_request(x->arena, &q, ret, err);
	return r < 0 ? r : explain_find_hosts(x->arena, from.profile, ret, err);
}

/* Batch */

static int read_strings(struct explain *x, json_t *array, const char *first,
                        const char *const **ret, struct error *err)
{
	size_t n = json_array_size(array), used = 0;
	const char **list = arena_new_array(x->arena, const char *, n + 2);

	if (!list)
		return error_nomem(err);
	if (first)
		list[used++] = first;
	for (size_t i = 0; i < n; i++) {
		json_t *item = json_array_get(array, i);

		if (!json_is_string(item))
			return error_set(err, ERROR_INPUT, EINVAL, "expected a list of strings");
		list[used++] = json_string_value(item);
	}
	*ret = list;
	return 0;
}

static int read_env(struct explain *x, json_t *object, const char *const **ret, struct error *err)
{
	const char **list = arena_new_array(x->arena, const char *, json_object_size(object) + 1);
	const char *key;
	json_t *value;
	size_t n = 0;

	if (!list)
		return error_nomem(err);
	json_object_foreach (object, key, value) {
		if (!json_is_string(value))
			return error_set(err, ERROR_INPUT, EINVAL,
			                 "the values of env must be strings");
		list[n++] = arena_printf(x->arena, "%s=%s", key, json_string_value(value));
	}
	*ret = list;
	return 0;
}

static const char *text_of(json_t *request, const char *key, const char *otherwise)
{
	json_t *value = json_object_get(request, key);

	return json_is_string(value) ? json_string_value(value) : otherwise;
}

static int answer_request(struct explain *x, json_t *request, struct check *ret, struct error *err)
{
	const struct arguments *a = x->arguments;
	struct request rq = {.force = a->force, .cwd = a->cwd, .env = a->env.items};
	const char *profile = text_of(request, "profile", a->wishes.profile);
	const char *agent = text_of(request, "agent", a->wishes.agent);
	int r = 0;

	if (!json_is_object(request))
		return error_set(err, ERROR_INPUT, EINVAL, "expected a JSON object");
	if (json_object_get(request, "force"))
		rq.force = json_is_true(json_object_get(request, "force"));
	rq.command = text_of(request, "command", NULL);
	rq.cwd = text_of(request, "cwd", rq.cwd);
	if (json_object_get(request, "env"))
		r = read_env(x, json_object_get(request, "env"), &rq.env, err);
	if (r == 0 && json_object_get(request, "argv")) {
		rq.command = NULL;
		r = read_strings(x, json_object_get(request, "argv"), NULL, &rq.argv, err);
	} else if (r == 0 && rq.command && json_is_array(json_object_get(request, "args"))) {
		r = read_strings(x, json_object_get(request, "args"), rq.command, &rq.argv, err);
		rq.command = NULL;
	}
	if (r == 0 && !rq.command && (!rq.argv || !rq.argv[0]))
		r = error_set(err, ERROR_INPUT, EINVAL, "give command or argv");
	return r < 0 ? r
	             : decide(x, &rq, text_of(request, "workspace", a->wishes.workspace), profile,
	                      agent, ret, err);
}

static void answer_line(struct explain *x, const struct buffer *line, struct buffer *out)
{
	scoped(json_decrefp) json_t *request = NULL;
	struct json_writer w = {.out = out};
	struct error err = {0};
	struct check c = {0};
	json_t *id;
	char *text;
	int r = json_read(buffer_str(line), line->len, LINE_BYTES_MAX, "request", &request, &err);

	if (r == 0)
		r = answer_request(x, request, &c, &err);
	json_object_begin(&w);
	json_put_key(&w, "id");
	id = request ? json_object_get(request, "id") : NULL;
	text = id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	json_put_raw(&w, text ? text : "null");
	free(text);
	if (r < 0) {
		json_member_string(&w, "error", err.text);
	} else {
		explain_put_json(&c, &w);
	}
	json_object_end(&w);
	buffer_putc(out, '\n');
	arena_reset(x->arena);
}

static int batch(struct explain *x)
{
	scoped(buffer_donep) struct buffer line = {.max = LINE_BYTES_MAX}, out = {0};

	/* A line that is too long gets an answer as well: what is left of it is not a request. */
	while (cli_line_read(stdin, &line) != 0) {
		answer_line(x, &line, &out);
		if (cli_print(&out))
			return EXIT_NACRE_FAILED;
	}
	return ferror(stdin) ? EXIT_NACRE_FAILED : 0;
}

static int one(struct explain *x)
{
	const struct arguments *a = x->arguments;
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct request rq = {.command = a->line,
	                     .argv = a->argv,
	                     .force = a->force,
	                     .cwd = a->cwd,
	                     .env = a->env.items};
	struct error err = {0};
	struct check c = {0};

	if (decide(x, &rq, a->wishes.workspace, a->wishes.profile, a->wishes.agent, &c, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (a->json) {
		json_object_begin(&w);
		explain_put_json(&c, &w);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		explain_put_text(&c, &out);
	}
	return cli_print(&out);
}

/* What the profile says about one host. */
static int network(struct explain *x)
{
	const struct arguments *a = x->arguments;
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	const struct profile *profile = NULL;
	struct network_wish wish;
	struct host_seen host;
	struct error err = {0};
	int r = network_wish_parse(a->network, &wish, &err);

	if (r == 0)
		r = place_open_workspace(a->wishes.workspace, NULL, &place, &err);
	if (r == 0)
		r = get_profile(x, a->wishes.profile, a->wishes.agent, &place, &profile, &err);
	if (r == 0 && place_raise_root(&place, profile))
		r = get_profile(x, a->wishes.profile, a->wishes.agent, &place, &profile, &err);
	if (r < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	host = network_wish_host(&wish);
	if (a->json) {
		json_object_begin(&w);
		explain_network_put_json(profile, &host, false, &w);
		leads_put_json(profile, &host, &w);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		explain_network_put_text(profile, &host, "", &out);
		leads_put_text(profile, &host, &out);
	}
	return cli_print(&out);
}

static int explain(void *options, int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = arena_new(SHELL_FACTS_ARENA_MAX);
	struct arguments *a = options;
	struct explain x = {.arguments = a, .arena = arena};
	int r;

	if (argc > 0)
		a->argv = (const char *const *)argv;
	if ((a->line != NULL) + (a->argv != NULL) + (a->network != NULL) + a->batch != 1) {
		cli_complain("explain: give one of -c LINE, -- ARGV..., --network NAME:PORT and "
		             "--batch");
		return EXIT_NACRE_FAILED;
	}
	if (!arena)
		return EXIT_NACRE_FAILED;
	r = a->batch ? batch(&x) : a->network ? network(&x) : one(&x);
	done(&x);
	return r;
}

#define EXPLAIN struct arguments
static const struct cli_option options[] = {
	{NULL, "LINE", "the bash line to explain", .letter = 'c', CLI_TEXT(EXPLAIN, line)},
	CLI_WISHES(EXPLAIN, wishes, "bash"),
	{"cwd", "DIR", "working directory inside the workspace", CLI_TEXT(EXPLAIN, cwd)},
	{"env", "NAME=VALUE", "a variable that the request sets; repeatable",
         CLI_LIST(EXPLAIN, env, CLI_LIST_MAX)},
	{"force", NULL, "override a nudge (never a deny)", CLI_FLAG(EXPLAIN, force)},
	{"network", "NAME:PORT", "what the profile says about a connection, and by which rule",
         CLI_TEXT(EXPLAIN, network)},
	{"json", NULL, "print one JSON object", CLI_FLAG(EXPLAIN, json)},
	{"batch", NULL, "read one JSON request per line, print one JSON answer per line",
         CLI_FLAG(EXPLAIN, batch)},
	{0},
};
#undef EXPLAIN

const struct cli_command cli_explain = {
	.name = "explain",
	.summary = "show the decision about a command, and why, without running it",
	.usage = "[OPTIONS] -c LINE\n[OPTIONS] -- ARGV...\n[OPTIONS] --network NAME:PORT\n"
		 "[OPTIONS] --batch",
	.about = "Shows what nacre would decide about a command, and why, without running it.",
	.notes = "The exit code is 0 for every verdict, and 125 if there is none.",
	.options = options,
	.order = CLI_FIRST,
	.most = -1,
	.size = sizeof(struct arguments),
	.main = explain,
};
