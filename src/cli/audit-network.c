/*
 * A connection has two records: one before it is dialled, one at its end. They are one row here. An
 * end belongs to the oldest open connection of the same task, name and port; if several were open
 * at the same time, their ends may be exchanged, and the sums are right.
 */
#include "cli/audit-network.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/table.h"

struct row {
	json_t *begin, *end; /* either may be NULL */
};

struct audit_network {
	struct row *rows;
	size_t count, size;
};

struct audit_network *audit_network_new(void)
{
	return calloc(1, sizeof(struct audit_network));
}

void audit_network_free(struct audit_network *n)
{
	for (size_t i = 0; n && i < n->count; i++) {
		json_decref(n->rows[i].begin);
		json_decref(n->rows[i].end);
	}
	free(n ? n->rows : NULL);
	free(n);
}

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "";
}

static uint64_t number_of(const json_t *record, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(record, key));

	return v > 0 ? (uint64_t)v : 0;
}

static bool is_same(const json_t *a, const json_t *b)
{
	return strcmp(text_of(a, "task_id"), text_of(b, "task_id")) == 0 &&
	       strcmp(text_of(a, "session"), text_of(b, "session")) == 0 &&
	       strcmp(text_of(a, "name"), text_of(b, "name")) == 0 &&
	       number_of(a, "port") == number_of(b, "port");
}

int audit_network_add(struct audit_network *n, const json_t *record)
{
	bool ended = strcmp(text_of(record, "event"), "network-ended") == 0;
	struct row *more;

	for (size_t i = 0; ended && i < n->count; i++) {
		struct row *r = &n->rows[i];

		if (r->begin && !r->end && strcmp(text_of(r->begin, "verdict"), "allow") == 0 &&
		    is_same(r->begin, record)) {
			r->end = json_deep_copy(record);
			return r->end ? 0 : -ENOMEM;
		}
	}
	if (n->count == n->size) {
		more = reallocarray(n->rows, n->size ? 2 * n->size : 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		n->rows = more;
		n->size = n->size ? 2 * n->size : 64;
	}
	more = &n->rows[n->count];
	*more = (struct row){.begin = NULL};
	*(ended ? &more->end : &more->begin) = json_deep_copy(record);
	n->count++;
	return more->begin || more->end ? 0 : -ENOMEM;
}

static void put_cell(struct buffer *out, const char *text, size_t width)
{
	size_t begin = out->len;

	cli_put_clean(*text ? text : "-", out);
	do
		buffer_putc(out, ' ');
	while (out->len - begin < width && buffer_error(out) == 0);
}

static void put_row(struct buffer *out, const struct row *r, int width)
{
	scoped(buffer_donep) struct buffer last = {0};
	const json_t *any = r->begin ? r->begin : r->end;
	const char *task = text_of(any, "task_id"), *reason = text_of(r->begin, "reason");
	char port[8] = "", bytes[32] = "", ms[24] = "";
	size_t begin = out->len;

	if (number_of(any, "port"))
		snprintf(port, sizeof(port), "%u", (unsigned)number_of(any, "port") & 0xffff);
	if (r->end) {
		number_format_bytes(number_of(r->end, "sent") + number_of(r->end, "received"),
		                    bytes);
		snprintf(ms, sizeof(ms), "%llu", (unsigned long long)number_of(r->end, "ms"));
	}
	buffer_printf(out, "%.19sZ ", text_of(any, "time"));
	put_cell(out, *task ? task : text_of(any, "session"), 23);
	put_cell(out, text_of(any, "name"), 28);
	put_cell(out, port, 6);
	put_cell(out, text_of(r->begin, "verdict"), 8);
	buffer_printf(out, "%10s %8s  ", *bytes ? bytes : "-", *ms ? ms : "-");
	if (!*reason && r->end && strcmp(text_of(r->end, "end"), "closed") != 0)
		reason = text_of(r->end, "end");
	put_cell(&last, reason, 12);
	cli_put_clean(text_of(json_object_get(r->begin, "rule"), "id"), &last);
	table_end_row(out, begin, &last, width);
}

void audit_network_print(const struct audit_network *n, struct buffer *out)
{
	int width = table_width();

	if (n->count > 0)
		buffer_printf(out, "%-20s %-22s %-27s %-5s %-7s %10s %8s  %-11s %s\n", "TIME",
		              "TASK", "NAME", "PORT", "VERDICT", "BYTES", "MS", "REASON", "RULE");
	for (size_t i = 0; i < n->count; i++)
		put_row(out, &n->rows[i], width);
}

void audit_network_put(struct buffer *out, const json_t *record)
{
	const char *rule = text_of(json_object_get(record, "rule"), "id");
	char bytes[32], took[32];

	cli_put_clean(text_of(record, "name"), out);
	if (number_of(record, "port"))
		buffer_printf(out, ":%u", (unsigned)number_of(record, "port") & 0xffff);
	buffer_putc(out, ' ');
	if (strcmp(text_of(record, "event"), "network-ended") == 0) {
		number_format_bytes(number_of(record, "sent") + number_of(record, "received"),
		                    bytes);
		number_format_duration((int64_t)(number_of(record, "ms") & INT64_MAX), took);
		cli_put_clean(text_of(record, "end"), out);
		buffer_printf(out, " after %s, %s", took, bytes);
		return;
	}
	cli_put_clean(text_of(record, "verdict"), out);
	if (*rule) {
		buffer_puts(out, " by ");
		cli_put_clean(rule, out);
	}
	if (*text_of(record, "reason")) {
		buffer_puts(out, ": ");
		cli_put_clean(text_of(record, "reason"), out);
	}
}
