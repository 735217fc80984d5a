#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "engine/result.h"
#include "output/clean.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary; /* NULL: not for people */
} commands[] = {
	{"run", cli_run, "run a command, supervised and with bounded output"},
	{"input", cli_input, "type on the terminal of a task, or change its size"},
	{"call", cli_call, "call a tool as an agent does, with JSON parameters"},
	{"tasks", cli_tasks, "list the commands that run, and those whose output is kept"},
	{"output", cli_output, "show what a task has printed, or follow it"},
	{"stop", cli_stop, "end tasks with all that they started"},
	{"approvals", cli_approvals, "list the commands that wait for a person"},
	{"approve", cli_approve, "let a command run that waits for a person"},
	{"deny", cli_deny, "refuse a command that waits for a person"},
	{"audit", cli_audit, "show and check the log of what was asked for, decided and run"},
	{"policy", cli_policy, "check, try and show what decides about commands"},
	{"profiles", cli_profiles, "list the profiles and agents, or print one"},
	{"explain", cli_explain, "tell what would be decided about a command, and why"},
	{"analyse", cli_analyse, "tell what a bash line would run, without running it"},
	{"mcp", cli_mcp, "serve MCP on standard input and output, for one client"},
	{"serve", cli_serve, "serve HTTP: POST /shell, /v1 and MCP"},
	{"token", cli_token, "make, list and revoke the tokens of a server's clients"},
	{"doctor", cli_doctor, "show what the sandbox has on this machine, and what to change"},
	{"completion", cli_completion, "print a script with which your shell completes all this"},
	{"launcher", cli_launcher, NULL},
};

void cli_put_clean(const char *text, struct buffer *into)
{
	struct clean_options options = {.show_controls = true};
	scoped(buffer_donep) struct buffer shown = {.max = into->max};
	size_t length = strlen(text);
	struct clean_facts facts;

	/* First what is longer than a byte: the cleaner would drop some of it without a trace. */
	for (size_t i = 0, n; i < length; i += n) {
		uint32_t code = 0;

		n = utf8_char(text + i, length - i, &code);
		if (code >= 0x80 && utf8_is_hidden(code))
			buffer_printf(&shown, "<U+%04X>", (unsigned)code);
		else
			buffer_append(&shown, text + i, n ? n : 1);
		n = n ? n : 1;
	}
	(void)clean_text(buffer_str(&shown), shown.len, &options, into, &facts);
	if (buffer_error(&shown) && !into->failed)
		into->failed = buffer_error(&shown);
}

void cli_complain(const char *format, ...)
{
	scoped(buffer_donep) struct buffer clean = {0};
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cli_put_clean(text, &clean);
	fprintf(stderr, "nacre: %s\n", buffer_str(&clean));
}

static int help(FILE *to)
{
	fputs("usage: nacre COMMAND [OPTIONS]\n\nThe shell that AI agents use.\n\n", to);
	for (size_t i = 0; i < array_size(commands); i++)
		if (commands[i].summary)
			fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'nacre COMMAND --help' shows the options of a command.\n", to);
	return to == stdout ? 0 : EXIT_NACRE_FAILED;
}

/* The command for people that is nearest to what was typed; NULL: none is near. */
static const char *nearest(const char *typed)
{
	const char *found = NULL;
	unsigned best = SUGGEST_NONE;

	for (size_t i = 0; i < array_size(commands); i++)
		if (commands[i].summary && suggest_is_near(typed, commands[i].name, &best))
			found = commands[i].name;
	return found;
}

int main(int argc, char **argv)
{
	char words[SUGGEST_WORDS_MAX];
	const char *near;
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (fd_fill_standard() < 0)
		return EXIT_NACRE_FAILED;
	/* A closed pipe and a file that may not grow are errors that we look at. */
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	if (argc < 2)
		return help(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(stdout);
	if (strcmp(argv[1], "--version") == 0) {
		puts("nacre " NACRE_VERSION);
		return 0;
	}
	for (size_t i = 0; i < array_size(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	near = nearest(argv[1]);
	cli_complain("unknown command '%.60s'%s", argv[1],
	             near ? suggest_words(near, words) : "; 'nacre --help' lists them");
	return EXIT_NACRE_FAILED;
}
