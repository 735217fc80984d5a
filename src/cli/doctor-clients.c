/*
 * The proof that init made is made again, from the files as they are now. Beside it stands what no
 * proof from here can see: whether the client itself still calls the hook. If its program is newer
 * than the last call, nobody knows that it does; a person is told to try.
 */
#include "cli/doctor-clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "audit/event.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/setup.h"
#include "json/write.h"

#define ARENA_MAX ((size_t)256 << 20)

struct visit {
	struct arena *arena;
	struct json_writer *w;
	struct buffer *out;
	int wrong;
};

/* When the hook was called last; -1: never. */
static int64_t last_call(int dir, const char *client)
{
	struct stat st;

	if (fstatat(dir, client, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

static const char *doubt(struct visit *v, int dir, const struct setup_record *record)
{
	const struct setup_client *c = setup_client_find(record->client);
	char program[PATH_MAX], changed[32];
	int64_t called = last_call(dir, record->client), now;

	if (!*record->program) /* it was not in PATH then either */
		return NULL;
	if (!setup_client_program(c, program))
		return "its program is not in PATH any more";
	now = setup_program_ms(program);
	if (now <= record->program_ms || called >= now)
		return NULL;
	audit_time_print(now, changed);
	return arena_printf(v->arena,
	                    "it was updated (%.10s) and has not called nacre since: have it run "
	                    "a command, then run `nacre doctor` again",
	                    changed);
}

static int examine(void *context, int dir, const char *name, const struct setup_record *record)
{
	const struct setup_client *c = setup_client_find(record->client);
	scoped(buffer_donep) struct buffer seen = {0};
	struct visit *v = context;
	struct setup_options o = {
		.profile = *record->profile ? record->profile : NULL,
		.project = *record->project ? record->project : NULL,
		.shell = *record->shell ? record->shell : NULL,
		.mcp = record->mcp,
		.no_shell = record->no_shell,
	};
	const char *warning;
	struct setup_plan plan;
	struct error err = {0};
	int wrong;

	if (!c)
		return 0;
	wrong = setup_plan(c, &o, v->arena, &plan, &err);
	if (wrong == 0)
		wrong = setup_prove(&plan, v->arena, &seen, &err);
	warning = wrong < 0 ? NULL : setup_client_doubt(&plan);
	if (!warning)
		warning = doubt(v, dir, record);
	v->wrong += wrong != 0;
	if (v->w) {
		json_object_begin(v->w);
		json_member_string(v->w, "client", c->name);
		json_member_text(v->w, "project", record->project);
		json_member_bool(v->w, "works", wrong == 0);
		json_member_string(v->w, "error", wrong < 0 ? err.text : NULL);
		json_member_string(v->w, "warning", warning);
		json_object_end(v->w);
		return 0;
	}
	buffer_printf(v->out, "\nclient %s%s%s: %s\n", c->title, o.project ? " in " : "",
	              o.project ? o.project : "", wrong == 0 ? "works" : "does not work");
	if (wrong < 0)
		buffer_printf(v->out, "  %s\n", err.text);
	if (wrong > 0)
		cli_put_clean(buffer_str(&seen), v->out);
	if (warning)
		buffer_printf(v->out, "  warning: %s\n", warning);
	return 0;
}

int doctor_clients(struct json_writer *w, struct buffer *out)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(fd_closep) int dir = setup_record_open(false, NULL);
	struct visit v = {.arena = arena, .w = w, .out = out};

	if (arena && dir >= 0)
		(void)setup_record_each(dir, arena, examine, &v);
	return v.wrong;
}
