/*
 * `nacre completion`: a script for the shell of a person. `nacre complete`, which it calls, knows
 * what can stand at the place of the cursor, from the entries of the commands: names of commands
 * and options, and values by their word in the usage. The scripts have no list of their own.
 */
#include <stdio.h>
#include <string.h>
#include "approval/desk.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/desk.h"
#include "engine/result.h"
#include "profile/profile.h"
#include "task/find.h"

/* Each candidate is a line: the word, and after a tab what it means. No line: names of files. */
static const char bash_script[] = "_nacre() {\n"
				  "\tlocal IFS=$'\\n'\n"
				  "\tCOMPREPLY=($(nacre complete -- "
				  "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f1))\n"
				  "}\n"
				  "complete -o default -F _nacre nacre\n";

static const char zsh_script[] = "#compdef nacre\n"
				 "_nacre() {\n"
				 "\tlocal -a list\n"
				 "\tlist=(${(f)\"$(nacre complete -- \"${(@)words[2,CURRENT]}\" "
				 "2>/dev/null | tr '\\t' ':')\"})\n"
				 "\tif (($#list)); then _describe nacre list; else _files; fi\n"
				 "}\n"
				 "compdef _nacre nacre\n";

static const char fish_script[] = "function __nacre_complete\n"
				  "\tset -l words (commandline -opc)\n"
				  "\tset -l current (commandline -ct)\n"
				  "\tset -e words[1]\n"
				  "\tnacre complete -- $words \"$current\" 2>/dev/null; or "
				  "__fish_complete_path \"$current\"\n"
				  "end\n"
				  "complete -c nacre -f -a '(__nacre_complete)'\n";

struct candidates {
	const char *word; /* what is typed so far */
	struct buffer out;
	bool agents; /* else profiles */
};

static void offer(struct candidates *c, const char *word, size_t n, const char *meaning)
{
	if (strncmp(word, c->word, strlen(c->word)) == 0 && strlen(c->word) <= n)
		buffer_printf(&c->out, "%.*s%s%s\n", (int)n, word, meaning ? "\t" : "",
		              meaning ? meaning : "");
}

static void offer_profile(void *context, const char *name, const char *path, bool agent)
{
	struct candidates *c = context;

	if (agent == c->agents)
		offer(c, name, strlen(name), NULL);
}

static void offer_profiles(struct candidates *c, bool agents)
{
	struct profile_request request;
	char buffer[4096];

	c->agents = agents;
	profile_request_init(&request, buffer, sizeof(buffer));
	profile_names(&request, offer_profile, c);
}

static void offer_tasks(struct candidates *c)
{
	scoped(find_list_donep) struct find_list tasks = {0};
	struct find_query q = {.beside_running = true};
	struct error err = {0};
	struct store store;

	store_look(&store);
	if (find_tasks(&store, &q, &tasks, &err) == 0)
		for (size_t i = 0; i < tasks.count; i++)
			offer(c, tasks.entries[i].id, strlen(tasks.entries[i].id),
			      find_state_name(&tasks.entries[i]));
	store_done(&store);
}

static void offer_approvals(struct candidates *c)
{
	scoped(arena_freep) struct arena *arena = arena_new((size_t)512 << 20);
	scoped(fd_closep) int desk = cli_desk_open();
	struct approval *list = NULL;
	struct error err = {0};
	size_t count = 0;

	if (arena && desk >= 0 && desk_list(desk, NULL, false, arena, &list, &count, &err) == 0)
		for (size_t i = 0; i < count; i++)
			offer(c, list[i].id, strlen(list[i].id), NULL);
}

/* KIND is the word for a value in the usage; see cli_option.value. */
static void offer_values(struct candidates *c, const char *kind)
{
	if (!kind)
		return;
	if (strcmp(kind, "PROFILE") == 0 || strcmp(kind, "AGENT") == 0)
		offer_profiles(c, kind[0] == 'A');
	else if (strcmp(kind, "TASK") == 0)
		offer_tasks(c);
	else if (strcmp(kind, "APPROVAL") == 0)
		offer_approvals(c);
	else if (strchr(kind, '|'))
		for (size_t n; *kind; kind += n + strspn(kind + n, "|")) {
			offer(c, kind, strcspn(kind, "|["), NULL);
			n = strcspn(kind, "|");
		}
}

static void offer_options(struct candidates *c, const struct cli_command *command)
{
	char word[64];

	cli_each_option (o, command)
		if (o->name) {
			snprintf(word, sizeof(word), "--%s", o->name);
			offer(c, word, strlen(word), o->help);
		}
	offer(c, "--help", strlen("--help"), cli_help_option.help);
}

static void offer_commands(struct candidates *c, const struct cli_command *group)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		const char *name = cli_name_in(cli_commands[i], group);

		if (name && cli_commands[i]->summary)
			offer(c, name, strlen(name), cli_commands[i]->summary);
	}
}

/* The option that WORD is, if it wants its value from the next word; else NULL. */
static const struct cli_option *find_option(const struct cli_command *command, const char *word)
{
	cli_each_option (o, command)
		if (o->value && o->value[0] != '[' && word[0] == '-' &&
		    ((o->name && word[1] == '-' && strcmp(word + 2, o->name) == 0) ||
		     (o->letter == word[1] && !word[2])))
			return o;
	return NULL;
}

/* The words after "nacre", up to the one under the cursor. */
static int complete(void *options, int argc, char **argv)
{
	struct candidates c = {.word = argc > 0 ? argv[argc - 1] : ""};
	const struct cli_command *command =
		argc > 1 ? cli_find(argv[0], argc > 2 ? argv[1] : NULL) : NULL;
	const struct cli_option *o =
		command && argc > 2 ? find_option(command, argv[argc - 2]) : NULL;
	int code;

	for (int i = 0; i + 1 < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return 1; /* the words of a program: files are the best guess */
	if (argc <= 1)
		offer_commands(&c, NULL);
	else if (o)
		offer_values(&c, o->value);
	else if (command && c.word[0] == '-')
		offer_options(&c, command);
	else if (command && !command->main)
		offer_commands(&c, command);
	else if (command)
		offer_values(&c, command->operand);
	code = c.out.len > 0 ? cli_print(&c.out) : 1;
	buffer_done(&c.out);
	return code;
}

const struct cli_command cli_complete = {
	.name = "complete", .usage = "-- WORDS", .most = -1, .main = complete};

static int completion(void *options, int argc, char **argv)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

	for (size_t i = 0; i < array_size(scripts); i++)
		if (strcmp(argv[0], scripts[i].shell) == 0)
			return fputs(scripts[i].script, stdout) >= 0 && fflush(stdout) == 0
			               ? 0
			               : EXIT_NACRE_FAILED;
	cli_complain("name a shell: nacre completion bash, zsh or fish");
	return EXIT_NACRE_FAILED;
}

const struct cli_command cli_completion = {
	.name = "completion",
	.summary = "print a shell completion script",
	.usage = "bash|zsh|fish",
	.about = "Prints a script with which the shell completes commands, options and their "
		 "values.\n\n  bash   source <(nacre completion bash)\n  zsh    source <(nacre "
		 "completion zsh)\n  fish   nacre completion fish | source",
	.operand = "bash|zsh|fish",
	.least = 1,
	.most = 1,
	.main = completion,
};
