#include "keeper/inside.h"

#include <errno.h>
#include <string.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/control.h"
#include "keeper/session.h"
#include "process/spawn.h"
#include "output/capture.h"
#include "sandbox/plan.h"
#include "sandbox/protect.h"

#define STATE_RESERVED ".state.json.new"
#define STATE_BYTES    4096 /* a report is shorter, but for many words about what went wrong */

/* Both captures in one anonymous file: it needs no disk, and no reader to be ready. */
static int pack_captures(struct keeper *k)
{
	scoped(fd_closep) int fd = memfd_create("nacre-captures", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (k->streams[i].capture && capture_write(k->streams[i].capture, fd, NULL) < 0)
			return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : take_fd(&fd);
}

void keeper_judge_box(struct keeper *k)
{
	bool exited = k->report.end == KEEPER_END_EXITED; /* else the signal was ours */
	struct limits_evidence evidence = {
		.wait_status = exited ? k->report.status : 0,
		.cpu_us = (uint64_t)k->report.cpu_ms * 1000,
		.oom_kills = k->watch.memory_kills,
		.forks_denied = k->watch.crowded || k->report.end == KEEPER_END_CROWDED,
		.tmp_full = k->tmp_full,
	};
	scoped(buffer_donep) struct buffer planted = {.max = REPORT_PLANTED_MAX - 1};

	if (!k->plan || k->report.end == KEEPER_END_FAILED)
		return;
	k->report.limit_hit = sandbox_plan_judge(k->plan, &evidence);
	/* The kernel may take init when memory runs out, and with it goes the command. */
	if (k->report.end == KEEPER_END_LOST && k->report.limit_hit == LIMIT_HIT_MEMORY) {
		k->report.end = KEEPER_END_EXITED;
		k->report.status = SIGKILL;
	}
	(void)sandbox_protect_check(k->plan, k->fds.task, k->order.task_id, &planted);
	snprintf(k->report.planted, sizeof(k->report.planted), "%s", buffer_str(&planted));
}

void keeper_read_notes(struct keeper *k)
{
	char bytes[4096];
	ssize_t n;

	while (k->process && k->process->notes >= 0) {
		n = read(k->process->notes, bytes, sizeof(bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			fd_close(take_fd(&k->process->notes));
			return;
		}
		if (k->notes.len + (size_t)n > SESSION_RECORD_MAX)
			k->notes_cut = true;
		if (!k->notes_cut)
			buffer_append(&k->notes, bytes, (size_t)n);
	}
}

void keeper_commit_session(struct keeper *k)
{
	const struct keeper_request *rq = &k->order.request;
	const struct session_start start = {
		.state = rq->state,
		.id = rq->session,
		.workspace = rq->workspace,
		.cwd = k->order.cwd,
		.envp = k->order.envp,
	};

	if (!k->process || !rq->session || k->order.background)
		return;
	keeper_read_notes(k);
	if (k->notes_cut)
		snprintf(k->report.session, sizeof(k->report.session),
		         "the session is as it was: its variables are too long to be kept");
	else if (rq->state && buffer_error(&k->notes) == 0)
		(void)session_commit(&start, buffer_str(&k->notes), k->notes.len,
		                     k->report.session);
}

void keeper_reserve_state(struct keeper *k)
{
	scoped(fd_closep) int fd = -1;
	char blank[STATE_BYTES];

	if (k->fds.task < 0 || k->state_file >= 0)
		return;
	fd = openat(k->fds.task, STATE_RESERVED,
	            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	memset(blank, ' ', sizeof(blank));
	if (fd_write_all(fd, blank, sizeof(blank)) < 0)
		(void)unlinkat(k->fds.task, STATE_RESERVED, 0);
	else
		k->state_file = take_fd(&fd);
}

/* Into the room that was taken, which then gets its name; else as a new file. */
static bool record_state(struct keeper *k, const struct buffer *text)
{
	if (k->fds.task < 0)
		return false;
	if (k->state_file >= 0 && lseek(k->state_file, 0, SEEK_SET) == 0 &&
	    fd_write_all(k->state_file, text->data, text->len) == 0 &&
	    ftruncate(k->state_file, (off_t)text->len) == 0 &&
	    renameat(k->fds.task, STATE_RESERVED, k->fds.task, "state.json") == 0)
		return true;
	return fd_replace_file(k->fds.task, "state.json", text->data, text->len) == 0;
}

/* Whose result is delivered and holds all that there was is deleted in a moment. */
static void mark_ended(struct keeper *k)
{
	bool brief = !k->starter_gone && !k->order.background && !k->let_go &&
	             k->report.streams[0].bytes == 0 && k->report.streams[1].bytes == 0;

	if (!brief)
		(void)fchmod(k->fds.task, REPORT_IS_THERE);
}

void keeper_publish(struct keeper *k)
{
	scoped(buffer_donep) struct buffer text = {0};
	scoped(fd_closep) int captures = -1;

	k->report.duration_ms = clock_now_ms() - k->started_at;
	if (keeper_report_write(&k->report, &text) < 0)
		return;
	/* Before the starter hears of the end: should it die in this moment, the state is there. A
	 * disk that refuses it leaves the packet as the only copy. */
	if (record_state(k, &text))
		mark_ended(k);
	if (k->starter_gone)
		return;
	captures = pack_captures(k);
	/* OUTPUT packets may fill the socket; the starter is owed this one. */
	while (control_send(k->fds.control, CONTROL_REPORT, text.data, text.len, captures) ==
	       -EAGAIN) {
		struct pollfd p = {.fd = k->fds.control, .events = POLLOUT};

		if (poll(&p, 1, 10000) <= 0)
			return;
	}
}
