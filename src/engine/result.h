#pragma once
/*
 * Result: what came of a request, complete for any caller; the doors choose words and shape.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "approval/approval.h"
#include "change/change.h"
#include "engine/hint.h"
#include "task/request.h"
#include "task/report.h"
#include "output/view.h"
#include "task/store.h"

struct buffer;
struct error;
struct json_writer;

enum {
	EXIT_CONFLICT = 3,
	EXIT_TIMED_OUT = 124,
	EXIT_NACRE_FAILED = 125,
	EXIT_REFUSED = 126,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

#define RESULT_NOTICES_MAX     16
#define RESULT_RECOMMENDED_MAX 16
#define RESULT_STAGES_MAX      32

struct result {
	bool success; /* it ran, and ended with 0 */
	int exit_code;
	int signal; /* that ended the command; 0: none */
	bool timed_out;
	bool stopped;
	bool ran;
	bool background;   /* it goes on as a task: nothing is known of its end */
	bool let_go;       /* the same, of one that was waited for: its output so far is here */
	bool left_running; /* it has ended; what it left running goes on as a task, see report */
	int stages[RESULT_STAGES_MAX]; /* of its last pipeline, if one but the last has failed */
	int stage_count;
	char task_id[STORE_ID_MAX];
	char note[400];    /* of a background task: how to find it */
	char reason[1024]; /* why it did not run or has no status of its own; empty: it has */
	/* The policy's answer. */
	const char *verdict; /* "allow", "ask", "deny", "nudge"; NULL: there was no decision */
	char rule_id[128], rule_file[256]; /* empty: none */
	uint32_t rule_line;
	bool left_to_sandbox;
	char recommended[RESULT_RECOMMENDED_MAX][64];
	int recommended_count;
	char approval_id[APPROVAL_ID_MAX]; /* of the question to a person; empty: there was none */
	const char *approval_state;        /* "open", "given" ...; NULL with an empty id */
	char approval_by[256];             /* who has answered; empty: nobody */
	enum output_mode output_mode;
	struct view views[2];                /* stdout (or all, when merged) and stderr */
	char output_files[2][PATH_MAX + 64]; /* empty: not kept */
	bool output_kept;
	struct keeper_report report;
	/* What the command changed in its view; NULL: it had none, or nothing is known of it. */
	struct change_list *changes;
	enum change_state changes_state;
	int64_t undo_expires_ms;
	const char *no_undo; /* why it cannot be undone; NULL: it can, or nobody wants that */
	bool undo_wanted;    /* by the profile */
	char notices[RESULT_NOTICES_MAX][HINT_TEXT_MAX];
	int notice_count;
};

/* Why something was not begun, in words that tell nothing of this host; of the error or ours. */
const char *result_neutral_words(const struct error *err);

void result_done(struct result *r);
static inline void result_donep(struct result *r)
{
	result_done(r);
}

struct run;
/* One more, unless there are too many. */
void result_notice_add(struct result *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* result-changes.c: what the report says of changes, and the list of them; words about them. */
void result_fill_changes(struct result *r, const struct run *run);
void result_note_changes(struct result *r, const struct run *run);
void result_put_changes(const struct result *r, struct json_writer *w);

/* Whether this stream (0: stdout, or all; 1: stderr) is part of the answer. */
bool output_mode_shows(enum output_mode mode, int stream);
bool result_shows(const struct result *r, int stream);

/* What is to be said about this stream beside its text, or NULL: some views say it inside. */
const char *result_notice(const struct result *r, int stream);

/* The member "left_running": processes that the command left running, which go on as its task. */
void result_put_left(const struct result *r, struct json_writer *w);

/* One JSON object, without a newline. */
int result_write_json(const struct result *r, struct buffer *into);
