/*
 * The files are read from the newest one backwards until there is enough, each of them forwards. Of
 * one file the last LIMIT matching lines are kept.
 */
#include "audit/query.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/chain.h"
#include "audit/inside.h"
#include "audit/scan.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "json/read.h"

static bool has_text(const json_t *value, const char *text)
{
	const json_t *member;
	const char *key;
	size_t i;

	if (json_is_string(value))
		return strcasestr(json_string_value(value), text) != NULL;
	json_array_foreach (value, i, member)
		if (has_text(member, text))
			return true;
	if (json_is_object(value))
		json_object_foreach ((json_t *)(uintptr_t)value, key, member)
			if (strcmp(key, "hash") != 0 && strcmp(key, "prev") != 0 &&
			    has_text(member, text))
				return true;
	return false;
}

static bool is_named(const json_t *record, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(record, key));

	return !wanted || (text && strcmp(text, wanted) == 0);
}

/* What can be told without reading JSON is told first. */
static bool may_match(const struct audit_query *q, const char *line, size_t n,
                      struct audit_line *ret_line)
{
	const char *const exact[] = {q->task, q->session, q->principal};

	for (size_t i = 0; i < array_size(exact); i++)
		if (exact[i] && !memmem(line, n, exact[i], strlen(exact[i])))
			return false;
	if (audit_line_read(line, n, ret_line))
		return false;
	return ret_line->seq > q->after_seq && ret_line->wall_ms >= q->since_ms &&
	       (q->until_ms == 0 || ret_line->wall_ms < q->until_ms) &&
	       (!q->network || ret_line->kind == AUDIT_NETWORK ||
	        ret_line->kind == AUDIT_NETWORK_ENDED) &&
	       (!q->event || strcmp(q->event, audit_kind_name(ret_line->kind)) == 0);
}

static bool matches(const struct audit_query *q, const json_t *record)
{
	return is_named(record, "task_id", q->task) && is_named(record, "verdict", q->verdict) &&
	       is_named(record, "profile", q->profile) && is_named(record, "session", q->session) &&
	       is_named(record, "principal", q->principal) && is_named(record, "door", q->door) &&
	       (!q->text || has_text(record, q->text));
}

/* The lines of one file that match, the last LIMIT of them. */
struct sieve {
	const struct audit_query *query;
	struct buffer lines; /* each with its newline */
	size_t count, limit; /* limit 0: all */
};

/* Keeps the last so many, which are moved once, however many are dropped. */
static void keep_last(struct sieve *c, size_t count)
{
	size_t n = 0;

	for (; c->count > count; c->count--)
		n = (size_t)((char *)memchr(c->lines.data + n, '\n', c->lines.len - n) -
		             c->lines.data) +
		    1;
	if (n > 0)
		memmove(c->lines.data, c->lines.data + n, c->lines.len - n);
	c->lines.len -= n;
}

static int catch_line(void *context, const char *line, size_t n, uint64_t offset)
{
	scoped(json_decrefp) json_t *record = NULL;
	struct sieve *c = context;
	struct audit_line l;

	if (!may_match(c->query, line, n, &l) ||
	    json_read(line, n, AUDIT_LINE_MAX, "record", &record, NULL) < 0 ||
	    !matches(c->query, record))
		return 0;
	/* In large steps, or a long file would be moved again and again. */
	if (c->limit > 0 && c->count >= 2 * c->limit)
		keep_last(c, c->limit - 1);
	buffer_append(&c->lines, line, n);
	buffer_putc(&c->lines, '\n');
	c->count++;
	return buffer_error(&c->lines);
}

static int catch_file(int dir_fd, uint64_t number, uint64_t from, struct sieve *c,
                      uint64_t *ret_rest, struct error *err)
{
	const struct audit_query *q = c->query;
	scoped(fd_closep) int fd = -1;
	uint64_t until = UINT64_MAX;
	char name[FILES_NAME_MAX];
	int r;

	if (q->before.file > 0 && number >= q->before.file)
		until = number > q->before.file ? from : q->before.offset;
	files_name(number, name);
	fd = fd_open_regular(dir_fd, name);
	*ret_rest = from;
	if (fd == -ENOENT) /* it was old, and went away */
		return 0;
	if (fd < 0)
		return error_sys(err, -fd, "%s", name);
	r = scan_lines(fd, from, until, catch_line, c, ret_rest, err);
	if (c->limit > 0)
		keep_last(c, c->limit);
	return r;
}

static int show(const struct buffer *lines, audit_visit *visit, void *context)
{
	const char *at = buffer_str(lines), *end = at + lines->len, *newline;
	int r = 0;

	for (; r == 0 && at < end; at = newline + 1) {
		scoped(json_decrefp) json_t *record = NULL;

		newline = memchr(at, '\n', (size_t)(end - at));
		if (json_read(at, (size_t)(newline - at), AUDIT_LINE_MAX, "record", &record,
		              NULL) == 0)
			r = visit(context, at, (size_t)(newline - at), record);
	}
	return r;
}

static int open_directory(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno == ENOENT)
		return fd < 0 ? -ENOENT : fd;
	return error_set(err, ERROR_INPUT, errno, "%.150s: %s", path, strerrordesc_np(errno));
}

/* Of the COUNT files those that may be read: from the one that is returned on. */
static size_t first_within(int dir_fd, const struct audit_query *q, const uint64_t *numbers,
                           size_t count)
{
	char name[FILES_NAME_MAX];
	uint64_t bytes = 0;
	struct stat st;
	size_t first = count;

	for (; first > 0; first--) {
		files_name(numbers[first - 1], name);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (bytes > 0 && bytes + (uint64_t)st.st_size > q->bytes_max)
			break;
		bytes += (uint64_t)st.st_size;
	}
	if (first > 0 && q->ret_rest)
		*q->ret_rest = numbers[first];
	return first;
}

/* How many files there need be is known from the newest one on. */
static int query_newest(int dir_fd, const struct audit_query *q, const uint64_t *numbers,
                        size_t count, audit_visit *visit, void *context, struct error *err)
{
	struct sieve c = {.query = q, .lines = {.max = (size_t)1 << 30}, .limit = q->limit};
	uint64_t rest;
	int r;

	if (count == 0)
		return 0;
	r = catch_file(dir_fd, numbers[count - 1], 0, &c, &rest, err);
	if (r == 0 && c.count < q->limit) {
		struct audit_query more = *q;

		more.limit -= c.count;
		r = query_newest(dir_fd, &more, numbers, count - 1, visit, context, err);
	}
	if (r == 0)
		r = show(&c.lines, visit, context);
	buffer_done(&c.lines);
	return r;
}

int audit_query(const char *directory, const struct audit_query *query, audit_visit *visit,
                void *context, struct error *err)
{
	scoped(freep) uint64_t *numbers = NULL;
	scoped(fd_closep) int dir_fd = open_directory(directory, err);
	struct audit_follow place = {0};
	size_t count = 0, first = 0;
	int r;

	if (dir_fd < 0)
		return dir_fd == -ENOENT ? 0 : dir_fd;
	if (query->limit == 0) /* no need to hold more than those of one file */
		return audit_follow(directory, query, &place, visit, context, err);
	r = files_list(dir_fd, &numbers, &count, err);
	if (r < 0)
		return r;
	while (query->before.file > 0 && count > 0 && numbers[count - 1] > query->before.file)
		count--;
	if (query->before.file > 0 && query->before.offset == 0 && count > 0 &&
	    numbers[count - 1] == query->before.file)
		count--;
	if (query->bytes_max > 0)
		first = first_within(dir_fd, query, numbers, count);
	return query_newest(dir_fd, query, numbers + first, count - first, visit, context, err);
}

int audit_follow(const char *directory, const struct audit_query *query, struct audit_follow *place,
                 audit_visit *visit, void *context, struct error *err)
{
	scoped(freep) uint64_t *numbers = NULL;
	scoped(fd_closep) int dir_fd = open_directory(directory, err);
	size_t count = 0;
	int r;

	if (dir_fd < 0)
		return dir_fd == -ENOENT ? 0 : dir_fd;
	r = files_list(dir_fd, &numbers, &count, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct sieve c = {.query = query};
		uint64_t from = numbers[i] == place->file ? place->offset : 0;

		if (numbers[i] < place->file)
			continue;
		r = catch_file(dir_fd, numbers[i], from, &c, &place->offset, err);
		place->file = numbers[i];
		if (r == 0)
			r = show(&c.lines, visit, context);
		buffer_done(&c.lines);
	}
	return r;
}
