/*
 * `nacre audit show` and `nacre audit tail`: records for people, or as they are.
 *
 * A record's time and event are nacre's own words. Every other field may be an agent's, and is
 * cleaned before it reaches a terminal. JSON is the line of the log, byte for byte. A follower
 * takes the position of the end first and shows the last records after that, so none is missed or
 * shown twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "approval/text.h"
#include "audit/event.h"
#include "audit/query.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/number.h"
#include "cli/audit-network.h"
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "engine/result.h"
#include "session/session.h"
#include "policy/policy.h"

#define SHOW_LIMIT   50
#define TAIL_LIMIT   10
#define TASK_COLUMNS 23
#define LOOK_MS      1000 /* where the directory cannot be watched */

struct show_options {
	struct audit_query query;
	const char *directory;
	uint64_t limit;
	bool json, follow, all;
};

struct output {
	struct buffer text;
	bool json, lines; /* LINES: one record each, else one object of all */
	size_t count;
	struct audit_network *network; /* rows of connections; NULL: records */
};

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "";
}

static void put_words(struct buffer *out, const json_t *words)
{
	const json_t *word;
	size_t i;

	json_array_foreach (words, i, word) {
		if (i > 0)
			buffer_putc(out, ' ');
		cli_put_clean(json_is_string(word) ? json_string_value(word) : "", out);
	}
}

/* The command as it was asked for, or as it is executed: of bash only the line. */
static void put_command(struct buffer *out, const json_t *record)
{
	const json_t *executed = json_object_get(record, "executed");
	size_t n = json_array_size(executed);
	const char *first = json_string_value(json_array_get(executed, 0)),
		   *line = json_string_value(json_array_get(executed, n - 1));

	if (json_object_get(record, "command"))
		cli_put_clean(text_of(record, "command"), out);
	else if (json_object_get(record, "argv"))
		put_words(out, json_object_get(record, "argv"));
	else if (n == 6 && line && first && strcmp(first, "/bin/bash") == 0)
		cli_put_clean(session_unwrap(line), out);
	else
		put_words(out, executed);
}

static void put_end(struct buffer *out, const json_t *record)
{
	const json_t *code = json_object_get(record, "exit_code"),
		     *sig = json_object_get(record, "signal");
	char took[32], bytes[32];

	cli_put_clean(text_of(record, "end"), out);
	if (json_is_integer(code))
		buffer_printf(out, " %d", (int)json_integer_value(code));
	if (json_is_integer(sig))
		buffer_printf(out, ", signal %d", (int)json_integer_value(sig));
	number_format_duration(json_integer_value(json_object_get(record, "duration_ms")), took);
	number_format_bytes(
		(uint64_t)json_integer_value(json_object_get(record, "stdout_bytes")) +
			(uint64_t)json_integer_value(json_object_get(record, "stderr_bytes")),
		bytes);
	buffer_printf(out, " after %s, %s", took, bytes);
}

static void put_decision(struct buffer *out, const json_t *record)
{
	const json_t *rule = json_object_get(record, "rule");

	cli_put_clean(text_of(record, "verdict"), out);
	if (rule) {
		buffer_puts(out, " by ");
		cli_put_clean(text_of(rule, "id"), out);
	}
	if (*text_of(record, "reason")) {
		buffer_puts(out, *text_of(record, "verdict") ? ": " : "");
		cli_put_clean(text_of(record, "reason"), out);
	}
}

/* Names of what the command left running. */
static void put_left(struct buffer *out, const json_t *record)
{
	const json_t *names = json_object_get(record, "left");

	for (size_t i = 0; i < json_array_size(names); i++) {
		buffer_putc(out, ' ');
		cli_put_clean(json_string_value(json_array_get(names, i)), out);
	}
}

/* What the event is about, in a few words. */
static void put_matter(struct buffer *out, const json_t *record, const char *event)
{
	if (strcmp(event, "left") == 0) {
		put_end(out, record);
		buffer_puts(out, "; goes on:");
		put_left(out, record);
	} else if (strcmp(event, "ended") == 0) {
		put_end(out, record);
		if (*text_of(record, "reason")) {
			buffer_puts(out, ": ");
			cli_put_clean(text_of(record, "reason"), out);
		}
	} else if (strcmp(event, "decided") == 0 || strcmp(event, "refused") == 0) {
		put_decision(out, record);
	} else if (strcmp(event, "asked") == 0 || strcmp(event, "approved") == 0) {
		cli_put_clean(text_of(record, "approval"), out);
		buffer_putc(out, ' ');
		cli_put_clean(text_of(record, "answer"), out);
		buffer_putc(out, ' ');
		cli_put_clean(text_of(record, "by"), out);
	} else if (strcmp(event, "typed") == 0) {
		approval_escape(text_of(record, "input"), strlen(text_of(record, "input")), false,
		                out);
	} else if (strncmp(event, "room-", 5) == 0) {
		buffer_puts(out, "session ");
		cli_put_clean(text_of(record, "session"), out);
		buffer_puts(out, ", room ");
		cli_put_clean(text_of(record, "room"), out);
		buffer_puts(out, ": ");
		cli_put_clean(text_of(record, "reason"), out);
	} else if (strncmp(event, "network", 7) == 0) {
		audit_network_put(out, record);
	} else if (strcmp(event, "break") == 0) {
		cli_put_clean(text_of(record, "cause"), out);
		buffer_puts(out, ": ");
		cli_put_clean(text_of(record, "text"), out);
	} else {
		if (strcmp(event, "started") == 0) {
			buffer_putc(out, '[');
			cli_put_clean(text_of(record, "tier"), out);
			buffer_puts(out, "] ");
		}
		put_command(out, record);
	}
}

/* Time and event are what the query has read; all the rest may be anybody's. */
static void put_record(struct buffer *out, const json_t *record)
{
	const char *event = text_of(record, "event"), *who = text_of(record, "principal");
	size_t begin;

	buffer_printf(out, "%.24s  %-10s ", text_of(record, "time"), event);
	begin = out->len;
	cli_put_clean(text_of(record, "task_id"), out);
	do
		buffer_putc(out, ' ');
	while (out->len - begin < TASK_COLUMNS && buffer_error(out) == 0);
	cli_put_clean(text_of(record, "profile"), out);
	if (*who) {
		buffer_putc(out, '/');
		cli_put_clean(who, out);
	}
	buffer_puts(out, "  ");
	put_matter(out, record, event);
	buffer_putc(out, '\n');
}

static int flush(struct output *o)
{
	int r = buffer_error(&o->text);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, buffer_str(&o->text), o->text.len);
	buffer_clear(&o->text);
	return r;
}

static int take_record(void *context, const char *line, size_t n, json_t *record)
{
	struct output *o = context;

	if (o->network) {
		return audit_network_add(o->network, record);
	} else if (!o->json) {
		put_record(&o->text, record);
	} else {
		if (!o->lines && o->count > 0)
			buffer_putc(&o->text, ',');
		buffer_append(&o->text, line, n);
		if (o->lines)
			buffer_putc(&o->text, '\n');
	}
	o->count++;
	return o->text.len > (1 << 16) ? flush(o) : 0;
}

/* A time, also without its seconds, or how long ago. */
static int read_time(const struct cli_option *o, const char *text, int64_t *ret_ms)
{
	char whole[32];
	int64_t ago;

	snprintf(whole, sizeof(whole), "%.16s:00%.8s", text, strlen(text) > 16 ? text + 16 : "");
	if (audit_time_parse(text, ret_ms) == 0 || audit_time_parse(whole, ret_ms) == 0)
		return 0;
	if (number_parse_duration_ms(text, &ago) < 0)
		return cli_refuse(o, text,
		                  "2026-11-16, 2026-11-16T07:24Z or how long ago (2h, 7d)");
	*ret_ms = clock_wall_ms() - ago;
	return 0;
}

static int read_since(void *options, const struct cli_option *o, const char *value)
{
	return read_time(o, value, &((struct show_options *)options)->query.since_ms);
}

static int read_until(void *options, const struct cli_option *o, const char *value)
{
	return read_time(o, value, &((struct show_options *)options)->query.until_ms);
}

static int read_event(void *options, const struct cli_option *o, const char *value)
{
	((struct show_options *)options)->query.event = value;
	for (int i = 0; i < AUDIT_KIND_MAX; i++)
		if (strcmp(value, audit_kind_name((enum audit_kind)i)) == 0)
			return 0;
	return cli_refuse(o, value, "an event that 'nacre audit show --help' lists");
}

static int read_verdict(void *options, const struct cli_option *o, const char *value)
{
	((struct show_options *)options)->query.verdict = value;
	for (int i = 0; i < POLICY_VERDICT_MAX; i++)
		if (strcmp(value, policy_verdict_name((enum policy_verdict)i)) == 0)
			return 0;
	return cli_refuse(o, value, o->value);
}

/* 0; -1: there is none yet; or the exit code, after a complaint. */
static int find_log(const struct show_options *o, char into[PATH_MAX])
{
	/* A log that somebody names must be there. */
	if (o->directory && access(o->directory, F_OK) < 0) {
		cli_complain("%s: %s", o->directory, strerrordesc_np(errno));
		return EXIT_NACRE_FAILED;
	}
	return cli_audit_directory(o->directory, into);
}

static int complain(const struct error *err)
{
	cli_complain("%s", err->text[0] ? err->text : "standard output");
	return EXIT_NACRE_FAILED;
}

static int query(const char *directory, const struct show_options *o, struct output *out,
                 const struct audit_follow *before, struct error *err)
{
	struct audit_query q = o->query;

	q.limit = o->all ? 0 : o->limit;
	if (before)
		q.before = *before;
	return audit_query(directory, &q, take_record, out, err);
}

static int show(void *options, int argc, char **argv)
{
	const struct show_options *o = options;
	struct error err = {0};
	struct output out = {.json = o->json};
	char directory[PATH_MAX];
	int r = find_log(o, directory);

	if (r > 0)
		return r;
	if (o->query.network && !o->json)
		out.network = audit_network_new();
	if (o->json)
		buffer_puts(&out.text, "{\"records\":[");
	if (r == 0) /* else there is nothing to show */
		r = query(directory, o, &out, NULL, &err);
	else
		r = 0;
	if (r == 0 && o->json)
		buffer_printf(&out.text, "],\"count\":%zu}\n", out.count);
	if (r == 0 && out.network)
		audit_network_print(out.network, &out.text);
	if (r == 0)
		r = flush(&out);
	audit_network_free(out.network);
	buffer_done(&out.text);
	return r < 0 ? complain(&err) : 0;
}

/* Where the log ends now, before anything of it is shown. */
static int skip_record(void *context, const char *line, size_t n, json_t *record)
{
	return 0;
}

static void wait_for_more(int watch)
{
	struct pollfd p[2] = {{.fd = watch, .events = POLLIN}, {.fd = STDOUT_FILENO, .events = 0}};
	char events[4096];

	if (poll(p, 2, LOOK_MS) > 0 && (p[0].revents & POLLIN))
		(void)!read(watch, events, sizeof(events));
}

static bool reader_is_gone(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

static int follow(const char *directory, const struct audit_query *query,
                  struct audit_follow *place, struct output *out, struct error *err)
{
	scoped(fd_closep) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	bool watched = false;
	int r = 0;

	while (r == 0 && !reader_is_gone()) {
		if (!watched && watch >= 0)
			watched = inotify_add_watch(watch, directory, IN_MODIFY | IN_CREATE) >= 0;
		r = audit_follow(directory, query, place, take_record, out, err);
		if (r == 0)
			r = flush(out);
		if (r == 0)
			wait_for_more(watch);
	}
	return r;
}

static int tail(void *options, int argc, char **argv)
{
	static const struct audit_query nothing = {.until_ms = 1};
	const struct show_options *o = options;
	struct audit_follow place = {0};
	struct error err = {0};
	struct output out = {.lines = true, .json = o->json};
	char directory[PATH_MAX];
	int r = find_log(o, directory);

	if (r != 0)
		return r > 0 ? r : cli_audit_none();
	if (o->follow) /* records that come meanwhile are shown after the last ones, once */
		r = audit_follow(directory, &nothing, &place, skip_record, NULL, &err);
	if (r == 0)
		r = query(directory, o, &out, o->follow ? &place : NULL, &err);
	if (r == 0)
		r = flush(&out);
	if (r == 0 && o->follow)
		r = follow(directory, &o->query, &place, &out, &err);
	buffer_done(&out.text);
	return r < 0 ? complain(&err) : 0;
}

static void prepare_show(void *options)
{
	((struct show_options *)options)->limit = SHOW_LIMIT;
}

static void prepare_tail(void *options)
{
	((struct show_options *)options)->limit = TAIL_LIMIT;
}

#define SHOW struct show_options
static const struct cli_option options[] = {
	{"follow", NULL, "continue with new records", .letter = 'f', CLI_FLAG(SHOW, follow)},
	{"since", "TIME", "from then on: 2026-11-16, 2026-11-16T07:24Z, or how long ago (2h, 7d)",
         CLI_BY(read_since)},
	{"until", "TIME", "up to then; all times are UTC", CLI_BY(read_until)},
	{"task", "TASK", "of one task", CLI_TEXT(SHOW, query.task)},
	{"verdict", "allow|ask|deny|nudge", "with this verdict", CLI_BY(read_verdict)},
	{"profile", "PROFILE", "of one profile", CLI_TEXT(SHOW, query.profile)},
	{"event", "EVENT", "of one kind; see below", CLI_BY(read_event)},
	{"network", NULL, "what commands wanted of the network; show: as a table of connections",
         CLI_FLAG(SHOW, query.network)},
	{"principal", "NAME", "of one client", CLI_TEXT(SHOW, query.principal)},
	{"session", "ID", "of one session", CLI_TEXT(SHOW, query.session)},
	{"grep", "TEXT", "that contain this text, in upper or lower case",
         CLI_TEXT(SHOW, query.text)},
	{"limit", "N", "the newest N (default: show 50, tail 10)",
         CLI_COUNT(SHOW, limit, 1, 10000000)},
	{"all", NULL, "all that match", CLI_FLAG(SHOW, all)},
	{"dir", "DIR", "read a log in another directory", CLI_TEXT(SHOW, directory)},
	{"json", NULL, "show: print one JSON object; tail: one record per line",
         CLI_FLAG(SHOW, json)},
	{0},
};
#undef SHOW

#define EVENTS                                                                                     \
	"Events: requested, decided, asked, approved, refused, started, typed, left, ended, "      \
	"network, network-ended, room-made, room-ended, opened, checkpoint, break."

const struct cli_command cli_audit_show = {
	.name = "audit show",
	.summary = "show the newest records, or those that match",
	.usage = "[OPTIONS]",
	.about = "Shows the newest records of the audit log, the oldest of them first. Options "
		 "select records.",
	.notes = EVENTS,
	.options = options + 1, /* it cannot follow */
	.size = sizeof(struct show_options),
	.prepare = prepare_show,
	.main = show,
};

const struct cli_command cli_audit_tail = {
	.name = "audit tail",
	.summary = "show the last records, and follow new ones",
	.usage = "[OPTIONS]",
	.about = "Shows the last records of the audit log, and with -f each new one. Options "
		 "select records.",
	.notes = EVENTS,
	.options = options,
	.size = sizeof(struct show_options),
	.prepare = prepare_tail,
	.main = tail,
};
