/*
 * One record as one line of JSON. Every field has a limit, and secrets are masked before a field is
 * cut, so that half of a secret cannot stay. Times are printed and read here without the C
 * library's calendar, which accepts days that do not exist.
 */
#include "audit/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "audit/mask.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "json/write.h"

const char *audit_kind_name(enum audit_kind kind)
{
	static const char *const names[AUDIT_KIND_MAX] = {
		[AUDIT_REQUESTED] = "requested",   [AUDIT_DECIDED] = "decided",
		[AUDIT_ASKED] = "asked",           [AUDIT_APPROVED] = "approved",
		[AUDIT_REFUSED] = "refused",       [AUDIT_STARTED] = "started",
		[AUDIT_TYPED] = "typed",           [AUDIT_LEFT] = "left",
		[AUDIT_ENDED] = "ended",           [AUDIT_ROOM_MADE] = "room-made",
		[AUDIT_ROOM_ENDED] = "room-ended", [AUDIT_OPENED] = "opened",
		[AUDIT_NETWORK] = "network",       [AUDIT_NETWORK_ENDED] = "network-ended",
		[AUDIT_APPLIED] = "applied",       [AUDIT_UNDONE] = "undone",
		[AUDIT_DISCARDED] = "discarded",   [AUDIT_CHECKPOINT] = "checkpoint",
		[AUDIT_BREAK] = "break",
	};

	return names[kind];
}

static void put_digits(char *into, int count, int64_t value, char behind)
{
	for (int i = count - 1; i >= 0; i--, value /= 10)
		into[i] = (char)('0' + value % 10);
	into[count] = behind;
}

void audit_time_print(int64_t wall_ms, char into[32])
{
	static const int64_t last_ms = 253402300799999; /* of the year 9999 */
	int64_t ms = wall_ms < 0 || wall_ms > last_ms ? 0 : wall_ms, of_day = ms % 86400000;
	/* Days from the first of March of the year 0 on, so that a leap day is the last of a year;
	 * 146,097 in 400 years. */
	int64_t days = ms / 86400000 + 719468, era = days / 146097, of_era = days % 146097;
	int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
	int64_t march = (5 * of_year + 2) / 153, month = march < 10 ? march + 3 : march - 9;

	/* gmtime() reads the file of the time zone first, and takes as long as the hash. */
	put_digits(into, 4, era * 400 + years + (month <= 2), '-');
	put_digits(into + 5, 2, month, '-');
	put_digits(into + 8, 2, of_year - (153 * march + 2) / 5 + 1, 'T');
	put_digits(into + 11, 2, of_day / 3600000, ':');
	put_digits(into + 14, 2, of_day / 60000 % 60, ':');
	put_digits(into + 17, 2, of_day / 1000 % 60, '.');
	put_digits(into + 20, 3, of_day % 1000, 'Z');
	into[24] = '\0';
}

/* timegm() would make the 2nd of March of a 30th of February. */
static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

int audit_time_parse(const char *text, int64_t *ret_wall_ms)
{
	struct tm t = {.tm_isdst = 0};
	unsigned ms = 0;
	char z = 0;
	int used = 0;

	/* The widths bound the numbers. NOLINTBEGIN(cert-err34-c) */
	if (sscanf(text, "%4d-%2d-%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &used) != 3 ||
	    used != 10)
		return -EINVAL;
	text += used;
	if (*text == 'T' || *text == ' ') {
		if (sscanf(text + 1, "%2d:%2d:%2d%n", &t.tm_hour, &t.tm_min, &t.tm_sec, &used) != 3)
			return -EINVAL;
		text += 1 + used;
		if (*text == '.') {
			if (sscanf(text + 1, "%3u%n", &ms, &used) != 1 || used != 3)
				return -EINVAL;
			text += 1 + used;
		}
	}
	/* NOLINTEND(cert-err34-c) */
	z = *text;
	if ((z && z != 'Z') || (z && text[1]) || t.tm_year < 1970 || t.tm_mon < 1 ||
	    t.tm_mon > 12 || t.tm_mday < 1 || t.tm_mday > days_of(t.tm_year, t.tm_mon) ||
	    t.tm_hour < 0 || t.tm_hour > 23 || t.tm_min < 0 || t.tm_min > 59 || t.tm_sec < 0 ||
	    t.tm_sec > 60)
		return -EINVAL;
	t.tm_year -= 1900;
	t.tm_mon--;
	*ret_wall_ms = (int64_t)timegm(&t) * 1000 + ms;
	return 0;
}

/* What is too long keeps its beginning and its end: neither hides the other. */
static void put_cut(struct json_writer *w, const char *key, const char *text, size_t n, size_t max)
{
	scoped(buffer_donep) struct buffer cut = {0};
	size_t head = max / 4 * 3, tail = max / 4;

	json_put_key(w, key);
	if (n <= max) {
		json_put_bytes(w, text, n);
		return;
	}
	buffer_append(&cut, text, head);
	buffer_printf(&cut, "[%zu bytes left out]", n - head - tail);
	buffer_append(&cut, text + n - tail, tail);
	if (buffer_error(&cut) < 0)
		w->out->failed = buffer_error(&cut);
	json_put_bytes(w, buffer_str(&cut), cut.len);
}

static void put_field(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		put_cut(w, key, text, strlen(text), AUDIT_FIELD_MAX);
}

static void put_masked_bytes(struct json_writer *w, const char *key, const char *text, size_t n,
                             const struct mask *mask)
{
	scoped(buffer_donep) struct buffer masked = {0}, ended = {0};

	if (!text)
		return;
	buffer_append(&ended, text, n); /* what is typed has no NUL behind it */
	mask_text(mask, buffer_str(&ended), ended.len, &masked);
	if (buffer_error(&ended) < 0 || buffer_error(&masked) < 0)
		w->out->failed = -ENOMEM;
	put_cut(w, key, buffer_str(&masked), masked.len, AUDIT_TEXT_MAX);
}

static void put_masked(struct json_writer *w, const char *key, const char *text,
                       const struct mask *mask)
{
	put_masked_bytes(w, key, text, text ? strlen(text) : 0, mask);
}

/* Words up to the limit of all together; then the number of those that follow is said. */
static void put_words(struct json_writer *w, const char *key, const char *const *words,
                      const struct mask *mask)
{
	scoped(buffer_donep) struct buffer masked = {0};
	size_t used = 0, left = 0, i;

	if (!words)
		return;
	json_member_array(w, key);
	for (i = 0; words[i]; i++) {
		if (used >= AUDIT_TEXT_MAX) {
			left++;
			continue;
		}
		buffer_clear(&masked);
		mask_word(mask, words, i, &masked);
		if (buffer_error(&masked) < 0)
			w->out->failed = buffer_error(&masked);
		if (used + masked.len <= AUDIT_TEXT_MAX) {
			json_put_bytes(w, buffer_str(&masked), masked.len);
		} else {
			json_put_bytes(w, buffer_str(&masked), AUDIT_TEXT_MAX - used);
			left++;
		}
		used += masked.len + 8; /* empty words take room, too */
	}
	json_array_end(w);
	if (left > 0) {
		char name[64];

		snprintf(name, sizeof(name), "%.40s_left_out", key);
		json_member_uint(w, name, left);
	}
}

/* "a, b" becomes a list. */
static void put_names(struct json_writer *w, const char *key, const char *names)
{
	if (!names)
		return;
	json_member_array(w, key);
	for (const char *end; *names; names = end + strspn(end, ", ")) {
		end = names + strcspn(names, ",");
		json_put_bytes(w, names, (size_t)(end - names));
	}
	json_array_end(w);
}

static void put_rule(struct json_writer *w, const struct audit_event *e)
{
	if (!e->rule)
		return;
	json_member_object(w, "rule");
	put_field(w, "id", e->rule);
	put_field(w, "file", e->rule_file);
	if (e->rule_file)
		json_member_uint(w, "line", e->rule_line);
	json_object_end(w);
}

static void put_end(struct json_writer *w, const struct audit_event *e)
{
	if (!e->ended)
		return;
	json_put_key(w, "exit_code");
	if (e->exit_code >= 0)
		json_put_int(w, e->exit_code);
	else
		json_put_null(w);
	json_put_key(w, "signal");
	if (e->signal)
		json_put_int(w, e->signal);
	else
		json_put_null(w);
	json_member_uint(w, "stdout_bytes", e->bytes[0]);
	json_member_uint(w, "stderr_bytes", e->bytes[1]);
	json_member_int(w, "duration_ms", e->duration_ms);
}

static void put_changes(struct json_writer *w, const struct audit_changes *c)
{
	if (!c)
		return;
	json_member_object(w, "changes");
	json_member_uint(w, "added", c->added);
	json_member_uint(w, "changed", c->changed);
	json_member_uint(w, "deleted", c->deleted);
	json_member_uint(w, "conflicts", c->conflicts);
	put_field(w, "list", c->digest);
	json_object_end(w);
}

static void put_connection(struct json_writer *w, const struct audit_connection *c,
                           const struct mask *mask)
{
	if (!c)
		return;
	put_masked(w, "name", c->name, mask); /* a look-up can carry anything */
	if (c->port)
		json_member_uint(w, "port", c->port);
	put_field(w, "address", c->address);
	if (c->waited_ms)
		json_member_int(w, "waited_ms", c->waited_ms);
	if (!c->protocol)
		return;
	put_field(w, "protocol", c->protocol);
	json_member_uint(w, "sent", c->sent);
	json_member_uint(w, "received", c->received);
	json_member_int(w, "ms", c->ms);
	if (c->ech)
		json_member_bool(w, "ech", true);
}

int audit_event_write(const struct audit_event *e, int64_t wall_ms, const struct mask *mask,
                      struct buffer *into)
{
	struct json_writer w = {.out = into};
	char time[32];

	audit_time_print(wall_ms, time);
	json_member_string(&w, "time", time);
	json_member_string(&w, "event", audit_kind_name(e->kind));
	put_field(&w, "task_id", e->task);
	put_field(&w, "principal", e->principal);
	put_field(&w, "door", e->door);
	json_member_uint(&w, "uid", geteuid());
	put_field(&w, "profile", e->profile);
	put_field(&w, "agent", e->agent);
	put_field(&w, "session", e->session);
	put_field(&w, "room", e->room);
	put_field(&w, "workspace", e->workspace);
	put_field(&w, "cwd", e->cwd);
	put_masked(&w, "description", e->description, mask);
	put_masked(&w, "command", e->command, mask);
	put_words(&w, "argv", e->argv, mask);
	put_words(&w, "env", e->env, mask);
	put_words(&w, "executed", e->executed, mask);
	put_masked_bytes(&w, "input", e->input, e->input_len, mask);
	put_field(&w, "verdict", e->verdict);
	put_rule(&w, e);
	put_masked(&w, "reason", e->reason, mask);
	put_field(&w, "approval", e->approval);
	put_field(&w, "answer", e->answer);
	put_field(&w, "by", e->by);
	put_field(&w, "tier", e->tier);
	put_names(&w, "layers", e->layers);
	put_names(&w, "missing", e->missing);
	put_names(&w, "left", e->left);
	put_changes(&w, e->changes);
	put_connection(&w, e->connection, mask);
	put_field(&w, "end", e->end);
	put_end(&w, e);
	return buffer_error(into);
}
