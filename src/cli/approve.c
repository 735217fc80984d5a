/*
 * `nacre approve` and `nacre deny`: the word of a person.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "approval/desk.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/desk.h"
#include "cli/options.h"
#include "engine/result.h"
#include "json/write.h"

#define ANSWER_BYTES ((size_t)16 << 20)

static int help_approve(void)
{
	puts("usage: nacre approve [--session[=sub]] [--json] ID...\n\n"
	     "Lets a command run that waits for a person. Who waits for it goes on at once; a\n"
	     "request that was refused finds the approval when it is repeated. It holds for one\n"
	     "run of exactly what was asked: the same words, environment, input, directory and\n"
	     "files. 'nacre approvals ID' shows all of it.\n\n"
	     "  --session      exactly these words may run again, until the session ends\n"
	     "  --session=sub  the same program and sub-command may run with any other words\n"
	     "  --json         one JSON object for each, a line each\n"
	     "  --help         this text\n\n"
	     "The first answer counts: another one exits with 1 and says who was first.");
	return 0;
}

static int help_deny(void)
{
	puts("usage: nacre deny [--reason TEXT] [--json] ID...\n\n"
	     "Refuses a command that waits for a person.\n\n"
	     "  --reason TEXT  is told to whoever asked\n"
	     "  --json         one JSON object for each, a line each\n"
	     "  --help         this text\n\n"
	     "The first answer counts: another one exits with 1 and says who was first.");
	return 0;
}

static void put_text(struct buffer *out, const struct approval *a)
{
	char left[32];

	buffer_printf(out, "%s %s: ", a->id,
	              a->answer == APPROVAL_DENY      ? "refused"
	              : a->answer == APPROVAL_ONCE    ? "approved for once"
	              : a->answer == APPROVAL_SESSION ? "approved for the session"
	                                              : "approved for the session, with any words");
	approval_escape(a->command, strlen(a->command), false, out);
	buffer_putc(out, '\n');
	if (a->answer == APPROVAL_DENY)
		return;
	number_format_duration((a->expires_ms - clock_wall_ms()) / 1000 * 1000, left);
	buffer_printf(out,
	              "It runs now if somebody waits for it, else when it is repeated within "
	              "%s.\n",
	              left);
}

static int answer_one(int desk, const char *id, const struct desk_answer *answer, bool json,
                      struct arena *arena)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct error err = {0};
	struct approval a;
	int r = desk_answer(desk, id, NULL, answer, arena, &a, &err);

	if (err.text[0])
		cli_complain("%s: %s", id, err.text);
	if (r < 0)
		return r == -EALREADY || r == -ETIME ? 1 : EXIT_NACRE_FAILED;
	if (json) {
		json_object_begin(&w);
		approval_put_json(&w, &a);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		put_text(&out, &a);
	}
	return buffer_error(&out) < 0 || fd_write_all(STDOUT_FILENO, out.data, out.len) < 0
	               ? EXIT_NACRE_FAILED
	               : 0;
}

static int answer_all(char **ids, int count, const struct desk_answer *answer, bool json)
{
	struct desk_answer given = *answer;
	scoped(arena_freep) struct arena *arena = arena_new(ANSWER_BYTES);
	scoped(fd_closep) int desk = -1;
	int code = 0;
	char by[128];

	if (cli_is_inside()) {
		cli_complain("a command that nacre runs cannot answer for a person");
		return EXIT_NACRE_FAILED;
	}
	desk = cli_desk_open();
	if (desk < 0 || !arena) {
		cli_complain(desk == -ENOENT ? "nothing waits for approval here"
		             : desk == -EPERM
		                     ? "the directory of approvals is not private to this user"
		                     : "the approvals cannot be read");
		return EXIT_NACRE_FAILED;
	}
	cli_name_person(isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
	                answer->answer == APPROVAL_DENY ? "nacre deny" : "nacre approve", by,
	                sizeof(by));
	given.by = by;
	for (int i = 0; i < count; i++) {
		int r = answer_one(desk, ids[i], &given, json, arena);

		code = code ? code : r;
		arena_reset(arena);
	}
	return code;
}

static int nothing_given(void)
{
	cli_complain("give the id of an approval; 'nacre approvals' lists them");
	return EXIT_NACRE_FAILED;
}

int cli_approve(int argc, char **argv)
{
	static const struct option options[] = {{"session", optional_argument, NULL, 's'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	struct desk_answer answer = {.answer = APPROVAL_ONCE};
	static char name[] = "nacre approve";
	bool json = false;
	int id;

	argv[0] = name; /* getopt puts it in front of its messages */
	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1) {
		if (id == 'h')
			return help_approve();
		if (id == '?')
			return EXIT_NACRE_FAILED;
		json |= id == 'j';
		if (id != 's')
			continue;
		if (optarg && strcmp(optarg, "sub") != 0) {
			cli_complain("--session=%s: expected --session or --session=sub", optarg);
			return EXIT_NACRE_FAILED;
		}
		answer.answer = optarg ? APPROVAL_SUB : APPROVAL_SESSION;
	}
	return optind == argc ? nothing_given()
	                      : answer_all(argv + optind, argc - optind, &answer, json);
}

int cli_deny(int argc, char **argv)
{
	static const struct option options[] = {{"reason", required_argument, NULL, 'r'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	struct desk_answer answer = {.answer = APPROVAL_DENY};
	static char name[] = "nacre deny";
	bool json = false;
	int id;

	argv[0] = name;
	optind = 1;
	while ((id = cli_next_option(argc, argv, "h", options)) != -1) {
		if (id == 'h')
			return help_deny();
		if (id == '?')
			return EXIT_NACRE_FAILED;
		json |= id == 'j';
		if (id == 'r')
			answer.why = optarg;
	}
	return optind == argc ? nothing_given()
	                      : answer_all(argv + optind, argc - optind, &answer, json);
}
