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
#define WIRE_PACKET    ((size_t)16 << 10) /* strings up to this length need no file */

struct wire_header {
	uint32_t text_bytes; /* behind the header; 0: in a file */
	uint32_t paths, words, variables;
	uint32_t notes;       /* there is one */
	uint32_t tells_start; /* somebody waits for the start itself */
	uint32_t waits;       /* for INIT_GO */
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

/* How many descriptors a packet with this header has: the streams, then what there is more. */
static size_t fd_count(const struct wire_header *h)
{
	return 3 + (h->notes ? 1 : 0) + (h->text_bytes ? 0 : 1);
}

static int text_file(const struct buffer *text)
{
	scoped(fd_closep) int fd = memfd_create("nacre-plan", MFD_CLOEXEC);

	return fd < 0 || fd_write_all(fd, text->data, text->len) < 0 ? -1 : take_fd(&fd);
}

int wire_plan_send(int socket, const struct child_plan *plan, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = WIRE_BYTES_MAX};
	scoped(fd_closep) int file = -1;
	struct wire_header h = {.limit_count = (uint32_t)plan->limit_count,
	                        .notes = plan->notes_fd > 0,
	                        .tells_start = plan->tells_start,
	                        .waits = plan->waits,
	                        .terminal = plan->terminal};
	int fds[5] = {plan->stdio[0], plan->stdio[1], plan->stdio[2], plan->notes_fd};
	int r;

	memcpy(h.limits, plan->limits, sizeof(h.limits));
	buffer_append(&text, plan->cwd, strlen(plan->cwd) + 1);
	h.paths = put_strings(&text, plan->paths);
	h.words = put_strings(&text, plan->argv);
	h.variables = put_strings(&text, plan->envp);
	if (buffer_error(&text) < 0)
		return error_set(err, ERROR_LIMIT, -buffer_error(&text), "the command is too long");
	if (text.len <= WIRE_PACKET) {
		h.text_bytes = (uint32_t)text.len;
	} else {
		file = text_file(&text);
		if (file < 0)
			return error_sys(err, errno, "memory for a command");
		fds[fd_count(&h) - 1] = file;
	}
	r = packet_send(socket, &h, sizeof(h), h.text_bytes ? text.data : NULL, h.text_bytes, fds,
	                fd_count(&h), 0);
	return r < 0 ? error_sys(err, -r, "the box does not answer") : 0;
}

/* Takes COUNT strings from *AT on; NULL: they are not all there, or memory ran out. */
static const char **take_strings(const char **at, const char *end, uint32_t count)
{
	const char **strings = calloc((size_t)count + 1, sizeof(*strings));

	if (!strings)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
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
	ret_plan->tells_start = h->tells_start != 0;
	ret_plan->waits = h->waits != 0;
	ret_plan->limit_count = (int)h->limit_count;
	memcpy(ret_plan->limits, h->limits, sizeof(h->limits));
	return 0;
}

static int read_text(const struct wire_header *h, const char *behind, int fd, struct buffer *text)
{
	if (h->text_bytes) {
		buffer_append(text, behind, h->text_bytes);
		return buffer_error(text) < 0 ? -ENOMEM : 0;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, text) < 0)
		return -EBADMSG;
	fd_close(fd);
	return 0;
}

void wire_plan_done(struct child_plan *plan)
{
	/* They were made by take_strings(), and are const for their readers only. */
	free((void *)(uintptr_t)plan->paths);
	free((void *)(uintptr_t)plan->argv);
	free((void *)(uintptr_t)plan->envp);
	plan->paths = plan->argv = plan->envp = NULL;
}

int wire_plan_receive(int socket, struct buffer *text, struct child_plan *ret_plan)
{
	struct {
		struct wire_header h;
		char behind[WIRE_PACKET];
	} packet;
	const struct wire_header *h = &packet.h;
	int fds[PACKET_FDS_MAX], r;
	size_t count;
	ssize_t n;

	n = packet_receive(socket, &packet, sizeof(packet), fds, &count, 0);
	if (n <= 0)
		return -EPIPE;
	if (n < (ssize_t)sizeof(*h) || (size_t)n - sizeof(*h) != h->text_bytes ||
	    count != fd_count(h) || h->limit_count > LIMITS_MAX || h->paths > WIRE_BYTES_MAX ||
	    h->words > WIRE_BYTES_MAX || h->variables > WIRE_BYTES_MAX)
		return -EBADMSG;
	buffer_clear(text);
	text->max = WIRE_BYTES_MAX;
	r = read_text(h, packet.behind, fds[count - 1], text);
	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++)
		ret_plan->stdio[i] = fds[i];
	ret_plan->notes_fd = h->notes ? fds[3] : 0;
	return unpack(h, text, ret_plan);
}
