/*
 * `nacre audit show` and `nacre audit tail`: records for people, or as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/options.h"
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
	bool json, follow;
};

struct output {
	struct buffer text;
	bool json, lines; /* LINES: one record each, else one object of all */
	size_t count;
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

/* What the event is about, in a few words. */
static void put_matter(struct buffer *out, const json_t *record, const char *event)
{
	if (strcmp(event, "ended") == 0) {
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

	if (!o->json) {
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
static int read_time(const char *option, const char *text, int64_t *ret_ms)
{
	char whole[32];
	int64_t ago;

	snprintf(whole, sizeof(whole), "%.16s:00%.8s", text, strlen(text) > 16 ? text + 16 : "");
	if (audit_time_parse(text, ret_ms) == 0 || audit_time_parse(whole, ret_ms) == 0)
		return 0;
	if (number_parse_duration_ms(text, &ago) == 0) {
		*ret_ms = clock_wall_ms() - ago;
		return 0;
	}
	cli_complain("--%s %s: expected 2026-11-16, 2026-11-16T07:24Z or how long ago (2h, 7d)",
	             option, text);
	return -EINVAL;
}

static int read_limit(const char *text, size_t *ret_limit)
{
	uint64_t limit;

	if (number_parse_u64(text, &limit) < 0 || limit == 0 || limit > 10000000) {
		cli_complain("--limit %s: expected a number from 1 on", text);
		return -EINVAL;
	}
	*ret_limit = (size_t)limit;
	return 0;
}

static bool knows_event(const char *name)
{
	for (int i = 0; i < AUDIT_KIND_MAX; i++)
		if (strcmp(name, audit_kind_name((enum audit_kind)i)) == 0)
			return true;
	cli_complain("--event %s: there is no such event; 'nacre audit --help' lists them", name);
	return false;
}

static bool knows_verdict(const char *name)
{
	for (int i = 0; i < POLICY_VERDICT_MAX; i++)
		if (strcmp(name, policy_verdict_name((enum policy_verdict)i)) == 0)
			return true;
	cli_complain("--verdict %s: expected allow, ask, deny or nudge", name);
	return false;
}

enum { SINCE = 256, UNTIL, TASK, VERDICT, PROFILE, EVENT, PRINCIPAL, SESSION, GREP, LIMIT, ALL };

static int take_option(struct show_options *o, int id, const char *value)
{
	struct audit_query *q = &o->query;
	/* NOLINTNEXTLINE(misc-redundant-expression) */
	const char **const texts[] = {[TASK - TASK] = &q->task,
	                              [VERDICT - TASK] = &q->verdict,
	                              [PROFILE - TASK] = &q->profile,
	                              [EVENT - TASK] = &q->event,
	                              [PRINCIPAL - TASK] = &q->principal,
	                              [SESSION - TASK] = &q->session,
	                              [GREP - TASK] = &q->text};

	if (id >= TASK && id <= GREP) {
		*texts[id - TASK] = value;
		return (id == EVENT && !knows_event(value)) ||
		                       (id == VERDICT && !knows_verdict(value))
		               ? -EINVAL
		               : 0;
	}
	switch (id) {
	case SINCE:
		return read_time("since", value, &q->since_ms);
	case UNTIL:
		return read_time("until", value, &q->until_ms);
	case LIMIT:
		return read_limit(value, &q->limit);
	case ALL:
		q->limit = 0;
		return 0;
	case 'f':
		o->follow = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'd':
		o->directory = value;
		return 0;
	default:
		return -EINVAL;
	}
}

static int read_options(int argc, char **argv, struct show_options *o)
{
	static const struct option options[] = {{"since", required_argument, NULL, SINCE},
	                                        {"until", required_argument, NULL, UNTIL},
	                                        {"task", required_argument, NULL, TASK},
	                                        {"verdict", required_argument, NULL, VERDICT},
	                                        {"profile", required_argument, NULL, PROFILE},
	                                        {"event", required_argument, NULL, EVENT},
	                                        {"principal", required_argument, NULL, PRINCIPAL},
	                                        {"session", required_argument, NULL, SESSION},
	                                        {"grep", required_argument, NULL, GREP},
	                                        {"limit", required_argument, NULL, LIMIT},
	                                        {"all", no_argument, NULL, ALL},
	                                        {"follow", no_argument, NULL, 'f'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"dir", required_argument, NULL, 'd'},
	                                        {0}};
	int id;

	optind = 1;
	while ((id = cli_next_option(argc, argv, "f", options)) != -1)
		if (take_option(o, id, optarg) < 0)
			return -EINVAL;
	if (optind < argc) {
		cli_complain("'%s' is no option; --grep looks for a text", argv[optind]);
		return -EINVAL;
	}
	/* No log yet is nothing to show; none where somebody says there is one is a mistake. */
	if (o->directory && access(o->directory, F_OK) < 0) {
		cli_complain("%s: %s", o->directory, strerrordesc_np(errno));
		return -EINVAL;
	}
	return 0;
}

static int complain(const struct error *err)
{
	cli_complain("%s", err->text[0] ? err->text : "standard output");
	return EXIT_NACRE_FAILED;
}

int cli_audit_show(int argc, char **argv)
{
	struct show_options o = {.query.limit = SHOW_LIMIT};
	struct error err = {0};
	struct output out = {0};
	char directory[PATH_MAX];
	int r = 0;

	if (read_options(argc, argv, &o) < 0)
		return EXIT_NACRE_FAILED;
	if (o.follow) {
		cli_complain("nacre audit tail -f follows");
		return EXIT_NACRE_FAILED;
	}
	out.json = o.json;
	if (o.json)
		buffer_puts(&out.text, "{\"records\":[");
	if (cli_audit_directory(o.directory, directory) == 0) /* else there is nothing to show */
		r = audit_query(directory, &o.query, take_record, &out, &err);
	if (r == 0 && o.json)
		buffer_printf(&out.text, "],\"count\":%zu}\n", out.count);
	if (r == 0)
		r = flush(&out);
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

int cli_audit_tail(int argc, char **argv)
{
	static const struct audit_query nothing = {.until_ms = 1};
	struct show_options o = {.query.limit = TAIL_LIMIT};
	struct audit_follow place = {0};
	struct audit_query query;
	struct error err = {0};
	struct output out = {.lines = true};
	char directory[PATH_MAX];
	int r = 0;

	if (read_options(argc, argv, &o) < 0)
		return EXIT_NACRE_FAILED;
	if (cli_audit_directory(o.directory, directory) < 0) {
		cli_complain("there is no state directory, so there is no audit log");
		return EXIT_NACRE_FAILED;
	}
	out.json = o.json;
	query = o.query;
	if (o.follow) {
		/* What comes while the last ones are shown is shown after them, once. */
		r = audit_follow(directory, &nothing, &place, skip_record, NULL, &err);
		query.before = place;
	}
	if (r == 0)
		r = audit_query(directory, &query, take_record, &out, &err);
	if (r == 0)
		r = flush(&out);
	if (r == 0 && o.follow)
		r = follow(directory, &o.query, &place, &out, &err);
	buffer_done(&out.text);
	return r < 0 ? complain(&err) : 0;
}
