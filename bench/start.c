/*
 * How long commands take from posix_spawn to wait, one after the other, in rounds: A B C A B C.
 * What disturbs the machine for a while then disturbs all of them alike.
 *
 *     start FILE ROUNDS WARMUP EVERY ARGV... [::: EVERY ARGV...]...
 *
 * A first word NAME=VALUE of ARGV is put into that command's environment, in place of what is
 * there. EVERY is 1 for a command that takes part in each round, 10 for one in each tenth. FILE
 * gets a line "command nanoseconds" per start, after everything has been measured.
 */
#include "harness.h"

#define COMMANDS_MAX 32

struct command {
	char **argv, **envp;
	size_t every;
	int64_t *samples;
	size_t count;
};

/* The environment with one variable set anew. */
static char **with_setting(char *setting)
{
	size_t name = (size_t)(strchr(setting, '=') - setting) + 1, count = 0;
	char **envp;

	while (environ[count])
		count++;
	envp = allocate(count + 2, sizeof(*envp));
	envp[0] = setting;
	for (size_t i = 0, n = 1; i < count; i++)
		if (strncmp(environ[i], setting, name) != 0)
			envp[n++] = environ[i];
	return envp;
}

static size_t read_commands(char **argv, struct command commands[COMMANDS_MAX], size_t rounds)
{
	size_t n = 0;

	while (*argv) {
		if (n == COMMANDS_MAX || !argv[1])
			give_up("too many commands, or an empty one", E2BIG);
		commands[n].every = number_argument(*argv++);
		if (commands[n].every == 0)
			give_up("EVERY starts at 1", EINVAL);
		commands[n].envp = strchr(*argv, '=') ? with_setting(*argv++) : environ;
		commands[n].argv = argv;
		commands[n].samples = allocate(rounds, sizeof(int64_t));
		while (*argv && strcmp(*argv, ":::") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX] = {0};
	size_t count, rounds, warmup;
	FILE *out;

	if (argc < 6)
		give_up("usage: start FILE ROUNDS WARMUP EVERY ARGV... [::: EVERY ARGV...]", 0);
	rounds = number_argument(argv[2]);
	warmup = number_argument(argv[3]);
	count = read_commands(argv + 4, commands, rounds);
	for (size_t round = 0; round < warmup + rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			struct command *c = &commands[i];
			int64_t took;

			if (round % c->every != 0)
				continue;
			took = time_command(c->argv, c->envp);
			if (round >= warmup)
				c->samples[c->count++] = took;
		}
	}
	out = fopen(argv[1], "we");
	if (!out)
		give_up(argv[1], errno);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < commands[i].count; k++)
			fprintf(out, "%zu %lld\n", i, (long long)commands[i].samples[k]);
	if (fclose(out) != 0)
		give_up(argv[1], errno);
	return 0;
}
