#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/suggest.h"
#include "cli/cli.h"

/* What getopt returns for an option without a letter: this, and its place in the table. */
#define FIRST 256

static int take(const struct cli_option *o, const char *value)
{
	if (o->flag)
		*o->flag = true;
	else if (o->text)
		*o->text = value;
	else
		return o->each(o->owner, value);
	return 0;
}

static const struct cli_option *find(const struct cli_option *options, size_t count, int c)
{
	if (c >= FIRST)
		return &options[c - FIRST];
	for (size_t i = 0; i < count; i++)
		if (options[i].letter == c)
			return &options[i];
	return NULL;
}

static void suggest(const char *program, const char *written, const struct option *names)
{
	char word[SUGGEST_MAX + 1];
	const char *near;
	size_t n = strcspn(written, "=");

	if (n > SUGGEST_MAX)
		return;
	memcpy(word, written, n);
	word[n] = '\0';
	near = suggest_from(word, names, SIZE_MAX, sizeof(*names));
	if (near)
		fprintf(stderr, "%s: did you mean '--%s'?\n", program, near);
}

int cli_next_option(int argc, char **argv, const char *letters, const struct option *names)
{
	int c;

	optopt = 0;
	c = getopt_long(argc, argv, letters, names, NULL);
	/* Of a known name and of a letter getopt tells more by optopt. */
	if (c == '?' && optopt == 0 && strncmp(argv[optind - 1], "--", 2) == 0)
		suggest(argv[0], argv[optind - 1] + 2, names);
	return c;
}

int cli_options_read(int argc, char **argv, const struct cli_option *options, size_t count)
{
	struct option names[CLI_OPTIONS_MAX + 1] = {0};
	char letters[2 * CLI_OPTIONS_MAX + 2] = "+"; /* stop at the first operand */
	size_t n = 0, used = 1;
	int c, r;

	assert(count <= CLI_OPTIONS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (options[i].name)
			names[n++] = (struct option){.name = options[i].name,
			                             .has_arg = options[i].flag ? no_argument
			                                                        : required_argument,
			                             .val = FIRST + (int)i};
		if (options[i].letter)
			letters[used++] = options[i].letter;
		if (options[i].letter && !options[i].flag)
			letters[used++] = ':';
	}
	optind = 0;
	while ((c = cli_next_option(argc, argv, letters, names)) != -1) {
		const struct cli_option *o = find(options, count, c);

		r = o ? take(o, optarg) : -EINVAL;
		if (r < 0)
			return r;
	}
	return 0;
}
