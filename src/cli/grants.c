/*
 * `nacre approvals --grants` and `--revoke`: what was approved for whole sessions.
 */
#include "approval/grants.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/desk.h"
#include "engine/result.h"
#include "json/write.h"

static void put_json(struct json_writer *w, const struct grant *g)
{
	json_object_begin(w);
	json_member_string(w, "approval", g->approval);
	json_member_string(w, "session", g->session);
	json_member_string(w, "principal", g->principal);
	json_member_string(w, "profile", g->profile);
	json_member_string(w, "answer", g->sub ? "sub" : "session");
	json_member_string(w, "command", g->command);
	json_member_bool(w, "holds", g->holds);
	json_object_end(w);
}

static void put_escaped(struct buffer *out, const char *text, size_t width)
{
	size_t begin = out->len;

	approval_escape(text, strlen(text), false, out);
	while (out->len - begin < width && buffer_error(out) == 0)
		buffer_putc(out, ' ');
	buffer_puts(out, "  ");
}

static void put_row(struct buffer *out, const struct grant *g)
{
	buffer_printf(out, "%-13s  ", g->approval);
	put_escaped(out, g->session, 12);
	put_escaped(out, *g->principal ? g->principal : "you", 10);
	buffer_printf(out, "%-12s ",
	              !g->holds ? "nothing (1)"
	              : g->sub  ? "any words"
	                        : "these words");
	approval_escape(g->command, strlen(g->command), false, out);
	buffer_putc(out, '\n');
}

static void put_table(struct buffer *out, const struct grant *list, size_t count)
{
	bool stale = false;

	if (count == 0) {
		buffer_puts(out, "nothing is approved for a session\n");
		return;
	}
	buffer_printf(out, "%-13s  %-12s  %-10s  %-12s %s\n", "APPROVAL", "SESSION", "ASKED BY",
	              "COVERS", "COMMAND");
	for (size_t i = 0; i < count; i++) {
		put_row(out, &list[i]);
		stale |= !list[i].holds;
	}
	if (stale)
		buffer_puts(out, "(1) one of its programs has been replaced since\n");
}

int cli_grants_show(int desk, bool json, struct arena *arena)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct grant *list = NULL;
	struct error err = {0};
	size_t count = 0;
	int r = desk < 0 ? 0 : grants_list(desk, arena, &list, &count, &err);

	if (err.text[0])
		cli_complain("%s", err.text);
	if (r < 0)
		return EXIT_NACRE_FAILED;
	if (json) {
		json_object_begin(&w);
		json_member_array(&w, "grants");
		for (size_t i = 0; i < count; i++)
			put_json(&w, &list[i]);
		json_array_end(&w);
		json_object_end(&w);
		buffer_putc(&out, '\n');
	} else {
		put_table(&out, list, count);
	}
	return cli_print(&out);
}

static int revoke_one(int desk, const char *id, const char *by, bool json, struct arena *arena)
{
	scoped(buffer_donep) struct buffer out = {0};
	struct json_writer w = {.out = &out};
	struct error err = {.text = "this approval has granted nothing"};
	struct grant g;
	int r = desk < 0 ? -ENOENT : 0;

	if (r == 0) {
		err.text[0] = '\0';
		r = grants_revoke(desk, id, by, arena, &g, &err);
	}
	if (err.text[0])
		cli_complain("%s: %s", id, err.text);
	if (r < 0)
		return EXIT_NACRE_FAILED;
	if (json) {
		put_json(&w, &g);
	} else {
		buffer_printf(&out, "%s revoked for session ", g.approval);
		approval_escape(g.session, strlen(g.session), false, &out);
		buffer_puts(&out, ": ");
		approval_escape(g.command, strlen(g.command), false, &out);
	}
	buffer_putc(&out, '\n');
	return cli_print(&out);
}

int cli_grants_revoke(int desk, char **ids, int count, bool json, struct arena *arena)
{
	int code = 0;
	char by[128];

	if (cli_is_inside()) {
		cli_complain("a command that nacre runs cannot revoke approvals");
		return EXIT_NACRE_FAILED;
	}
	cli_name_person(isatty(STDIN_FILENO) ? STDIN_FILENO : -1, "nacre approvals --revoke", by,
	                sizeof(by));
	for (int i = 0; i < count; i++) {
		int r = revoke_one(desk, ids[i], by, json, arena);

		code = code ? code : r;
		arena_reset(arena);
	}
	return code;
}
