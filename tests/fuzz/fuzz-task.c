/*
 * Orders and reports cross processes and lie on disk. What a reader takes, the writer gives back:
 * read again and written again, it is the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "task/order.h"
#include "task/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_same(const struct buffer *a, const struct buffer *b)
{
	if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
		abort();
}

static void try_order(const char *bytes, size_t size)
{
	scoped(arena_freep) struct arena *arena = arena_new(1 << 24);
	scoped(buffer_donep) struct buffer first = {.max = ORDER_BYTES_MAX};
	scoped(buffer_donep) struct buffer second = {.max = ORDER_BYTES_MAX};
	struct keeper_order o;

	if (!arena || keeper_order_read(bytes, size, arena, &o, NULL) < 0)
		return;
	if (!o.task_id || !o.cwd || !o.argv[0] || !o.envp || !o.request.workspace ||
	    !o.request.root || !o.request.cwd || !o.request.command == !o.request.argv)
		abort();
	if (keeper_order_write(&o, &first) < 0 ||
	    keeper_order_read(first.data, first.len, arena, &o, NULL) < 0 ||
	    keeper_order_write(&o, &second) < 0)
		abort();
	expect_same(&first, &second);
}

/* Escapes can make a report longer than the one that was read, and then it is not one. */
static void try_report(const char *bytes, size_t size)
{
	scoped(buffer_donep) struct buffer first = {0};
	scoped(buffer_donep) struct buffer second = {0};
	struct keeper_report r;

	if (keeper_report_read(bytes, size, &r, NULL) < 0)
		return;
	if (r.end >= KEEPER_END_MAX || r.step >= CHILD_STEP_MAX || r.limit_hit >= LIMIT_HIT_MAX ||
	    r.sandbox.tier >= SANDBOX_TIER_MAX || !memchr(r.why, '\0', sizeof(r.why)))
		abort();
	if (keeper_report_write(&r, &first) < 0)
		abort();
	if (first.len > REPORT_BYTES_MAX)
		return;
	if (keeper_report_read(first.data, first.len, &r, NULL) < 0 ||
	    keeper_report_write(&r, &second) < 0)
		abort();
	expect_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_order((const char *)data, size);
	try_report((const char *)data, size);
	return 0;
}
