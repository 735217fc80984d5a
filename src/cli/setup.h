#pragma once
/*
 * Setup: what `nacre init` writes into the files of a client, how it is taken out again, and how it
 * is proved to work.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/digest.h"

struct arena;
struct error;
struct hook_client;
struct setup_plan;

#define SETUP_TARGETS_MAX 4
#define SETUP_EDITS_MAX   8
#define SETUP_STEPS_MAX   6
#define SETUP_NAME_MAX    96

enum setup_kind {
	SETUP_SET,   /* a member has this value */
	SETUP_HOOK,  /* a list of hooks has an entry that runs our command */
	SETUP_ENTRY, /* a list has this text */
	SETUP_KEY,   /* a key of TOML has this value */
	SETUP_TABLE, /* the same, and its table is ours as a whole */
};

struct setup_edit {
	enum setup_kind kind;
	const char *path[SETUP_STEPS_MAX + 1]; /* keys; NULL ends it */
	const char *value;  /* JSON or TOML; of a HOOK the whole entry for a list without ours */
	const char *before; /* what undo puts back; NULL: nothing was there */
};

struct setup_target {
	const char *base; /* an absolute directory of the user's or the project */
	const char *rel;  /* the file in it; none of its parts may be a link */
	struct setup_edit edits[SETUP_EDITS_MAX];
	size_t count;
};

/* An agent, as far as its files are concerned. */
struct setup_client {
	const char *name, *title;
	const char *program; /* looked for in PATH */
	int (*plan)(struct setup_plan *p, struct error *err);
};

struct setup_options {
	const char *profile;
	const char *project; /* canonical; NULL: the scope is the user */
	const char *shell;   /* the directory with nsh; NULL: that of this program */
	bool mcp, no_shell;
};

struct setup_plan {
	const struct setup_client *client;
	const struct setup_options *options;
	struct arena *arena;
	char nacre[PATH_MAX], nsh[PATH_MAX], nsh_bash[PATH_MAX];
	char shim[PATH_MAX]; /* a directory with nsh as bash, for PATH; "": not wanted */
	const char *command; /* the line of the hook */
	struct setup_target targets[SETUP_TARGETS_MAX];
	size_t count;
	const char *hint; /* what a person has to do beside it; NULL: nothing */
};

extern const struct setup_client setup_clients[]; /* up to a NULL name */
const struct setup_client *setup_client_find(const char *name);

/* Where its program lies; false: it is not installed. */
bool setup_client_program(const struct setup_client *c, char into[PATH_MAX]);

int setup_plan(const struct setup_client *c, const struct setup_options *o, struct arena *arena,
               struct setup_plan *ret, struct error *err);

/* Files: setup-file.c */
struct setup_file {
	int dir_fd;       /* -1: the directory is not there yet */
	const char *name; /* in it */
	bool exists;
	mode_t mode;
	struct buffer text;
};

/* Reads the file of a target. No part of its path below BASE may be a link, belong to another user
 * or be writable for others: whoever could change it could lead us elsewhere. MAKE: directories
 * that are missing are made. */
int setup_file_open(const char *base, const char *rel, bool make, struct setup_file *ret,
                    struct error *err);
void setup_file_done(struct setup_file *f);
/* Replaces it, with its old mode; it must be as it was read. */
int setup_file_replace(struct setup_file *f, const char *bytes, size_t n, struct error *err);
int setup_file_remove(struct setup_file *f, struct error *err);

/* Edits: setup-edit.c. The whole changed text; edits that are there already change nothing. BEFORE
 * of each edit is filled in, in the arena. */
int setup_edit_apply(struct setup_target *t, const char *text, size_t n, struct arena *arena,
                     struct buffer *into, struct error *err);
/* The text without what is ours. */
int setup_edit_strip(const struct setup_target *t, const char *text, size_t n, struct buffer *into,
                     struct error *err);
/* The line of the hook as it stands in the text; NULL: there is none. */
int setup_edit_command(const struct setup_target *t, const char *text, size_t n,
                       struct arena *arena, const char **ret_command, struct error *err);

/* Where the hook stands in its list: in which entry, and where in the list of that. -ENOENT. */
int setup_edit_index(const struct setup_target *t, const char *text, size_t n, struct arena *arena,
                     size_t ret_index[2]);

/* What the client itself has to be told by a person before it calls the hook, as its files say;
 * NULL: nothing that they tell. */
const char *setup_client_doubt(const struct setup_plan *p);

/* A diff of two texts, with three lines around each change. */
void setup_diff(const char *path, const struct buffer *before, const struct buffer *after,
                struct buffer *into);

/* Records: <state>/clients/NAME.json and the old files beside it; setup-record.c */
struct setup_record_file {
	const char *base, *rel;
	bool existed;
	const char *old;     /* the file beside the record that has the text from before */
	const char *written; /* digest of what we wrote, in hexadecimal digits */
};

struct setup_record {
	const char *client, *project; /* PROJECT "": the user's */
	const char *profile, *shell;  /* "": none was named */
	bool mcp, no_shell;
	const char *program; /* "": it was not found */
	int64_t program_ms;  /* when the file of it was changed */
	struct setup_record_file files[SETUP_TARGETS_MAX];
	size_t count;
};

int setup_record_open(bool make, struct error *err); /* the directory; -ENOENT */
void setup_record_name(const char *client, const char *project, char into[SETUP_NAME_MAX]);
int setup_record_read(int dir, const char *name, struct arena *arena, struct setup_record *ret,
                      struct error *err);
int setup_record_write(int dir, const char *name, const struct setup_record *record,
                       struct error *err);
typedef int setup_record_visit(void *context, int dir, const char *name,
                               const struct setup_record *record);
int setup_record_each(int dir, struct arena *arena, setup_record_visit *visit, void *context);
void setup_digest(const char *bytes, size_t n, char into[2 * DIGEST_BYTES + 1]);
int64_t setup_program_ms(const char *path); /* -1: it is not there */

/* Makes what the plan wants beside files: the directory of the shim. */
int setup_shim_make(const struct setup_plan *p, struct error *err);

#define SETUP_PROOF "proof-" /* how the session of a proof begins */

/* Proof: setup-prove.c. Runs hook and shell as the client would; a line for each thing seen goes
 * into the buffer. Returns how many of them were wrong, or a negative errno. */
int setup_prove(const struct setup_plan *p, struct arena *arena, struct buffer *into,
                struct error *err);
