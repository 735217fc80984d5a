#include "mcp/task-text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/utf8.h"
#include "output/binary.h"
#include "output/clean.h"
#include "task/find.h"
#include "task/follow.h"

#define PIECE_BYTES 16384

/* Of a piece that ends inside of a character, so much is left for the next time. */
static size_t cut_length(const char *bytes, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++)
		if (utf8_is_cut(bytes + n - back, back))
			return back;
	return 0;
}

static int put_piece(const struct task_part *part, const char *bytes, size_t n, struct buffer *into)
{
	struct clean_options options = {.starts_mid = part->since > 0};
	struct clean_facts facts;

	if (!part->raw)
		return clean_text(bytes, n, &options, into, &facts);
	buffer_append(into, bytes, n);
	return buffer_error(into);
}

/* As for output that is shown at once (output/view.h): its beginning tells. */
static bool is_binary(int dir_fd, int stream, const char **ret_type)
{
	scoped(follow_freep) struct follow *follow = NULL;
	struct follow_piece piece = {0};
	char bytes[BINARY_SAMPLE];
	size_t n = 0;

	if (follow_new(dir_fd, (enum follow_stream)stream, 0, &follow, NULL) < 0)
		return false;
	while (n < sizeof(bytes) &&
	       follow_next(follow, bytes + n, sizeof(bytes) - n, &piece) == FOLLOW_BYTES)
		n += (size_t)piece.n;
	return binary_detect(bytes, n, ret_type);
}

/* One of two streams may be text: each is looked at by itself. Where none is, there is nothing to
 * be read, however long it is: true. */
static bool find_binary(int dir_fd, struct task_part *part, bool ret_binary[2])
{
	uint64_t total = 0, binary = 0;

	for (int i = FOLLOW_OUT; i <= FOLLOW_ERR; i++) {
		bool wanted = !part->raw && (part->stream < 0 || part->stream == i);

		ret_binary[i] = wanted && is_binary(dir_fd, i, &part->type);
		total += wanted ? part->entry->bytes[i] : 0;
		binary += ret_binary[i] ? part->entry->bytes[i] : 0;
	}
	if (binary == 0 || binary < total)
		return false;
	part->binary = total > part->since ? total - part->since : 0;
	part->next = part->since + part->binary;
	return true;
}

void task_text_say_binary(const struct task_part *part, const char *id, struct buffer *into)
{
	if (part->binary == 0)
		return;
	if (into->len > 0 && into->data[into->len - 1] != '\n')
		buffer_putc(into, '\n');
	buffer_printf(into,
	              "[binary output: %s, %" PRIu64 " bytes; the full output is in "
	              "nacre://output/%s]\n",
	              part->type, part->binary, id);
}

int task_text_read(int dir_fd, struct task_part *part, struct buffer *into)
{
	scoped(follow_freep) struct follow *follow = NULL;
	struct follow_piece piece;
	char bytes[PIECE_BYTES];
	size_t left = part->max;
	bool binary[2];
	size_t cut;
	int r;

	part->next = part->since;
	part->missing = part->binary = 0;
	if (find_binary(dir_fd, part, binary))
		return 0;
	r = follow_new(dir_fd, (enum follow_stream)part->stream, part->since, &follow, NULL);
	while (r == 0 && left > 0) {
		switch (follow_next(follow, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
		                    &piece)) {
		case FOLLOW_BYTES:
			left -= piece.n;
			part->next = piece.offset + piece.n;
			if (binary[piece.stream]) {
				part->binary += piece.n;
				break;
			}
			cut = left == 0 && !part->raw ? cut_length(bytes, (size_t)piece.n) : 0;
			cut = cut < piece.n ? cut : 0;
			part->next -= cut;
			r = put_piece(part, bytes, (size_t)piece.n - cut, into);
			break;
		case FOLLOW_GAP:
			part->missing += piece.n;
			part->next = piece.offset + piece.n;
			break;
		case FOLLOW_NOTHING:
		case FOLLOW_ENDED:
			return 0;
		}
	}
	return r;
}

void task_text_edges(int dir_fd, const struct find_entry *e, size_t edge, struct buffer *into)
{
	uint64_t total = e->bytes[0] + e->bytes[1];
	struct task_part part = {
		.stream = -1, .max = total > 2 * edge ? edge : 2 * edge, .entry = e};
	char size[32];

	(void)task_text_read(dir_fd, &part, into);
	task_text_say_binary(&part, e->id, into);
	if (total <= 2 * (uint64_t)edge || part.next >= total)
		return;
	number_format_bytes(total - 2 * edge, size);
	buffer_printf(into, "\n[... %s omitted; full output: nacre://output/%s ...]\n", size,
	              e->id);
	part.since = total - edge;
	(void)task_text_read(dir_fd, &part, into);
}

void task_text_status(const struct find_entry *e, struct buffer *into)
{
	int code = find_exit_code(e), number = find_signal(e);
	int64_t end = e->state == FIND_RUNNING ? clock_wall_ms() : e->ended_ms;
	char took[32];

	number_format_duration(end > e->started_ms ? end - e->started_ms : 0, took);
	if (into->len > 0 && into->data[into->len - 1] != '\n')
		buffer_putc(into, '\n');
	if (e->state == FIND_RUNNING)
		buffer_printf(into, "[task %s running for %s]", e->id, took);
	else if (e->state == FIND_LOST)
		buffer_printf(into, "[task %s lost: nobody knows how it ended]", e->id);
	else if (e->report.end == KEEPER_END_EXITED && number)
		buffer_printf(into, "[killed by SIG%s after %s]",
		              sigabbrev_np(number) ? sigabbrev_np(number) : "?", took);
	else if (e->report.end == KEEPER_END_EXITED)
		buffer_printf(into, "[exit %d after %s]", code, took);
	else
		buffer_printf(into, "[%s after %s]", find_state_name(e), took);
}
