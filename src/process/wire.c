#include "process/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/packet.h"

#define WIRE_BYTES_MAX ((size_t)64 << 20)

enum { FD_TEXT, FD_STDIO, FD_COUNT = FD_STDIO + 3, FD_NOTES = FD_COUNT, FD_MAX };

struct wire_header {
	uint32_t paths, words, variables;
	uint32_t limit_count;
	struct limit_value limits[LIMITS_MAX];
	struct pty_size terminal;
};

static uint32_t put_strings(struct buffer *text, const char *const *strings)
{
	uint32_t n = 0;

	for (; strings[n]; n++)
		buffer_append(text, strings[n], strlen(strings[n]) + 1);
	return n;
}

int wire_plan_send(int socket, const struct child_plan *plan, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = WIRE_BYTES_MAX};
	scoped(fd_closep) int memory = memfd_create("nacre-plan", MFD_CLOEXEC);
	struct wire_header h = {.limit_count = (uint32_t)plan->limit_count,
	                        .terminal = plan->terminal};
	const int fds[FD_MAX] = {memory, plan->stdio[0], plan->stdio[1], plan->stdio[2],
	                         plan->notes_fd};
	int r;

	memcpy(h.limits, plan->limits, sizeof(h.limits));
	buffer_append(&text, plan->cwd, strlen(plan->cwd) + 1);
	h.paths = put_strings(&text, plan->paths);
	h.words = put_strings(&text, plan->argv);
	h.variables = put_strings(&text, plan->envp);
	if (buffer_error(&text) < 0)
		return error_set(err, ERROR_LIMIT, -buffer_error(&text), "the command is too long");
	if (memory < 0 || fd_write_all(memory, text.data, text.len) < 0)
		return error_sys(err, errno, "memory for a command");
	r = packet_send(socket, &h, sizeof(h), NULL, 0, fds, plan->notes_fd > 0 ? FD_MAX : FD_COUNT,
	                0);
	return r < 0 ? error_sys(err, -r, "the box does not answer") : 0;
}

/* Takes COUNT strings from *AT on; NULL: they are not all there, or memory ran out. */
static const char **take_strings(const char **at, const char *end, uint32_t count)
{
	const char **strings = calloc((size_t)count + 1, sizeof(*strings));

	for (uint32_t i = 0; strings && i < count; i++) {
		const char *next = memchr(*at, '\0', (size_t)(end - *at));

		if (!next) {
			free(strings);
			return NULL;
		}
		strings[i] = *at;
		*at = next + 1;
	}
	return strings;
}

static int unpack(const struct wire_header *h, const struct buffer *text,
                  struct child_plan *ret_plan)
{
	const char *at = text->data, *end = at + text->len;
	const char **cwd = take_strings(&at, end, 1);

	ret_plan->paths = take_strings(&at, end, h->paths);
	ret_plan->argv = take_strings(&at, end, h->words);
	ret_plan->envp = take_strings(&at, end, h->variables);
	ret_plan->cwd = cwd ? cwd[0] : NULL;
	free(cwd);
	if (!ret_plan->cwd || !ret_plan->paths || !ret_plan->argv || !ret_plan->envp ||
	    h->words == 0)
		return -EBADMSG;
	ret_plan->terminal = h->terminal;
	ret_plan->limit_count = (int)h->limit_count;
	memcpy(ret_plan->limits, h->limits, sizeof(h->limits));
	return 0;
}

int wire_plan_receive(int socket, struct child_plan *ret_plan)
{
	struct buffer text = {.max = WIRE_BYTES_MAX};
	struct wire_header h;
	int fds[PACKET_FDS_MAX];
	size_t count;
	ssize_t n;

	n = packet_receive(socket, &h, sizeof(h), fds, &count, 0);
	if (n <= 0)
		return -EPIPE;
	if (n != (ssize_t)sizeof(h) || (count != FD_COUNT && count != FD_MAX) ||
	    h.limit_count > LIMITS_MAX || h.paths > text.max || h.words > text.max ||
	    h.variables > text.max)
		return -EBADMSG;
	if (lseek(fds[FD_TEXT], 0, SEEK_SET) < 0 || fd_read_all(fds[FD_TEXT], &text) < 0)
		return -EBADMSG;
	fd_close(fds[FD_TEXT]);
	for (int i = 0; i < 3; i++)
		ret_plan->stdio[i] = fds[FD_STDIO + i];
	ret_plan->notes_fd = count == FD_MAX ? fds[FD_NOTES] : 0;
	return unpack(&h, &text, ret_plan);
}
