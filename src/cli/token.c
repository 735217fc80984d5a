/*
 * `nacre token`: who may use a server, by which token.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "engine/result.h"
#include "json/write.h"
#include "profile/profile.h"
#include "serve/principal.h"
#include "task/store.h"

#define LIST_MAX 64

static const char usage[] =
	"usage: nacre token create NAME [--profile P]... [--workspace DIR]... [--person] "
	"[--approve] [--audit]\n"
	"       nacre token list [--json]\n"
	"       nacre token revoke NAME\n"
	"\n"
	"Tokens let programs use 'nacre serve' by name. A token is printed once, when it is made;\n"
	"nacre keeps its digest. A revoked token is worthless at once.\n"
	"\n"
	"  --profile P      may use this profile (default: all that are served)\n"
	"  --workspace DIR  may work below this directory (default: those of the server)\n"
	"  --person         a person sits at its client, and answers there (over MCP) what the\n"
	"                   client asks for; not for a program that runs alone\n"
	"  --approve        may answer what others ask for; not for an agent's own token\n"
	"  --audit          may read the audit log of all, not only its own records\n"
	"  --json           one JSON object instead of text for people\n"
	"  --help           this text\n";

struct arguments {
	int (*act)(int state_fd, const struct arguments *a);
	const char *name;
	const char *profiles[LIST_MAX + 1], *workspaces[LIST_MAX + 1];
	char *made[LIST_MAX]; /* canonical paths */
	int profile_count, workspace_count;
	bool approve, audit, person, json, help;
};

static int complain(const char *words)
{
	cli_complain("token: %s", words);
	return EXIT_NACRE_FAILED;
}

static void note_name(void *context, const char *name, const char *path, bool agent)
{
	const char **wanted = context;

	if (!agent && *wanted && strcmp(name, *wanted) == 0)
		*wanted = NULL;
}

/* A token may be made before its profile; a name that was misspelled is told at once. */
static void look_for_profiles(const struct arguments *a)
{
	struct profile_request request;
	char buffer[PATH_MAX];

	profile_request_init(&request, buffer, sizeof(buffer));
	for (int i = 0; i < a->profile_count; i++) {
		const char *missing = a->profiles[i];

		profile_names(&request, note_name, &missing);
		if (missing)
			cli_complain("token: there is no profile '%s' yet ('nacre profiles' lists "
			             "what there is)",
			             missing);
	}
}

static int create(int state_fd, const struct arguments *a)
{
	struct principal who = {.name = a->name,
	                        .profiles = a->profile_count ? a->profiles : NULL,
	                        .workspaces = a->workspace_count ? a->workspaces : NULL,
	                        .approve = a->approve,
	                        .audit = a->audit,
	                        .person = a->person};
	char token[PRINCIPAL_TOKEN_MAX];
	struct error err = {0};

	if (principals_create(state_fd, &who, token, &err) < 0)
		return complain(err.text);
	look_for_profiles(a);
	puts(token);
	return fflush(stdout) == 0 ? 0 : EXIT_NACRE_FAILED;
}

static void print_json(const struct principals *p, struct buffer *out)
{
	struct json_writer w = {.out = out};

	json_object_begin(&w);
	json_member_array(&w, "tokens");
	for (size_t i = 0; i < p->count; i++) {
		json_object_begin(&w);
		json_member_string(&w, "name", p->list[i].name);
		json_member_int(&w, "created_ms", p->list[i].created_ms);
		json_member_strings(&w, "profiles", p->list[i].profiles);
		json_member_strings(&w, "workspaces", p->list[i].workspaces);
		json_member_bool(&w, "approve", p->list[i].approve);
		json_member_bool(&w, "audit", p->list[i].audit);
		json_member_bool(&w, "person", p->list[i].person);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	buffer_putc(out, '\n');
}

static void print_words(struct buffer *out, const char *before, const char *const *list,
                        const char *none)
{
	buffer_puts(out, before);
	if (!list)
		buffer_puts(out, none);
	for (; list && *list; list++) {
		buffer_putc(out, ' ');
		cli_put_clean(*list, out);
	}
	buffer_putc(out, '\n');
}

static void print_text(const struct principals *p, struct buffer *out)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct principal *one = &p->list[i];
		time_t made = (time_t)(one->created_ms / 1000);
		char day[32] = "";
		struct tm tm;

		if (localtime_r(&made, &tm))
			(void)strftime(day, sizeof(day), "%Y-%m-%d", &tm);
		buffer_printf(out, "%s  (made %s%s%s%s)\n", one->name, day,
		              one->person ? ", has a person" : "", one->approve ? ", approves" : "",
		              one->audit ? ", reads the log" : "");
		print_words(out, "  profiles:  ", one->profiles, " all");
		print_words(out, "  workspaces:", one->workspaces, " those of the server");
	}
	if (p->count == 0)
		buffer_puts(out, "There are no tokens. 'nacre token create NAME' makes one.\n");
}

static int list(int state_fd, const struct arguments *a)
{
	scoped(principals_donep) struct principals p = {0};
	scoped(buffer_donep) struct buffer out = {0};
	struct error err = {0};

	if (principals_refresh(&p, state_fd, NULL, &err) < 0)
		return complain(err.text);
	if (a->json)
		print_json(&p, &out);
	else
		print_text(&p, &out);
	return buffer_error(&out) < 0 || fd_write_all(STDOUT_FILENO, out.data, out.len) < 0
	               ? EXIT_NACRE_FAILED
	               : 0;
}

static int withdraw(int state_fd, const struct arguments *a)
{
	struct error err = {0};

	return principals_revoke(state_fd, a->name, &err) < 0 ? complain(err.text) : 0;
}

/* A link that is turned later must not widen what was granted. */
static int add_workspace(struct arguments *a, const char *path)
{
	char *real;

	if (a->workspace_count == LIST_MAX)
		return complain("too many directories");
	real = realpath(path, NULL);
	if (!real) {
		cli_complain("token: workspace '%s': %s", path, strerrordesc_np(errno));
		return EXIT_NACRE_FAILED;
	}
	a->made[a->workspace_count] = real;
	a->workspaces[a->workspace_count++] = real;
	return 0;
}

static int add_profile(struct arguments *a, const char *name)
{
	if (a->profile_count == LIST_MAX)
		return complain("too many profiles");
	a->profiles[a->profile_count++] = name;
	return 0;
}

/* What was meant by the words; NULL: that cannot be told. */
static int (*find_verb(const char *verb, bool named))(int, const struct arguments *)
{
	static const struct {
		const char *name;
		bool named;
		int (*act)(int state_fd, const struct arguments *a);
	} verbs[] = {{"create", true, create}, {"list", false, list}, {"revoke", true, withdraw}};

	for (size_t i = 0; verb && i < array_size(verbs); i++)
		if (strcmp(verb, verbs[i].name) == 0 && named == verbs[i].named)
			return verbs[i].act;
	return NULL;
}

/* The exit status, if it is wrong and that has been told. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{"profile", required_argument, NULL, 'p'},
		{"workspace", required_argument, NULL, 'w'},
		{"approve", no_argument, NULL, 'a'},
		{"audit", no_argument, NULL, 'u'},
		{"person", no_argument, NULL, 'o'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static char name[] = "nacre token";
	int c, code = 0;

	argv[0] = name;
	optind = 0;
	while (code == 0 && (c = cli_next_option(argc, argv, "h", options)) != -1) {
		if (c == 'p')
			code = add_profile(a, optarg);
		else if (c == 'w')
			code = add_workspace(a, optarg);
		else if (c == '?')
			code = EXIT_NACRE_FAILED;
		a->approve = a->approve || c == 'a';
		a->audit = a->audit || c == 'u';
		a->person = a->person || c == 'o';
		a->json = a->json || c == 'j';
		a->help = a->help || c == 'h';
	}
	if (a->help || code)
		return code;
	a->act = find_verb(argc > optind ? argv[optind] : NULL, argc == optind + 2);
	a->name = argc == optind + 2 ? argv[optind + 1] : NULL;
	if (a->act && argc <= optind + 2)
		return 0;
	fputs(usage, stderr);
	return EXIT_NACRE_FAILED;
}

static int carry_out(const struct arguments *a)
{
	scoped(fd_closep) int state_fd = -1;
	struct store store;

	store_open(&store);
	if (store.tasks_fd >= 0 && !store.temporary)
		state_fd = openat(store.tasks_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store_done(&store);
	if (state_fd < 0)
		return complain("the state directory cannot be used");
	return a->act(state_fd, a);
}

int cli_token(int argc, char **argv)
{
	struct arguments a = {0};
	int code = read_arguments(argc, argv, &a);

	if (code == 0 && a.help)
		code = fputs(usage, stdout) < 0 ? EXIT_NACRE_FAILED : 0;
	else if (code == 0)
		code = carry_out(&a);
	for (int i = 0; i < a.workspace_count; i++)
		free(a.made[i]);
	return code;
}
