/*
 * nacre learn: runs a command once with every public name allowed, and prints the layer of a policy
 * that would have been enough.
 *
 * The run is an ordinary one, by a policy file that is made for it: profile `learn`, which inherits
 * the one that is asked for and adds "*:*" to sandbox.network.allow. So all other rules hold, names
 * that lead to private addresses are refused, and the audit log tells that this was learning. What
 * was reached is read from that log. Who may not read it learns nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "audit/query.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/learn-layer.h"
#include "cli/run-options.h"
#include "engine/result.h"
#include "profile/profile.h"
#include "session/place.h"
#include "task/store.h"

#define RESULT_MAX ((size_t)16 << 20)
#define WORDS_MAX  1024
#define PARENTS    64

struct learn_options {
	const char *line, *profile, *workspace, *session, *timeout;
};

/* Whether an ancestor is the first process of a sandbox: a command must not ask for itself. */
static bool is_sandboxed(void)
{
	char path[48], text[1024];
	pid_t pid = getppid();

	for (int i = 0; i < PARENTS && pid > 0; i++) {
		const char *parent;

		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		(void)fd_read_text(-1, path, text, sizeof(text));
		if (strncmp(text, "Name:\tnacre-init\n", 17) == 0)
			return true;
		parent = strstr(text, "\nPPid:");
		pid = parent ? (pid_t)strtol(parent + 6, NULL, 10) : 0;
	}
	return false;
}

static int load(const struct learn_options *o, struct profile **ret_profile, struct error *err)
{
	scoped(place_done) struct place place = {.workspace_fd = -1, .cwd_fd = -1};
	struct profile_request rq;
	char buffer[PATH_MAX];
	int r = place_open_workspace(o->workspace, NULL, &place, err);

	if (r < 0)
		return r;
	profile_request_init(&rq, buffer, sizeof(buffer));
	rq.name = o->profile;
	rq.workspace_fd = place.workspace_fd;
	rq.root = place.root;
	r = profile_load(&rq, ret_profile, err);
	if (r == 0 && place_raise_root(&place, *ret_profile)) {
		profile_free(*ret_profile);
		r = profile_load(&rq, ret_profile, err);
	}
	return r;
}

/*
 * The policy of the run, in a directory of its own. It lies in the state directory, which every
 * sandbox hides: the keeper reads the file once more, and another command that could write there
 * meanwhile would choose its own policy.
 */
static int write_policy(const struct profile *p, char path[PATH_MAX])
{
	scoped(buffer_donep) struct buffer text = {0};
	struct store store;
	FILE *f;
	int r = 0;

	store_open(&store);
	if (!store.path[0] || store.temporary)
		r = -ENOENT;
	else if (snprintf(path, PATH_MAX, "%.*s/learn-XXXXXX",
	                  (int)(strrchr(store.path, '/') - store.path),
	                  store.path) >= PATH_MAX - 16)
		r = -ENAMETOOLONG;
	else if (!mkdtemp(path))
		r = -errno;
	store_done(&store);
	if (r < 0) {
		path[0] = '\0';
		return r;
	}
	strcat(path, "/learn.yaml");
	buffer_printf(&text,
	              "profile: learn\ninherits: %s\nsandbox:\n  network:\n    allow: [%s\"*:*\"]\n"
	              "    ask: []\n",
	              p->name,
	              p->sandbox.network == SANDBOX_NETWORK_NAMES ? "\"@inherited\", " : "");
	f = fopen(path, "wxe");
	r = f && fwrite(buffer_str(&text), 1, text.len, f) == text.len ? 0 : -EIO;
	return f && fclose(f) == 0 ? r : -EIO;
}

static void remove_policy(char path[PATH_MAX])
{
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
}

/* `nacre run --json` by this policy, or `nacre explain --json`. The exit code, or a negative errno.
 */
static int run(const struct learn_options *o, const char *verb, const char *policy, char **argv,
               struct buffer *result)
{
	const char *words[WORDS_MAX] = {"nacre", verb, "--json", "--policy", policy};
	const bool runs = strcmp(verb, "run") == 0;
	int ends[2], n = 5, status = 0, r;
	pid_t pid;

	if (o->workspace) {
		words[n++] = "--workspace";
		words[n++] = o->workspace;
	}
	if (o->session && runs) {
		words[n++] = "--session";
		words[n++] = o->session;
	}
	if (o->timeout && runs) {
		words[n++] = "--timeout";
		words[n++] = o->timeout;
	}
	words[n++] = o->line ? "-c" : "--";
	if (o->line)
		words[n++] = o->line;
	for (; *argv && n < WORDS_MAX - 1; argv++)
		words[n++] = *argv;
	if (*argv || pipe2(ends, O_CLOEXEC) < 0)
		return -E2BIG;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		(void)dup2(ends[1], STDOUT_FILENO);
		execv("/proc/self/exe", (char *const *)(uintptr_t)words);
		_exit(127);
	}
	(void)signal(SIGINT, SIG_IGN); /* the command has it from the terminal, too */
	fd_close(ends[1]);
	result->max = RESULT_MAX;
	r = pid < 0 ? -EAGAIN : fd_read_all(ends[0], result);
	fd_close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r < 0 ? r : WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

struct reading {
	struct learn_layer *layer;
	const char *task, *session;
};

/* Of this task; of a session with several tasks the log does not tell whose a connection was. */
static int take_record(void *context, const char *line, size_t n, json_t *record)
{
	struct reading *r = context;
	const char *task = json_string_value(json_object_get(record, "task_id"));
	const char *session = json_string_value(json_object_get(record, "session"));

	if (task ? strcmp(task, r->task) != 0
	         : !r->session || !session || strcmp(session, r->session) != 0)
		return 0;
	return learn_layer_add(r->layer, record);
}

/* What the command printed, for the person who waits; standard output is for the layer. */
static void show_output(const json_t *result)
{
	static const char *const keys[] = {"stdout", "stderr"};

	for (size_t i = 0; i < 2; i++) {
		const char *text = json_string_value(json_object_get(result, keys[i]));

		if (text && *text)
			fputs(text, stderr);
	}
}

static bool has_layer(const json_t *result, const char *wanted)
{
	const json_t *layer;
	size_t i;

	json_array_foreach (json_object_get(json_object_get(result, "sandbox"), "layers"), i, layer)
		if (strcmp(json_string_value(layer), wanted) == 0)
			return true;
	return false;
}

/* BEGAN_MS is from before the run: its first connection may be older than the keeper's started_ms.
 */
static int learn(const struct learn_options *o, const struct profile *p, int64_t began_ms,
                 const json_t *result, const json_t *explained)
{
	scoped(buffer_donep) struct buffer out = {0};
	const json_t *code = json_object_get(result, "exit_code");
	struct reading reading = {.layer = learn_layer_new(p),
	                          .task = json_string_value(json_object_get(result, "task_id")),
	                          .session = o->session};
	struct audit_query q = {.network = true, .since_ms = began_ms};
	struct error err = {0};
	char directory[PATH_MAX];
	int r = reading.layer ? 0 : -ENOMEM;

	show_output(result);
	if (!reading.task || !json_is_integer(code)) {
		const char *why = json_string_value(json_object_get(result, "reason"));

		cli_complain("the command did not run: %s", why ? why : "see nacre audit show");
		learn_layer_free(reading.layer);
		return EXIT_NACRE_FAILED;
	}
	if (!has_layer(result, "network-names")) {
		cli_complain(
			"nothing was learned: network by name needs namespaces that are not to "
			"be had here, so the command had no network; run `nacre doctor`");
		learn_layer_free(reading.layer);
		return EXIT_NACRE_FAILED;
	}
	if (r == 0 && cli_audit_directory(NULL, directory) == 0)
		r = audit_query(directory, &q, take_record, &reading, &err);
	if (r == 0)
		learn_layer_print(reading.layer, reading.task, (int)json_integer_value(code),
		                  explained, &out);
	learn_layer_free(reading.layer);
	if (r < 0 || buffer_error(&out) < 0) {
		cli_complain("%s", err.text[0] ? err.text : "the audit log cannot be read");
		return EXIT_NACRE_FAILED;
	}
	return cli_print(&out);
}

static int main_(void *options, int argc, char **argv)
{
	const struct learn_options *o = options;
	scoped(buffer_donep) struct buffer text = {0};
	struct profile *p = NULL;
	struct error err = {0};
	char policy[PATH_MAX] = "";
	scoped(buffer_donep) struct buffer about = {0};
	json_t *result = NULL, *explained = NULL;
	int64_t began_ms = clock_wall_ms();
	int r;

	if (!o->line == (argc == 0)) {
		cli_complain("give -c LINE, or a program and its arguments behind --");
		return EXIT_NACRE_FAILED;
	}
	if (is_sandboxed()) {
		cli_complain("learn is for the operator: it does not run inside of a sandbox");
		return EXIT_NACRE_FAILED;
	}
	if (load(o, &p, &err) < 0) {
		cli_complain("%s", err.text);
		return EXIT_NACRE_FAILED;
	}
	if (p->audit.off) {
		cli_complain("learn reads the audit log, and profile %s has none (audit)", p->name);
		profile_free(p);
		return EXIT_NACRE_FAILED;
	}
	r = write_policy(p, policy);
	if (r == 0)
		r = run(o, "run", policy, argv, &text);
	if (r >= 0 && run(o, "explain", policy, argv, &about) >= 0)
		explained = json_loadb(buffer_str(&about), about.len, 0, NULL);
	if (*policy)
		remove_policy(policy);
	if (r >= 0)
		result = json_loadb(buffer_str(&text), text.len, 0, NULL);
	if (result)
		r = learn(o, p, began_ms, result, explained);
	else if (r < 0)
		cli_complain("the command could not be run: %s", strerrordesc_np(-r));
	json_decref(result);
	json_decref(explained);
	profile_free(p);
	return r < 0 || (!result && r == 0) ? EXIT_NACRE_FAILED : r;
}

#define LEARN struct learn_options
static const struct cli_option options[] = {
	{NULL, "LINE", "the bash command line to run", 'c', CLI_TEXT(LEARN, line)},
	{"profile", "PROFILE", "the profile to learn for (default: bash)",
         CLI_TEXT(LEARN, profile)},
	{"workspace", "DIR", "the directory to work in (default: the current one)",
         CLI_TEXT(LEARN, workspace)},
	{"session", "ID", "run in this session", CLI_SESSION(LEARN, session)},
	{"timeout", "DURATION", "a time limit for the command", CLI_TEXT(LEARN, timeout)},
	{0},
};
#undef LEARN

const struct cli_command cli_learn = {
	.name = "learn",
	.summary = "run a command once, and print what it needs of the network",
	.usage = "[OPTIONS] -c 'LINE'\n[OPTIONS] -- PROGRAM [ARGS]",
	.about = "Runs a command with every public name allowed, and prints the policy layer that "
		 "would have been enough, for review. What the command prints goes to standard "
		 "error. Rules for commands, sandbox.network.deny and private addresses stay as "
		 "the profile has them.",
	.options = options,
	.order = CLI_FIRST,
	.most = -1,
	.size = sizeof(struct learn_options),
	.main = main_,
};
