/*
 * nacre explain: what would be decided about a command, and by which rule. Runs nothing.
 *
 * The decision is the same that is made when the command is run: check_request().
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/explain-answer.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "session/environment.h"
#include "engine/dialect.h"
#include "engine/explain.h"
#include "session/place.h"
#include "engine/result.h"
#include "json/read.h"
#include "json/write.h"
#include "decide/check.h"
#include "profile/profile.h"
#include "shell/facts.h"

#define LINE_BYTES_MAX ((size_t)1 << 20)
#define PROFILES_MAX   32

static const char usage[] =
	"usage: nacre explain [OPTIONS] (-c LINE | -- ARGV...)\n"
	"       nacre explain [OPTIONS] --batch\n"
	"\n"
	"Tells what would be decided about a command, and why, without running it.\n"
	"\n"
	"  -c LINE          the line to decide about; or the words of a command behind --\n"
	"  --profile P      the profile that decides (default: bash)\n"
	"  --agent A        an agent, which is a profile of its own\n"
	"  --policy FILE    a file of rules above all others\n"
	"  --workspace DIR  the directory to work in (default: the current one)\n"
	"  --cwd DIR        working directory inside the workspace\n"
	"  --env NAME=VALUE a variable that the request sets; repeatable\n"
	"  --force          override what may be overridden\n"
	"  --json           one JSON object instead of text for people\n"
	"  --batch          one JSON request per line in, one JSON answer per line out\n"
	"  --help           this text\n"
	"\n"
	"The exit code is 0 whatever the verdict, and 125 if there is none.\n";

struct arguments {
	const char *line, *profile, *agent, *policy, *workspace, *cwd;
	const char *const *argv;
	const char **env;
	size_t env_count;
	bool json, batch, help, force;
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
	rq.policy_file = x->arguments->policy;
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
static int take_name(struct explain *x, struct check_request *rq, struct error *err)
{
	const struct dialect *d = dialect_find(rq->profile->tool);
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

static int decide(struct explain *x, const struct check_request *wanted, const char *workspace,
                  const char *profile, const char *agent, struct check *ret, struct error *err)
{
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	struct check_request rq = *wanted;
	struct environment_wish wish;
	int r = place_open_workspace(workspace, NULL, &place, err);

	if (r == 0)
		r = get_profile(x, profile, agent, &place, &rq.profile, err);
	if (r == 0 && place_raise_root(&place, rq.profile))
		r = get_profile(x, profile, agent, &place, &rq.profile, err);
	if (r == 0)
		r = place_open_cwd(&place, rq.cwd, err);
	if (r == 0)
		r = take_name(x, &rq, err);
	if (r < 0 || !rq.profile)
		return r;
	wish = (struct environment_wish){.base = (const char *const *)environ,
	                                 .pass = rq.profile->environment_pass,
	                                 .set = rq.profile->environment_set,
	                                 .extra = rq.env,
	                                 .cwd = place.cwd};
	r = environment_build(x->arena, &wish, &rq.envp, err);
	if (r < 0)
		return r;
	rq.workspace_fd = place.workspace_fd;
	rq.workspace = place.workspace;
	rq.cwd = place_relative_cwd(&place);
	return check_request(x->arena, &rq, ret, err);
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
			return error_set(err, ERROR_INPUT, EINVAL, "a list of strings is wanted");
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
			return error_set(err, ERROR_INPUT, EINVAL, "env wants strings");
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
	struct check_request rq = {.force = a->force, .cwd = a->cwd, .env = a->env};
	const char *profile = text_of(request, "profile", a->profile);
	const char *agent = text_of(request, "agent", a->agent);
	int r = 0;

	if (!json_is_object(request))
		return error_set(err, ERROR_INPUT, EINVAL, "a JSON object is wanted");
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
		r = error_set(err, ERROR_INPUT, EINVAL, "command or argv is wanted");
	return r < 0 ? r
	             : decide(x, &rq, text_of(request, "workspace", a->workspace), profile, agent,
	                      ret, err);
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

	/* A line that is too long is answered, too: what is left of it is no request. */
	while (cli_line_read(stdin, &line) != 0) {
		answer_line(x, &line, &out);
		if (cli_line_write(&out) < 0)
			return EXIT_NACRE_FAILED;
	}
	return ferror(stdin) ? EXIT_NACRE_FAILED : 0;
}

static int one(struct explain *x)
{
	const struct arguments *a = x->arguments;
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct check_request rq = {.command = a->line,
	                           .argv = a->argv,
	                           .force = a->force,
	                           .cwd = a->cwd,
	                           .env = a->env};
	struct error err = {0};
	struct check c = {0};

	if (decide(x, &rq, a->workspace, a->profile, a->agent, &c, &err) < 0) {
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
	return cli_line_write(&out) < 0 ? EXIT_NACRE_FAILED : 0;
}

static int add_env(void *owner, const char *value)
{
	struct arguments *a = owner;

	a->env[a->env_count++] = value; /* there is room for as many as there are words */
	return 0;
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
	const struct cli_option options[] = {
		{.letter = 'c', .text = &a->line},    {"profile", .text = &a->profile},
		{"agent", .text = &a->agent},         {"policy", .text = &a->policy},
		{"workspace", .text = &a->workspace}, {"cwd", .text = &a->cwd},
		{"env", .each = add_env, .owner = a}, {"force", .flag = &a->force},
		{"json", .flag = &a->json},           {"batch", .flag = &a->batch},
		{"help", 'h', .flag = &a->help},
	};
	int r = cli_options_read(argc, argv, options, array_size(options));

	if (r < 0)
		return r;
	if (optind < argc)
		a->argv = (const char *const *)argv + optind;
	if (!a->help && (a->line != NULL) + (a->argv != NULL) + a->batch != 1) {
		cli_complain("explain: one of -c LINE, -- ARGV... and --batch is wanted");
		return -EINVAL;
	}
	return 0;
}

int cli_explain(int argc, char **argv)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(freep) const char **env = calloc((size_t)argc + 1, sizeof(*env));
	struct arguments a = {.env = env};
	struct explain x = {.arguments = &a};
	int r;

	if (!env || read_arguments(argc, argv, &a) < 0) {
		fputs(usage, stderr);
		return EXIT_NACRE_FAILED;
	}
	if (a.help)
		return fputs(usage, stdout) < 0 ? EXIT_NACRE_FAILED : 0;
	arena = arena_new(SHELL_FACTS_ARENA_MAX);
	if (!arena)
		return EXIT_NACRE_FAILED;
	x.arena = arena;
	r = a.batch ? batch(&x) : one(&x);
	done(&x);
	return r;
}
