/*
 * `nacre approve` and `nacre deny`: the answer of a person.
 */
#include <errno.h>
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
#include "cli/command.h"
#include "cli/desk.h"
#include "engine/result.h"
#include "json/write.h"

#define ANSWER_BYTES ((size_t)16 << 20)

struct approve {
	struct desk_answer answer;
	bool json;
};

static void put_text(struct buffer *out, const struct approval *a)
{
	char left[32];

	buffer_printf(out, "%s %s: ", a->id,
	              a->answer == APPROVAL_DENY      ? "refused"
	              : a->answer == APPROVAL_ONCE    ? "approved once"
	              : a->answer == APPROVAL_SESSION ? "approved for the session"
	                                              : "approved for the session, with any words");
	approval_escape(a->command, strlen(a->command), false, out);
	buffer_putc(out, '\n');
	if (a->answer == APPROVAL_DENY || a->held)
		return;
	number_format_duration((a->expires_ms - clock_wall_ms()) / 1000 * 1000, left);
	buffer_printf(out, "A waiting request continues now. Otherwise retry it within %s.\n",
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
	if (a.held && a.answer != APPROVAL_DENY && a.state != APPROVAL_USED)
		return EXIT_NACRE_FAILED; /* it was said why */
	if (json) {
		json_object_begin(&w);
		approval_put_json(&w, &a);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		put_text(&out, &a);
	}
	return cli_print(&out);
}

static int answer_all(void *options, int argc, char **argv)
{
	struct approve *o = options;
	scoped(arena_freep) struct arena *arena = arena_new(ANSWER_BYTES);
	scoped(fd_closep) int desk = -1;
	int code = 0;
	char by[128];

	if (cli_is_inside()) {
		cli_complain("a command that nacre runs cannot approve or deny anything");
		return EXIT_NACRE_FAILED;
	}
	desk = cli_desk_open();
	if (desk < 0 || !arena) {
		cli_complain(desk == -ENOENT  ? "no request waits for approval"
		             : desk == -EPERM ? "other users can access the directory of "
		                                "approvals; make it private (mode 0700)"
		                              : "the approvals cannot be read");
		return EXIT_NACRE_FAILED;
	}
	cli_name_person(isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
	                o->answer.answer == APPROVAL_DENY ? "nacre deny" : "nacre approve", by,
	                sizeof(by));
	o->answer.by = by;
	for (int i = 0; i < argc; i++) {
		int r = answer_one(desk, argv[i], &o->answer, o->json, arena);

		code = code ? code : r;
		arena_reset(arena);
	}
	return code;
}

static int read_session(void *options, const struct cli_option *o, const char *value)
{
	struct approve *a = options;

	if (value && strcmp(value, "sub") != 0)
		return cli_refuse(o, value, "--session or --session=sub");
	a->answer.answer = value ? APPROVAL_SUB : APPROVAL_SESSION;
	return 0;
}

static void prepare_approve(void *options)
{
	((struct approve *)options)->answer.answer = APPROVAL_ONCE;
}

static void prepare_deny(void *options)
{
	((struct approve *)options)->answer.answer = APPROVAL_DENY;
}

#define JSON                                                                                       \
	{                                                                                          \
		"json", NULL, "print one JSON object per approval, one per line",                  \
			CLI_FLAG(struct approve, json)                                             \
	}
#define FIRST_COUNTS "The first answer counts: a later one exits with 1 and says who was first."

static const struct cli_option approve_options[] = {
	{"session", "[=sub]", "for the rest of the session; =sub: with any other arguments, too",
         CLI_BY(read_session)},
	JSON,
	{0},
};

const struct cli_command cli_approve = {
	.name = "approve",
	.summary = "approve a request that waits for approval",
	.usage = "[OPTIONS] APPROVAL...",
	.about = "Approves requests. A waiting request continues at once. A refused request picks "
		 "up the approval when it is retried. The approval covers one run of exactly what "
		 "was asked: the same words, environment, input, directory and files. 'nacre "
		 "approvals ID' shows them.\n\nWith --session the same words may run again until "
		 "the session ends. With --session=sub the same program and sub-command may run "
		 "with any other arguments.",
	.notes = FIRST_COUNTS,
	.operand = "APPROVAL",
	.options = approve_options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct approve),
	.prepare = prepare_approve,
	.main = answer_all,
};

static const struct cli_option deny_options[] = {
	{"reason", "TEXT", "tell the requester why", CLI_TEXT(struct approve, answer.why)},
	JSON,
	{0},
};

const struct cli_command cli_deny = {
	.name = "deny",
	.summary = "refuse a request that waits for approval",
	.usage = "[OPTIONS] APPROVAL...",
	.notes = FIRST_COUNTS,
	.operand = "APPROVAL",
	.options = deny_options,
	.least = 1,
	.most = -1,
	.size = sizeof(struct approve),
	.prepare = prepare_deny,
	.main = answer_all,
};
