#include "launch/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/packet.h"
#include "task/control.h"
#include "task/home.h"
#include "process/clone.h"
#include "launch/inside.h"
#include "launch/launcher.h"

#define CAPTURE_BYTES_MAX ((size_t)8 << 20)
#define KEEPING_MS        2000

void task_free(struct task *t)
{
	if (!t)
		return;
	fd_close(t->control);
	fd_close(t->dir_fd);
	fd_close(t->keeper_fd);
	capture_snapshot_done(&t->captures[0]);
	capture_snapshot_done(&t->captures[1]);
	free(t);
}

/* Who knows the id finds the task from now on, before its keeper has the order. */
static bool make_home(struct task *t)
{
	int fd = t->tasks_fd < 0 ? -1 : home_create(t->tasks_fd, t->id);

	t->dir_fd = fd < 0 ? -1 : fd;
	return fd >= 0;
}

/* All of a new task but its keeper: TEXT is the order as JSON, *ret_theirs the keeper's end of the
 * control socket. */
static int task_new(struct store *store, struct keeper_order *order, struct buffer *text,
                    int *ret_theirs, struct task **ret_task, struct error *err)
{
	scoped(task_freep) struct task *t = calloc(1, sizeof(*t));
	const uint32_t relay = CONTROL_RELAY;
	int sockets[2], r;

	if (!t)
		return error_nomem(err);
	t->control = t->dir_fd = t->keeper_fd = -1;
	t->captures[0].counts.nul_at = t->captures[1].counts.nul_at = CAPTURE_NO_NUL;
	t->tasks_fd = store->tasks_fd;
	if (order->task_id) /* its records bear it already */
		snprintf(t->id, sizeof(t->id), "%s", order->task_id);
	else if (id_new("bash-", t->id, sizeof(t->id)) < 0)
		return error_set(err, ERROR_SYSTEM, EIO, "no random numbers for a task id");
	order->task_id = t->id;
	order->findable = order->findable && make_home(t);
	t->merged = order->merged;
	r = keeper_order_write(order, text);
	if (r == -E2BIG)
		error_set(err, ERROR_LIMIT, E2BIG,
		          "command and environment are longer than %zu bytes", ORDER_BYTES_MAX);
	else if (r < 0)
		error_set(err, ERROR_SYSTEM, -r, "out of memory");
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		r = error_sys(err, errno, "socket pair for the keeper");
	if (r < 0) {
		store_task_remove(store, t->id);
		return r;
	}
	t->control = sockets[0];
	*ret_theirs = sockets[1];
	/* Before the order: the keeper has the pipes when it reads that it shall have them. */
	r = order->relay ? packet_send(t->control, &relay, sizeof(relay), NULL, 0, order->relay_fds,
	                               order->merged ? 1 : 2, MSG_DONTWAIT | MSG_NOSIGNAL)
	                 : 0;
	if (r < 0)
		return error_sys(err, -r, "pipes for the keeper");
	*ret_task = take_ptr(&t);
	return 0;
}

int task_begin(struct store *store, struct keeper_order *order, int input_fd,
               const struct task_starter *starter, struct task **ret_task, struct error *err)
{
	scoped(buffer_donep) struct buffer text = {.max = ORDER_BYTES_MAX};
	scoped(task_freep) struct task *t = NULL;
	scoped(fd_closep) int theirs = -1;
	struct keeper_fds fds;
	int r = task_new(store, order, &text, &theirs, &t, err);

	if (!t)
		return r;
	fds = (struct keeper_fds){.control = theirs,
	                          .tasks = order->findable ? t->dir_fd : t->tasks_fd,
	                          .input = input_fd,
	                          .profile = order->profile};
	r = starter->start(starter->owner, t, order, &fds, &text, err);
	if (r < 0) {
		store_task_remove(store, t->id);
		return r;
	}
	*ret_task = take_ptr(&t);
	return 0;
}

static int start_child(void *owner, struct task *t, const struct keeper_order *order,
                       const struct keeper_fds *fds, const struct buffer *text, struct error *err)
{
	t->keeper = process_clone(&t->keeper_fd);
	if (t->keeper == 0)
		keeper_main(fds, text);
	return t->keeper < 0 ? error_sys(err, (int)-t->keeper, "starting the keeper") : 0;
}

static int start_launched(void *owner, struct task *t, const struct keeper_order *order,
                          const struct keeper_fds *fds, const struct buffer *text,
                          struct error *err)
{
	return launcher_spawn(owner, fds, order, text->data, text->len, err);
}

int task_start(struct store *store, struct launcher *launcher, struct keeper_order *order,
               int input_fd, struct task **ret_task, struct error *err)
{
	const struct task_starter starter = {launcher ? start_launched : start_child, launcher};

	return task_begin(store, order, input_fd, &starter, ret_task, err);
}

int task_dir(struct task *t)
{
	if (t->dir_fd < 0 && t->tasks_fd >= 0)
		t->dir_fd =
			openat(t->tasks_fd, t->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return t->dir_fd;
}

static int take_captures(struct task *t, const char *at, const char *end, int fd)
{
	int r = 0;

	for (int i = 0; r == 0 && i < (t->merged ? 1 : 2); i++)
		r = fd >= 0 ? capture_read(fd, CAPTURE_BYTES_MAX, &t->captures[i], NULL)
		            : capture_take(&at, end, CAPTURE_BYTES_MAX, &t->captures[i], NULL);
	return r;
}

static bool take_report(struct task *t, const struct buffer *text, int captures_fd)
{
	size_t n = strnlen(buffer_str(text), text->len);

	if (keeper_report_read(buffer_str(text), n, &t->report, NULL) < 0)
		return false;
	t->on_disk = n == text->len ||
	             take_captures(t, text->data + n + 1, text->data + text->len, captures_fd) < 0;
	return true;
}

/* A keeper whose starter did not read in time leaves its report on disk only. */
static bool recover_report(struct task *t)
{
	scoped(buffer_donep) struct buffer text = {.max = REPORT_BYTES_MAX};
	scoped(fd_closep) int fd = -1;

	if (task_dir(t) >= 0)
		fd = fd_open_regular(t->dir_fd, "state.json");
	if (fd < 0 || fd_read_all(fd, &text) < 0)
		return false;
	return take_report(t, &text, -1);
}

enum task_event task_receive(struct task *t)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int fd = -1;
	enum control_kind kind;
	int r = control_receive(t->control, &kind, &text, &fd);

	if (r == 0)
		return TASK_NOTHING;
	if (r < 0) {
		t->lost = !recover_report(t);
		t->on_disk = true;
		return t->lost ? TASK_LOST : TASK_ENDED;
	}
	if (kind == CONTROL_OUTPUT)
		return TASK_OUTPUT;
	if (kind == CONTROL_STARTED)
		return TASK_STARTED;
	if (kind == CONTROL_LET_GO)
		return TASK_LET_GO;
	if (kind == CONTROL_NOTE) {
		snprintf(t->note, sizeof(t->note), "%s", buffer_str(&text));
		return TASK_NOTE;
	}
	if (kind == CONTROL_HELD) {
		snprintf(t->held, sizeof(t->held), "%s", buffer_str(&text));
		return TASK_HELD;
	}
	if (kind == CONTROL_HELLO) {
		fd_close(t->keeper_fd);
		t->keeper_fd = take_fd(&fd);
		return TASK_NOTHING;
	}
	t->lost = !take_report(t, &text, fd);
	t->goes_on = kind == CONTROL_LEFT && !t->lost;
	return t->lost ? TASK_LOST : TASK_ENDED;
}

void task_leave(struct task *t)
{
	task_free(t);
}

static int order(struct task *t, enum control_order what, const void *bytes, size_t n)
{
	uint32_t kind = what;

	return packet_send(t->control, &kind, sizeof(kind), bytes, n, NULL, 0, MSG_DONTWAIT);
}

static void say(struct task *t, enum control_order what)
{
	(void)order(t, what, NULL, 0);
}

void task_stop(struct task *t, bool now)
{
	say(t, now ? CONTROL_STOP_NOW : CONTROL_STOP);
}

void task_give_up(struct task *t)
{
	say(t, CONTROL_GIVE_UP);
}

int task_input(struct task *t, const void *bytes, size_t n)
{
	return order(t, CONTROL_INPUT, bytes, n);
}

int task_resize(struct task *t, uint16_t rows, uint16_t cols)
{
	const struct control_size size = {.rows = rows, .cols = cols};

	return order(t, CONTROL_RESIZE, &size, sizeof(size));
}

void task_kill_keeper(struct task *t)
{
	if (t->keeper_fd >= 0)
		(void)pidfd_send_signal(t->keeper_fd, SIGKILL, NULL, 0);
}

void task_abandon(struct task *t)
{
	task_kill_keeper(t);
	t->lost = t->on_disk = true;
}

bool task_keep(struct task *t)
{
	return t->tasks_fd >= 0 && task_dir(t) < 0 && order(t, CONTROL_KEEP, NULL, 0) == 0;
}

/* The report was not taken: when the keeper sees that, it makes the directory if there is none. */
static void await_keeping(struct task *t)
{
	struct pollfd end = {.fd = t->control, .events = POLLIN};
	char byte;

	if (t->lost || t->tasks_fd < 0 || task_dir(t) >= 0)
		return;
	say(t, CONTROL_KEEP);
	(void)shutdown(t->control, SHUT_WR); /* what a keeper of an older nacre understands */
	while (poll(&end, 1, KEEPING_MS) == 1 && packet_get(t->control, &byte, sizeof(byte), 0) > 0)
		;
}

void task_done(struct task *t, struct store *store, bool keep)
{
	if (!t)
		return;
	/* A keeper that has reported writes no more; what it still clears away goes on meanwhile.
	 */
	if (keep)
		await_keeping(t);
	else
		say(t, CONTROL_TAKEN);
	if (!keep)
		store_task_remove(store, t->id);
	if (t->keeper > 0)
		while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	task_free(t);
}
