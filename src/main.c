#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/sh.h"
#include "engine/result.h"
#include "output/clean.h"

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

int cli_print(struct buffer *out)
{
	int r = buffer_error(out);

	if (r == 0 && (fflush(stdout) != 0 || fd_write_all(STDOUT_FILENO, out->data, out->len) < 0))
		r = -EPIPE;
	buffer_clear(out);
	return r < 0 ? EXIT_NACRE_FAILED : 0;
}

int cli_resolve(const char *const *paths, struct arena *arena, const char *command,
                const char *const **ret_paths)
{
	const char **found;
	char real[PATH_MAX];
	size_t n = 0;

	if (!paths || !paths[0])
		return 0;
	while (paths[n])
		n++;
	found = arena ? arena_new_array(arena, const char *, n + 1) : NULL;
	for (size_t i = 0; i < n; i++) {
		if (!realpath(paths[i], real)) {
			cli_complain("%s: workspace '%s': %s", command, paths[i],
			             strerrordesc_np(errno));
			return -EINVAL;
		}
		if (!found || !(found[i] = arena_strdup(arena, real))) {
			cli_complain("out of memory");
			return -ENOMEM;
		}
	}
	*ret_paths = found;
	return 0;
}

int main(int argc, char **argv)
{
	scoped(buffer_donep) struct buffer help = {0};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (fd_fill_standard() < 0)
		return EXIT_NACRE_FAILED;
	/* A closed pipe and a file that may not grow are errors that we look at. */
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	if (sh_is_meant(argv[0]))
		return sh_main(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("nacre %s\n", version_text);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0 &&
	    strcmp(argv[1], "help") != 0)
		return cli_main(argc, argv);
	cli_put_commands(&help);
	if (argc > 1)
		return cli_print(&help);
	fputs(buffer_str(&help), stderr);
	return EXIT_NACRE_FAILED;
}
