/*
 * `nacre completion`: a script for the shell of a person. It holds no list of its own: commands and
 * options are taken from the help texts at the moment of asking, so that none can be forgotten.
 */
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "cli/cli.h"
#include "engine/result.h"

static const char bash_script[] =
	"_nacre() {\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal command=${COMP_WORDS[1]} list=\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\tlist=$(nacre --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p')\n"
	"\telif [[ $before == --profile ]]; then\n"
	"\t\tlist=$(nacre profiles | sed -n '/ (agent) /!s/^\\([^ ]*\\) .*/\\1/p')\n"
	"\telif [[ $before == --agent ]]; then\n"
	"\t\tlist=$(nacre profiles | sed -n 's/^\\([^ ]*\\) *(agent) .*/\\1/p')\n"
	"\telif [[ $word == -* ]]; then\n"
	"\t\tlist=$(nacre \"$command\" --help 2>/dev/null "
	"| sed -nE 's/^  (-[A-Za-z], )?(--[a-z-]+).*/\\2/p')\n"
	"\telif [[ $COMP_CWORD == 2 && $command =~ ^(audit|policy|token)$ ]]; then\n"
	"\t\tlist=$(nacre $command --help "
	"| sed -nE \"s/^(usage:| +) ?nacre $command ([a-z]+).*/\\\\2/p\")\n"
	"\telif [[ $command == approvals || $command == approve || $command == deny ]]; then\n"
	"\t\tlist=$(nacre approvals --json | grep -oE '\"id\":\"[^\"]*' | cut -d'\"' -f4)\n"
	"\telif [[ $command == output || $command == stop || $command == input ]]; then\n"
	"\t\tlist=$(nacre tasks --all --json | grep -oE '\"task_id\":\"[^\"]*' | cut -d'\"' -f4)\n"
	"\telif [[ $command == completion ]]; then\n"
	"\t\tlist='bash zsh fish'\n"
	"\tfi\n"
	"\tCOMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
	"}\n"
	"complete -o default -F _nacre nacre\n";

static const char zsh_script[] =
	"#compdef nacre\n"
	"_nacre() {\n"
	"\tlocal before=${words[CURRENT-1]} word=${words[CURRENT]} command=${words[2]}\n"
	"\tlocal -a list\n"
	"\tif ((CURRENT == 2)); then\n"
	"\t\tlist=(${(f)\"$(nacre --help | sed -n 's/^  \\([a-z]*\\)  *\\(.*\\)/\\1:\\2/p')\"})\n"
	"\t\t_describe command list\n"
	"\t\treturn\n"
	"\telif [[ $before == --profile ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre profiles | sed -n '/ (agent) /!s/^\\([^ ]*\\) .*/\\1/p')\"})\n"
	"\telif [[ $before == --agent ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre profiles | sed -n 's/^\\([^ ]*\\) *(agent) .*/\\1/p')\"})\n"
	"\telif [[ $word == -* ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre $command --help 2>/dev/null "
	"| sed -nE 's/^  (-[A-Za-z], )?(--[a-z-]+).*/\\2/p')\"})\n"
	"\telif [[ $CURRENT == 3 && $command == (audit|policy|token) ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre $command --help "
	"| sed -nE \"s/^(usage:| +) ?nacre $command ([a-z]+).*/\\\\2/p\")\"})\n"
	"\telif [[ $command == (approvals|approve|deny) ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre approvals --json | grep -oE '\"id\":\"[^\"]*' "
	"| cut -d'\"' -f4)\"})\n"
	"\telif [[ $command == (output|stop|input) ]]; then\n"
	"\t\tlist=(${(f)\"$(nacre tasks --all --json | grep -oE '\"task_id\":\"[^\"]*' "
	"| cut -d'\"' -f4)\"})\n"
	"\telif [[ $command == completion ]]; then\n"
	"\t\tlist=(bash zsh fish)\n"
	"\telse\n"
	"\t\t_files\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcompadd -a list\n"
	"}\n"
	"compdef _nacre nacre\n";

static const char fish_script[] =
	"function __nacre_options\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -ge 2; and nacre $words[2] --help 2>/dev/null "
	"| string match -rg '^  (?:-[A-Za-z], )?(--[a-z-]+)'\n"
	"end\n"
	"function __nacre_words\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -eq 2; and nacre $words[2] --help "
	"| string match -rg \"^(?:usage:| +) ?nacre $words[2] ([a-z]+)\"\n"
	"end\n"
	"complete -c nacre -n __fish_use_subcommand -f -a "
	"\"(nacre --help | string replace -rf '^  ([a-z]+) +(.*)' '\\$1\\t\\$2')\"\n"
	"complete -c nacre -n 'not __fish_use_subcommand; and string match -q -- \"-*\" "
	"(commandline -ct)' -a '(__nacre_options)'\n"
	"complete -c nacre -n '__fish_seen_subcommand_from output stop input' -f -a "
	"\"(nacre tasks --all --json | string match -arg '\\\"task_id\\\":\\\"([^\\\"]*)')\"\n"
	"complete -c nacre -n '__fish_seen_subcommand_from approvals approve deny' -f -a "
	"\"(nacre approvals --json | string match -arg '\\\"id\\\":\\\"([^\\\"]*)')\"\n"
	"complete -c nacre -n '__fish_seen_subcommand_from audit policy token' "
	"-a '(__nacre_words)'\n"
	"complete -c nacre -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";

static int help(void)
{
	puts("usage: nacre completion bash|zsh|fish\n\n"
	     "Prints a script with which the shell completes nacre's commands and options.\n\n"
	     "  bash   source <(nacre completion bash)\n"
	     "  zsh    source <(nacre completion zsh)\n"
	     "  fish   nacre completion fish | source");
	return 0;
}

int cli_completion(int argc, char **argv)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return help();
	for (size_t i = 0; argc == 2 && i < array_size(scripts); i++)
		if (strcmp(argv[1], scripts[i].shell) == 0)
			return fputs(scripts[i].script, stdout) >= 0 && fflush(stdout) == 0
			               ? 0
			               : EXIT_NACRE_FAILED;
	cli_complain("name a shell: nacre completion bash, zsh or fish");
	return EXIT_NACRE_FAILED;
}
