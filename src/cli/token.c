/*
 * `nacre token`: who may use a server, and what they may do there.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "json/write.h"
#include "profile/profile.h"
#include "serve/principal.h"
#include "task/store.h"

#define LIST_MAX    64
#define PATHS_BYTES ((size_t)1 << 20)

struct arguments {
	struct cli_list profiles, workspaces;
	struct arena *arena; /* of canonical paths */
	bool approve, audit, person, json;
};

static int complain(const char *words)
{
	cli_complain("token: %s", words);
	return EXIT_NACRE_FAILED;
}

static void note_name(void *context, const char *name, const char *path, bool agent)
{
	const char **wanted = context;

	if (*wanted && strcmp(name, *wanted) == 0)
		*wanted = NULL;
}

/* A token may be created before its profile exists. A misspelt name is reported at once. */
static void look_for_profiles(const struct arguments *a)
{
	struct profile_request request;
	char buffer[PATH_MAX];

	profile_request_init(&request, buffer, sizeof(buffer));
	for (size_t i = 0; i < a->profiles.count; i++) {
		const char *missing = a->profiles.items[i];

		profile_names(&request, note_name, &missing);
		if (missing)
			cli_complain("token: there is no profile '%s' yet; 'nacre profiles' lists "
			             "them",
			             missing);
	}
}

static int open_state(void)
{
	struct store store;
	int fd = -1;

	store_open(&store);
	if (store.tasks_fd >= 0 && !store.temporary)
		fd = openat(store.tasks_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store_done(&store);
	if (fd < 0)
		complain("the state directory cannot be used");
	return fd;
}

static int create(void *options, int argc, char **argv)
{
	struct arguments *a = options;
	struct principal who = {.name = argv[0],
	                        .profiles = a->profiles.count ? a->profiles.items : NULL,
	                        .approve = a->approve,
	                        .audit = a->audit,
	                        .person = a->person};
	scoped(fd_closep) int state_fd = -1;
	char token[PRINCIPAL_TOKEN_MAX];
	struct error err = {0};

	a->arena = arena_new(PATHS_BYTES);
	/* A link that changes later must not widen what was granted. */
	if (cli_resolve(a->workspaces.items, a->arena, "token", &who.workspaces) < 0)
		return EXIT_NACRE_FAILED;
	state_fd = open_state();
	if (state_fd < 0)
		return EXIT_NACRE_FAILED;
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
		buffer_printf(out, "%s  (created %s%s%s%s)\n", one->name, day,
		              one->person ? ", has a person" : "", one->approve ? ", approves" : "",
		              one->audit ? ", reads the audit log" : "");
		print_words(out, "  profiles:  ", one->profiles, " all");
		print_words(out, "  workspaces:", one->workspaces, " those of the server");
	}
	if (p->count == 0)
		buffer_puts(out, "There are no tokens. 'nacre token create NAME' creates one.\n");
}

static int list(void *options, int argc, char **argv)
{
	const struct arguments *a = options;
	scoped(fd_closep) int state_fd = open_state();
	scoped(principals_donep) struct principals p = {0};
	scoped(buffer_donep) struct buffer out = {0};
	struct error err = {0};

	if (state_fd < 0)
		return EXIT_NACRE_FAILED;
	if (principals_refresh(&p, state_fd, NULL, &err) < 0)
		return complain(err.text);
	if (a->json)
		print_json(&p, &out);
	else
		print_text(&p, &out);
	return cli_print(&out);
}

static int revoke_token(void *options, int argc, char **argv)
{
	scoped(fd_closep) int state_fd = open_state();
	struct error err = {0};

	if (state_fd < 0)
		return EXIT_NACRE_FAILED;
	return principals_revoke(state_fd, argv[0], &err) < 0 ? complain(err.text) : 0;
}

static void done(void *options)
{
	arena_free(((struct arguments *)options)->arena);
}

const struct cli_command cli_token = {
	.name = "token",
	.summary = "create, list and revoke the tokens of a server's clients",
	.about = "Tokens let programs use 'nacre serve', each under a name.",
};

#define TOKEN struct arguments
static const struct cli_option create_options[] = {
	{"profile", "PROFILE", "may use this profile; repeatable (default: all that are served)",
         CLI_LIST(TOKEN, profiles, LIST_MAX)},
	{"workspace", "DIR", "may work below this directory; repeatable (default: the server's)",
         CLI_LIST(TOKEN, workspaces, LIST_MAX)},
	{"person", NULL, "a person uses the client, and answers its own requests there (over MCP)",
         CLI_FLAG(TOKEN, person)},
	{"approve", NULL, "may answer the requests of others; not for the token of an agent",
         CLI_FLAG(TOKEN, approve)},
	{"audit", NULL, "may read the whole audit log, not only its own records",
         CLI_FLAG(TOKEN, audit)},
	{0},
};

const struct cli_command cli_token_create = {
	.name = "token create",
	.summary = "create a token and print it, once",
	.usage = "[OPTIONS] NAME",
	.about = "Creates a token and prints it, once: nacre keeps only its digest.",
	.options = create_options,
	.least = 1,
	.most = 1,
	.size = sizeof(struct arguments),
	.done = done,
	.main = create,
};

static const struct cli_option list_options[] = {
	{"json", NULL, "print one JSON object", CLI_FLAG(TOKEN, json)},
	{0},
};
#undef TOKEN

const struct cli_command cli_token_list = {
	.name = "token list",
	.summary = "list tokens and what they allow",
	.usage = "[OPTIONS]",
	.options = list_options,
	.size = sizeof(struct arguments),
	.main = list,
};

const struct cli_command cli_token_revoke = {
	.name = "token revoke",
	.summary = "make a token invalid, at once",
	.usage = "NAME",
	.least = 1,
	.most = 1,
	.main = revoke_token,
};
