#include "approval/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "approval/approval.h"
#include "approval/connection.h"
#include "approval/text.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "json/write.h"

static const char *const level_names[LOOK_LEVEL_MAX] = {
	[LOOK_LOW] = "low", [LOOK_MEDIUM] = "medium", [LOOK_HIGH] = "high"};

static const char *const kind_names[LOOK_KIND_MAX] = {
	[LOOK_TEXT] = "text",         [LOOK_SPACE] = "space",       [LOOK_PROGRAM] = "program",
	[LOOK_WORD] = "word",         [LOOK_OPTION] = "option",     [LOOK_STRING] = "string",
	[LOOK_VARIABLE] = "variable", [LOOK_OPERATOR] = "operator", [LOOK_REDIRECT] = "redirect",
	[LOOK_KEYWORD] = "keyword",   [LOOK_PATH] = "path",         [LOOK_HIDDEN] = "hidden",
	[LOOK_ADDED] = "added",       [LOOK_REMOVED] = "removed",
};

int look_find(struct approval_look *l, enum look_level level, const char *what, const char *text)
{
	for (size_t i = 0; i < l->finding_count; i++)
		if (strcmp(l->findings[i].text, text) == 0 &&
		    strcmp(l->findings[i].what, what) == 0)
			return (int)i;
	if (l->finding_count == LOOK_FINDINGS_MAX)
		return -1;
	l->findings[l->finding_count] =
		(struct look_finding){.level = level, .what = what, .text = text};
	return (int)l->finding_count++;
}

/* On disk */

void look_write(struct json_writer *w, const struct approval_look *l)
{
	json_object_begin(w);
	json_member_array(w, "pieces");
	for (size_t i = 0; i < l->piece_count; i++) {
		json_array_begin(w);
		json_put_int(w, l->pieces[i].kind);
		json_put_int(w, l->pieces[i].finding);
		json_put_string(w, l->pieces[i].text);
		json_array_end(w);
	}
	json_array_end(w);
	json_member_array(w, "findings");
	for (size_t i = 0; i < l->finding_count; i++) {
		json_array_begin(w);
		json_put_int(w, l->findings[i].level);
		json_put_string(w, l->findings[i].what);
		json_put_string(w, l->findings[i].text);
		json_array_end(w);
	}
	json_array_end(w);
	json_member_array(w, "limits");
	for (size_t i = 0; i < l->limit_count; i++)
		json_put_string(w, l->limits[i]);
	json_array_end(w);
	json_member_uint(w, "commands", l->command_count);
	json_object_end(w);
}

static int read_pieces(json_t *list, size_t findings, struct arena *arena, struct approval_look *l)
{
	size_t n = json_array_size(list), i;
	struct look_piece *pieces = arena_new_array(arena, struct look_piece, n + 1);
	json_t *one;

	if (!json_is_array(list) || n > LOOK_PIECES_MAX)
		return -EINVAL;
	if (!pieces)
		return -ENOMEM;
	json_array_foreach (list, i, one) {
		const char *text;
		int kind, finding;

		if (json_unpack(one, "[i, i, s!]", &kind, &finding, &text) < 0 || kind < 0 ||
		    kind >= LOOK_KIND_MAX || finding < -1 || finding >= (int)findings)
			return -EINVAL;
		pieces[i] = (struct look_piece){.kind = (enum look_kind)kind,
		                                .finding = finding,
		                                .text = arena_strdup(arena, text)};
		if (!pieces[i].text)
			return -ENOMEM;
	}
	l->pieces = pieces;
	l->piece_count = n;
	return 0;
}

static int read_findings(json_t *list, struct arena *arena, struct approval_look *l)
{
	json_t *one;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > LOOK_FINDINGS_MAX)
		return -EINVAL;
	json_array_foreach (list, i, one) {
		const char *what, *text;
		int level;

		if (json_unpack(one, "[i, s, s!]", &level, &what, &text) < 0 || level < 0 ||
		    level >= LOOK_LEVEL_MAX)
			return -EINVAL;
		l->findings[i] = (struct look_finding){.level = (enum look_level)level,
		                                       .what = arena_strdup(arena, what),
		                                       .text = arena_strdup(arena, text)};
		if (!l->findings[i].what || !l->findings[i].text)
			return -ENOMEM;
		l->finding_count++;
	}
	return 0;
}

int look_read(json_t *value, struct arena *arena, struct approval_look **ret)
{
	struct approval_look *l = arena_new_object(arena, struct approval_look);
	json_t *pieces, *findings, *limits, *one;
	json_int_t commands;
	size_t i;
	int r;

	if (!l)
		return -ENOMEM;
	if (json_unpack(value, "{s:o, s:o, s:o, s:I !}", "pieces", &pieces, "findings", &findings,
	                "limits", &limits, "commands", &commands) < 0 ||
	    !json_is_array(limits) || json_array_size(limits) > LOOK_LIMITS_MAX || commands < 0)
		return -EINVAL;
	l->command_count = (size_t)commands;
	r = read_findings(findings, arena, l);
	if (r == 0)
		r = read_pieces(pieces, l->finding_count, arena, l);
	json_array_foreach (limits, i, one) {
		const char *text = json_string_value(one);

		l->limits[l->limit_count] = text ? arena_strdup(arena, text) : NULL;
		if (!l->limits[l->limit_count++])
			return text ? -ENOMEM : -EINVAL;
	}
	if (r == 0)
		*ret = l;
	return r;
}

/* Shown */

static bool is_held(const struct approval *a)
{
	return a->held != NULL;
}

static void put_title(struct json_writer *w, const struct approval *a)
{
	scoped(buffer_donep) struct buffer text = {0};
	size_t n = a->look ? a->look->command_count : 0;

	if (is_held(a)) {
		buffer_puts(&text, "wants to change ");
		approval_escape(a->held, strlen(a->held), false, &text);
	} else if (approval_is_connection(a)) {
		buffer_puts(&text, "wants to connect to ");
		approval_escape(a->reaches ? a->reaches : "", a->reaches ? strlen(a->reaches) : 0,
		                false, &text);
	} else if (n > 1) {
		buffer_printf(&text, "wants to run %zu commands", n);
	} else {
		buffer_puts(&text, "wants to run a command");
	}
	json_member_bytes(w, "title", buffer_str(&text), text.len);
}

static void put_piece(struct json_writer *w, enum look_kind kind, int finding, const char *text,
                      size_t n)
{
	json_object_begin(w);
	json_member_bytes(w, "text", text, n);
	json_member_string(w, "kind", kind_names[kind]);
	if (finding >= 0)
		json_member_int(w, "finding", finding);
	json_object_end(w);
}

/* What is no command line has lines: of a difference, or names. */
static void put_lines(struct json_writer *w, const struct approval *a)
{
	bool first = true;

	for (const char *line = a->command, *end; *line; line = end, first = false) {
		end = strchrnul(line, '\n');
		put_piece(w,
		          !is_held(a) || first ? LOOK_TEXT
		          : *line == '+'       ? LOOK_ADDED
		          : *line == '-'       ? LOOK_REMOVED
		                               : LOOK_TEXT,
		          -1, line, (size_t)(end - line));
		if (*end) {
			put_piece(w, LOOK_SPACE, -1, "\n", 1);
			end++;
		}
	}
}

static void put_pieces(struct json_writer *w, const struct approval *a)
{
	json_member_array(w, "pieces");
	if (!a->look || a->look->piece_count == 0)
		put_lines(w, a);
	for (size_t i = 0; a->look && i < a->look->piece_count; i++)
		put_piece(w, a->look->pieces[i].kind, a->look->pieces[i].finding,
		          a->look->pieces[i].text, strlen(a->look->pieces[i].text));
	json_array_end(w);
}

static void put_finding(struct json_writer *w, const struct look_finding *f)
{
	json_object_begin(w);
	json_member_string(w, "level", level_names[f->level]);
	json_member_string(w, "what", f->what);
	json_member_string(w, "text", f->text);
	json_object_end(w);
}

/* Of what has no line of a shell there is one finding, which its kind tells. */
static struct look_finding only_finding(const struct approval *a)
{
	if (is_held(a) && a->held_runs)
		return (struct look_finding){LOOK_HIGH, "runs later",
		                             "git, an editor or a shell would run this file"};
	if (is_held(a))
		return (struct look_finding){
			LOOK_MEDIUM, "protected",
			"git, editors or shells would run what this file names"};
	if (approval_is_connection(a))
		return (struct look_finding){LOOK_MEDIUM, "network",
		                             "it may send there whatever it can read"};
	return (struct look_finding){LOOK_MEDIUM, "not known",
	                             "it was asked by an older nacre: read the whole command"};
}

static void put_findings(struct json_writer *w, const struct approval *a)
{
	struct look_finding only = only_finding(a);
	enum look_level risk = a->look ? LOOK_LOW : only.level;

	for (size_t i = 0; a->look && i < a->look->finding_count; i++)
		if (a->look->findings[i].level > risk)
			risk = a->look->findings[i].level;
	json_member_string(w, "risk", level_names[risk]);
	json_member_array(w, "findings");
	if (!a->look)
		put_finding(w, &only);
	for (size_t i = 0; a->look && i < a->look->finding_count; i++)
		put_finding(w, &a->look->findings[i]);
	json_array_end(w);
}

static const char *covers_once(const struct approval *a)
{
	if (is_held(a))
		return "The file gets this content, unless it has changed since.";
	if (approval_is_connection(a))
		return "This command may connect there, until it ends.";
	if (a->terminal)
		return "This run of exactly these words, and whatever is typed into it.";
	return "This run of exactly these words, files and variables. If one of them changes "
	       "before it starts, nothing runs.";
}

static const char *covers_session(const struct approval *a, bool offered)
{
	if (is_held(a))
		return "Not offered: it is about one content of one file.";
	if (!a->session)
		return "Not offered: the request is part of no session.";
	if (offered && approval_is_connection(a))
		return "Each command of the session may connect there.";
	if (offered)
		return "Exactly these words may run again, in this directory and with these "
		       "variables, also when the files they name have changed; not when the "
		       "program "
		       "itself has.";
	if (a->terminal)
		return "Not offered: it runs on a terminal, into which anything can be typed.";
	return "Not offered: it runs other commands, reads an input, or not all of it is known "
	       "before it runs.";
}

static const char *covers_sub(const struct approval *a, bool offered)
{
	if (offered)
		return "The same program and sub-command may run with any other words, until the "
		       "session ends.";
	if (!a->session)
		return "Not offered: the request is part of no session.";
	return "Not offered: this is not one program with a sub-command that can be granted.";
}

static void put_cover(struct json_writer *w, const char *answer, bool offered, const char *text)
{
	json_object_begin(w);
	json_member_string(w, "answer", answer);
	json_member_bool(w, "offered", offered);
	json_member_string(w, "text", text);
	json_object_end(w);
}

static void put_covers(struct json_writer *w, const struct approval *a)
{
	bool session = a->session && a->exact.count, sub = a->session && a->sub.count;

	json_member_array(w, "covers");
	put_cover(w, "once", true, covers_once(a));
	put_cover(w, "session", session, covers_session(a, session));
	put_cover(w, "sub", sub, covers_sub(a, sub));
	put_cover(w, "deny", true,
	          is_held(a) ? "The content is dropped."
	                     : "Nothing runs. The agent gets your reason.");
	json_array_end(w);
}

void look_put_json(struct json_writer *w, const struct approval *a)
{
	json_member_string(w, "kind",
	                   is_held(a)                  ? "file"
	                   : approval_is_connection(a) ? "network"
	                                               : "command");
	put_title(w, a);
	put_pieces(w, a);
	put_findings(w, a);
	json_member_array(w, "programs");
	for (size_t i = 0; i < a->object.program_count; i++)
		json_put_string(w, a->object.files[i].path);
	json_array_end(w);
	json_member_array(w, "limits");
	for (size_t i = 0; a->look && i < a->look->limit_count; i++)
		json_put_string(w, a->look->limits[i]);
	json_array_end(w);
	put_covers(w, a);
}
