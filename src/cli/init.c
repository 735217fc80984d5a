/*
 * `nacre init [CLIENT]`: make nacre the shell of an agent, and prove it; `--undo` takes it back.
 *
 * First everything is planned and shown; then a person says yes, or --yes has; then all files are
 * written, each as it was when it was shown. The text from before is kept before the first byte is
 * written. Undo puts it back if nobody has changed the file since; else it takes out our entries
 * and leaves the rest as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/setup.h"
#include "engine/result.h"

#define ARENA_MAX ((size_t)256 << 20)

struct init_options {
	struct setup_options setup;
	const char *project;
	bool yes, undo, dry, in_project;
};

struct init {
	const struct init_options *options;
	struct arena *arena;
	struct setup_plan plan;
	struct setup_record record; /* of before, and then of now */
	bool known;                 /* there is a record of before */
	char name[SETUP_NAME_MAX];
	int state;
	struct edit {
		struct setup_file file;
		struct buffer after;
		bool differs;
	} changes[SETUP_TARGETS_MAX];
};

static void init_done(struct init *x)
{
	for (size_t i = 0; i < SETUP_TARGETS_MAX; i++) {
		if (i < x->plan.count)
			setup_file_done(&x->changes[i].file);
		buffer_done(&x->changes[i].after);
	}
	fd_close(take_fd(&x->state));
}

static const struct setup_record_file *known_file(const struct init *x,
                                                  const struct setup_target *t)
{
	for (size_t i = 0; x->known && i < x->record.count; i++)
		if (strcmp(x->record.files[i].base, t->base) == 0 &&
		    strcmp(x->record.files[i].rel, t->rel) == 0)
			return &x->record.files[i];
	return NULL;
}

static int read_state(struct init *x, struct error *err)
{
	const char *project = x->options->setup.project;
	int r;

	x->state = setup_record_open(true, err);
	if (x->state < 0)
		return x->state;
	setup_record_name(x->plan.client->name, project, x->name);
	r = setup_record_read(x->state, x->name, x->arena, &x->record, err);
	x->known = r == 0;
	return r == -ENOENT ? 0 : r;
}

static int begin(struct init *x, const struct setup_client *c, struct error *err)
{
	int r = setup_plan(c, &x->options->setup, x->arena, &x->plan, err);

	for (size_t i = 0; i < SETUP_TARGETS_MAX; i++)
		x->changes[i].file.dir_fd = -1;
	return r < 0 ? r : read_state(x, err);
}

/* What our values have replaced: it stands in the old text. */
static int recall(struct init *x, struct setup_target *t, struct error *err)
{
	const struct setup_record_file *known = known_file(x, t);
	scoped(buffer_donep) struct buffer old = {0}, scratch = {0};
	scoped(fd_closep) int fd = -1;
	int r;

	if (!known || strchr(known->old, '/'))
		return 0;
	fd = fd_open_regular(x->state, known->old);
	r = fd < 0 ? fd : fd_read_all(fd, &old);
	if (r < 0)
		return error_sys(err, -r, "the old text '%s'", known->old);
	return setup_edit_apply(t, buffer_str(&old), old.len, x->arena, &scratch, err);
}

/* Reads all files, and what becomes of them. */
static int compare(struct init *x, bool undo, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->plan.count; i++) {
		struct setup_target *t = &x->plan.targets[i];
		struct edit *c = &x->changes[i];
		struct buffer *before = &c->file.text;

		r = setup_file_open(t->base, t->rel, false, &c->file, err);
		if (r == 0 && undo)
			r = recall(x, t, err);
		if (r == 0 && undo)
			r = setup_edit_strip(t, buffer_str(before), before->len, &c->after, err);
		else if (r == 0)
			r = setup_edit_apply(t, buffer_str(before), before->len, x->arena,
			                     &c->after, err);
		c->differs = r == 0 && (c->after.len != before->len ||
		                        (before->len > 0 &&
		                         memcmp(c->after.data, before->data, before->len) != 0));
	}
	return r;
}

static bool show(const struct init *x, struct buffer *out)
{
	char path[PATH_MAX];
	bool any = false;

	for (size_t i = 0; i < x->plan.count; i++) {
		const struct edit *c = &x->changes[i];

		if (!c->differs)
			continue;
		any = true;
		snprintf(path, sizeof(path), "%s/%s", x->plan.targets[i].base,
		         x->plan.targets[i].rel);
		setup_diff(path, &c->file.text, &c->after, out);
	}
	return any;
}

static bool agreed(const struct init_options *o)
{
	char answer[16] = "";
	int tty;
	ssize_t n;

	if (o->yes)
		return true;
	tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty < 0 || !isatty(STDIN_FILENO)) {
		fd_close(tty);
		cli_complain("init: nobody can be asked here. Add --yes to write this");
		return false;
	}
	(void)fd_write_all(tty, "Write this? [y/N] ", 18);
	n = read(tty, answer, sizeof(answer) - 1);
	fd_close(tty);
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The text from before, unless that is kept already; into the record. */
static int keep_old(struct init *x, size_t i, struct setup_record *now, struct error *err)
{
	const struct setup_target *t = &x->plan.targets[i];
	const struct setup_record_file *known = known_file(x, t);
	struct setup_record_file *f = &now->files[now->count++];
	struct edit *c = &x->changes[i];
	scoped(buffer_donep) struct buffer old = {0};
	char digest[2 * DIGEST_BYTES + 1];
	int r;

	setup_digest(buffer_str(&c->after), c->after.len, digest);
	*f = (struct setup_record_file){.base = t->base,
	                                .rel = t->rel,
	                                .written = arena_strdup(x->arena, digest),
	                                .existed = known ? known->existed : c->file.exists};
	f->old = known ? known->old : arena_printf(x->arena, "%s.%zu.old", x->name, i);
	if (!f->old || !f->written)
		return error_nomem(err);
	setup_digest(buffer_str(&c->file.text), c->file.text.len, digest);
	if (known && strcmp(known->written, digest) == 0)
		return 0; /* nobody has changed it since: the old text stays the old text */
	f->existed = c->file.exists;
	r = setup_edit_strip(t, buffer_str(&c->file.text), c->file.text.len, &old, err);
	if (r == 0)
		r = fd_replace_file_synced(x->state, f->old, buffer_str(&old), old.len);
	return r < 0 ? error_wrap(err, "the old text cannot be kept") : 0;
}

static int write_all(struct init *x, struct error *err)
{
	const struct setup_options *o = &x->options->setup;
	char program[PATH_MAX] = "";
	struct setup_record now = {.client = x->plan.client->name,
	                           .project = o->project ? o->project : "",
	                           .profile = o->profile ? o->profile : "",
	                           .shell = o->shell ? o->shell : "",
	                           .mcp = o->mcp,
	                           .no_shell = o->no_shell,
	                           .program = program};
	int r = 0;

	if (!setup_client_program(x->plan.client, program))
		program[0] = '\0';
	now.program_ms = setup_program_ms(program);
	r = setup_shim_make(&x->plan, err);
	for (size_t i = 0; r == 0 && i < x->plan.count; i++)
		r = keep_old(x, i, &now, err);
	if (r == 0)
		r = setup_record_write(x->state, x->name, &now, err);
	for (size_t i = 0; r == 0 && i < x->plan.count; i++) {
		const struct setup_target *t = &x->plan.targets[i];
		struct edit *c = &x->changes[i];

		if (!c->differs)
			continue;
		if (c->file.dir_fd < 0) { /* its directory is made only now */
			setup_file_done(&c->file);
			r = setup_file_open(t->base, t->rel, true, &c->file, err);
		}
		if (r == 0)
			r = setup_file_replace(&c->file, c->after.data, c->after.len, err);
	}
	return r;
}

static int prove(struct init *x, struct buffer *out, struct error *err)
{
	int wrong;

	buffer_printf(out, "%s:\n", x->plan.client->title);
	wrong = setup_prove(&x->plan, x->arena, out, err);
	if (wrong >= 0 && setup_client_doubt(&x->plan))
		buffer_printf(out, "  NOTE %s\n", setup_client_doubt(&x->plan));
	if (wrong >= 0 && x->plan.hint) {
		buffer_puts(out, x->plan.hint);
		buffer_putc(out, '\n');
	}
	return wrong;
}

static int apply(struct init *x, struct buffer *out, struct error *err)
{
	int r = compare(x, false, err);
	bool any;

	if (r < 0)
		return r;
	any = show(x, out);
	if (cli_print(out))
		return -EPIPE;
	if (any && x->options->dry)
		return 0;
	if (any && !agreed(x->options))
		return -ECANCELED;
	r = write_all(x, err);
	if (r < 0)
		return r;
	buffer_printf(out,
	              any ? "written; `nacre init --undo %s%s` takes it back\n"
	                  : "%s: everything is there already\n",
	              any ? x->plan.client->name : x->plan.client->title,
	              any && x->options->setup.project ? " --project" : "");
	return prove(x, out, err);
}

/* Undo */

/* What is put back: the old text, if the file is as we wrote it. */
static int choose_old(struct init *x, size_t i, bool *ret_gone, struct error *err)
{
	const struct setup_record_file *known = known_file(x, &x->plan.targets[i]);
	scoped(fd_closep) int fd = -1;
	struct edit *c = &x->changes[i];
	char digest[2 * DIGEST_BYTES + 1];
	int r;

	*ret_gone = false;
	setup_digest(buffer_str(&c->file.text), c->file.text.len, digest);
	if (!known || strcmp(known->written, digest) != 0)
		return 0;
	*ret_gone = !known->existed;
	if (strchr(known->old, '/'))
		return error_set(err, ERROR_INPUT, EINVAL, "the record '%s' is not ours", x->name);
	fd = fd_open_regular(x->state, known->old);
	buffer_clear(&c->after);
	r = fd < 0 ? fd : fd_read_all(fd, &c->after);
	if (r < 0)
		return error_sys(err, -r, "the old text '%s'", known->old);
	if (*ret_gone)
		buffer_clear(&c->after);
	c->differs = true;
	return 0;
}

static int undo(struct init *x, struct buffer *out, struct error *err)
{
	bool gone[SETUP_TARGETS_MAX] = {0}, any;
	int r = compare(x, true, err);

	for (size_t i = 0; r == 0 && i < x->plan.count; i++)
		r = choose_old(x, i, &gone[i], err);
	if (r < 0)
		return r;
	any = show(x, out);
	if (cli_print(out))
		return -EPIPE;
	if (any && x->options->dry)
		return 0;
	if (any && !agreed(x->options))
		return -ECANCELED;
	for (size_t i = 0; r == 0 && i < x->plan.count; i++) {
		struct edit *c = &x->changes[i];

		if (c->differs && c->file.exists)
			r = gone[i] ? setup_file_remove(&c->file, err)
			            : setup_file_replace(&c->file, c->after.data, c->after.len,
			                                 err);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; x->known && i < x->record.count; i++)
		if (!strchr(x->record.files[i].old, '/'))
			(void)unlinkat(x->state, x->record.files[i].old, 0);
	(void)unlinkat(x->state, x->name, 0);
	buffer_printf(out, any ? "%s: nacre is taken out\n" : "%s: there is nothing of nacre\n",
	              x->plan.client->title);
	return 0;
}

/* What init was told is what undo takes out. */
static void remember(struct init *x, struct setup_options *o, const char *client)
{
	struct setup_record record;
	scoped(fd_closep) int dir = setup_record_open(false, NULL);
	char name[SETUP_NAME_MAX];

	setup_record_name(client, o->project, name);
	if (dir < 0 || setup_record_read(dir, name, x->arena, &record, NULL) < 0)
		return;
	o->profile = *record.profile ? record.profile : o->profile;
	o->shell = *record.shell ? record.shell : o->shell;
	o->mcp = record.mcp;
	o->no_shell = record.no_shell;
}

static int one(const struct init_options *given, const struct setup_client *c)
{
	scoped(arena_freep) struct arena *arena = arena_new(ARENA_MAX);
	scoped(buffer_donep) struct buffer out = {0};
	struct init_options o = *given;
	struct init x = {.options = &o, .arena = arena, .state = -1};
	struct error err = {0};
	int r = arena ? 0 : error_nomem(&err);

	if (r == 0 && o.undo)
		remember(&x, &o.setup, c->name);
	if (r == 0)
		r = begin(&x, c, &err);
	if (r == 0)
		r = o.undo ? undo(&x, &out, &err) : apply(&x, &out, &err);
	init_done(&x);
	if (r < 0 && err.text[0])
		cli_complain("init %s: %s", c->name, err.text);
	if (cli_print(&out) || r < 0)
		return EXIT_NACRE_FAILED;
	if (r > 0)
		cli_complain("init %s: %d of these did not work", c->name, r);
	return r > 0 ? 1 : 0;
}

/* All that are installed. */
static int each(const struct init_options *o)
{
	int code = 0, found = 0;

	for (const struct setup_client *c = setup_clients; c->name; c++) {
		char program[PATH_MAX];
		int r;

		if (!setup_client_program(c, program))
			continue;
		found++;
		r = one(o, c);
		code = r > code ? r : code;
	}
	if (!found)
		cli_complain("init: none of the clients that nacre knows is in PATH; name one: "
		             "claude, codex, gemini, opencode, copilot, qwen or cursor");
	return found ? code : EXIT_NACRE_FAILED;
}

static int init(void *options, int argc, char **argv)
{
	struct init_options *o = options;
	const struct setup_client *c = NULL;
	char project[PATH_MAX], shell[PATH_MAX], words[SUGGEST_WORDS_MAX];

	if (o->in_project || o->project) {
		if (!realpath(o->project ? o->project : ".", project)) {
			cli_complain("init: --project '%.150s': %s", o->project ? o->project : ".",
			             strerrordesc_np(errno));
			return EXIT_NACRE_FAILED;
		}
		o->setup.project = project;
	}
	if (o->setup.shell) {
		if (!realpath(o->setup.shell, shell)) {
			cli_complain("init: --shell '%.150s': %s", o->setup.shell,
			             strerrordesc_np(errno));
			return EXIT_NACRE_FAILED;
		}
		o->setup.shell = shell;
	}
	if (o->setup.no_shell && !o->setup.mcp) {
		cli_complain("init: --no-shell leaves the agent without a shell. Add --mcp");
		return EXIT_NACRE_FAILED;
	}
	if (argc == 0)
		return each(o);
	c = setup_client_find(argv[0]);
	if (!c) {
		cli_complain("init: unknown client '%.60s'%s", argv[0],
		             suggest_words(suggest_from(argv[0], setup_clients, SIZE_MAX,
		                                        sizeof(setup_clients[0])),
		                           words));
		return EXIT_NACRE_FAILED;
	}
	return one(o, c);
}

static int read_project(void *options, const struct cli_option *row, const char *value)
{
	struct init_options *o = options;

	o->in_project = true;
	o->project = value;
	return 0;
}

#define INIT struct init_options
static const struct cli_option options[] = {
	{"profile", "PROFILE", "the profile whose rules apply (default: bash)",
         CLI_TEXT(INIT, setup.profile)},
	{"project", "[=DIR]", "set up this project alone (default: all projects of the user)",
         CLI_BY(read_project)},
	{"mcp", NULL, "also offer nacre as a server of MCP", CLI_FLAG(INIT, setup.mcp)},
	{"no-shell", NULL, "switch the client's own shell off; with --mcp",
         CLI_FLAG(INIT, setup.no_shell)},
	{"shell", "DIR", "where nsh and nsh-bash are (default: beside nacre)",
         CLI_TEXT(INIT, setup.shell)},
	{"dry-run", NULL, "show what would be changed, and write nothing", CLI_FLAG(INIT, dry)},
	{"undo", NULL, "take out what init has written", CLI_FLAG(INIT, undo)},
	{"yes", NULL, "write it without asking", .letter = 'y', CLI_FLAG(INIT, yes)},
	{0},
};
#undef INIT

const struct cli_command cli_init = {
	.name = "init",
	.summary = "make nacre the shell of an agent, and prove that it works",
	.usage = "[OPTIONS] [CLIENT]",
	.about =
		"Shows what has to be changed in the settings of a client (claude, codex, gemini, "
		"opencode, copilot, qwen, cursor; default: all that are installed), writes it, and "
		"then runs hook and shell as the client would. Everything else in these files "
		"stays "
		"as it is, and the old files are kept.",
	.notes = "The exit code is 0 if all that was tried has worked, 1 if something has not, and "
		 "125 if nothing was written.",
	.operand = "claude|codex|gemini|opencode|copilot|qwen|cursor",
	.options = options,
	.most = 1,
	.size = sizeof(struct init_options),
	.main = init,
};
