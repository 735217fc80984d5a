/*
 * Everything that people and tools read about the commands, made from their entries.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "json/write.h"

#define HELP_COLUMN 24
#define HELP_WIDTH  88

const struct cli_option cli_help_option = {"help", NULL, "show this text", .letter = 'h'};

/* One form of the usage, and where the next begins; NULL: that was the last. */
static const char *put_form(const struct cli_command *c, const char *form, struct buffer *out)
{
	size_t n = strcspn(form, "\n");

	buffer_printf(out, "nacre %s %.*s", c->name, (int)n, form);
	return form[n] ? form + n + 1 : NULL;
}

void cli_put_usage(const struct cli_command *c, struct buffer *out)
{
	const char *verb, *before = "";

	if (c->main) {
		(void)put_form(c, c->usage, out);
		return;
	}
	buffer_printf(out, "nacre %s ", c->name);
	for (size_t i = 0; cli_commands[i]; i++)
		if ((verb = cli_name_in(cli_commands[i], c))) {
			buffer_printf(out, "%s%s", before, verb);
			before = "|";
		}
}

static void put_option(const struct cli_option *o, struct buffer *out)
{
	size_t begin = out->len, n;

	buffer_puts(out, "  ");
	if (o->letter)
		buffer_printf(out, "-%c%s", o->letter, o->name ? ", " : "");
	if (o->name)
		buffer_printf(out, "--%s", o->name);
	if (o->value)
		buffer_printf(out, "%s%s", o->value[0] == '[' ? "" : " ", o->value);
	n = out->len - begin;
	buffer_printf(out, "%s%*s%s\n", n < HELP_COLUMN ? "" : "\n",
	              (int)(n < HELP_COLUMN ? HELP_COLUMN - n : HELP_COLUMN), "", o->help);
}

static void put_options(const struct cli_command *c, struct buffer *out)
{
	cli_each_option (o, c)
		if (o->help)
			put_option(o, out);
	put_option(&cli_help_option, out);
}

/* Lines break between words; a newline in the text stays one. */
static void put_text(const char *text, struct buffer *out)
{
	size_t column = 0, blanks, n;

	for (; *text; text += n) {
		blanks = strspn(text, " ");
		n = blanks + strcspn(text + blanks, " \n");
		if (*text == '\n' || (column > 0 && column + n > HELP_WIDTH)) {
			buffer_putc(out, '\n');
			n = *text == '\n' ? 1 : blanks;
			column = 0;
			continue;
		}
		buffer_append(out, text, n);
		column += n;
	}
}

/* The summary as a sentence, unless there is more to say. */
static void put_about(const struct cli_command *c, struct buffer *out)
{
	if (c->about)
		put_text(c->about, out);
	else if (c->summary)
		buffer_printf(out, "%c%s.", toupper((unsigned char)c->summary[0]), c->summary + 1);
	buffer_puts(out, "\n\n");
}

static void put_command(const char *name, const char *summary, struct buffer *out)
{
	buffer_printf(out, "  %-10s  %s\n", name, summary);
}

static void put_group(const struct cli_command *group, struct buffer *out)
{
	const char *verb;

	buffer_puts(out, "usage: ");
	cli_put_usage(group, out);
	buffer_puts(out, " ...\n\n");
	put_about(group, out);
	for (size_t i = 0; cli_commands[i]; i++)
		if ((verb = cli_name_in(cli_commands[i], group)))
			put_command(verb, cli_commands[i]->summary, out);
	buffer_printf(out, "\n'nacre %s COMMAND --help' shows the options of a command.\n",
	              group->name);
}

void cli_put_help(const struct cli_command *c, struct buffer *out)
{
	const char *before = "usage: ";

	if (!c->main) {
		put_group(c, out);
		return;
	}
	for (const char *form = c->usage; form; before = "       ") {
		buffer_puts(out, before);
		form = put_form(c, form, out);
		buffer_putc(out, '\n');
	}
	buffer_putc(out, '\n');
	put_about(c, out);
	put_options(c, out);
	if (c->notes) {
		buffer_putc(out, '\n');
		put_text(c->notes, out);
		buffer_putc(out, '\n');
	}
}

void cli_put_commands(struct buffer *out)
{
	buffer_puts(out, "usage: nacre COMMAND [OPTIONS]\n\nThe shell that AI agents use.\n\n");
	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_commands[i]->summary && cli_name_in(cli_commands[i], NULL))
			put_command(cli_commands[i]->name, cli_commands[i]->summary, out);
	buffer_puts(out, "\n'nacre COMMAND --help' shows the options of a command.\n");
}

static void describe_option(struct json_writer *w, const struct cli_option *o)
{
	char letter[] = {o->letter, '\0'};

	json_object_begin(w);
	json_member_string(w, "name", o->name);
	json_member_text(w, "letter", letter);
	json_member_string(w, "value", o->value);
	json_member_string(w, "help", o->help);
	json_object_end(w);
}

static int describe(void *options, int argc, char **argv)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};

	json_array_begin(&w);
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *c = cli_commands[i];

		if (!c->summary)
			continue;
		json_object_begin(&w);
		json_member_string(&w, "name", c->name);
		json_member_string(&w, "summary", c->summary);
		json_member_string(&w, "usage", c->usage);
		json_member_array(&w, "options");
		cli_each_option (o, c)
			if (o->help)
				describe_option(&w, o);
		json_array_end(&w);
		json_object_end(&w);
	}
	json_array_end(&w);
	buffer_putc(&out, '\n');
	return cli_print(&out);
}

/* For the manual page and the tests: the table as JSON. */
const struct cli_command cli_describe = {.name = "describe", .usage = "", .main = describe};
